//! The whole: nodes, load, faults, and what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use signoff_test_postgres::Server as Postgres;
use signoff_testkit::Chance;
use tokio::task::JoinSet;

use crate::check::check;
use crate::client::Client;
use crate::conversation::{find, lead};
use crate::faults::{Done, Faults, Plan};
use crate::history::History;
use crate::nodes::{Nodes, Place};
use crate::peer::Peer;
use crate::report::Report;
use crate::takeover::Database;

/// Carries a plan out.
pub async fn run(plan: Plan) -> Report {
    let since = Instant::now();
    let chance = Chance::from_seed(plan.seed);
    let (peer, effects) = Peer::start().await;
    let place = Arc::new(Place::new(&plan.program, &effects));
    let nodes = Arc::new(Nodes::new(plan.nodes));
    let over = Arc::new(AtomicUsize::new(0));
    let postgres = Postgres::start();
    let address = postgres.create("chaos");
    let mut faults = Faults {
        plan: plan.clone(),
        chance: chance.for_case(u64::MAX),
        place: Arc::clone(&place),
        nodes: Arc::clone(&nodes),
        postgres,
        address: address.clone(),
        over: Arc::clone(&over),
        runtime: tokio::runtime::Handle::current(),
        done: Done::default(),
        names: Vec::new(),
    };
    let started = tokio::task::spawn_blocking(move || {
        faults.begin();
        faults
    });
    let mut faults = started.await.unwrap();
    let inflicting = tokio::task::spawn_blocking(move || {
        faults.inflict();
        faults
    });
    let client = Client::new(Arc::clone(&nodes));
    let mut histories = all(&plan, &chance, &client, &over).await;
    let faults = inflicting.await.unwrap();
    // Only now: what was acknowledged must be there after the last fault too.
    let mut looking = chance.for_case(u64::MAX - 1);
    for history in &mut histories {
        find(&client, &mut looking, history).await;
        history.acted = peer.acted(&history.name);
    }
    let mut verdict = check(&histories);
    let runs = Database(address).runs().await;
    if usize::try_from(runs).ok() != Some(histories.len()) {
        verdict.twice.push(format!("there are {runs} runs of {} conversations", histories.len()));
    }
    let Faults { done, .. } = faults;
    let report = Report {
        seed: plan.seed,
        conversations: histories.len(),
        faults: done.counts,
        in_doubt: histories.iter().map(|history| history.in_doubt).sum(),
        calls: peer.counts(),
        killed: gathered(done.killed).await,
        stopped: gathered(done.stopped).await,
        took: since.elapsed(),
        verdict,
    };
    tokio::task::spawn_blocking(move || {
        for n in 0..nodes.count() {
            let said = nodes.end(n);
            assert!(!said.contains("panicked"), "{said}");
        }
        drop(faults.postgres);
    })
    .await
    .unwrap();
    report
}

/// Leads all conversations, so many at once.
async fn all(
    plan: &Plan,
    chance: &Chance,
    client: &Client,
    over: &Arc<AtomicUsize>,
) -> Vec<History> {
    let mut histories = Vec::with_capacity(plan.conversations);
    let mut led = JoinSet::new();
    for n in 0..plan.conversations {
        if led.len() >= plan.at_once
            && let Some(history) = led.join_next().await
        {
            histories.push(history.unwrap());
        }
        let (client, chance, over) = (client.clone(), chance.for_case(n as u64), Arc::clone(over));
        led.spawn(async move {
            let history = lead(&client, chance, format!("c-{n}")).await;
            over.fetch_add(1, Ordering::SeqCst);
            history
        });
    }
    while let Some(history) = led.join_next().await {
        histories.push(history.unwrap());
    }
    histories
}

async fn gathered(
    watched: Vec<tokio::task::JoinHandle<Vec<std::time::Duration>>>,
) -> Vec<std::time::Duration> {
    let mut all = Vec::new();
    for spans in watched {
        all.extend(spans.await.unwrap());
    }
    all
}
