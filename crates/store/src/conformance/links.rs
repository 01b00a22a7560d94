//! Links by which people decide.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::deciders::{Deciders, Who};
use signoff_core::{Actor, Tenant};

use super::fixtures::*;
use crate::{AddLink, Decide, Store, StoreError, scoped};

pub async fn a_secret_is_made_once(store: Arc<dyn Store>) {
    assert_eq!(store.secret("links", "one".to_owned()).await.unwrap(), "one");
    assert_eq!(store.secret("links", "two".to_owned()).await.unwrap(), "one");
    assert_eq!(store.secret("others", "two".to_owned()).await.unwrap(), "two");
    let view = scoped(store, Tenant::local());
    assert!(view.secret("links", "three".to_owned()).await.is_err(), "no tenant is told");
}

pub async fn the_audit_says_what_came_by_a_link(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let link = AddLink {
        request: run("a").request(1),
        id: "l1".into(),
        person: Actor::new("bob"),
        until: at(90),
        by: Actor::new("ann"),
        at: at(10),
    };
    let view = scoped(Arc::clone(&store), Tenant::new("other"));
    let foreign = view.add_link(link.clone()).await;
    assert!(matches!(foreign, Err(StoreError::UnknownRequest(_))), "{foreign:?}");
    let nothing = AddLink { request: "req_x_1".into(), ..link.clone() };
    assert!(matches!(store.add_link(nothing).await, Err(StoreError::UnknownRequest(_))));
    store.add_link(link).await.unwrap();
    let two = Who { count: 2, ..Who::default() };
    let deciders = Some(Box::new(Deciders { who: vec![two], barred: Vec::new() }));
    for (by, link) in [("bob", Some("l1".into())), ("cid", Some("l2".into()))] {
        let one = decide(&run("a"), 1, "yes", by, 20);
        store.decide(Decide { deciders: deciders.clone(), link, ..one }).await.unwrap();
    }
    let lines = record(&store);
    let said: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str(&line.decision).unwrap()).collect();
    assert_eq!((lines[0].by.as_str(), lines.len()), ("ann", 3));
    assert_eq!(
        lines.iter().filter(|line| line.ends_request()).count(),
        1,
        "only the decision does"
    );
    let until = at(90).rfc3339();
    assert_eq!(
        said[0],
        json!({ "decision": "linked", "link": "l1", "for": "bob", "until": until })
    );
    assert_eq!((&said[1]["what"], &said[1]["link"]), (&json!("voted"), &json!("l1")));
    assert_eq!(said[2], json!({ "decision": "respond", "content": "yes", "link": "l2" }));
    let request = store.request(&run("a").request(1)).unwrap().unwrap();
    assert!(!request.to_json().to_string().contains("l2"), "it is said in the audit only");
}
