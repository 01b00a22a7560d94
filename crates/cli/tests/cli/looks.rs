//! What people see.

use crate::support::{PARTY, Place};

fn redacted(text: &str, place: &Place) -> String {
    let run = place.last_run();
    let unique = run.strip_prefix("run_").unwrap();
    text.replace(unique, "ID")
}

#[test]
fn help() {
    let place = Place::new();
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help_serve", &["serve", "--help"]),
        ("help_run", &["run", "--help"]),
        ("help_inbox_answer", &["inbox", "answer", "-h"]),
        ("help_fork", &["fork", "-h"]),
    ] {
        insta::assert_snapshot!(name, place.run(args).exits(0).stdout);
    }
}

#[test]
fn requests_as_people_read_them() {
    let place = Place::new();
    let output = place.run_with(&["run", "event_planner", PARTY], "2\n?\n").exits(3);
    insta::assert_snapshot!("requests", redacted(&output.stderr, &place));
}

#[test]
fn schemas_and_completions_are_printed() {
    let place = Place::new();
    for of in ["workflow", "config"] {
        let schema = place.run(&["schema", of]).exits(0).stdout;
        assert!(serde_json::from_str::<serde_json::Value>(&schema).unwrap()["$id"].is_string());
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.run(&["completions", shell]).exits(0).stdout.contains("no-prompt"));
    }
}
