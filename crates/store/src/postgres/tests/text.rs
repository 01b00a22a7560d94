//! Text with characters that PostgreSQL does not keep.

use signoff_core::journal::{Event, Input};
use signoff_core::{Actor, ConversationId, Tenant};

use super::open_dyn;
use crate::conformance::fixtures::{append, asked, at, begin, decide, entry, question, run};
use crate::{ChangeConversation, ConversationFilter, Mark, Noted, RequestFilter, RunFilter};

const ODD: &str = "a\0b\u{10ffff}c\u{1}";

#[tokio::test]
async fn text_with_nul_is_kept() {
    let (_, store) = open_dyn(&signoff_test_postgres::fresh(), ODD);
    let mut body = question(&format!("Really {ODD}?"), None);
    body.agent_path = vec![ODD.into()];
    let sleeps = Event::TimerSet { activation: 1, key: ODD.into(), due: at(5) };
    let lease = begin(&store, ODD, ODD, vec![asked(2, 1, body.clone()), entry(3, sleeps)]).await;
    let id = run(ODD);
    assert_eq!(store.run(&id).unwrap().unwrap().id, id);
    let found = store.request(&id.request(1)).unwrap().unwrap();
    assert_eq!(found.body, body);
    for (text, count) in [("REALLY", 1), (ODD, 1), ("a\0c", 0), ("\0", 1)] {
        let filter = RequestFilter { text: Some(text.to_owned()), ..RequestFilter::default() };
        assert_eq!(store.count_requests(&filter).unwrap(), count, "{text:?}");
    }
    let filter = RequestFilter { agent: Some(ODD.into()), ..RequestFilter::default() };
    assert_eq!(store.count_requests(&filter).unwrap(), 1);
    let filter = RunFilter { id_prefix: Some("a\0".into()), ..RunFilter::default() };
    assert_eq!(store.runs(&filter, None, 9).unwrap().items.len(), 1);

    let what = Noted::Commented { text: ODD.into() };
    let mark = Mark { request: id.request(1), by: Actor::new(ODD), at: at(1), what: what.clone() };
    store.mark(mark).await.unwrap();
    assert_eq!(store.notes(&id.request(1)).unwrap()[0].what, what);
    store.decide(decide(&id, 1, ODD, ODD, 2)).await.unwrap();
    let lines = store.audit(None, 0, 9).unwrap();
    assert_eq!(lines.iter().map(|line| line.by.as_str()).collect::<Vec<_>>(), ["system", ODD, ODD]);
    assert!(lines.iter().all(|line| line.request == id.request(1)), "{lines:?}");
    assert_eq!(store.fire_due(at(9), 9).await.unwrap(), 1);
    let inputs = store.inputs(&id, 0).unwrap();
    assert!(matches!(&inputs[1].1, Input::Timer { key, .. } if &**key == ODD), "{inputs:?}");
    store.append(append(&lease, 3, vec![crate::conformance::fixtures::output(4)])).await.unwrap();
}

#[tokio::test]
async fn conversations_are_found_by_odd_texts() {
    let (_, store) = open_dyn(&signoff_test_postgres::fresh(), "own");
    let conversation = ConversationId::new(ODD);
    let mut change = ChangeConversation::new(Tenant::new(ODD), conversation.clone(), at(1));
    let mut metadata = serde_json::Map::new();
    metadata.insert(ODD.into(), ODD.into());
    metadata.insert("a\":\"b".into(), "c".into());
    metadata.insert("n".into(), 5.into());
    change.metadata = Some(metadata.clone());
    store.change_conversation(change).await.unwrap();
    let kept = store.conversation(&Tenant::new(ODD), &conversation).unwrap().unwrap();
    assert_eq!(kept.metadata, metadata);
    let count = |name: &str, value: &str| {
        let metadata = vec![(name.to_owned(), value.to_owned())];
        let filter = ConversationFilter { tenant: None, metadata };
        store.conversations(&filter, None, 9).unwrap().items.len()
    };
    assert_eq!(count(ODD, ODD), 1);
    assert_eq!(count("a\":\"b", "c"), 1);
    assert_eq!(count("a", "b\":\"c"), 0);
    assert_eq!(count("n", "5"), 0);
    assert_eq!(count("a\0", "b"), 0);
}
