//! Timers: what is due happens once.

use std::sync::Arc;

use signoff_core::journal::{Event, Input};
use signoff_core::request::RequestBody;
use signoff_core::request::RequestStatus;
use signoff_core::{RunStatus, Span, Timestamp};

use super::fixtures::*;
use crate::{Append, NewRun, Rest, Scope, Store};

fn sleep(seq: u64, key: &str, due: i64) -> signoff_core::Entry {
    entry(seq, Event::TimerSet { activation: 3, key: key.into(), due: at(due) })
}

pub async fn a_sleep_ends_once(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    let sleeping = Append {
        status: RunStatus::Waiting,
        rest: Rest::Park,
        ..append(&lease, 1, vec![sleep(2, "nap", 500), sleep(3, "night", 900)])
    };
    store.append(sleeping).await.unwrap();
    assert_eq!(store.next_due().unwrap(), Some(at(500)));
    assert_eq!(store.fire_due(at(499), 10).await.unwrap(), 0);
    assert_eq!(store.fire_due(at(500), 10).await.unwrap(), 1);
    assert_eq!(store.fire_due(at(500), 10).await.unwrap(), 0);
    assert_eq!(store.next_due().unwrap(), Some(at(900)));
    let input = Input::Timer { activation: 3, key: "nap".into() };
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), [(1, input)]);
    assert_eq!(store.claim(Scope::All, &node("n"), at(500), TTL, 9).await.unwrap().len(), 1);
}

pub async fn a_run_runs_out_of_time(store: Arc<dyn Store>) {
    store.create_run(NewRun { deadline: Some(at(300)), ..new_run("a") }).await.unwrap();
    assert_eq!(store.next_due().unwrap(), Some(at(300)));
    assert_eq!(store.fire_due(at(300), 10).await.unwrap(), 1);
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), [(1, Input::OutOfTime {})]);
    assert_eq!(store.next_due().unwrap(), None);
}

pub async fn what_is_answered_is_not_due(store: Arc<dyn Store>) {
    waiting(&store, "a", Some(100)).await;
    waiting(&store, "b", Some(200)).await;
    store.decide(decide(&run("a"), 1, "x", "ann", 20)).await.unwrap();
    assert_eq!(store.next_due().unwrap(), Some(at(200)));
    assert_eq!(store.fire_due(at(300), 10).await.unwrap(), 1);
    assert_eq!(store.inputs(&run("a"), 0).unwrap().len(), 1);
    let expired = store.request(&run("b").request(1)).unwrap().unwrap();
    assert_eq!((expired.status, expired.version), (RequestStatus::Expired, 2));
    assert_eq!(record(&store)[1].request, run("b").request(1));
}

pub async fn a_fired_timer_is_not_due(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![sleep(2, "nap", 500)]).await;
    store.append(append(&lease, 2, vec![sleep(3, "nap", 700)])).await.unwrap();
    assert_eq!(store.next_due().unwrap(), Some(at(700)));
    let fired = entry(4, Event::TimerFired { activation: 3, key: "nap".into() });
    store.append(append(&lease, 3, vec![fired])).await.unwrap();
    assert_eq!(store.next_due().unwrap(), None);
}

pub async fn firing_is_limited(store: Arc<dyn Store>) {
    let sleeps = (2..=11).map(|seq| sleep(seq, &format!("s{seq}"), 500)).collect();
    begin(&store, "a", "n1", sleeps).await;
    let mut fired = Vec::new();
    for _ in 0..5 {
        fired.push(store.fire_due(at(600), 3).await.unwrap());
    }
    assert_eq!(fired, [3, 3, 3, 1, 0]);
    let keys: Vec<_> = store
        .inputs(&run("a"), 0)
        .unwrap()
        .into_iter()
        .map(|(_, input)| match input {
            Input::Timer { key, .. } => key.to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(keys, (2..=11).map(|n| format!("s{n}")).collect::<Vec<_>>());
}

pub async fn people_are_reminded_while_it_waits(store: Arc<dyn Store>) {
    let lease = begin(&store, "a", "n1", vec![]).await;
    let body = RequestBody { remind: Some(Span::seconds(1)), ..question("?", None) };
    let asked = asked(2, 1, body);
    let from = asked.at;
    let parked =
        Append { status: RunStatus::Waiting, rest: Rest::Park, ..append(&lease, 1, vec![asked]) };
    store.append(parked).await.unwrap();
    let after = |ms| Timestamp(from.0 + ms);
    assert_eq!(store.fire_due(after(999), 10).await.unwrap(), 0);
    assert_eq!(store.fire_due(after(1000), 10).await.unwrap(), 1);
    assert_eq!(store.next_due().unwrap(), Some(after(2000)));
    let id = run("a").request(1);
    let notes = store.notes(&id).unwrap();
    assert_eq!((notes.len(), &notes[0].what), (1, &crate::Noted::Reminded));
    assert_eq!(store.request(&id).unwrap().unwrap().version, 2);
    assert_eq!(store.inputs(&run("a"), 0).unwrap(), [], "its run sleeps on");
    store.decide(decide(&run("a"), 1, "yes", "ann", 20)).await.unwrap();
    store.fire_due(after(9000), 10).await.unwrap();
    assert_eq!(store.notes(&id).unwrap().len(), 1, "nobody is reminded of what is decided");
}
