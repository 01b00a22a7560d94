//! Prompt files beside a workflow file.

use signoff_core::workflow::{FileSource, MAX_PROMPT_BYTES, MapFiles, Workflow};

use crate::support::{GOOD, changed, good, known, show, wrong};

#[test]
fn prompts_are_read_in() {
    let workflow = good(GOOD);
    assert_eq!(workflow.agents["venue"].instructions, "You find venues.\n");
    let workflow = good(&changed("prompts/venue.md", "./prompts//venue.md"));
    assert_eq!(workflow.agents["venue"].instructions, "You find venues.\n");
}

#[test]
fn paths_stay_in_the_folder() {
    for (path, message) in [
        ("prompts/venu.md", "there is no file `prompts/venu.md`"),
        ("/etc/motd.txt", "`/etc/motd.txt` is not a path beside this file"),
        ("../venue.md", "`../venue.md` leads out of the folder of this file"),
        ("prompts/../../venue.md", "`prompts/../../venue.md` leads out of the folder of this file"),
        ("C:\\venue.md", "`C:\\venue.md` is not a path beside this file"),
        ("..\\venue.md", "`..\\venue.md` is not a path beside this file"),
        ("file:venue.md", "`file:venue.md` is not a path beside this file"),
    ] {
        let text = wrong(&changed("prompts/venue.md", path));
        assert!(text.starts_with(&format!("21:19: {message}\nhint: ")), "{text}");
    }
}

/// A disk that does not answer.
struct Broken;

impl FileSource for Broken {
    fn read(&self, _: &str, _: usize) -> Result<Option<Vec<u8>>, String> {
        Err("permission denied".into())
    }
}

#[test]
fn files_that_are_no_prompts() {
    let with = |content: Vec<u8>| {
        let files: MapFiles = [("prompts/venue.md", content)].into_iter().collect();
        show(&Workflow::parse(GOOD, &files, &known()).unwrap_err())
    };
    assert!(with(vec![b'x'; MAX_PROMPT_BYTES + 1]).contains("is larger than 262144 bytes"));
    assert!(with(b"\xff".to_vec()).contains("is not UTF-8 text"));
    assert!(with(b" \n".to_vec()).contains("is empty"));
    let text = show(&Workflow::parse(GOOD, &Broken, &known()).unwrap_err());
    assert!(
        text.starts_with("21:19: `prompts/venue.md` cannot be read: permission denied"),
        "{text}"
    );
}

#[test]
fn text_is_not_a_path() {
    for text in ["Write to notes.md.", "|\n      Read plan.md\n"] {
        let workflow = good(&changed("prompts/venue.md", text));
        assert!(!workflow.agents["venue"].instructions.is_empty());
    }
}
