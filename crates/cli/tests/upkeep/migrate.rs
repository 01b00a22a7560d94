//! `signoff migrate`: from SQLite to PostgreSQL, while runs wait.

use serde_json::{Value, json};
use signoff_testkit::postgres;

use crate::kept::{Kept, said};
use crate::support::{PARTY, Place};

#[tokio::test]
async fn parked_runs_go_on_in_postgres() {
    let from = Kept::in_sqlite();
    let server = from.serve();
    let parked = server.start("event_planner", PARTY).await;
    let request = server.pending(&parked).await;
    let comment = json!({ "text": "later" });
    server.post(&format!("/v1/requests/{request}/comment"), &comment).await;
    let (status, _) = server.post("/v1/grants", &json!({ "within": "1h" })).await;
    assert_eq!(status, 201);
    let over = server.start("ask", "hi").await;
    let answered = server.pending(&over).await;
    server.decide(&answered, &json!({ "decision": "approve" })).await;
    server.at_rest(&over).await;
    let audit = server.read("/v1/audit").await;
    let address = postgres::fresh();
    let migrate = || said(&mut from.command(&["migrate", "--to", &address, "--json"]));
    let refused = migrate().exits(1);
    assert!(refused.stderr.contains("is open in another process"), "{refused:?}");
    drop(server.stop().exits(0));

    let done = migrate().exits(0).json();
    let rows = |table: &str| {
        let found = done["tables"].as_array().unwrap().iter().find(|it| it["table"] == table);
        found.unwrap_or_else(|| panic!("{table}: {done}"))["rows"].as_u64().unwrap()
    };
    assert_eq!(
        (rows("runs") >= 2, rows("requests"), rows("notes"), rows("grants")),
        (true, 2, 1, 1)
    );
    assert!(rows("journal") > 0 && rows("definitions") > 0 && rows("audit") > 1, "{done}");
    let closed = from.run(&["runs"]).exits(2);
    assert!(closed.stderr.contains("carried over to postgres://"), "{closed:?}");
    let again = migrate().exits(1);
    assert!(again.stderr.contains("carried over"), "{again:?}");

    let to = Kept { place: Place::new(), store: Some(address) };
    let report = to.run(&["doctor", "--json"]).exits(0).json();
    assert_eq!(report["state"], "ok", "{report}");
    to.run(&["audit", "verify"]).exits(0);
    let server = to.serve();
    assert_eq!(server.read("/v1/audit").await, audit, "the chain is the same, and goes on");
    assert_eq!(server.pending(&parked).await, request);
    let done = server.answer_party(&parked).await;
    assert_eq!(done["status"], "completed", "{done}");
    let new = server.start("ask", "hi").await;
    server.pending(&new).await;
    to.run(&["audit", "verify"]).exits(0);
    assert_eq!(to.run(&["doctor", "--json"]).exits(0).json()["state"], "ok");
}

#[tokio::test]
async fn what_is_not_empty_is_left_alone_and_an_unfinished_end_is_made_up_for() {
    let (from, other) = (Kept::in_sqlite(), Kept::in_postgres());
    let server = from.serve();
    let run = server.start("ask", "hi").await;
    server.pending(&run).await;
    drop(server.stop().exits(0));
    let busy = other.serve();
    let theirs = busy.start("ask", "hi").await;
    busy.pending(&theirs).await;
    let used = other.store.clone().unwrap();
    let refused = from.run(&["migrate", "--to", &used]).exits(1);
    assert!(refused.stderr.contains("not empty"), "{refused:?}");
    assert_eq!(from.run(&["runs", "--json"]).exits(0).stdout.lines().count(), 1, "still open");
    // Killed after everything was committed there, and before the file was closed for good.
    let (address, file) = (postgres::fresh(), from.place.path(".signoff/signoff.db"));
    from.run(&["migrate", "--to", &address]).exits(0);
    let database = rusqlite::Connection::open(file).unwrap();
    database.execute_batch("DELETE FROM schema_migrations WHERE version > 100").unwrap();
    drop(database);
    let again = from.run(&["migrate", "--to", &address, "--json"]).exits(0).json();
    assert_eq!(again["was_there"], Value::Bool(true), "{again}");
    from.run(&["runs"]).exits(2);
}

#[test]
fn what_is_typed_wrong_is_said() {
    let kept = Kept::in_sqlite();
    for (to, problem) in [
        ("sqlite:other.db", "from SQLite to PostgreSQL only"),
        ("mysql://me:hush@host/db", "--to: `mysql://me@host/db` is not a store"),
        ("postgres://me:hush@127.0.0.1:1/none", "there is no such file"),
    ] {
        let said = kept.run(&["migrate", "--to", to]).exits(2);
        assert!(said.stderr.contains(problem), "{problem}: {said:?}");
        assert!(!said.stderr.contains("hush"), "{said:?}");
    }
}
