//! Every sort of bad file: the place is named, nothing panics.

use crate::support::{Place, asking};

fn uses(id: &str, other: &str) -> String {
    format!(
        "workflow: {id}\npattern: graph\nstart: sub\nexecutors:\n  sub: {{ workflow: {other} }}\n"
    )
}

/// Checks a file and tries to run it; both must name the place and end with 2.
#[track_caller]
fn refused(place: &Place, file: &str, expected: &str) {
    for args in [&["check", file][..], &["run", file, "hi"]] {
        let output = place.run(args).exits(2);
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(
            said.contains(expected),
            "{args:?} should say {expected:?}:\n{}",
            &said[..said.len().min(2000)]
        );
    }
}

#[test]
fn each_class_of_bad_file_is_refused_with_its_place() {
    let place = Place::new();
    place.write("empty.yaml", "");
    refused(&place, "empty.yaml", "empty.yaml:1:1: the file is empty");
    place.write("large.yaml", vec![b'a'; 10 * 1024 * 1024]);
    refused(&place, "large.yaml", "large.yaml: the file has 10485760 bytes");
    place.write("binary.yaml", [0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe]);
    refused(&place, "binary.yaml", "binary.yaml:1:");
    place.write("nul.yaml", "workflow: x\0y\n");
    refused(&place, "nul.yaml", "nul.yaml:1:12:");
    place.write("syntax.yaml", "workflow: [\n");
    refused(&place, "syntax.yaml", "syntax.yaml:");
    place.write("types.yaml", "workflow: 7\npattern: [sequential]\nagents: no\n");
    refused(&place, "types.yaml", "types.yaml:1:11:");
    for taken in ["ask_human", "request_approval"] {
        place.write("taken.yaml", asking(taken, "approval"));
        let problem = format!("taken.yaml:1:11: `{taken}` is a workflow that is always there");
        refused(&place, "taken.yaml", &problem);
    }
    let unknown = "workflow: x\npattern: sequential\nsequentail: { agents: [a] }\nagents:\n  a: { instructions: hi }\n";
    place.write("keys.yaml", unknown);
    refused(&place, "keys.yaml", "did you mean `sequential`?");
    place.write(
        "tools.yaml",
        unknown.replace("hi }", "hi, tools: [calender] }").replace("tail", "tial"),
    );
    refused(&place, "tools.yaml", "tools.yaml:5:");
    let bomb = "workflow: x\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a:\n    instructions: hi\n    output:\n      type: string\n      pattern: '(((a{1,99}){1,99}){1,99}){1,99}'\n";
    place.write("pattern.yaml", bomb);
    refused(&place, "pattern.yaml", "pattern.yaml:");
    let mut aliases = "workflow: x\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let repeated = vec![format!("*a{}", n - 1); 10].join(", ");
        aliases.push_str(
            &["a", &n.to_string(), ": &a", &n.to_string(), " [", &repeated, "]\n"].concat(),
        );
    }
    place.write("aliases.yaml", aliases);
    refused(&place, "aliases.yaml", "aliases.yaml:");
    place.write("deep.yaml", format!("workflow: {}", "[".repeat(100_000)));
    refused(&place, "deep.yaml", "deep.yaml:1:");
    place.write("prompt.yaml", "workflow: x\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: ../secret.md }\n");
    refused(&place, "prompt.yaml", "leads out of the folder");
    place.write("canned.yaml", "workflow: x\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: hi, tools: [t] }\ntools:\n  t:\n    description: d\n    replies:\n      - { reply: 1 }\n      - { when: '(', reply: 2 }\n");
    refused(&place, "canned.yaml", "canned.yaml:11:17:");
    refused(&place, "missing.yaml", "missing.yaml: there is no such file");
    std::fs::create_dir(place.path("folder.yaml")).unwrap();
    refused(&place, "folder.yaml", "folder.yaml: there is no workflow in this folder");
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_and_pipes_are_not_read() {
    let place = Place::new();
    place.write("secret.md", "secret");
    place.write("in/w.yaml", "workflow: x\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: p.md }\n");
    std::os::unix::fs::symlink(place.path("secret.md"), place.path("in/p.md")).unwrap();
    refused(&place, "in/w.yaml", "it is a link that leads out of the folder");
    refused(&place, "/dev/zero", "not a regular file");
}

#[test]
fn workflows_are_linked_across_files() {
    let place = Place::new();
    place.write("flows/a.yaml", uses("a", "b"));
    place.write("flows/b.yaml", uses("b", "a"));
    let output = place.run(&["check", "flows"]).exits(2);
    assert!(output.stdout.contains("in a circle"), "{}", output.stdout);
    let output = place.run(&["check", "flows/a.yaml"]).exits(2);
    assert!(output.stdout.contains("a.yaml:5:20: there is no workflow `b`"), "{}", output.stdout);
    place.run(&["run", "a", "x", "--workflows", "flows"]).exits(2);
    place.write("flows/b.yaml", asking("b", "input"));
    let output = place.run(&["check", "flows"]).exits(0);
    assert_eq!(output.stdout.lines().count(), 2, "{}", output.stdout);
    assert!(output.stdout.starts_with("ok: a (1 executor, graph) sha256:"), "{}", output.stdout);
    place.write("flows/c.yaml", asking("b", "input"));
    let output = place.run(&["check", "flows", "--json"]).exits(2);
    let problems: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(problems.as_array().unwrap().len(), 1);
    assert_eq!((problems[0]["line"].as_u64(), problems[0]["column"].as_u64()), (Some(1), Some(11)));
    assert!(problems[0]["file"].as_str().unwrap().ends_with("c.yaml"), "{problems}");
}

#[test]
fn scripts_are_checked_with_their_workflow() {
    let place = Place::new();
    place.write("w/workflow.yaml", "workflow: x\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: hi }\n");
    for (script, expected) in [
        ("rules:\n  - agent: a\n    when: '('\n    text: hi\n", "script.yaml:3:11:"),
        ("- agent: a\n  shout: hi\n", "script.yaml:1:3:"),
        ("- text: '{{ ('\n", "script.yaml:1:"),
        ("[", "script.yaml:"),
    ] {
        place.write("w/script.yaml", script);
        let output = place.run(&["check", "w"]).exits(2);
        assert!(output.stdout.contains(expected), "{script}: {}", output.stdout);
    }
}

#[test]
fn the_example_on_disk_is_good() {
    let place = Place::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workflows");
    let output = place.run(&["check", examples]).exits(0);
    assert!(
        output.stdout.contains("ok: event_planner (5 agents, coordinator) sha256:"),
        "{}",
        output.stdout
    );
    assert_eq!(place.run(&["check", examples, "--json"]).exits(0).stdout, "[]\n");
}

#[test]
fn hostile_text_does_not_reach_the_terminal() {
    let place = Place::new();
    place.write("w.yaml", "workflow: x\npattern: \"a\\e[31mb\\u202ec\"\n");
    let output = place.run(&["check", "w.yaml"]).exits(2);
    assert!(!output.stdout.contains(['\u{1b}', '\u{202e}']), "{:?}", output.stdout);
}
