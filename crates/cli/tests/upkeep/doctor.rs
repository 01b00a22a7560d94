//! `signoff doctor`.

use serde_json::Value;
use signoff_testkit::postgres;

use crate::kept::{Kept, said};

/// How a check came out, and what it found.
#[track_caller]
fn check<'a>(report: &'a Value, name: &str) -> (&'a str, &'a str) {
    let found = report["checks"].as_array().unwrap().iter().find(|it| it["check"] == name);
    let found = found.unwrap_or_else(|| panic!("{name}: {report}"));
    (found["state"].as_str().unwrap(), found["found"].as_str().unwrap())
}

#[tokio::test]
async fn a_store_that_is_well_is_said_to_be() {
    for kept in Kept::both() {
        let server = kept.serve();
        let run = server.start("ask", "hi").await;
        server.pending(&run).await;
        let report = kept.run(&["doctor", "--json"]).exits(0).json();
        assert_eq!(report["state"], "ok", "{report}");
        for name in ["config", "variables", "parts", "policy", "workflows", "schema", "store"] {
            assert_eq!(check(&report, name).0, "ok", "{report}");
        }
        for name in ["integrity", "audit", "runs", "timers", "deliveries", "users"] {
            assert_eq!(check(&report, name).0, "ok", "{report}");
        }
        assert!(check(&report, "store").1.contains("runs 1, over 0, requests that wait 1"));
        // SQLite has no clock of its own, PostgreSQL no disk that can be seen from here.
        let more = if kept.store.is_some() { "clock" } else { "disk" };
        assert_eq!(check(&report, more).0, "ok", "{report}");
        let shown = kept.run(&["doctor"]).exits(0).stdout;
        assert!(shown.starts_with("STATE  CHECK") && shown.ends_with("All is well.\n"), "{shown}");
    }
}

#[test]
fn a_folder_without_anything_is_well_and_stays_empty() {
    let kept = Kept::in_sqlite();
    let report = kept.run(&["doctor", "--json"]).exits(0).json();
    assert!(check(&report, "store").1.contains("not there yet"), "{report}");
    assert!(!kept.place.path(".signoff/signoff.db").exists());
}

#[test]
fn what_is_wrong_with_files_is_said_each_with_what_to_do() {
    let kept = Kept::in_sqlite();
    let config = "policy = 'gates.yaml'\n[models.big]\nprovider = 'openai-chat'\nmodel = 'm'\n\
        base_url = 'http://models.example/v1'\napi_key_env = 'NO_SUCH_KEY_HERE'\n";
    std::fs::write(kept.place.path("signoff.toml"), config).unwrap();
    std::fs::write(kept.place.path("gates.yaml"), "gates:\n  - { nam: x }\n").unwrap();
    std::fs::write(kept.place.path("flows/bad.yaml"), "workflow: bad\npattern: nope\n").unwrap();
    let report = kept.run(&["doctor", "--json"]).exits(1).json();
    assert_eq!(report["state"], "fail");
    let (state, found) = check(&report, "variables");
    assert_eq!((state, found), ("fail", "not set: NO_SUCH_KEY_HERE (model big)"));
    assert_eq!(check(&report, "policy").0, "fail");
    assert_eq!(check(&report, "tls").0, "warn");
    let (state, found) = check(&report, "workflows");
    assert!(state == "fail" && found.contains("bad.yaml"), "{report}");
    let hints = report["checks"].as_array().unwrap().iter();
    assert!(hints.filter(|it| it["state"] != "ok").all(|it| it["hint"].is_string()), "{report}");
    let shown = kept.run(&["doctor"]).exits(1).stdout;
    assert!(shown.contains("hint:") && shown.contains("to look at."), "{shown}");
    std::fs::write(kept.place.path("signoff.toml"), "modles = 1").unwrap();
    let report = kept.run(&["doctor", "--json"]).exits(1).json();
    assert_eq!(check(&report, "config").0, "fail");
}

#[tokio::test]
async fn a_changed_audit_and_a_cut_journal_are_found() {
    let kept = Kept::in_sqlite();
    let server = kept.serve();
    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    server.decide(&request, &serde_json::json!({ "decision": "approve" })).await;
    server.at_rest(&run).await;
    drop(server.stop().exits(0));
    let database = rusqlite::Connection::open(kept.place.path(".signoff/signoff.db")).unwrap();
    database.execute_batch("UPDATE audit SET by = 'eve'").unwrap();
    let cut = "DELETE FROM journal WHERE id = (SELECT max(id) FROM journal)";
    database.execute_batch(cut).unwrap();
    let report = kept.run(&["doctor", "--json"]).exits(1).json();
    assert_eq!(check(&report, "audit").0, "fail", "{report}");
    let (state, found) = check(&report, "integrity");
    assert!(state == "fail" && found.contains("1 runs whose journal"), "{report}");
}

#[tokio::test]
async fn runs_that_nobody_works_on_are_found() {
    let kept = Kept::in_sqlite();
    let server = kept.serve();
    let run = server.start("ask", "hi").await;
    server.pending(&run).await;
    drop(server.stop().exits(0));
    let database = rusqlite::Connection::open(kept.place.path(".signoff/signoff.db")).unwrap();
    database.execute_batch("UPDATE runs SET ready = 1, updated_at = 1").unwrap();
    let timer = "INSERT INTO timers (due_at, run, what, number, key) VALUES (1, 1, 'run', 0, '')";
    database.execute_batch(timer).unwrap();
    let report = kept.run(&["doctor", "--json"]).exits(0).json();
    let (state, found) = check(&report, "runs");
    assert!(state == "warn" && found.contains(&run), "{report}");
    assert_eq!(check(&report, "timers").0, "warn", "{report}");
    // A database that is older is told of and left as it is.
    database.execute_batch("DELETE FROM schema_migrations WHERE version > 7").unwrap();
    let report = kept.run(&["doctor", "--json"]).exits(0).json();
    let (state, found) = check(&report, "schema");
    assert!(state == "warn" && found.starts_with("version 7;"), "{report}");
    let version: i64 = database
        .query_row("SELECT max(version) FROM schema_migrations", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 7);
}

#[test]
fn a_database_that_is_not_there_is_said_without_its_password() {
    let kept = Kept::in_sqlite();
    let address = "postgres://me:hush@127.0.0.1:1/none";
    let said = said(kept.command(&["doctor"]).env("SIGNOFF_STORE", address)).exits(1);
    assert!(said.stdout.contains("postgres://me@127.0.0.1:1/none"), "{said:?}");
    assert!(said.stdout.contains("look whether PostgreSQL runs"), "{said:?}");
    assert!(!format!("{said:?}").contains("hush"), "{said:?}");
    let wrong = postgres::fresh().replace("/test", "/nothing_like_test");
    let said = crate::kept::said(kept.command(&["doctor", "--json"]).env("SIGNOFF_STORE", wrong));
    assert_eq!(check(&said.exits(1).json(), "store").0, "fail");
}
