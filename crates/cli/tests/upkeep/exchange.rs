//! `signoff export` and `signoff import`.

use serde_json::json;

use crate::kept::Kept;
use crate::support::{PARTY, text};

/// A run that waits for its first answer, exported to a file of that name.
async fn exported(kept: &Kept, file: &str, more: &[&str]) -> (String, String) {
    let server = kept.serve();
    let run = server.start("event_planner", PARTY).await;
    let request = server.pending(&run).await;
    let path = kept.place.path(file);
    kept.run(&[&["export", &run, "-o", path.to_str().unwrap()], more].concat()).exits(0);
    (run, request)
}

#[tokio::test]
async fn a_parked_run_goes_on_where_it_is_imported() {
    for (from, to) in [
        (Kept::in_sqlite(), Kept::in_postgres()),
        (Kept::in_postgres(), Kept::in_sqlite()),
        (Kept::in_sqlite(), Kept::in_sqlite()),
    ] {
        let (run, request) = exported(&from, "run.jsonl", &["--move"]).await;
        let file = from.place.path("run.jsonl");
        let file = file.to_str().unwrap();
        let old = from.serve();
        let (_, there) = old.get(&format!("/v1/runs/{run}")).await;
        assert_eq!(there["status"], "cancelled", "{there}");
        let answer = json!({ "decision": "respond", "content": "The Glasshouse" });
        assert_ne!(old.decide(&request, &answer).await.0, 200, "it is answered elsewhere");
        let server = to.serve();
        let taken = to.run(&["import", file, "--json"]).exits(0).json();
        assert_eq!((&taken["run"], &taken["status"]), (&json!(run), &json!("waiting")));
        assert_eq!(server.pending(&run).await, request);
        let again = to.run(&["import", file]).exits(0);
        assert!(again.stdout.contains("is here already: waiting"), "{again:?}");
        let done = server.answer_party(&run).await;
        assert_eq!(done["status"], "completed", "{done}");
        assert!(done["output"].to_string().contains("Glasshouse"), "{done}");
        let back = from.run(&["import", file]).exits(0);
        assert!(back.stdout.contains("is here already: cancelled"), "{back:?}");
        assert!(back.stderr.contains("does not come back"), "{back:?}");
        let late = to.run(&["import", file]).exits(0);
        assert!(late.stdout.contains("is here already: completed"), "{late:?}");
        // One answer for each question, whatever store it was given in.
        let journal = server.journal(&run).await;
        assert_eq!(journal.iter().filter(|it| it["type"] == "decided").count(), 3);
        for kept in [&from, &to] {
            kept.run(&["audit", "verify"]).exits(0);
            assert_eq!(kept.run(&["doctor", "--json"]).exits(0).json()["state"], "ok");
        }
    }
}

#[tokio::test]
async fn a_conversation_comes_along() {
    let (from, to) = (Kept::in_sqlite(), Kept::in_sqlite());
    let server = from.serve();
    let body = json!({ "workflow": "ask", "input": "one", "conversation": "talk" });
    let first = text(&server.post("/v1/runs", &body).await.1["id"]);
    let request = server.pending(&first).await;
    server.decide(&request, &json!({ "decision": "approve" })).await;
    server.at_rest(&first).await;
    let body = json!({ "workflow": "ask", "input": "two", "conversation": "talk" });
    let second = text(&server.post("/v1/runs", &body).await.1["id"]);
    server.pending(&second).await;
    let file = from.run(&["export", &second]).exits(0);
    assert!(file.stderr.contains("--move"), "{file:?}");
    std::fs::write(to.place.path("run.jsonl"), &file.stdout).unwrap();
    let said = to.run(&["import", "run.jsonl"]).exits(0);
    assert!(said.stdout.contains("waiting, with 1 more"), "{said:?}");
    let server = to.serve();
    assert_eq!(server.at_rest(&first).await["status"], "completed");
    let request = server.pending(&second).await;
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    assert_eq!(server.at_rest(&second).await["status"], "completed");
}

#[tokio::test]
async fn files_that_are_not_whole_are_refused() {
    let (from, to) = (Kept::in_sqlite(), Kept::in_sqlite());
    let (run, _) = exported(&from, "run.jsonl", &[]).await;
    let good = std::fs::read_to_string(from.place.path("run.jsonl")).unwrap();
    let cut = good.split_inclusive('\n').take(3).collect::<String>();
    for (content, problem) in [
        (String::new(), "ends early"),
        ("{}\n".to_owned(), "line 1"),
        (cut, "ends early"),
        (good.replace("30 people", "31 people"), "it was changed"),
        (good.replace(r#""version":1,"#, r#""version":2,"#), "it has version 2"),
        (good.trim_end().to_owned(), "it was cut"),
        (good.replacen("{\"run\"", "{\"ruin\"", 1), "line"),
    ] {
        std::fs::write(to.place.path("bad.jsonl"), content).unwrap();
        let said = to.run(&["import", "bad.jsonl"]).exits(2);
        assert!(said.stderr.contains(problem), "{problem}: {said:?}");
    }
    assert!(to.run(&["runs", "--json"]).exits(0).stdout.is_empty());
    // One of that name that went another way.
    std::fs::write(to.place.path("run.jsonl"), &good).unwrap();
    to.run(&["import", "run.jsonl"]).exits(0);
    let database = rusqlite::Connection::open(to.place.path(".signoff/signoff.db")).unwrap();
    let other = "UPDATE journal SET body = CAST(replace(CAST(body AS TEXT), '30 people', '77 people') AS BLOB)";
    database.execute_batch(other).unwrap();
    let said = to.run(&["import", "run.jsonl"]).exits(1);
    assert!(said.stderr.contains("its journal is another"), "{said:?}");
    let part = from.run(&["export", &run, "--move"]).exits(2);
    assert!(part.stderr.contains("--move needs a file"), "{part:?}");
    let mode = std::fs::metadata(from.place.path("run.jsonl")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
    assert_eq!(mode & 0o077, 0, "what people said is for its owner");
}
