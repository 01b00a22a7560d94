//! Databases of earlier versions: they open, are brought up to date, and what waits in them goes on.

use std::io::Read as _;

use serde_json::{Value, json};

use crate::kept::Kept;
use crate::support::{Client, text};

/// A folder with a database that an earlier version wrote.
fn written_by(schema: u32) -> Kept {
    let kept = Kept::in_sqlite();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/previous");
    let packed = std::fs::File::open(format!("{folder}/schema-{schema}.db.gz")).unwrap();
    let mut database = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut database).unwrap();
    std::fs::create_dir(kept.place.path(".signoff")).unwrap();
    let file = kept.place.path(".signoff/signoff.db");
    std::fs::write(&file, database).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, private).unwrap();
    kept
}

/// Answers whatever a run of the event planner asks, until it asks no more.
async fn answer_all(server: &Client, run: &str) -> Value {
    loop {
        let found = server.at_rest(run).await;
        let Some(request) = found["pending"][0].as_str() else { return found };
        let asked = server.read(&format!("/v1/requests/{request}")).await;
        let decision = match asked["kind"].as_str().unwrap() {
            "selection" => json!({ "decision": "respond", "content": "The Glasshouse" }),
            "approval" => json!({ "decision": "approve" }),
            _ => json!({ "decision": "respond", "content": "vegan" }),
        };
        let (status, decided) = server.decide(request, &decision).await;
        assert_eq!(status, 200, "{decided}");
    }
}

#[tokio::test]
async fn what_earlier_versions_wrote_goes_on() {
    for schema in [1, 5] {
        let kept = written_by(schema);
        let report = kept.run(&["doctor", "--json"]).exits(0).json();
        let warned = report["checks"].as_array().unwrap().iter().find(|it| it["check"] == "schema");
        assert_eq!(warned.unwrap()["state"], "warn", "{report}");
        let server = kept.serve();
        let runs = server.read("/v1/runs").await;
        let runs = runs["data"].as_array().unwrap().clone();
        let standing = |status: &str| runs.iter().filter(|it| it["status"] == status).count();
        assert_eq!((runs.len(), standing("waiting"), standing("completed")), (3, 2, 1), "{runs:?}");
        let pending = server.read("/v1/requests?status=pending").await;
        assert_eq!(pending["data"].as_array().unwrap().len(), 2, "{pending}");
        kept.run(&["audit", "verify"]).exits(0);
        let mut plans = 0;
        for run in &runs {
            let id = text(&run["id"]);
            let before = server.journal(&id).await;
            let done = answer_all(&server, &id).await;
            assert_eq!(done["status"], "completed", "{done}");
            plans += usize::from(done["output"].to_string().contains("Glasshouse"));
            let after = server.journal(&id).await;
            assert_eq!(after[..before.len()], before[..], "what was written stays as it is");
            // What was done before is not done again: each effect stands in the journal once.
            let effects = |entry: &Value| {
                (entry["type"] == "effect")
                    .then(|| format!("{}{}", entry["activation"], entry["key"]))
            };
            let mut keys: Vec<String> = after.iter().filter_map(effects).collect();
            let count = keys.len();
            keys.sort();
            keys.dedup();
            assert_eq!(keys.len(), count, "{after:?}");
        }
        assert_eq!(plans, 2, "what was answered is in what came of it");
        kept.run(&["audit", "verify"]).exits(0);
        drop(server.stop().exits(0));
        assert_eq!(kept.run(&["doctor", "--json"]).exits(0).json()["state"], "ok");
    }
}

#[tokio::test]
async fn what_earlier_versions_wrote_is_carried_over() {
    let kept = written_by(1);
    let address = signoff_testkit::postgres::fresh();
    kept.run(&["migrate", "--to", &address]).exits(0);
    let to = Kept { place: crate::support::Place::new(), store: Some(address) };
    let server = to.serve();
    for run in server.read("/v1/runs").await["data"].as_array().unwrap().clone() {
        let done = answer_all(&server, &text(&run["id"])).await;
        assert_eq!(done["status"], "completed", "{done}");
    }
    to.run(&["audit", "verify"]).exits(0);
}
