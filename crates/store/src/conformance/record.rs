//! What the audit says of what runs ask and do: nothing of the text, and a hash that binds it.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::{ErrorInfo, Event, Gated, Outcome, Reply};
use signoff_core::policy::{self, Reason};
use signoff_core::{Actor, Decision, RunStatus, Tenant};

use super::fixtures::*;
use crate::{Append, NewRun, Rest, Store, hex_sha256};

/// Who said what about what.
fn said(store: &Arc<dyn Store>) -> Vec<(String, String, Value)> {
    let lines = store.audit(Some(&Tenant::local()), 0, 100).unwrap();
    let said = |text: &str| serde_json::from_str(text).unwrap();
    let line = |line: &crate::AuditEntry| {
        assert!(!line.ends_request(), "{line:?}");
        (line.by.to_string(), line.request.to_string(), said(&line.decision))
    };
    lines.iter().map(line).collect()
}

fn by_system(about: &str, said: Value) -> (String, String, Value) {
    ("system".to_owned(), about.to_owned(), said)
}

pub async fn what_is_asked_is_bound_by_the_audit(store: Arc<dyn Store>) {
    let digest = "0123456789abcdef".repeat(4);
    let mut call = question("May I write tulip?", Some(90_000));
    call.context = json!({ "tool": "write_file", "digest": digest });
    let mut step = question("Step 1?", None);
    step.context = json!({ "action": { "digest": digest } });
    let mut odd = question("Where to?", None);
    odd.context = json!({ "digest": "my password is tulip" });
    let bodies = [call, step, odd];
    let lease = begin(&store, "a", "n1", vec![]).await;
    let ask = (1..).zip(&bodies).map(|(n, body)| asked(1 + u64::from(n), n, body.clone()));
    let rest =
        Append { status: RunStatus::Waiting, rest: Rest::Park, ..append(&lease, 1, ask.collect()) };
    store.append(rest).await.unwrap();
    let bound = |n: usize| hex_sha256(serde_json::to_string(&bodies[n]).unwrap().as_bytes());
    let line = |n: usize| {
        json!({
            "decision": "requested", "kind": "input", "agent": ["planner", "budget"],
            "sha256": bound(n),
        })
    };
    let (mut first, mut second) = (line(0), line(1));
    first["expires_at"] = at(90_000).rfc3339().into();
    first["digest"] = json!(digest);
    second["digest"] = json!(digest);
    let wanted =
        [by_system("req_a_1", first), by_system("req_a_2", second), by_system("req_a_3", line(2))];
    assert_eq!(said(&store), wanted);
    let lines = store.audit(None, 0, 10).unwrap();
    assert_eq!(lines[0].at, at(1002), "when the journal says so");
    for (n, id) in (0..).zip(["req_a_1", "req_a_2", "req_a_3"]) {
        let stands = store.request(&id.into()).unwrap().unwrap();
        let stored = serde_json::to_string(&stands.body).unwrap();
        assert_eq!(hex_sha256(stored.as_bytes()), bound(n), "what is kept is what was bound");
    }
}

pub async fn what_was_called_is_bound_by_the_audit(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    let value = json!({ "written": "my password is tulip" });
    let reply = Arc::new(Reply::default());
    let mut marked = executed(5, Outcome::Ok(Arc::new(json!("it was there"))));
    if let Event::Effect { audited: Some(audited), .. } = &mut marked.event {
        audited.marked = true;
    }
    let mut unjudged = executed(6, Outcome::Ok(Arc::new(json!(1))));
    if let Event::Effect { audited, .. } = &mut unjudged.event {
        *audited = None;
    }
    let entries = vec![
        executed(2, Outcome::Ok(Arc::new(value.clone()))),
        executed(3, Outcome::Err(ErrorInfo::new("tool_timeout", "the tulip did not return"))),
        executed(4, Outcome::Reply(Arc::clone(&reply))),
        marked,
        unjudged,
    ];
    store.append(append(&lease, 1, entries)).await.unwrap();
    let line = |key: &str, result: Value| {
        let mut line = json!({
            "decision": "executed", "tool": "write_file", "digest": "d1", "activation": 1,
            "key": key, "took_ms": 7,
        });
        line.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
        by_system(run("a").as_str(), line)
    };
    let sha256 = |text: &str| hex_sha256(text.as_bytes());
    let replied = sha256(&serde_json::to_string(&reply).unwrap());
    let wanted = [
        line("call2", json!({ "result": "ok", "sha256": sha256(&value.to_string()) })),
        line("call3", json!({ "result": "error", "error": "tool_timeout" })),
        line("call4", json!({ "result": "ok", "sha256": replied })),
        line("call5", json!({ "result": "marked", "sha256": sha256(r#""it was there""#) })),
    ];
    assert_eq!(said(&store), wanted);
    assert!(record(&store).iter().all(|line| !line.decision.contains("tulip")));
}

pub async fn what_a_fork_brings_along_is_not_in_the_audit(store: Arc<dyn Store>) {
    let gated = Gated {
        activation: 1,
        key: "call4".into(),
        tool: "write_file".into(),
        digest: "d1".to_owned(),
        action: Value::Null,
        policy: String::new(),
        approved: vec![1],
        read_only: false,
        outcome: policy::Outcome::Allow,
        reasons: vec![Reason {
            gate: "edits".into(),
            criterion: "always".to_owned(),
            evidence: String::new(),
        }],
    };
    let (decision, by) = (Decision::respond("x"), Actor::new("ann"));
    let entries = vec![
        entry(1, started(None)),
        asked(2, 1, question("Where to?", None)),
        entry(3, Event::Decided { request: 1, decision, by, sent: None }),
        entry(4, Event::Gated(Box::new(gated.clone()))),
        executed(5, Outcome::Ok(Arc::new(json!(1)))),
        asked(6, 2, question("When?", None)),
    ];
    let claim = Some(crate::Claim { node: node("n1"), until: at(9_000) });
    let new = NewRun { entries, claim, ..new_run("a") };
    let lease = store.create_run(new).await.unwrap().unwrap().lease.unwrap();
    let lines = said(&store);
    assert_eq!(lines.len(), 1, "only what it asks anew: {lines:?}");
    assert_eq!((lines[0].1.as_str(), &lines[0].2["decision"]), ("req_a_2", &json!("requested")));
    let own =
        vec![entry(7, Event::Gated(Box::new(gated))), executed(8, Outcome::Ok(Arc::new(json!(1))))];
    store.append(append(&lease, 6, own)).await.unwrap();
    let words: Vec<_> = said(&store).into_iter().map(|line| line.2["decision"].clone()).collect();
    assert_eq!(words, ["requested", "consumed", "executed"], "what it does itself is there");
}
