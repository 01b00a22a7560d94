//! W1 and W6: the engine's own cost, without a disk.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::Message;
use signoff_runtime::{Context, Engine, StartRun, WorkflowBuilder};
use signoff_store::MemoryStore;

use super::measure::{Watch, median, message, summary};
use super::{BenchArgs, Records};

fn engine(workflow: WorkflowBuilder) -> anyhow::Result<Engine> {
    Engine::builder(Arc::new(MemoryStore::new()))
        .built(workflow)
        .build()
        .map_err(|error| anyhow::anyhow!("{error}"))
}

/// W1: N steps, each appends one distinct message of 200 characters.
pub(crate) async fn chain(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    for n in [5_usize, 10, 50, 200] {
        let texts: Arc<Vec<String>> = Arc::new((0..6_000).map(message).collect());
        let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let mut workflow = WorkflowBuilder::new("w1");
        for step in 0..n {
            let (texts, next) = (Arc::clone(&texts), Arc::clone(&next));
            workflow = workflow.function(&format!("s{step}"), move |ctx: Context, _| {
                let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                ctx.say(Message::assistant(
                    ctx.executor().clone(),
                    texts[at % texts.len()].clone(),
                ));
                async { Ok(Value::Null) }
            });
        }
        for step in 1..n {
            workflow = workflow.edge(&format!("s{}", step - 1), &format!("s{step}"));
        }
        let engine = engine(workflow)?;
        let repeats = (40_000 / n).max(3);
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        for sample in 0..=args.runs {
            let watch = Watch::start();
            let mut last = None;
            for _ in 0..repeats {
                last = Some(engine.run(StartRun::new("w1", message(0))).await?.run);
            }
            let (ms, cpu_ms) = watch.stop();
            if let Some(run) = last {
                anyhow::ensure!(
                    engine.state(&run)?.messages.len() == n + 1,
                    "messages are missing"
                );
            }
            if sample > 0 {
                #[allow(clippy::cast_precision_loss)]
                let per = repeats as f64;
                wall.push(ms / per);
                cpu.push(cpu_ms / per);
            }
        }
        #[allow(clippy::cast_precision_loss)]
        let steps = n as f64;
        let data = json!({
            "n": n,
            "ms_per_run": summary(&wall),
            "cpu_ms_per_run": summary(&cpu),
            "us_per_step": median(&wall) / steps * 1e3,
            "cpu_us_per_step": median(&cpu) / steps * 1e3,
        });
        records.emit("w1", &format!("n={n}"), data)?;
    }
    Ok(())
}

/// W6: one executor to 50 or 500 at once, and all of them to one.
pub(crate) async fn fan(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    for n in [50_usize, 500] {
        let names: Vec<String> = (0..n).map(|branch| format!("b{branch}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let mut workflow =
            WorkflowBuilder::new("w6").function("start", |_, _| async { Ok(Value::Null) });
        for name in &names {
            let next = Arc::clone(&next);
            workflow = workflow.function(name, move |_, _| {
                let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                async move { Ok(Value::String(message(at))) }
            });
        }
        let workflow = workflow
            .function("join", |_, all: Arc<Value>| async move {
                Ok(json!(all.as_object().map_or(0, serde_json::Map::len)))
            })
            .fan_out("start", &names)
            .fan_in(&names, "join");
        let engine = engine(workflow)?;
        let repeats = (20_000 / n).max(3);
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        for sample in 0..=args.runs {
            let watch = Watch::start();
            let mut last = None;
            for _ in 0..repeats {
                last = Some(engine.run(StartRun::new("w6", 0)).await?.run);
            }
            let (ms, cpu_ms) = watch.stop();
            if let Some(run) = last {
                anyhow::ensure!(
                    engine.state(&run)?.output() == Some(json!(n)),
                    "a branch is missing"
                );
            }
            if sample > 0 {
                #[allow(clippy::cast_precision_loss)]
                let per = repeats as f64;
                wall.push(ms / per);
                cpu.push(cpu_ms / per);
            }
        }
        #[allow(clippy::cast_precision_loss)]
        let branches = n as f64;
        let data = json!({
            "n": n,
            "ms_per_run": summary(&wall),
            "cpu_ms_per_run": summary(&cpu),
            "us_per_branch": median(&wall) / branches * 1e3,
            "cpu_us_per_branch": median(&cpu) / branches * 1e3,
        });
        records.emit("w6", &format!("n={n}"), data)?;
    }
    Ok(())
}
