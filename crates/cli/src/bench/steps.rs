//! W2: durable steps on a conversation that is already long.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::request::RequestBody;
use signoff_core::{Decision, Message};
use signoff_runtime::{Context, DecideRequest, StartRun, WorkflowBuilder};

use super::measure::{Watch, median, message, summary};
use super::places::places;
use super::{BenchArgs, Records};

const STEPS: usize = 20;

/// Says as many messages as it is told, waits, then does 20 steps, each durable before the next.
fn workflow() -> WorkflowBuilder {
    let mut workflow = WorkflowBuilder::new("w2").function(
        "fill",
        |ctx: Context, length: Arc<Value>| async move {
            let length = usize::try_from(length.as_u64().unwrap_or(0)).unwrap_or(0);
            for n in 0..length {
                ctx.say(Message::assistant("fill", message(n)));
            }
            ctx.ask("go", RequestBody::input("Go on?")).await?;
            Ok(Value::Null)
        },
    );
    for step in 0..STEPS {
        workflow = workflow.function(&format!("s{step}"), move |ctx: Context, _| async move {
            ctx.say(Message::assistant(ctx.executor().clone(), message(10_000 + step)));
            ctx.durable().await?;
            Ok(Value::Null)
        });
    }
    workflow = workflow.edge("fill", "s0");
    for step in 1..STEPS {
        workflow = workflow.edge(&format!("s{}", step - 1), &format!("s{step}"));
    }
    workflow
}

pub(crate) async fn durable_steps(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    for length in [10_usize, 100, 1_000] {
        for place in places()? {
            let (mut wall, mut cpu, mut bytes) = (Vec::new(), Vec::new(), 0);
            for sample in 0..=args.runs {
                let name = format!("w2-{length}-{sample}.db");
                let (engine, store) =
                    place.engine_on(&name, |builder| builder.built(workflow()))?;
                let run = engine.run(StartRun::new("w2", length)).await?.run;
                store.checkpoint()?;
                let before = place.bytes();
                let watch = Watch::start();
                let decide = DecideRequest::new(run.request(1), Decision::respond("go"));
                engine.go_on(engine.take_decision(decide).await?).await;
                let (ms, cpu_ms) = watch.stop();
                let said = engine.state(&run)?.messages.len();
                anyhow::ensure!(said == length + STEPS + 1, "messages are missing");
                store.checkpoint()?;
                if sample > 0 {
                    wall.push(ms);
                    cpu.push(cpu_ms);
                    bytes = place.bytes().saturating_sub(before);
                }
            }
            let steps = 20.0;
            let data = json!({
                "where": place.name,
                "L": length,
                "steps": STEPS,
                "ms_per_run": summary(&wall),
                "cpu_ms_per_run": summary(&cpu),
                "steps_per_s": steps / median(&wall) * 1e3,
                "cpu_us_per_step": median(&cpu) / steps * 1e3,
                "bytes_total": bytes,
                "bytes_per_step": bytes / STEPS as u64,
                "fsync": true,
            });
            records.emit("w2", &format!("{} L={length}", place.name), data)?;
        }
    }
    Ok(())
}
