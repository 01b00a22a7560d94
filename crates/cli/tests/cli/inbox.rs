//! Answering from a second terminal.

use crate::support::{PARTY, Place, Talk};

fn parked() -> Place {
    let place = Place::new();
    place.run(&["run", "event_planner", PARTY, "--no-prompt", "queue"]).exits(3);
    place
}

#[test]
fn what_waits_is_listed_shown_and_answered() {
    let place = parked();
    let id = place.inbox()[0]["id"].as_str().unwrap().to_owned();
    let table = place.run(&["inbox"]).exits(0).stdout;
    assert!(table.contains(&id) && table.contains("selection"), "{table}");
    for (filter, found) in [
        (["--kind", "selection"], 1),
        (["--kind", "approval"], 0),
        (["--workflow", "event_planner"], 1),
        (["--agent", "budget"], 0),
        (["--search", "three venues"], 1),
    ] {
        let args = [&["inbox", "list", "--json"][..], &filter].concat();
        assert_eq!(place.run(&args).exits(0).events().len(), found, "{filter:?}");
    }
    place.run(&["inbox", "list", "--kind", "riddle"]).exits(2);
    let shown = place.run(&["inbox", "show", &id]).exits(0).stdout;
    assert!(shown.contains("2  The Glasshouse") && shown.contains("accepted: 1"), "{shown}");
    assert!(shown.contains("said before:") && shown.contains(PARTY), "{shown}");
    place.run(&["inbox", "defer", &id, "2h", "--note", "after lunch", "--as", "bob"]).exits(0);
    let shown = place.run(&["inbox", "show", &id]).exits(0).stdout;
    assert!(shown.contains("bob deferred: after lunch"), "{shown}");
    let json = place.run(&["inbox", "show", &id, "--json"]).exits(0).stdout;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["id"], id.as_str());

    let wrong = place.run(&["inbox", "answer", &id, "the moon"]).exits(2);
    assert!(wrong.stderr.contains("accepted: 1 (Union Hall)"), "{}", wrong.stderr);
    let answered = place.run(&["inbox", "answer", &id, "2", "--as", "ada"]).exits(0);
    assert!(answered.stderr.contains("answered: The Glasshouse"), "{}", answered.stderr);
    assert_eq!(place.inbox()[0]["kind"], "approval", "the run went on to the next question");
    let again = place.run(&["inbox", "answer", &id, "2", "--as", "ada"]).exits(0);
    assert!(again.stderr.contains("decided so before"), "{}", again.stderr);
    let late = place.run(&["inbox", "answer", &id, "1", "--as", "bob"]).exits(2);
    assert!(late.stderr.contains("already decided by ada"), "{}", late.stderr);
    place.run(&["inbox", "answer", "nonsense", "1"]).exits(2);
    place.run(&["inbox", "answer", &id]).exits(2);
    place.run(&["inbox", "answer", &id, "1", "--as", "a\nb"]).exits(2);
}

#[test]
fn a_decision_can_be_left_for_others_to_act_on() {
    let place = parked();
    let id = place.inbox()[0]["id"].as_str().unwrap().to_owned();
    let json = r#"{"decision":"respond","content":"Union Hall"}"#;
    let args = ["inbox", "answer", &id, "--decision", json, "--no-drive", "--json"];
    let output = place.run(&args).exits(0);
    assert_eq!(output.events()[0]["decision"]["content"], "Union Hall");
    assert!(place.inbox().is_empty(), "nobody drives the run");
    place.run(&["resume", "last", "--no-prompt", "queue"]).exits(3);
    assert_eq!(place.inbox()[0]["kind"], "approval");
}

#[test]
fn a_waiting_process_notices_what_is_answered_elsewhere() {
    let place = Place::new();
    let mut talk = Talk::start(&place, &["run", "event_planner", PARTY, "--json"]);
    for answer in ["3", "yes", "halal"] {
        let pending = talk.until("request.pending");
        let id = pending["request"]["id"].as_str().unwrap();
        place.run(&["inbox", "answer", id, answer, "--as", "ada"]).exits(0);
    }
    let ended = talk.until("run.ended");
    assert!(ended["output"].as_str().unwrap().contains("Grand Meridian Ballroom"));
    assert_eq!(talk.end().0, 0);

    // The same for people, with the decisions taken but left to the waiting process.
    let mut talk = Talk::start(&place, &["run", "event_planner", PARTY]);
    for answer in ["1", "yes", "none"] {
        let id = loop {
            if let Some(pending) = place.inbox().first() {
                break pending["id"].as_str().unwrap().to_owned();
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        place.run(&["inbox", "answer", &id, answer, "--as", "ada", "--no-drive"]).exits(0);
    }
    let ended = talk.child.wait().unwrap();
    let (_, stdout, stderr) = talk.end();
    assert!(ended.success(), "{stderr}");
    assert!(stdout.contains("Union Hall"), "{stdout}");
    assert!(stderr.contains("already answered by ada"), "{stderr}");
}
