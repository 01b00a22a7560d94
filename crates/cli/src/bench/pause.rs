//! W3: a coordinator and four specialists, each of whom asks a person once.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};
use signoff_core::journal::{ErrorInfo, Reply};
use signoff_core::request::RequestBody;
use signoff_core::state::Answer;
use signoff_core::{Decision, Message, Part, RunId};
use signoff_models::{BoxFuture, Delta, ModelError, ModelRequest, Provider};
use signoff_runtime::{Context, DecideRequest, Engine, StartRun, View, WorkflowBuilder};
use signoff_store::SqliteStore;

use super::measure::{Watch, median, message, summary};
use super::places::places;
use super::{BenchArgs, Records};

const RUNS: usize = 20;
const AT_ONCE: usize = 64;

/// A model that answers at once.
#[derive(Debug)]
pub(crate) struct Instant(&'static str);

impl Provider for Instant {
    fn complete<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let parts = vec![Part::Text(self.0.to_owned())];
        Box::pin(async move { Ok(Reply { parts, ..Reply::default() }) })
    }
}

async fn think(ctx: &Context, key: &str, model: &Arc<dyn Provider>) -> Result<String, ErrorInfo> {
    let reply = ctx
        .model(key, model, |turn| ModelRequest {
            agent: ctx.executor().clone(),
            model: "default".into(),
            turn,
            instructions: "".into(),
            messages: ctx.conversation(View::Now).pop().into_iter().collect(),
            tools: Arc::new([]),
            output: None,
            sent: None,
        })
        .await?;
    Ok(match reply.parts.first() {
        Some(Part::Text(text)) => text.clone(),
        _ => String::new(),
    })
}

/// A coordinator who thinks and calls each specialist, who thinks and asks.
pub(crate) fn workflow(specialists: usize) -> WorkflowBuilder {
    let coordinator: Arc<dyn Provider> = Arc::new(Instant("next"));
    let question = "Which option do you want? qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq";
    let asker: Arc<dyn Provider> = Arc::new(Instant(question));
    let mut workflow =
        WorkflowBuilder::new("w3").function("coordinator", move |ctx: Context, _| {
            let model = Arc::clone(&coordinator);
            async move {
                for n in 0..specialists {
                    think(&ctx, &format!("m{n}"), &model).await?;
                    ctx.invoke(&format!("c{n}"), &format!("s{n}"), Value::Null).await?;
                }
                Ok(Value::Null)
            }
        });
    for n in 0..specialists {
        let model = Arc::clone(&asker);
        workflow = workflow.function(&format!("s{n}"), move |ctx: Context, _| {
            let model = Arc::clone(&model);
            async move {
                let question = think(&ctx, "m", &model).await?;
                let answer = ctx.ask("q", RequestBody::input(question.clone())).await?;
                let Answer::Decided { decision: Decision::Respond { content }, .. } = answer else {
                    return Err(ErrorInfo::new("bench", "no answer"));
                };
                ctx.say(Message::assistant(ctx.executor().clone(), question));
                ctx.say(Message::user(content.as_str().unwrap_or_default()));
                Ok(Value::Null)
            }
        });
    }
    workflow
}

pub(crate) async fn answer(
    engine: &Engine,
    run: &RunId,
    request: u32,
    n: usize,
) -> anyhow::Result<()> {
    let decide = DecideRequest::new(run.request(request), Decision::respond(message(n)));
    let outcome = engine.take_decision(decide).await?;
    engine.go_on(outcome).await;
    Ok(())
}

/// Microseconds per commit of one row, by one caller after another and by many at once: what the
/// same writer on the same disk allows.
async fn raw(store: &SqliteStore) -> anyhow::Result<(f64, f64)> {
    let payload = || message(7).repeat(3).into_bytes();
    let one = 200.0;
    let watch = Watch::start();
    for n in 0..200 {
        store.probe(-1, n, payload()).await?;
    }
    let alone = watch.stop().0 / one * 1e3;
    let watch = Watch::start();
    let callers = (0..AT_ONCE).map(|caller| async move {
        for n in 0..20 {
            store.probe(i64::try_from(caller)?, n, payload()).await?;
        }
        anyhow::Ok(())
    });
    for result in join_all(callers).await {
        result?;
    }
    #[allow(clippy::cast_precision_loss)]
    let together = watch.stop().0 / (AT_ONCE * 20) as f64 * 1e3;
    Ok((alone, together))
}

pub(crate) async fn cycles(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    for place in places()? {
        let (mut wall, mut cpu, mut cycle, mut ratio, mut bytes) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), 0);
        let (mut raw_alone, mut raw_together) = (Vec::new(), Vec::new());
        let (mut together, mut ratio_together) = (Vec::new(), Vec::new());
        for sample in 0..=args.runs {
            let name = format!("w3-{sample}.db");
            let (engine, store) = place.engine_on(&name, |builder| builder.built(workflow(4)))?;
            store.checkpoint()?;
            let before = place.bytes();
            let mut cycles = Vec::new();
            let watch = Watch::start();
            for n in 0..RUNS {
                let run = engine.run(StartRun::new("w3", message(n))).await?.run;
                for request in 1..=4 {
                    let one = Watch::start();
                    answer(&engine, &run, request, n * 4 + request as usize).await?;
                    cycles.push(one.stop().0);
                }
                let state = engine.state(&run)?;
                anyhow::ensure!(state.messages.len() == 9, "messages are missing");
            }
            let (ms, cpu_ms) = watch.stop();
            store.checkpoint()?;
            let grown = place.bytes().saturating_sub(before);
            let (alone, many) = raw(&store).await?;
            let at_once = many_at_once(&engine).await?;
            if sample > 0 {
                #[allow(clippy::cast_precision_loss)]
                let runs = RUNS as f64;
                wall.push(ms / runs);
                cpu.push(cpu_ms / runs);
                cycle.push(median(&cycles));
                raw_alone.push(alone);
                raw_together.push(many);
                together.push(at_once);
                ratio.push(median(&cycles) * 1e3 / alone);
                ratio_together.push(at_once / many);
                bytes = grown / RUNS as u64;
            }
        }
        let data = json!({
            "where": place.name,
            "ms_per_run": summary(&wall),
            "cpu_ms_per_run": summary(&cpu),
            "ms_per_cycle": summary(&cycle),
            "runs_per_s": 1e3 / median(&wall),
            "bytes_per_run": bytes,
            "raw_commit_us": median(&raw_alone),
            "cycle_to_raw_commit": median(&ratio),
            "at_once": AT_ONCE,
            "us_per_cycle_at_once": median(&together),
            "raw_commit_us_at_once": median(&raw_together),
            "cycle_to_raw_commit_at_once": median(&ratio_together),
            "fsync": true,
        });
        records.emit("w3", place.name, data)?;
    }
    Ok(())
}

/// Microseconds per pause and resume when 64 runs are answered at the same time.
async fn many_at_once(engine: &Engine) -> anyhow::Result<f64> {
    let mut runs = Vec::new();
    for n in 0..AT_ONCE {
        runs.push(engine.run(StartRun::new("w3", message(n))).await?.run);
    }
    let watch = Watch::start();
    let answered = runs.iter().enumerate().map(|(n, run)| async move {
        for request in 1..=4 {
            answer(engine, run, request, n).await?;
        }
        anyhow::Ok(())
    });
    for result in join_all(answered).await {
        result?;
    }
    #[allow(clippy::cast_precision_loss)]
    let cycles = (AT_ONCE * 4) as f64;
    Ok(watch.stop().0 / cycles * 1e3)
}
