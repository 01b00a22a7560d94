//! The inbox: oldest first, in pages, by what people look for.

use std::sync::Arc;

use signoff_core::Actor;
use signoff_core::request::{Request, RequestBody, RequestKind, RequestStatus};

use super::fixtures::*;
use crate::{Ends, Mark, NewRun, Noted, RequestFilter, Store, StoreError};

fn pending() -> RequestFilter {
    RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() }
}

fn prompts(items: &[Request]) -> Vec<&str> {
    items.iter().map(|request| request.body.prompt.as_str()).collect()
}

async fn ask(store: &Arc<dyn Store>, name: &str, workflow: &str, body: RequestBody) {
    let conversation = format!("conv_{name}");
    let entries = vec![entry(1, started_in(workflow, &conversation, None)), asked(2, 1, body)];
    store.create_run(NewRun { entries, ..new_run(name) }).await.unwrap().unwrap();
}

pub async fn requests_are_listed_oldest_first(store: Arc<dyn Store>) {
    for n in 0..5 {
        ask(&store, &format!("a{n}"), "travel", question(&format!("q{n}"), None)).await;
    }
    store.decide(decide(&run("a1"), 1, "x", "ann", 20)).await.unwrap();
    let page = store.requests(&pending(), None, 50).unwrap();
    assert_eq!(prompts(&page.items), ["q0", "q2", "q3", "q4"]);
    assert!(page.next.is_none());
    let first = &page.items[0];
    assert_eq!(Some(first), store.request(&run("a0").request(1)).unwrap().as_ref());
    assert_eq!((&first.run, &first.root), (&run("a0"), &run("a0")));
    assert_eq!((&*first.workflow, first.conversation.as_str()), ("travel", "conv_a0"));
    assert_eq!(store.count_requests(&pending()).unwrap(), 4);
    assert_eq!(store.count_requests(&RequestFilter::default()).unwrap(), 5);
}

pub async fn pages_do_not_shift(store: Arc<dyn Store>) {
    for n in 0..6 {
        ask(&store, &format!("a{n}"), "travel", question(&format!("q{n}"), None)).await;
    }
    let first = store.requests(&pending(), None, 2).unwrap();
    assert_eq!(prompts(&first.items), ["q0", "q1"]);
    // Answers to what was shown move nothing out of the next page.
    store.decide(decide(&run("a0"), 1, "x", "ann", 20)).await.unwrap();
    store.decide(decide(&run("a1"), 1, "x", "ann", 20)).await.unwrap();
    store.decide(decide(&run("a3"), 1, "x", "ann", 20)).await.unwrap();
    let second = store.requests(&pending(), first.next.as_deref(), 2).unwrap();
    assert_eq!(prompts(&second.items), ["q2", "q4"]);
    let third = store.requests(&pending(), second.next.as_deref(), 2).unwrap();
    assert_eq!(prompts(&third.items), ["q5"]);
    assert!(third.next.is_none());
    assert_eq!(store.requests(&pending(), None, 0).unwrap().items.len(), 1);
    let all = RequestFilter::default();
    let first = store.requests(&all, None, 4).unwrap();
    let second = store.requests(&all, first.next.as_deref(), 4).unwrap();
    assert_eq!(prompts(&second.items), ["q4", "q5"]);
}

pub async fn requests_are_filtered(store: Arc<dyn Store>) {
    ask(&store, "a", "travel", question("Where to?", None)).await;
    let approval = RequestBody::approval("Book it?", serde_json::json!({ "hotel": "Lux" }));
    ask(&store, "b", "travel", approval).await;
    ask(&store, "c", "code", question("Which branch?", None)).await;
    let mut part = child_run("part", &run("a"));
    part.entries.push(asked(2, 1, question("Sub?", None)));
    store.create_run(part).await.unwrap();
    store.decide(decide(&run("c"), 1, "main", "ann", 20)).await.unwrap();

    let list = |filter: RequestFilter| {
        let page = store.requests(&filter, None, 50).unwrap();
        assert_eq!(page.items.len() as u64, store.count_requests(&filter).unwrap());
        page.items.iter().map(|request| request.run.unique().to_owned()).collect::<Vec<_>>()
    };
    let all = RequestFilter::default;
    assert_eq!(list(all()), ["a", "b", "c", "part"]);
    assert_eq!(list(RequestFilter { status: Some(RequestStatus::Decided), ..all() }), ["c"]);
    assert_eq!(list(RequestFilter { kind: Some(RequestKind::Approval), ..pending() }), ["b"]);
    assert_eq!(list(RequestFilter { workflow: Some("code".into()), ..all() }), ["c"]);
    assert!(list(RequestFilter { workflow: Some("code".into()), ..pending() }).is_empty());
    assert_eq!(list(RequestFilter { agent: Some("budget".into()), ..pending() }), ["a", "part"]);
    assert!(list(RequestFilter { agent: Some("planner".into()), ..all() }).is_empty());
    assert_eq!(list(RequestFilter { root: Some(run("a")), ..pending() }), ["a", "part"]);
    assert_eq!(list(RequestFilter { root: Some(run("part")), ..pending() }), ["part"]);
    assert_eq!(list(RequestFilter { conversation: Some("conv_b".into()), ..pending() }), ["b"]);
}

pub async fn words_are_only_words(store: Arc<dyn Store>) {
    ask(&store, "a", "travel", question("Keep 100% of the_budget?", None)).await;
    ask(&store, "b", "travel", question(r"A back\slash and the budget", None)).await;
    let list = |text: &str| {
        let filter = RequestFilter { text: Some(text.into()), ..pending() };
        let page = store.requests(&filter, None, 50).unwrap();
        page.items.iter().map(|request| request.run.unique().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list(""), ["a", "b"]);
    assert_eq!(list("BUDGET"), ["a", "b"]);
    assert_eq!(list("budget keep"), ["a"]);
    assert_eq!(list("%"), ["a"]);
    assert_eq!(list("e_b"), ["a"]);
    assert_eq!(list(r"k\s"), ["b"]);
    assert!(list("'; DROP TABLE requests; --").is_empty());
    assert!(list("minLength").is_empty());
}

pub async fn what_comes_later_is_after_the_ends(store: Arc<dyn Store>) {
    let all = RequestFilter::default();
    let later = |ends: &Ends| {
        let asked = store.requests(&all, Some(&ends.requests), 50).unwrap();
        let audit = store.audit(None, ends.audit, 50).unwrap();
        let ends = audit.iter().filter(|line| line.ends_request());
        let decided = ends.map(|line| line.request.to_string()).collect::<Vec<_>>();
        (prompts(&asked.items).join(" "), decided.join(" "))
    };
    let empty = store.ends().unwrap();
    ask(&store, "a", "travel", question("q1", None)).await;
    ask(&store, "b", "travel", question("q2", None)).await;
    let two = store.ends().unwrap();
    assert_eq!(later(&two), (String::new(), String::new()));
    store.decide(decide(&run("a"), 1, "x", "ann", 20)).await.unwrap();
    ask(&store, "c", "travel", question("q3", None)).await;
    assert_eq!(later(&two), ("q3".to_owned(), "req_a_1".to_owned()));
    assert_eq!(later(&empty), ("q1 q2 q3".to_owned(), "req_a_1".to_owned()));
    let mark = |text: &str| Mark {
        request: run("c").request(1),
        by: Actor::new("ann"),
        at: at(30),
        what: Noted::Commented { text: text.to_owned() },
    };
    store.mark(mark("one")).await.unwrap();
    let noted = store.ends().unwrap();
    store.mark(mark("two")).await.unwrap();
    let lines = store.noted(two.notes, 50).unwrap();
    let said: Vec<&Noted> = lines.iter().map(|line| &line.note.what).collect();
    assert_eq!(said, [&mark("one").what, &mark("two").what]);
    assert_eq!(lines[0].request, run("c").request(1));
    assert_eq!(store.noted(noted.notes, 50).unwrap(), lines[1..]);
    assert_eq!(store.noted(lines[0].no, 50).unwrap(), lines[1..]);
    assert_eq!(store.noted(two.notes, 1).unwrap(), lines[..1]);
    let now = store.ends().unwrap();
    assert_ne!(now, two);
    assert_eq!(later(&now), (String::new(), String::new()));
}

pub async fn a_bad_cursor_is_refused(store: Arc<dyn Store>) {
    for wrong in ["", "q", "1", "r1", "q-1", "q+1", "q1 OR 1", "q99999999999999999999"] {
        let refused = store.requests(&pending(), Some(wrong), 5);
        assert!(matches!(refused, Err(StoreError::BadCursor)), "{wrong:?}");
    }
    assert!(store.requests(&pending(), Some("q5"), 5).unwrap().items.is_empty());
}
