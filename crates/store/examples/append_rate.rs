//! How many durable appends a second, and at what cost, compared with the smallest write there is.
//!
//! `cargo run --release -p signoff-store --example append_rate [callers] [seconds] [directory or postgres://…]`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "append_rate/bare.rs"]
mod bare;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use signoff_core::journal::{Entry, Event, Payload, Started};
use signoff_core::{Actor, RunId, RunStatus, Tenant, Timestamp};
use signoff_store::{
    Append, Claim, Follows, MemoryStore, NewRun, PostgresOptions, PostgresStore, Rest,
    SqliteOptions, SqliteStore, Store,
};

fn main() {
    let mut args = std::env::args().skip(1);
    let callers: usize = args.next().map_or(64, |n| n.parse().unwrap());
    let seconds: u64 = args.next().map_or(3, |n| n.parse().unwrap());
    let place = args.next().unwrap_or_else(|| ".".into());
    let time = Duration::from_secs(seconds);
    if place.starts_with("postgres") {
        return in_postgres(&place, callers, time);
    }
    let directory = tempfile::tempdir_in(place).unwrap();
    let path = directory.path().join("rate.db");
    let sqlite = Arc::new(SqliteStore::open(SqliteOptions::new(&path, "rate")).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();

    for round in 0..2 {
        let before = sqlite.commits();
        let store = sqlite.clone();
        let done = runtime.block_on(measure("probe ", callers, time, move |n| {
            let store = store.clone();
            let run = i64::try_from(round * callers + n).unwrap();
            async move {
                for seq in 0.. {
                    store.probe(run, seq, vec![b'x'; 512]).await.unwrap();
                    tick().await;
                }
            }
        }));
        println!("       {:.1} in a commit", ratio(done, sqlite.commits() - before));
        let before = sqlite.commits();
        let store: Arc<dyn Store> = sqlite.clone();
        let done =
            runtime.block_on(measure("append", callers, time, move |n| writer(store.clone(), n)));
        println!("       {:.1} in a commit", ratio(done, sqlite.commits() - before));
    }
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    runtime.block_on(measure("memory", callers, time, move |n| writer(memory.clone(), n)));
}

fn in_postgres(address: &str, callers: usize, time: Duration) {
    let node = format!("rate{}", std::process::id());
    let options = PostgresOptions::new(address, node).unwrap();
    let postgres = Arc::new(PostgresStore::open(options).unwrap());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for _ in 0..2 {
        let queue = bare::start(&runtime, address);
        runtime.block_on(measure("bare  ", callers, time, move |n| bare::caller(queue.clone(), n)));
        let before = postgres.commits();
        let store: Arc<dyn Store> = postgres.clone();
        let done =
            runtime.block_on(measure("append", callers, time, move |n| writer(store.clone(), n)));
        println!("       {:.1} in a commit", ratio(done, postgres.commits() - before));
    }
}

static DONE: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

async fn tick() {
    DONE.fetch_add(1, Ordering::Relaxed);
    if STOP.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

async fn measure<F, T>(name: &str, callers: usize, time: Duration, task: F) -> u64
where
    F: Fn(usize) -> T,
    T: Future<Output = ()> + Send + 'static,
{
    STOP.store(false, Ordering::Relaxed);
    let tasks: Vec<_> = (0..callers).map(|n| tokio::spawn(task(n))).collect();
    tokio::task::yield_now().await;
    std::thread::sleep(Duration::from_millis(300));
    let (began, cpu) = (Instant::now(), cpu_ticks());
    DONE.store(0, Ordering::Relaxed);
    std::thread::sleep(time);
    let done = DONE.load(Ordering::Relaxed);
    let (took, cpu) = (began.elapsed(), cpu_ticks() - cpu);
    STOP.store(true, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(200));
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    let rate = ratio(done, 1) / took.as_secs_f64();
    println!("{name} {rate:>9.0}/s, {:>5.1} µs CPU each", ratio(cpu * 10_000, done));
    done
}

async fn writer(store: Arc<dyn Store>, n: usize) {
    let now = Timestamp(0);
    let unique = format!("{n}-{}-{}", std::process::id(), store.changes().unwrap());
    let started = Started {
        workflow: "rate".into(),
        version: "v".into(),
        conversation: "conv_rate".into(),
        input: serde_json::Value::Null,
        by: Actor::local(),
        continues: None,
        parent: None,
        forked_from: None,
        reason: None,
        tenant: Tenant::local(),
        added: 0,
        sent: None,
    };
    let first = Entry { seq: 1, at: now, event: Event::Started(Box::new(started)) };
    let new = NewRun {
        id: RunId::from_unique(&unique),
        entries: vec![first],
        status: RunStatus::Running,
        deadline: None,
        claim: Some(Claim { node: "rate".into(), until: Timestamp(i64::MAX) }),
        follows: Follows::Anything,
        about: None,
    };
    let lease = store.create_run(new).await.unwrap().unwrap().lease.unwrap();
    let value = Payload::value("x".repeat(470));
    for seq in 1.. {
        let event = Event::Output { activation: 1, value: value.clone() };
        let append = Append {
            lease: lease.clone(),
            expected: seq,
            entries: vec![Entry { seq: seq + 1, at: now, event }],
            consumed: 0,
            status: RunStatus::Running,
            rest: Rest::Keep,
            snapshot: None,
        };
        store.append(append).await.unwrap();
        tick().await;
        if seq % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// User and system time of this process, in hundredths of a second. Zero where it is not told.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum()
}

#[allow(clippy::cast_precision_loss)]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b.max(1) as f64
}
