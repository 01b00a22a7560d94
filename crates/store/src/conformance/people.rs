//! Tenants, users, and what people note on requests and conversations.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use signoff_core::journal::{Event, Started};
use signoff_core::request::{RequestBody, RequestKind, RequestStatus};
use signoff_core::{Actor, ConversationId, Message, RequestId, Risk, Tenant};

use super::fixtures::*;
use crate::{
    Assigned, ChangeConversation, ConversationFilter, Follows, Mark, Marked, NewRun, Noted,
    RequestFilter, RunFilter, Store, StoreError, User, scoped,
};

fn acme() -> Tenant {
    Tenant::new("acme")
}

fn started_for(tenant: Tenant) -> Event {
    match started_in("travel", "conv_1", None) {
        Event::Started(started) => Event::Started(Box::new(Started { tenant, ..*started })),
        other => other,
    }
}

async fn ask_for(store: &Arc<dyn Store>, name: &str, tenant: Tenant) -> RequestId {
    let entries = vec![entry(1, started_for(tenant)), asked(2, 1, question("Where to?", None))];
    store.create_run(NewRun { entries, ..new_run(name) }).await.unwrap().unwrap();
    run(name).request(1)
}

pub async fn tenants_have_runs_of_their_own(store: Arc<dyn Store>) {
    ask_for(&store, "a", Tenant::local()).await;
    ask_for(&store, "b", acme()).await;
    let ids = |tenant| {
        let filter = RunFilter { tenant, ..RunFilter::default() };
        let page = store.runs(&filter, None, 10).unwrap();
        page.items.iter().map(|run| run.id.unique().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(None), ["b", "a"]);
    assert_eq!(ids(Some(acme())), ["b"]);
    assert_eq!(ids(Some(Tenant::local())), ["a"]);
    assert!(ids(Some(Tenant::new("x"))).is_empty());
    // A conversation is a tenant's.
    let latest = |tenant: &Tenant| store.latest_run(tenant, &"conv_1".into()).unwrap().unwrap().id;
    assert_eq!((latest(&Tenant::local()), latest(&acme())), (run("a"), run("b")));
    let entries = vec![entry(1, started_for(acme()))];
    let follows = Follows::Exactly(Some(run("b")));
    let next = NewRun { entries, follows, ..new_run("c") };
    store.create_run(next).await.unwrap().unwrap();
}

pub async fn a_tenant_sees_nothing_of_others(store: Arc<dyn Store>) {
    let theirs = ask_for(&store, "a", Tenant::local()).await;
    let ours = ask_for(&store, "b", acme()).await;
    let view = scoped(Arc::clone(&store), acme());
    assert!(view.run(&run("a")).unwrap().is_none());
    assert!(view.request(&theirs).unwrap().is_none());
    let unknown = |result: Result<(), StoreError>| {
        matches!(result, Err(StoreError::UnknownRun(_) | StoreError::UnknownRequest(_)))
    };
    assert!(unknown(view.load(&run("a"), None).map(drop)));
    assert!(unknown(view.entries(&run("a"), 0, 9).map(drop)));
    assert!(unknown(view.inputs(&run("a"), 0).map(drop)));
    assert!(unknown(view.notes(&theirs).map(drop)));
    assert!(unknown(view.decide(decide(&run("a"), 1, "x", "eve", 5)).await.map(drop)));
    let mark =
        Mark { request: theirs.clone(), by: Actor::new("eve"), at: at(5), what: Noted::Claimed };
    assert!(unknown(view.mark(mark).await.map(drop)));
    let cancel = crate::End::for_children();
    assert!(unknown(view.deliver(&run("a"), cancel, at(5)).await.map(drop)));
    assert!(unknown(view.claim_run(&run("a"), &node("n"), at(5), TTL).await.map(drop)));
    let all = RequestFilter { tenant: Some(Tenant::local()), ..RequestFilter::default() };
    assert_eq!(view.requests(&all, None, 9).unwrap().items[0].id, ours);
    assert_eq!(view.count_requests(&all).unwrap(), 1);
    for tenant in [Tenant::local(), acme()] {
        let status = Some(RequestStatus::Pending);
        let waits = RequestFilter { status, tenant: Some(tenant), ..RequestFilter::default() };
        assert_eq!(store.count_requests(&waits).unwrap(), 1);
        let none = RequestFilter { kind: Some(RequestKind::Approval), ..waits };
        assert_eq!(store.count_requests(&none).unwrap(), 0, "nothing of the filter is forgotten");
    }
    assert_eq!(view.runs(&RunFilter::default(), None, 9).unwrap().items.len(), 1);
    let latest = view.latest_run(&Tenant::local(), &"conv_1".into()).unwrap().unwrap();
    assert_eq!(latest.id, run("b"));
    let foreign = NewRun { entries: vec![entry(1, started(None))], ..new_run("c") };
    assert!(view.create_run(foreign).await.is_err());
    // Nothing came of any of it.
    let request = store.request(&theirs).unwrap().unwrap();
    assert_eq!((request.status, request.assignee), (RequestStatus::Pending, None));
    assert!(store.inputs(&run("a"), 0).unwrap().is_empty());
    // Each has the lines of its own.
    store.decide(decide(&run("a"), 1, "x", "ann", 6)).await.unwrap();
    view.decide(decide(&run("b"), 1, "y", "bob", 7)).await.unwrap();
    let lines = view.audit(None, 0, 9).unwrap();
    assert_eq!(lines.iter().map(|line| &line.request).collect::<Vec<_>>(), [&ours, &ours]);
    assert_eq!(record(&store).len(), 2);
    assert_eq!(store.audit(Some(&Tenant::local()), 0, 9).unwrap()[0].request, theirs);
}

/// The count of what waits is that of the list, whosever it is and whether or not some of it was put off.
pub async fn what_waits_is_counted_for_each_tenant(store: Arc<dyn Store>) {
    let other = Tenant::new("other");
    let tenants = [Tenant::local(), acme(), other.clone()];
    for (tenant, asked) in tenants.iter().zip([5, 3, 1]) {
        for n in 0..asked {
            let id = ask_for(&store, &format!("{tenant}-{n}"), tenant.clone()).await;
            let what = Noted::Deferred { until: at(90_000), text: None };
            if n % 2 == 0 && *tenant != other {
                store
                    .mark(Mark { request: id, by: Actor::new("ann"), at: at(9), what })
                    .await
                    .unwrap();
            }
        }
    }
    let decided = decide(&run("local-1"), 1, "yes", "ann", 20);
    store.decide(decided).await.unwrap();
    let mut counts = Vec::new();
    for tenant in tenants.into_iter().map(Some).chain([None]) {
        for deferred in [None, Some(false), Some(true)] {
            let status = Some(RequestStatus::Pending);
            let tenant = tenant.clone();
            let filter = RequestFilter { status, tenant, deferred, ..RequestFilter::default() };
            let listed = store.requests(&filter, None, 100).unwrap().items.len() as u64;
            assert_eq!(store.count_requests(&filter).unwrap(), listed, "{filter:?}");
            counts.push(listed);
        }
    }
    assert_eq!(counts, [4, 1, 3, 3, 1, 2, 1, 1, 0, 8, 3, 5]);
}

pub async fn a_request_is_looked_after_by_one(store: Arc<dyn Store>) {
    let request = ask_for(&store, "a", Tenant::local()).await;
    let mark = async |by: &str, what: Noted| {
        let mark = Mark { request: request.clone(), by: Actor::new(by), at: at(5), what };
        store.mark(mark).await.unwrap()
    };
    let with = || store.request(&request).unwrap().unwrap().assignee;
    let list = |assigned| {
        let filter = RequestFilter { assigned: Some(assigned), ..RequestFilter::default() };
        store.count_requests(&filter).unwrap()
    };
    assert_eq!((list(Assigned::ToNobody), list(Assigned::To(Actor::new("ann")))), (1, 0));
    assert!(matches!(mark("ann", Noted::Claimed).await, Marked::Done(_)));
    assert!(matches!(mark("ann", Noted::Claimed).await, Marked::Done(_)));
    assert!(matches!(mark("bob", Noted::Claimed).await, Marked::Held(_)));
    assert!(matches!(mark("bob", Noted::Released).await, Marked::Held(_)));
    assert_eq!(with(), Some(Actor::new("ann")));
    assert_eq!((list(Assigned::ToNobody), list(Assigned::To(Actor::new("ann")))), (0, 1));
    mark("bob", Noted::Assigned { to: Some(Actor::new("cem")) }).await;
    assert_eq!(with(), Some(Actor::new("cem")));
    mark("cem", Noted::Released).await;
    assert_eq!(with(), None);
    mark("bob", Noted::Commented { text: "careful".into() }).await;
    let version = store.request(&request).unwrap().unwrap().version;
    assert_eq!(version, 1, "who decides need not look again");
    store.decide(decide(&run("a"), 1, "x", "ann", 6)).await.unwrap();
    assert!(matches!(mark("ann", Noted::Claimed).await, Marked::Closed(_)));
    mark("ann", Noted::Commented { text: "done".into() }).await;
    let notes = store.notes(&request).unwrap();
    let said: Vec<_> = notes.iter().map(|note| (note.by.as_str(), note.what.clone())).collect();
    assert_eq!(
        said,
        [
            ("ann", Noted::Claimed),
            ("bob", Noted::Assigned { to: Some(Actor::new("cem")) }),
            ("cem", Noted::Released),
            ("bob", Noted::Commented { text: "careful".into() }),
            ("ann", Noted::Commented { text: "done".into() }),
        ]
    );
    let nobody =
        Mark { request: "req_x_1".into(), by: Actor::new("a"), at: at(1), what: Noted::Claimed };
    assert!(matches!(store.mark(nobody).await, Err(StoreError::UnknownRequest(_))));
    assert!(store.notes(&"req_x_1".into()).unwrap().is_empty());
}

pub async fn requests_are_found_by_risk_and_age(store: Arc<dyn Store>) {
    let risky = RequestBody { risk: Some(Risk::High), ..question("Delete it?", None) };
    let lease = begin(&store, "a", "n1", vec![]).await;
    let asked = vec![asked(2, 1, question("Where to?", None)), asked(3, 2, risky)];
    store.append(append(&lease, 1, asked)).await.unwrap();
    let list = |filter: RequestFilter| {
        let page = store.requests(&filter, None, 9).unwrap();
        page.items.iter().map(|it| it.id.as_str().to_owned()).collect::<Vec<_>>()
    };
    let all = RequestFilter::default;
    assert_eq!(list(RequestFilter { risk: Some(Risk::High), ..all() }), ["req_a_2"]);
    assert!(list(RequestFilter { risk: Some(Risk::Low), ..all() }).is_empty());
    assert_eq!(list(RequestFilter { asked_until: Some(at(1002)), ..all() }), ["req_a_1"]);
    assert!(list(RequestFilter { asked_until: Some(at(1001)), ..all() }).is_empty());
}

fn metadata(value: &Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

pub async fn a_conversation_keeps_what_is_put_into_it(store: Arc<dyn Store>) {
    let id = ConversationId::from("conv_1");
    let change = |tenant: Tenant, ms| ChangeConversation::new(tenant, "conv_1".into(), at(ms));
    assert!(store.conversation(&acme(), &id).unwrap().is_none());
    let made =
        ChangeConversation { metadata: metadata(&json!({ "for": "ann" })), ..change(acme(), 1) };
    store.change_conversation(made).await.unwrap();
    let add = vec![Message::user("one"), Message::user("two")];
    store.change_conversation(ChangeConversation { add, ..change(acme(), 2) }).await.unwrap();
    let more = ChangeConversation { add: vec![Message::user("three")], ..change(acme(), 3) };
    let found = store.change_conversation(more).await.unwrap();
    assert_eq!(Some(&found), store.conversation(&acme(), &id).unwrap().as_ref());
    let said: Vec<_> = found.added.iter().map(Message::text).collect();
    assert_eq!(said, ["one", "two", "three"]);
    assert_eq!(found.metadata["for"], "ann");
    assert_eq!((found.created_at, found.updated_at), (at(1), at(3)));
    assert!(store.conversation(&Tenant::local(), &id).unwrap().is_none());
    store
        .change_conversation(ChangeConversation { delete: true, ..change(acme(), 4) })
        .await
        .unwrap();
    let late = ChangeConversation { add: vec![Message::user("x")], ..change(acme(), 5) };
    let gone = store.change_conversation(late).await.unwrap();
    assert!(gone.deleted && gone.added.is_empty() && gone.metadata.is_empty());
    let all = store.conversations(&ConversationFilter::default(), None, 9).unwrap();
    assert!(all.items.is_empty());
}

pub async fn a_run_makes_its_conversation_known_once(store: Arc<dyn Store>) {
    let with = |name: &str, by: &str| {
        let about = metadata(&json!({ "by": by }));
        store.create_run(NewRun { about, ..new_run(name) })
    };
    let known = || {
        let run = store.run(&run("a")).unwrap().unwrap();
        store.conversation(&run.tenant, &run.conversation).unwrap()
    };
    store.create_run(new_run("a")).await.unwrap();
    assert!(known().is_none());
    with("b", "b").await.unwrap();
    assert_eq!(known().unwrap().metadata["by"], "b");
    with("c", "c").await.unwrap();
    assert_eq!(known().unwrap().metadata["by"], "b", "what is kept stays");
    let (tenant, id) = (Tenant::local(), known().unwrap().id);
    let delete = ChangeConversation { delete: true, ..ChangeConversation::new(tenant, id, at(9)) };
    store.change_conversation(delete).await.unwrap();
    with("d", "d").await.unwrap();
    assert!(known().unwrap().deleted);
}

pub async fn conversations_are_listed_newest_first(store: Arc<dyn Store>) {
    for n in 0..5 {
        let tenant = if n == 4 { acme() } else { Tenant::local() };
        let kind = if n % 2 == 0 { "even" } else { "odd" };
        let new = ChangeConversation::new(tenant, format!("conv_{n}").as_str().into(), at(n));
        let metadata = metadata(&json!({ "kind": kind, "a.b\"c": "x", "n": n }));
        store.change_conversation(ChangeConversation { metadata, ..new }).await.unwrap();
    }
    let list = |filter: &ConversationFilter, cursor: Option<&str>, limit| {
        let page = store.conversations(filter, cursor, limit).unwrap();
        let ids: Vec<_> = page.items.iter().map(|it| it.id.as_str().to_owned()).collect();
        (ids, page.next)
    };
    let local =
        ConversationFilter { tenant: Some(Tenant::local()), ..ConversationFilter::default() };
    let (first, next) = list(&local, None, 3);
    assert_eq!(first, ["conv_3", "conv_2", "conv_1"]);
    assert_eq!(list(&local, next.as_deref(), 3), (vec!["conv_0".to_owned()], None));
    let with = |name: &str, value: &str| ConversationFilter {
        metadata: vec![(name.to_owned(), value.to_owned())],
        ..local.clone()
    };
    assert_eq!(list(&with("kind", "odd"), None, 9).0, ["conv_3", "conv_1"]);
    assert_eq!(list(&with("a.b\"c", "x"), None, 9).0.len(), 4);
    assert!(list(&with("n", "2"), None, 9).0.is_empty(), "a number is no text");
    assert!(list(&with("none", "x"), None, 9).0.is_empty());
    assert!(list(&with("kind' OR 1 --", "odd"), None, 9).0.is_empty());
    let wrong = store.conversations(&local, Some("q1"), 5);
    assert!(matches!(wrong, Err(StoreError::BadCursor)));
}

pub async fn users_have_unique_names(store: Arc<dyn Store>) {
    let user = |name: &str, token: &str| User {
        name: Actor::new(name),
        tenant: acme(),
        roles: vec!["viewer".into(), "legal".into()],
        token: token.to_owned(),
        created_at: at(7),
    };
    assert!(store.users().unwrap().is_empty());
    assert!(store.put_user(user("bob", "h1"), false).await.unwrap());
    assert!(store.put_user(user("ann", "h2"), false).await.unwrap());
    assert!(!store.put_user(user("bob", "h3"), false).await.unwrap());
    assert_eq!(store.users().unwrap(), [user("ann", "h2"), user("bob", "h1")]);
    assert!(store.put_user(user("bob", "h3"), true).await.unwrap());
    assert_eq!(store.users().unwrap()[1].token, "h3");
    assert!(store.remove_user("ann").await.unwrap());
    assert!(!store.remove_user("ann").await.unwrap());
    let view = scoped(Arc::clone(&store), Tenant::local());
    assert!(view.users().unwrap().is_empty());
    assert!(view.put_user(user("eve", "h4"), false).await.is_err());
    assert!(view.remove_user("bob").await.is_err());
    assert_eq!(store.users().unwrap().len(), 1);
}
