//! Decisions: each request gets one, or expires, and whoever comes later is told.

use std::sync::Arc;

use signoff_core::deciders::{Deciders, Who};
use signoff_core::journal::Input;
use signoff_core::policy::Grant;
use signoff_core::request::RequestStatus;
use signoff_core::{Actor, Decision, Sent, Tenant};

use super::fixtures::*;
use crate::{
    Claim, Decide, Decided, DecidedAll, EndGrant, Lease, PolicyPut, PutPolicy, Scope, Store,
    StoreError,
};

async fn ready(store: &Arc<dyn Store>, ms: i64) -> usize {
    store.claim(Scope::All, &node("look"), at(ms), TTL, 10).await.unwrap().len()
}

pub async fn a_decision_wakes_the_run(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let before = store.request(&run("a").request(1)).unwrap().unwrap();
    assert_eq!((before.status, before.version), (RequestStatus::Pending, 1));
    assert_eq!(before.created_at, at(1002));
    assert_eq!(ready(&store, 10).await, 0);
    let taken = store.decide(decide(&run("a"), 1, "Lisbon", "ann", 20)).await.unwrap();
    assert!(matches!(taken, Decided::Taken { lease: None, head: 2 }));
    let after = store.request(&run("a").request(1)).unwrap().unwrap();
    assert_eq!((after.status, after.version), (RequestStatus::Decided, 2));
    let decision = after.decision.unwrap();
    assert_eq!(decision.decision, Decision::respond("Lisbon"));
    assert_eq!((decision.by, decision.at), (Actor::new("ann"), at(20)));
    let input = Input::Decided {
        request: 1,
        decision: Decision::respond("Lisbon"),
        by: Actor::new("ann"),
        sent: None,
    };
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), [(1, input)]);
    assert_eq!(ready(&store, 20).await, 1);
}

pub async fn a_decision_keeps_the_message_that_said_so(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let sent =
        Some(Box::new(Sent { id: "m2".into(), parts: serde_json::json!([{ "text": "x" }]) }));
    let one = decide(&run("a"), 1, "Lisbon", "ann", 20);
    store.decide(Decide { sent: sent.clone(), ..one }).await.unwrap();
    let after = store.request(&run("a").request(1)).unwrap().unwrap();
    assert_eq!(after.decision.unwrap().sent, sent);
    let inputs = store.inputs(&run("a"), 0).unwrap();
    assert!(matches!(&inputs[..], [(1, Input::Decided { sent: given, .. })] if *given == sent));
}

pub async fn deciding_twice_tells_the_first(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    store.decide(decide(&run("a"), 1, "Lisbon", "ann", 20)).await.unwrap();
    for (answer, by) in [("Lisbon", "ann"), ("Porto", "bob")] {
        let second = store.decide(decide(&run("a"), 1, answer, by, 21)).await.unwrap();
        let Decided::TooLate(request) = second else { panic!("taken twice") };
        assert_eq!(request.decision.unwrap().decision, Decision::respond("Lisbon"));
    }
    assert_eq!(store.inputs(&run("a"), 0).unwrap().len(), 1);
    assert_eq!(record(&store).len(), 1);
}

pub async fn many_deciders_have_one_winner(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let all: Vec<_> =
        (0..50).map(|n| store.decide(decide(&run("a"), 1, "yes", &format!("p{n}"), 20))).collect();
    let mut winners = 0;
    for one in all {
        winners += u32::from(matches!(one.await.unwrap(), Decided::Taken { .. }));
    }
    assert_eq!(winners, 1);
    assert_eq!(store.inputs(&run("a"), 0).unwrap().len(), 1);
}

pub async fn a_late_decision_finds_it_expired(store: Arc<dyn Store>) {
    waiting(&store, "a", Some(100)).await;
    let late = store.decide(decide(&run("a"), 1, "Lisbon", "ann", 100)).await.unwrap();
    let Decided::TooLate(request) = late else { panic!("taken after its time") };
    assert_eq!((request.status, request.version), (RequestStatus::Expired, 2));
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), [(1, Input::Expired { request: 1 })]);
    let audit = record(&store);
    assert_eq!(audit[0].decision, r#"{"decision":"expired"}"#);
    assert_eq!(audit[0].at, at(100));
    assert_eq!(ready(&store, 100).await, 1);
    assert_eq!(store.fire_due(at(200), 10).await.unwrap(), 0);
}

pub async fn a_decision_can_lease_the_run(store: Arc<dyn Store>) {
    let claim = Some(Claim { node: node("n2"), until: at(9_000) });
    waiting(&store, "a", None).await;
    let taken = store
        .decide(Decide { claim: claim.clone(), ..decide(&run("a"), 1, "x", "ann", 5) })
        .await
        .unwrap();
    let lease = Lease { run: run("a"), node: node("n2"), epoch: 2 };
    assert!(matches!(taken, Decided::Taken { lease: Some(got), head: 2 } if got == lease));
    assert_eq!(ready(&store, 6).await, 0);

    let held = begin(&store, "b", "n1", vec![asked(2, 1, question("?", None))]).await;
    let taken =
        store.decide(Decide { claim, ..decide(&run("b"), 1, "x", "ann", 5) }).await.unwrap();
    assert!(matches!(taken, Decided::Taken { lease: None, head: 2 }));
    store.append(append(&held, 2, vec![output(3)])).await.unwrap();
}

pub async fn an_unknown_request_is_refused(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    for (name, number) in [("a", 2), ("b", 1)] {
        let refused = store.decide(decide(&run(name), number, "x", "ann", 5)).await;
        assert!(matches!(refused, Err(StoreError::UnknownRequest(_))));
    }
    assert!(record(&store).is_empty());
}

pub async fn the_audit_is_a_chain(store: Arc<dyn Store>) {
    for (n, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        waiting(&store, name, (n == 2).then_some(50)).await;
    }
    for name in ["a", "b", "d"] {
        store.decide(decide(&run(name), 1, "\"quoted\" \u{2028}", "ann", 20)).await.unwrap();
    }
    store.fire_due(at(50), 10).await.unwrap();
    let audit = store.audit(None, 0, 10).unwrap();
    assert_eq!(audit.iter().map(|line| line.no).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
    let mut before = String::new();
    for line in &audit {
        assert!(line.follows(&before));
        assert!(!line.follows("other"));
        let mut forged = line.clone();
        forged.by = Actor::new("eve");
        assert!(!forged.follows(&before));
        before.clone_from(&line.hash);
    }
    let ends: Vec<_> = audit.iter().filter(|line| line.ends_request()).collect();
    assert_eq!((ends.len(), &ends[3].request), (4, &run("c").request(1)));
    assert_eq!(store.audit(None, 2, 1).unwrap(), audit[2..3]);
}

pub async fn the_audit_is_read_back_from_its_end(store: Arc<dyn Store>) {
    for name in ["a", "b", "c", "d", "e"] {
        waiting(&store, name, None).await;
        store.decide(decide(&run(name), 1, "yes", "ann", 20)).await.unwrap();
    }
    let newest: Vec<_> = store.audit(None, 0, 10).unwrap().into_iter().rev().collect();
    assert_eq!(store.audit_back(None, None, 10).unwrap(), newest);
    assert_eq!(store.audit_back(None, None, 2).unwrap(), newest[..2]);
    assert_eq!(store.audit_back(None, Some(4), 2).unwrap(), newest[7..9]);
    assert_eq!(store.audit_back(None, Some(2), 2).unwrap(), newest[9..]);
    assert!(store.audit_back(None, Some(1), 2).unwrap().is_empty());
    assert_eq!(store.audit_back(None, Some(u64::MAX), 1).unwrap(), newest[..1]);
    // Nobody sees lines of another tenant, whose numbers lie in between.
    let (own, other) = (Tenant::local(), Tenant::new("others"));
    assert_eq!(store.audit_back(Some(&own), None, 10).unwrap(), newest);
    assert!(store.audit_back(Some(&other), None, 10).unwrap().is_empty());
}

pub async fn expiry_and_decision_exclude_each_other(store: Arc<dyn Store>) {
    for n in 0..20 {
        waiting(&store, &format!("a{n}"), Some(100)).await;
    }
    let mut pending = Vec::new();
    let mut firing = Vec::new();
    for n in 0..20 {
        pending.push(store.decide(decide(&run(&format!("a{n}")), 1, "x", "ann", 99)));
        firing.push(store.fire_due(at(100), 2));
    }
    let mut taken = 0;
    for decided in pending {
        taken += usize::from(matches!(decided.await.unwrap(), Decided::Taken { .. }));
    }
    let mut expired = 0;
    for fired in firing {
        expired += fired.await.unwrap();
    }
    assert_eq!(taken + expired, 20);
    assert_eq!(record(&store).len(), 20);
    for n in 0..20 {
        assert_eq!(store.inputs(&run(&format!("a{n}")), 0).unwrap().len(), 1);
    }
}

pub async fn a_decision_on_an_older_version_is_refused(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let stale = Decide { version: Some(7), ..decide(&run("a"), 1, "yes", "ann", 20) };
    let Decided::Stale(request) = store.decide(stale).await.unwrap() else { panic!("taken") };
    assert_eq!((request.status, request.version), (RequestStatus::Pending, 1));
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), []);
    let seen = Decide { version: Some(1), ..decide(&run("a"), 1, "yes", "ann", 20) };
    assert!(matches!(store.decide(seen).await.unwrap(), Decided::Taken { .. }));
}

pub async fn several_must_agree(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let two = Who { count: 2, ..Who::default() };
    let deciders = Some(Box::new(Deciders { who: vec![two], barred: Vec::new() }));
    let vote = |answer: &str, by: &str| {
        let one = decide(&run("a"), 1, answer, by, 20);
        store.decide(Decide { deciders: deciders.clone(), ..one })
    };
    for (answer, by) in [("yes", "ann"), ("yes", "ann"), ("no", "bob")] {
        let Decided::Voted(request) = vote(answer, by).await.unwrap() else { panic!("taken") };
        assert_eq!(request.status, RequestStatus::Pending);
    }
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), []);
    let notes = store.notes(&run("a").request(1)).unwrap();
    assert_eq!(notes.len(), 2, "the same again is not noted again: {notes:?}");
    assert!(matches!(vote("yes", "bob").await.unwrap(), Decided::Taken { .. }), "a change of mind");
    assert!(matches!(vote("yes", "cid").await.unwrap(), Decided::TooLate(_)));
    assert_eq!(store.inputs(&run("a"), 0).unwrap().len(), 1);
    assert_eq!(record(&store).len(), 3);
}

pub async fn several_are_decided_all_or_none(store: Arc<dyn Store>) {
    for name in ["a", "b", "c"] {
        waiting(&store, name, None).await;
    }
    let all = |names: &[&str]| {
        let decides = names.iter().map(|name| decide(&run(name), 1, "yes", "ann", 20));
        store.decide_all(decides.collect())
    };
    store.decide(decide(&run("b"), 1, "no", "bob", 20)).await.unwrap();
    let DecidedAll::Refused(why) = all(&["a", "b", "c"]).await.unwrap() else { panic!("taken") };
    assert!(matches!(why[..], [(1, Decided::TooLate(_))]), "{why:?}");
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), []);
    let DecidedAll::Taken(taken) = all(&["a", "c"]).await.unwrap() else { panic!("refused") };
    assert_eq!(taken.len(), 2);
    assert_eq!(store.inputs(&run("c"), 0).unwrap().len(), 1);
    assert!(matches!(all(&["z"]).await, Err(StoreError::UnknownRequest(_))));
}

pub async fn a_policy_is_set_and_taken_back(store: Arc<dyn Store>) {
    let put = |body: Option<&str>, replaces| {
        store.put_policy(PutPolicy {
            tenant: Tenant::local(),
            body: body.map(str::to_owned),
            replaces,
            by: Actor::new("ann"),
            at: at(1),
        })
    };
    assert_eq!(store.policy(&Tenant::local()).unwrap(), None);
    for _ in 0..2 {
        let PolicyPut::Done(set) = put(Some("{}"), None).await.unwrap() else { panic!("stale") };
        assert_eq!(set.version, 1, "the same again changes nothing");
    }
    assert!(matches!(put(Some("[]"), Some(0)).await.unwrap(), PolicyPut::Stale(Some(_))));
    let PolicyPut::Done(off) = put(None, Some(1)).await.unwrap() else { panic!("stale") };
    assert_eq!((off.version, off.body), (2, None));
    assert_eq!(store.policy(&Tenant::new("other")).unwrap(), None);
    assert_eq!(store.audit(None, 0, 10).unwrap().len(), 2);
}

pub async fn a_decision_is_remembered(store: Arc<dyn Store>) {
    waiting(&store, "a", None).await;
    let by = Actor::new("ann");
    let bypass = Grant::bypass("g1".into(), Tenant::local(), None, by.clone(), at(1)).unwrap();
    let grant = Grant { times: Some(2), ..bypass };
    let decide =
        Decide { grant: Some(Box::new(grant.clone())), ..decide(&run("a"), 1, "yes", "ann", 20) };
    store.decide(decide.clone()).await.unwrap();
    assert!(matches!(store.decide(decide).await.unwrap(), Decided::TooLate(_)));
    let kept = store.grants(&Tenant::local()).unwrap();
    assert_eq!(kept, vec![grant.clone()], "once, with the decision");
    assert_eq!(store.grants(&Tenant::new("other")).unwrap(), []);
    assert!(store.use_grant(&grant.id).await.unwrap());
    assert_eq!(store.grants(&Tenant::local()).unwrap()[0].times, Some(1));
    assert!(store.use_grant(&grant.id).await.unwrap());
    assert!(!store.use_grant(&grant.id).await.unwrap(), "it is used up");
    store.add_grant(Grant { id: "g2".into(), times: None, ..grant }).await.unwrap();
    let end = EndGrant { tenant: Tenant::local(), id: "g2".into(), by, at: at(2) };
    assert!(!store.end_grant(EndGrant { tenant: Tenant::new("x"), ..end.clone() }).await.unwrap());
    assert!(store.end_grant(end.clone()).await.unwrap());
    assert!(!store.end_grant(end).await.unwrap());
    assert_eq!(store.grants(&Tenant::local()).unwrap(), []);
}
