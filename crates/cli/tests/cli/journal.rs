//! Reading journals, and going another way from a place in one.

use crate::support::{PARTY, Place};

fn finished() -> Place {
    let place = Place::new();
    place.write("answers.yaml", "- 1\n- yes\n- none\n");
    place.run(&["run", "event_planner", PARTY, "--answers", "answers.yaml"]).exits(0);
    place
}

#[test]
fn a_journal_is_a_table_or_json_lines() {
    let place = finished();
    let table = place.run(&["journal", "last"]).exits(0).stdout;
    assert!(table.lines().next().unwrap().contains("SEQ"), "{table}");
    assert!(
        table.contains("asked") && table.contains("answered: Union Hall (for venue)"),
        "{table}"
    );
    let all = place.run(&["journal", "last", "--json"]).exits(0).events();
    assert_eq!(all.len(), table.lines().count() - 1);
    assert_eq!(all[0]["type"], "started");
    assert_eq!(all.last().unwrap()["type"], "run_completed");
    let some = place.run(&["journal", "last", "--json", "--after", "10"]).exits(0).events();
    assert_eq!((some[0]["seq"].as_u64(), some.len()), (Some(11), all.len() - 10));
    assert_eq!(place.run(&["audit", "verify"]).exits(0).stdout, "ok: 6 lines, none changed\n");
    let lines = place.run(&["audit", "export"]).exits(0).events();
    for line in &lines {
        let (by, said) = (&line["by"], &line["decision"]);
        let asked = said["decision"] == "requested";
        assert_eq!((by == "system", by == "local"), (asked, !asked), "{line}");
        assert_eq!(said["channel"] == "cli", !asked, "by which way it came: {line}");
    }
    let table = place.run(&["audit", "export", "--csv"]).exits(0).stdout;
    let script = "import csv, json, sys; print(json.dumps(list(csv.DictReader(sys.stdin))))";
    let rows = read_by_python(script, &table);
    assert_eq!(rows.as_array().unwrap().len(), lines.len());
    for (row, line) in rows.as_array().unwrap().iter().zip(&lines) {
        assert_eq!((&row["by"], &row["hash"]), (&line["by"], &line["hash"]));
        let details: serde_json::Value =
            serde_json::from_str(row["details"].as_str().unwrap()).unwrap();
        assert_eq!(details, line["decision"]);
        assert_eq!(row["decision"], line["decision"]["decision"]);
    }
}

#[test]
fn a_fork_decides_otherwise_and_leaves_the_old_run_alone() {
    let place = finished();
    let old = place.last_run();
    let journal = place.run(&["journal", &old, "--json"]).exits(0);
    let decided = journal.events().into_iter().find(|event| event["type"] == "decided").unwrap();
    let at = decided["seq"].to_string();
    place.write("later.yaml", "- yes\n- vegan\n");
    let mut args = vec!["fork", &old, "--at", &at, "--answer", "2", "--answers", "later.yaml"];
    args.extend(["--reason", "what if it rains?"]);
    let output = place.run(&args).exits(0);
    assert!(output.stdout.contains("The Glasshouse"), "{}", output.stdout);
    let new = place.last_run();
    assert_ne!(new, old);
    assert!(output.stderr.contains(&new), "{}", output.stderr);
    let searches = |run: &str| {
        let table = place.run(&["journal", run]).exits(0).stdout;
        table.lines().filter(|line| line.contains("web_search:") && line.contains("venue")).count()
    };
    assert_eq!(searches(&new), 1, "the search is not done again");
    let begun = &place.run(&["journal", &new, "--json"]).exits(0).events()[0];
    assert_eq!(begun["reason"], "what if it rains?", "{begun}");
    assert_eq!(place.run(&["journal", &old, "--json"]).exits(0).stdout, journal.stdout);

    let json = r#"{"decision":"respond","content":"Union Hall"}"#;
    let args = ["fork", &old, "--at", &at, "--decision", json, "--no-prompt", "queue", "--json"];
    let output = place.run(&args).exits(3);
    assert_eq!(output.events()[0]["seq"].as_u64(), decided["seq"].as_u64(), "only what is new");
    for (args, says) in [
        (vec!["--at", "9999"], "not that long"),
        (vec!["--at", &at, "--answer", "the moon"], "is not one of"),
        (vec!["--at", "3", "--answer", "1"], "no request waits at 3"),
        (vec!["--at", &at, "--decision", "{"], "--decision:"),
        (vec!["--at", &at, "--decision", r#"{"decision":"approve"}"#], "not allowed"),
    ] {
        let output = place.run(&[&["fork", &old][..], &args].concat()).exits(2);
        assert!(output.stderr.contains(says), "{args:?}: {}", output.stderr);
    }
}

/// What a script makes of a text.
fn read_by_python(script: &str, text: &str) -> serde_json::Value {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let mut python = Command::new("python3");
    let piped = python.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = piped.spawn().unwrap();
    python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    serde_json::from_slice(&python.wait_with_output().unwrap().stdout).unwrap()
}
