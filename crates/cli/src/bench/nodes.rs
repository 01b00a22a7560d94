//! Durable steps of many runs at once, by one node and by several on one store, beside the barest program that groups
//! commits on the same store in the same minute.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_core::Message;
use signoff_runtime::{Context, Engine, StartRun, WorkflowBuilder, new_id};
use signoff_store::{NodeId, PostgresOptions, PostgresStore, SqliteStore, Store};
use tokio::task::JoinSet;

use super::bare;
use super::measure::{median, message};
use super::places::places;
use super::{BenchArgs, Records};

/// How many steps each run makes: so many that its beginning and its end, which are more than a step, do not count.
const STEPS: usize = 200;
const CALLERS: [usize; 2] = [64, 1_024];
const MOST_NODES: usize = 3;

/// Says as many messages as it is told, each durable before the next.
fn workflow() -> WorkflowBuilder {
    WorkflowBuilder::new("steps").function("step", |ctx: Context, count: Arc<Value>| async move {
        for n in 0..usize::try_from(count.as_u64().unwrap_or(0)).unwrap_or(0) {
            ctx.say(Message::assistant("step", message(n)));
            ctx.durable().await?;
        }
        Ok(Value::Null)
    })
}

fn engine(store: Arc<dyn Store>, node: NodeId) -> anyhow::Result<Engine> {
    let built = Engine::builder(store).node(node).built(workflow()).build();
    built.map_err(|error| anyhow::anyhow!("{error}"))
}

/// Steps a second of so many runs at once, spread over the nodes.
async fn rate(engines: &[Engine], callers: usize) -> anyhow::Result<f64> {
    let since = Instant::now();
    let mut runs = JoinSet::new();
    for n in 0..callers {
        let engine = engines[n % engines.len()].clone();
        runs.spawn(async move { engine.run(StartRun::new("steps", STEPS)).await });
    }
    while let Some(run) = runs.join_next().await {
        run??;
    }
    Ok(per_second(STEPS * callers, since.elapsed()))
}

#[allow(clippy::cast_precision_loss)]
fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// Both stores: SQLite in each kind of place, PostgreSQL if its address is given.
pub(crate) async fn steps(
    args: &BenchArgs,
    store: Option<&str>,
    records: &mut Records,
) -> anyhow::Result<()> {
    for place in places()? {
        for callers in CALLERS {
            let (mut raw, mut ours) = (Vec::new(), Vec::new());
            for sample in 0..=args.runs {
                let name = format!("nodes-{callers}-{sample}.db");
                let (engine, sqlite) =
                    place.engine_on(&name, |builder| builder.built(workflow()))?;
                let before = probes(&sqlite, callers).await?;
                let rate = rate(std::slice::from_ref(&engine), callers).await?;
                if sample > 0 {
                    raw.push(before);
                    ours.push(rate);
                }
            }
            emit(records, &format!("sqlite {}", place.name), 1, callers, &raw, &ours)?;
        }
    }
    let Some(address) = store.filter(|store| store.starts_with("postgres")) else { return Ok(()) };
    for nodes in 1..=MOST_NODES {
        let engines: anyhow::Result<Vec<Engine>> = (0..nodes)
            .map(|_| {
                let node: NodeId = new_id().into();
                let options = PostgresOptions::new(address, Arc::clone(&node))?;
                engine(Arc::new(PostgresStore::open(options)?), node)
            })
            .collect();
        let engines = engines?;
        for callers in CALLERS {
            let (mut raw, mut ours) = (Vec::new(), Vec::new());
            for sample in 0..=args.runs {
                let before = bare::rate(address, callers, STEPS * callers).await?;
                let rate = rate(&engines, callers).await?;
                if sample > 0 {
                    raw.push(before);
                    ours.push(rate);
                }
            }
            emit(records, "postgres", nodes, callers, &raw, &ours)?;
        }
    }
    Ok(())
}

/// Rows a second that the same writer takes, of callers who each wait for their own.
async fn probes(store: &Arc<SqliteStore>, callers: usize) -> anyhow::Result<f64> {
    let since = Instant::now();
    let mut all = JoinSet::new();
    for caller in 0..i64::try_from(callers)? {
        let store = Arc::clone(store);
        all.spawn(async move {
            for n in 0..i64::try_from(STEPS)? {
                store.probe(caller, n, vec![b'x'; 512]).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = all.join_next().await {
        done??;
    }
    Ok(per_second(STEPS * callers, since.elapsed()))
}

fn emit(
    records: &mut Records,
    place: &str,
    nodes: usize,
    callers: usize,
    raw: &[f64],
    ours: &[f64],
) -> anyhow::Result<()> {
    let data = json!({
        "where": place,
        "nodes": nodes,
        "runs_at_once": callers,
        "steps_per_s": median(ours),
        "raw_per_s": median(raw),
        "raw_to_steps": median(raw) / median(ours),
        "raw": { "steps_per_s": ours, "raw_per_s": raw },
        "fsync": true,
    });
    records.emit("nodes", &format!("{place} nodes={nodes} runs={callers}"), data)
}
