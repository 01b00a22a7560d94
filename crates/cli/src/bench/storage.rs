//! How storage grows with what was said, and how long a long run takes to load.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::request::RequestBody;
use signoff_core::{Decision, Message};
use signoff_runtime::{Context, DecideRequest, StartRun, WorkflowBuilder};
use signoff_store::Store;

use super::measure::{Watch, median, message, summary};
use super::places::{Place, places};
use super::{BenchArgs, Records};

/// 500 steps of 1 kB, each durable before the next.
pub(crate) async fn conversation(records: &mut Records) -> anyhow::Result<()> {
    const STEPS: usize = 500;
    let workflow = || {
        WorkflowBuilder::new("talk").function("talk", |ctx: Context, _| async move {
            for n in 0..STEPS {
                let text: String = (0..5).map(|part| message(n * 5 + part)).collect();
                ctx.say(Message::assistant("talk", text));
                ctx.durable().await?;
            }
            ctx.ask("end", RequestBody::input("Enough?")).await?;
            Ok(Value::Null)
        })
    };
    for place in places()? {
        let (engine, store) = place.engine_on("talk.db", |builder| builder.built(workflow()))?;
        store.checkpoint()?;
        let before = place.bytes();
        let run = engine.run(StartRun::new("talk", 0)).await?.run;
        store.checkpoint()?;
        let stored = place.bytes() - before;
        let payload: usize =
            engine.state(&run)?.messages.iter().map(|message| message.text().len()).sum();
        #[allow(clippy::cast_precision_loss)]
        let times = stored as f64 / payload as f64;
        let data = json!({ "where": place.name, "steps": STEPS, "payload": payload, "stored": stored, "times_payload": times });
        records.emit("storage", place.name, data)?;
    }
    Ok(())
}

/// A run of 10,000 entries and more that waits for an answer: loading it, and answering it.
pub(crate) async fn long_run(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    for place in places()? {
        let data = journal_of(&place, 9_904, args.runs).await?;
        records.emit("load", place.name, data)?;
    }
    Ok(())
}

/// A run of so many entries, or a few less, that waits for an answer: loading it, and answering it.
pub(crate) async fn journal_of(place: &Place, length: usize, runs: usize) -> anyhow::Result<Value> {
    let rounds = length.saturating_sub(4) / 3;
    let workflow = || {
        WorkflowBuilder::new("long")
            .function("talk", move |ctx: Context, _| async move {
                for n in 0..rounds {
                    ctx.say(Message::assistant("talk", message(n)));
                    ctx.invoke(&format!("c{n}"), "helper", n).await?;
                    if n % 16 == 0 {
                        ctx.durable().await?;
                    }
                }
                ctx.ask("end", RequestBody::input("Enough?")).await?;
                Ok(Value::Null)
            })
            .function("helper", |_, n: Arc<Value>| async move { Ok(Value::clone(&n)) })
    };
    let (mut load, mut answered, mut entries) = (Vec::new(), Vec::new(), 0);
    for sample in 0..=runs {
        let name = format!("long-{length}-{sample}.db");
        let (engine, store) = place.engine_on(&name, |builder| builder.built(workflow()))?;
        let run = engine.run(StartRun::new("long", 0)).await?.run;
        drop((engine, store));
        let (engine, store) = place.engine_on(&name, |builder| builder.built(workflow()))?;
        entries = store.run(&run)?.map_or(0, |record| record.head);
        let watch = Watch::start();
        engine.state(&run)?;
        let load_ms = watch.stop().0;
        let watch = Watch::start();
        let decide = DecideRequest::new(run.request(1), Decision::respond("yes"));
        engine.go_on(engine.take_decision(decide).await?).await;
        if sample > 0 {
            load.push(load_ms);
            answered.push(watch.stop().0);
        }
    }
    Ok(json!({
        "where": place.name,
        "entries": entries,
        "load_ms": summary(&load),
        "answer_to_end_ms": summary(&answered),
        "load_ms_median": median(&load),
    }))
}
