//! Whatever the text is, reading it ends soon and never panics.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use signoff_core::workflow::{Known, NoFiles, Tree, Workflow};

use crate::support::{GOOD, GRAPH, files, known};

/// Far more than it takes, for slow machines.
const SOON: Duration = Duration::from_secs(5);

fn read(bytes: &[u8]) {
    let started = Instant::now();
    match Workflow::parse_bytes(bytes, &files(), &known()) {
        Ok(parsed) => {
            assert!(parsed.workflow.graph().is_ok());
            let again = Workflow::parse(
                &parsed.workflow.canonical_json(),
                &NoFiles,
                &Known { workflows: None, ..known() },
            );
            let again = again.map(|again| again.workflow.version());
            assert_eq!(again, Ok(parsed.workflow.version()));
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            let text = String::from_utf8_lossy(bytes);
            for problem in problems {
                assert!(problem.line > 0 && problem.column > 0, "{problem}");
                let _ = problem.render(&text);
            }
        }
    }
    assert!(started.elapsed() < SOON, "took {:?}", started.elapsed());
}

/// On a stack as small as a worker thread's.
fn read_on_a_worker(text: String) {
    let reader = std::thread::Builder::new().stack_size(2 << 20);
    let ended = reader.spawn(move || read(text.as_bytes())).map(std::thread::JoinHandle::join);
    assert!(matches!(ended, Ok(Ok(()))));
}

#[derive(Clone, Debug)]
enum Change {
    Delete,
    Duplicate,
    Replace(String),
}

fn changes() -> impl Strategy<Value = Vec<(usize, usize, Change)>> {
    let change = prop_oneof![
        Just(Change::Delete),
        Just(Change::Duplicate),
        prop::sample::select(vec![
            ":",
            "- ",
            "\n",
            "  ",
            "[",
            "]",
            "{",
            "}",
            "&a ",
            "*a",
            "!!x ",
            "'",
            "\"",
            "|",
            ">",
            "?",
            "#",
            "~",
            "0",
            "-1",
            "1e9",
            "venue",
            "#/types/SpecialistOutput",
            "$ref",
            "output",
            "workflow",
            "\t",
            "\u{85}",
            "\u{2028}",
            "é",
            "%",
            "---",
            "...",
            "<<",
            "(",
            ".",
            "==",
        ])
        .prop_map(|text| Change::Replace(text.to_owned())),
        "\\PC{0,8}".prop_map(Change::Replace),
    ];
    prop::collection::vec((0_usize..2000, 0_usize..40, change), 1..6)
}

fn apply(text: &str, changes: &[(usize, usize, Change)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, length, change) in changes {
        let from = at % (chars.len() + 1);
        let to = (from + length).min(chars.len());
        let slice: Vec<char> = chars[from..to].to_vec();
        let new: Vec<char> = match change {
            Change::Delete => Vec::new(),
            Change::Duplicate => [slice.clone(), slice].concat(),
            Change::Replace(text) => text.chars().collect(),
        };
        chars.splice(from..to, new);
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    #[test]
    fn any_text(text in "[\\PC\n\t]{0,200}") {
        read(text.as_bytes());
    }

    #[test]
    fn yaml_like_text(text in "[-:?,\\[\\]{}#&*!|>'\"%@` \nab0~<.]{0,120}") {
        let _ = Tree::parse(&text);
        read(text.as_bytes());
    }

    #[test]
    fn changed_coordinators(changes in changes()) {
        read(apply(GOOD, &changes).as_bytes());
    }

    #[test]
    fn changed_graphs(changes in changes()) {
        read(apply(GRAPH, &changes).as_bytes());
    }

    #[test]
    fn changed_expressions(changes in changes()) {
        let when = apply("output.score > 3 && input.startsWith('a') || visits['x'] in [1, 2] ? true : {'a': 1}.a == 2u", &changes);
        let quoted = serde_json::to_string(&when).unwrap();
        read_on_a_worker(GRAPH.replace("output.good == true", &quoted));
    }
}

#[test]
fn large_files_of_one_kind() {
    let mega = 1024 * 1024;
    for piece in [
        "a: b\n",
        "[",
        "{",
        "- ",
        "? ",
        "&a ",
        "*a ",
        "\n",
        "'",
        "\"\\",
        ": ",
        "a\n",
        "- a\n",
        "a: [b]\n",
        "%a b\n",
        "|\n",
        ">",
        "!",
        "#",
        "[a, ",
        "{a, ",
        "- - - a\n",
        "é",
        "k: &k v\n",
        "[]\n",
        "{a: {b: ",
    ] {
        let text = piece.repeat(mega / piece.len());
        read(text.as_bytes());
        read(format!("agents: {text}").as_bytes());
        read(format!("workflow: a\nagents:\n  x: |\n    {text}").as_bytes());
    }
    let lines = |count: usize, line: &dyn Fn(usize) -> String| -> String {
        (0..count).map(line).collect::<Vec<_>>().join("\n")
    };
    read(lines(60_000, &|n| format!("k{n}: 1")).as_bytes());
    let agents = lines(15_001, &|n| format!("  a{n}: {{ instructions: x }}"));
    let head = "workflow: a\npattern: sequential\nsequential: { agents: [a0] }\nagents:\n";
    read(format!("{head}{agents}").as_bytes());
    let edges = lines(15_000, &|n| format!("  - {{ from: a{n}, to: a{} }}", n + 1));
    let head = "workflow: a\npattern: graph\nstart: a0\nagents:\n";
    read(format!("{head}{agents}\nedges:\n{edges}\n").as_bytes());
}

#[test]
fn long_expressions() {
    for piece in [
        "a+",
        "output.a+",
        "a.",
        "a&&",
        "a||",
        "!",
        "-",
        "a?b:",
        "(",
        "[",
        "{",
        "a[",
        "x(",
        "'a'+",
        "1<",
        ".a",
        "a,",
    ] {
        let source = piece.repeat(4000 / piece.len()) + "a";
        let text = GRAPH.replace("output.good == true", &serde_json::to_string(&source).unwrap());
        read_on_a_worker(text);
    }
}
