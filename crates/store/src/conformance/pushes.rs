//! Who is told elsewhere how a run goes on.

use std::sync::Arc;

use signoff_core::Tenant;

use super::fixtures::*;
use crate::{MovePush, NextPush, Push, PutPush, Store, StoreError, TakePushes, Told, scoped};

fn put(name: &str, id: &str, from: u64) -> PutPush {
    PutPush { run: run(name), id: id.into(), body: format!("to {id}"), from }
}

fn taking(by: &str, ms: i64) -> TakePushes {
    TakePushes { node: node(by), now: at(ms), ttl: TTL, limit: 10 }
}

async fn take(store: &Arc<dyn Store>, by: &str, ms: i64) -> Vec<Push> {
    store.take_pushes(taking(by, ms)).await.unwrap()
}

fn moved(push: &Push, by: &str, told: Told, ms: i64, next: NextPush) -> MovePush {
    let (run, id) = (push.run.clone(), push.id.clone());
    MovePush { run, id, node: node(by), told, looked_at: at(ms), next }
}

async fn moves(store: &Arc<dyn Store>, push: &Push, seq: u64, ms: i64, next: NextPush) -> bool {
    let told = Told { seq, ..push.told.clone() };
    store.move_push(moved(push, "n1", told, ms, next)).await.unwrap()
}

pub async fn those_who_wait_for_news_are_told(store: Arc<dyn Store>) {
    let unknown = store.put_push(put("nobody", "one", 0)).await;
    assert!(matches!(unknown, Err(StoreError::UnknownRun(_))), "{unknown:?}");
    let lease = begin(&store, "a", "n1", vec![output(2)]).await;
    assert!(store.put_push(put("a", "late", 2)).await.unwrap());
    assert!(store.put_push(put("a", "early", 0)).await.unwrap());
    let due = take(&store, "n1", 10).await;
    assert_eq!(due.len(), 1, "the other knows everything");
    assert_eq!((&*due[0].id, &*due[0].body, due[0].told.seq), ("early", "to early", 0));
    assert_eq!((&due[0].run, &due[0].tenant), (&run("a"), &Tenant::local()));
    assert!(take(&store, "n2", 11).await.is_empty(), "somebody tells them");
    assert!(moves(&store, &due[0], 2, 12, NextPush::News).await);
    assert!(take(&store, "n1", 13).await.is_empty());
    store.append(append(&lease, 2, vec![output(3)])).await.unwrap();
    let due = take(&store, "n1", 14).await;
    let ids: Vec<&str> = due.iter().map(|push| &*push.id).collect();
    assert_eq!(ids, ["early", "late"]);
    assert!(moves(&store, &due[0], 3, 15, NextPush::Nothing).await);
    assert!(moves(&store, &due[1], 1, 15, NextPush::News).await, "it never goes back");
    assert_eq!(store.pushes(&run("a")).unwrap()[1].told.seq, 2);
    store.append(append(&lease, 3, vec![output(4)])).await.unwrap();
    let due = take(&store, "n1", 16).await;
    assert_eq!(due.iter().map(|push| &*push.id).collect::<Vec<_>>(), ["late"], "told nothing more");
}

pub async fn one_tells_and_tells_again(store: Arc<dyn Store>) {
    begin(&store, "a", "n1", vec![]).await;
    store.put_push(put("a", "one", 0)).await.unwrap();
    let due = take(&store, "n1", 1000).await;
    assert!(take(&store, "n2", 10_999).await.is_empty());
    assert_eq!(take(&store, "n2", 11_000).await.len(), 1, "the right has run out");
    assert!(
        !moves(&store, &due[0], 1, 11_001, NextPush::News).await,
        "who comes late moves nothing"
    );
    let failed = Told { failed: 1, failing_since: Some(at(11_002)), ..due[0].told.clone() };
    let again = moved(&due[0], "n2", failed.clone(), 11_002, NextPush::Again(at(20_000)));
    assert!(store.move_push(again).await.unwrap());
    assert!(take(&store, "n1", 19_999).await.is_empty());
    let due = take(&store, "n1", 20_000).await;
    assert_eq!(due[0].told, failed);
    // Replaced, it goes on from where it was, at once.
    store
        .move_push(moved(&due[0], "n1", failed, 20_001, NextPush::Again(at(90_000))))
        .await
        .unwrap();
    assert!(
        store.put_push(PutPush { body: "elsewhere".into(), ..put("a", "one", 7) }).await.unwrap()
    );
    let due = take(&store, "n1", 20_002).await;
    assert_eq!((&*due[0].body, due[0].told.seq, due[0].told.failed), ("elsewhere", 0, 0));
    assert!(store.remove_push(&run("a"), &"one".into()).await.unwrap());
    assert!(!store.remove_push(&run("a"), &"one".into()).await.unwrap());
    assert!(!moves(&store, &due[0], 1, 20_003, NextPush::News).await);
    assert!(store.pushes(&run("a")).unwrap().is_empty());
}

pub async fn parts_of_a_run_are_news(store: Arc<dyn Store>) {
    begin(&store, "a", "n1", vec![]).await;
    store.put_push(put("a", "one", 1)).await.unwrap();
    store.create_run(child_run("b", &run("a"))).await.unwrap().unwrap();
    assert!(take(&store, "n1", 2000).await.is_empty(), "there were none when it was asked for");
    store.put_push(put("a", "two", 1)).await.unwrap();
    let due = take(&store, "n1", 2001).await;
    assert_eq!(due.len(), 1);
    assert!(due[0].told.parts);
    let told = Told { seq: 1, parts: true, of_parts: "[]".into(), ..Told::default() };
    let look = |ms| moved(&due[0], "n1", told.clone(), ms, NextPush::News);
    assert!(store.move_push(look(900)).await.unwrap());
    let again = take(&store, "n1", 2002).await;
    assert_eq!((again.len(), &*again[0].told.of_parts), (1, "[]"), "it went on at 1001");
    assert!(store.move_push(look(1002)).await.unwrap());
    assert!(take(&store, "n1", 2003).await.is_empty());
}

pub async fn so_many_are_told_of_a_run(store: Arc<dyn Store>) {
    begin(&store, "a", "n1", vec![]).await;
    begin(&store, "b", "n1", vec![]).await;
    for n in 0..16 {
        assert!(store.put_push(put("a", &format!("p{n:02}"), 0)).await.unwrap());
    }
    assert!(!store.put_push(put("a", "more", 0)).await.unwrap());
    assert!(store.put_push(put("a", "p03", 0)).await.unwrap(), "one that is there is no more");
    assert!(store.put_push(put("b", "more", 0)).await.unwrap());
    assert_eq!(take(&store, "n1", 1).await.len(), 10, "as many as are wanted");
    assert_eq!(take(&store, "n1", 2).await.len(), 7);
}

pub async fn a_tenant_is_told_of_its_own_runs(store: Arc<dyn Store>) {
    begin(&store, "a", "n1", vec![]).await;
    let own = scoped(Arc::clone(&store), Tenant::local());
    let other = scoped(Arc::clone(&store), Tenant::new("other"));
    assert!(own.put_push(put("a", "one", 0)).await.unwrap());
    assert!(matches!(other.put_push(put("a", "two", 0)).await, Err(StoreError::UnknownRun(_))));
    assert!(matches!(other.pushes(&run("a")), Err(StoreError::UnknownRun(_))));
    assert!(other.remove_push(&run("a"), &"one".into()).await.is_err());
    assert_eq!(own.pushes(&run("a")).unwrap().len(), 1);
    assert!(own.take_pushes(taking("n1", 1)).await.is_err(), "a tenant does not deliver");
    let due = take(&store, "n1", 1).await;
    let back = moved(&due[0], "n1", Told::default(), 2, NextPush::News);
    assert!(own.move_push(back).await.is_err());
}
