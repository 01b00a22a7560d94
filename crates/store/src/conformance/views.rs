//! What the audit says of people who look, who are told, and who do something about a request or a run besides deciding.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::{Actor, Input, Tenant};

use super::fixtures::*;
use crate::{
    Happened, Mark, MoveWebhook, Noted, Notified, Store, StoreError, TakeWebhook, View, scoped,
};

/// Who did what, as the audit has it.
fn said(store: &Arc<dyn Store>) -> Vec<(String, Value)> {
    let lines = record(store);
    for line in &lines {
        assert!(!line.ends_request(), "{line:?}");
    }
    let said = |text: &str| serde_json::from_str(text).unwrap();
    lines.iter().map(|line| (line.by.to_string(), said(&line.decision))).collect()
}

fn view(by: &str, version: u32) -> View {
    let request = run("a").request(1);
    View { request, version, by: Actor::new(by), link: None, at: at(10) }
}

pub async fn a_person_who_looks_is_noted_once_for_each_version(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    assert!(store.view(view("ann", 1)).await.unwrap());
    assert!(!store.view(view("ann", 1)).await.unwrap(), "once");
    assert!(store.view(view("bob", 1)).await.unwrap());
    assert!(store.view(view("ann", 3)).await.unwrap(), "it has changed");
    assert!(!store.view(view("ann", 2)).await.unwrap(), "what is older was seen");
    let by_link = View { link: Some("l1".into()), ..view("cid", 1) };
    assert!(store.view(by_link).await.unwrap());
    let nothing = View { request: "req_x_1".into(), ..view("ann", 1) };
    assert!(matches!(store.view(nothing).await, Err(StoreError::UnknownRequest(_))));
    let foreign = scoped(Arc::clone(&store), Tenant::new("other")).view(view("eve", 1)).await;
    assert!(matches!(foreign, Err(StoreError::UnknownRequest(_))), "{foreign:?}");
    let viewed = |version: u32| json!({ "decision": "viewed", "version": version });
    let wanted = [
        ("ann".to_owned(), viewed(1)),
        ("bob".to_owned(), viewed(1)),
        ("ann".to_owned(), viewed(3)),
        ("cid".to_owned(), json!({ "decision": "viewed", "version": 1, "link": "l1" })),
    ];
    assert_eq!(said(&store), wanted);
}

pub async fn who_was_told_is_noted_with_how_far(store: Arc<dyn Store>) {
    let take = TakeWebhook { name: "ops".into(), node: node("n1"), now: at(0), ttl: TTL };
    store.take_webhook(take).await.unwrap();
    waiting(&store, "a", None).await;
    let told = Notified {
        request: run("a").request(1),
        tenant: Tenant::local(),
        what: Happened::Requested,
        channel: "mail",
        to: vec!["ann".to_owned()],
    };
    let moved = MoveWebhook {
        name: "ops".into(),
        node: node("n2"),
        to: 1,
        now: at(5),
        posted: None,
        told: Some(told),
    };
    assert!(!store.move_webhook(moved.clone()).await.unwrap(), "somebody else delivers");
    assert!(said(&store).is_empty(), "so nothing is noted");
    assert!(store.move_webhook(MoveWebhook { node: node("n1"), ..moved }).await.unwrap());
    let line = json!({
        "decision": "notified", "event": "requested", "channel": "mail", "to": ["ann"],
    });
    assert_eq!(said(&store), [("webhook:ops".to_owned(), line)]);
}

pub async fn what_people_note_on_requests_is_in_the_audit(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let mark = |by: &str, what: Noted| Mark {
        request: run("a").request(1),
        by: Actor::new(by),
        at: at(10),
        what,
    };
    let marks = [
        mark("ann", Noted::Claimed),
        mark("ann", Noted::Claimed),
        mark("bob", Noted::Claimed),
        mark("ann", Noted::Released),
        mark("ann", Noted::Assigned { to: Some(Actor::new("bob")) }),
        mark("bob", Noted::Commented { text: "my password is tulip".to_owned() }),
        mark("bob", Noted::Deferred { until: at(90), text: None }),
    ];
    for mark in marks {
        store.mark(mark).await.unwrap();
    }
    let digest = crate::hex_sha256(b"my password is tulip");
    let by = |who: &str, said: Value| (who.to_owned(), said);
    let wanted = [
        by("ann", json!({ "decision": "claimed" })),
        by("ann", json!({ "decision": "released" })),
        by("ann", json!({ "decision": "assigned", "to": "bob" })),
        by("bob", json!({ "decision": "commented", "sha256": digest })),
        by("bob", json!({ "decision": "deferred", "until": at(90).rfc3339() })),
    ];
    assert_eq!(said(&store), wanted, "what changed nothing is not there, and no text of theirs is");
}

pub async fn who_stops_a_run_is_in_the_audit(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let by = || Actor::new("ann");
    let inputs = [
        Input::Pause { by: by(), reason: Some("lunch".to_owned()) },
        Input::Resume { by: by() },
        Input::RemoveFeedback { by: by(), n: 7 },
        Input::Cancel { by: by(), reason: None },
    ];
    for input in inputs {
        assert!(store.deliver(&run("a"), input, at(20)).await.unwrap());
    }
    let lines = record(&store);
    assert!(lines.iter().all(|line| line.tenant.is_local()), "{lines:?}");
    assert!(lines.iter().all(|line| line.request.as_str() == run("a").as_str()), "{lines:?}");
    let line = |said: Value| ("ann".to_owned(), said);
    let wanted = [
        line(json!({ "decision": "run_paused", "reason": "lunch" })),
        line(json!({ "decision": "run_resumed" })),
        line(json!({ "decision": "run_cancelled" })),
    ];
    assert_eq!(said(&store), wanted);
}
