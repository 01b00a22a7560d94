//! A model that is asked how much can go wrong: it can only lead to asking, and so does its silence.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::gates::clerk;
use crate::policy::lines;
use crate::support::{Place, Server};

#[tokio::test]
async fn a_judge_can_only_lead_to_asking() {
    for (verdict, asks) in [
        (r#"'{"risk":0.9,"outcome":"allow","uncertainty":0,"rationale":"it is big"}'"#, true),
        (r#"'{"risk":0.1,"outcome":"allow","uncertainty":0,"rationale":"it is small"}'"#, false),
        (r#"'{"risk":0.1,"outcome":"deny","uncertainty":0,"rationale":"no"}'"#, true),
        (r"'this is fine'", true),
        (r#"'{"risk":"low"}'"#, true),
    ] {
        let place = Place::new();
        let gates = "  - { name: looks, when: action.tool == 'read_file', ask: smart }\nsmart: { judge: { threshold: 0.7 } }\n";
        let script = format!(
            "- {{ agent: judge, text: {verdict} }}\n\
             - {{ agent: clerk, turn: 1, call: [{{ tool: read_file, arguments: {{ path: a.txt }} }}] }}\n\
             - {{ agent: clerk, turn: 2, text: done }}\n"
        );
        std::fs::create_dir_all(place.path("workspace")).unwrap();
        std::fs::write(place.path("workspace/a.txt"), "x").unwrap();
        let server = clerk(&place, gates, &script);
        let run = server.start("clerk", "go").await;
        let rested = server.at_rest(&run).await;
        assert_eq!(rested["status"] == "waiting", asks, "{verdict}: {rested}");
        if asks {
            let request = server.pending(&run).await;
            let found = server.read(&format!("/v1/requests/{request}")).await;
            assert!(found["reasons"].to_string().contains("judge"), "{found}");
        }
    }
}

/// It clears only where the operator lets it, only what no gate insists on, and only if it is there and sure.
#[tokio::test]
async fn a_judge_clears_nothing_that_a_gate_insists_on() {
    let harmless = r#"'{"risk":0.1,"outcome":"allow","uncertainty":0,"rationale":"fine"}'"#;
    let risky = r#"'{"risk":0.9,"outcome":"allow","uncertainty":0,"rationale":"hm"}'"#;
    let (smart, always) = ("ask: smart", "ask: always");
    for (ask, judge, verdict, asks) in [
        (smart, "judge: { clears: true }", harmless, false),
        (smart, "judge: { clears: false }", harmless, true),
        (always, "judge: { clears: true }", harmless, true),
        (smart, "judge: { clears: true }", risky, true),
        (smart, "judge: { clears: true }", "'who knows'", true),
    ] {
        let place = Place::new();
        let gates = format!(
            "  - {{ name: looks, when: action.tool == 'read_file', {ask} }}\nsmart: {{ {judge} }}\n"
        );
        let script = format!(
            "- {{ agent: judge, text: {verdict} }}\n\
             - {{ agent: clerk, turn: 1, call: [{{ tool: read_file, arguments: {{ path: secret.txt }} }}] }}\n\
             - {{ agent: clerk, turn: 2, text: done }}\n"
        );
        std::fs::create_dir_all(place.path("workspace")).unwrap();
        std::fs::write(place.path("workspace/secret.txt"), "x").unwrap();
        let server = clerk(&place, &gates, &script);
        let run = server.start("clerk", "go").await;
        let rested = server.at_rest(&run).await;
        assert_eq!(rested["status"] == "waiting", asks, "{ask} {judge} {verdict}: {rested}");
        if !asks {
            let said = lines(&server).await;
            let cleared = said.iter().any(|line| line.to_string().contains("judge_cleared"));
            assert!(cleared, "it is on record: {said:?}");
        }
    }
}

/// A clerk who reads a file, about which nothing but the judge could speak; `judge` is its settings, `says` what it says.
fn judged(place: &Place, judge: &str, says: &str) -> Server {
    let gates = format!(
        "  - {{ name: looks, when: action.tool == 'read_file', ask: smart }}\nsmart: {{ judge: {{ {judge} }} }}\n"
    );
    let script = format!(
        "- {{ agent: judge, {says} }}\n\
         - {{ agent: clerk, turn: 1, call: [{{ tool: read_file, arguments: {{ path: a.txt }} }}] }}\n\
         - {{ agent: clerk, turn: 2, text: done }}\n"
    );
    std::fs::create_dir_all(place.path("workspace")).unwrap();
    std::fs::write(place.path("workspace/a.txt"), "x").unwrap();
    clerk(place, &gates, &script)
}

const HARMLESS: &str = r#"text: '{"risk":0,"outcome":"allow","uncertainty":0,"rationale":"fine"}'"#;

#[tokio::test]
async fn a_judge_that_takes_too_long_has_given_no_verdict() {
    for clears in ["false", "true"] {
        let place = Place::new();
        let late = format!("delay: 10m, {HARMLESS}");
        let server = judged(&place, &format!("timeout: 300ms, clears: {clears}"), &late);
        let since = Instant::now();
        let run = server.start("clerk", "go").await;
        let request = server.pending(&run).await;
        assert!(
            since.elapsed() >= Duration::from_millis(300),
            "it was waited for as long as it may take"
        );
        let found = server.read(&format!("/v1/requests/{request}")).await;
        let reasons = found["reasons"].to_string();
        assert!(reasons.contains("judge_failed"), "{found}");
        assert!(
            reasons.contains("300ms") && reasons.contains("a timeout is no verdict"),
            "{found}"
        );
        // It is not waited for again by whoever goes on with the run, and what it would have said counts for nothing.
        server.process.kill();
        let server = place.serve();
        assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
        assert_eq!(server.at_rest(&run).await["status"], "completed");
    }
}

#[tokio::test]
async fn a_judge_that_fails_or_says_something_else_leads_to_asking() {
    for (says, why) in [
        ("fail: { code: overloaded, message: too much to do }", "too much to do"),
        ("text: ''", "no verdict"),
        ("text: '[]'", "no verdict"),
        (
            r#"text: '{"risk":0,"outcome":"allow","uncertainty":0,"rationale":"a","more":1}'"#,
            "no verdict",
        ),
        (r#"text: '{"risk":-1,"outcome":"allow","uncertainty":0,"rationale":"a"}'"#, "judge"),
        (r#"text: '{"risk":0,"outcome":"allow","uncertainty":7,"rationale":"a"}'"#, "judge"),
    ] {
        let place = Place::new();
        let server = judged(&place, "clears: true", says);
        let run = server.start("clerk", "go").await;
        let request = server.pending(&run).await;
        let found = server.read(&format!("/v1/requests/{request}")).await;
        assert!(found["reasons"].to_string().contains(why), "{says}: {found}");
    }
    // The same, asked of one that answers in time: nobody need be asked.
    let place = Place::new();
    let server = judged(&place, "timeout: 1m", HARMLESS);
    let run = server.start("clerk", "go").await;
    assert_eq!(server.at_rest(&run).await["status"], "completed");
}
