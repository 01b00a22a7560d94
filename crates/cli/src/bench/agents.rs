//! W5: a desk where triage hands over to a specialist, three times a person speaks. Alone with a model
//! that answers at once; then many such conversations at the same time with a model server over HTTP.

use std::io::{BufRead as _, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use signoff_core::journal::Reply;
use signoff_core::message::ToolCall;
use signoff_core::workflow::{Known, NoFiles};
use signoff_core::{Decision, Part, RunId, Workflow};
use signoff_model_server::ModelServer;
use signoff_models::{BoxFuture, Delta, Deps, ModelError, ModelRequest, Provider, ProviderConfig};
use signoff_runtime::{Clock as _, DecideRequest, Engine, EngineBuilder, StartRun, SystemClock};
use signoff_store::{MemoryStore, Store};

use super::measure::{Watch, median, message, resident_kib, summary};
use super::places::places;
use super::{BenchArgs, Records};

const AT_ONCE: usize = 200;
/// Turns of agents in one conversation: triage once, the specialist three times.
const TURNS: usize = 4;
/// How long the server's model thinks, so that all conversations are under way at once.
const THINKING: Duration = Duration::from_millis(100);
const CHATS: usize = 20;

const DESK: &str = r#"
workflow: w5
pattern: handoff
agents:
  triage: { instructions: "Route." }
  specialist: { instructions: "Answer." }
handoff:
  agents: [triage, specialist]
  until: answers >= 2
"#;

/// The same desk for everybody: triage hands over, the specialist answers.
#[derive(Debug)]
struct Desk {
    thinking: Duration,
}

impl Provider for Desk {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            if !self.thinking.is_zero() {
                tokio::time::sleep(self.thinking).await;
            }
            let part = if &*request.agent == "triage" {
                Part::ToolCall(ToolCall {
                    id: format!("call-{}", request.turn),
                    name: "handoff_to_specialist".into(),
                    arguments: json!({}),
                })
            } else {
                let text = format!("specialist answer {}", message(request.messages.len()));
                for word in text.split_inclusive(' ') {
                    sink(Delta::Text(word.to_owned()));
                }
                Part::Text(text)
            };
            Ok(Reply { parts: vec![part], ..Reply::default() })
        })
    }
}

fn desk(builder: EngineBuilder, model: Arc<dyn Provider>) -> anyhow::Result<EngineBuilder> {
    let parsed = Workflow::parse(DESK, &NoFiles, &Known::default())
        .map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    Ok(builder.workflow(parsed.workflow).model("default", model))
}

/// One conversation; the milliseconds of each of the person's three turns.
async fn chat(engine: &Engine, n: usize) -> anyhow::Result<[f64; 3]> {
    let mut times = [0.0; 3];
    let watch = Watch::start();
    let run = engine.run(StartRun::new("w5", message(n))).await?.run;
    times[0] = watch.stop().0;
    for (time, request) in times[1..].iter_mut().zip(1..) {
        let watch = Watch::start();
        say(engine, &run, request, n).await?;
        *time = watch.stop().0;
    }
    let state = engine.state(&run)?;
    anyhow::ensure!(state.end.is_some(), "the conversation has not ended: {:?}", state.requests);
    Ok(times)
}

async fn say(engine: &Engine, run: &RunId, request: u32, n: usize) -> anyhow::Result<()> {
    let decision = Decision::respond(message(n + request as usize));
    let outcome = engine.take_decision(DecideRequest::new(run.request(request), decision)).await?;
    engine.go_on(outcome).await;
    Ok(())
}

/// Conversations one after another, with a model in this process.
pub(crate) async fn alone(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    let at_once = || Arc::new(Desk { thinking: Duration::ZERO });
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let engine = desk(Engine::builder(store), at_once())?.build()?;
    one_after_another(args, &engine, "memory", records).await?;
    for place in places()? {
        let (engine, _store) = place.engine_and("w5.db", |builder| desk(builder, at_once()))?;
        one_after_another(args, &engine, place.name, records).await?;
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss)]
async fn one_after_another(
    args: &BenchArgs,
    engine: &Engine,
    name: &str,
    records: &mut Records,
) -> anyhow::Result<()> {
    let (mut wall, mut cpu, mut first, mut third) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for sample in 0..=args.runs {
        let watch = Watch::start();
        let (mut firsts, mut thirds) = (Vec::new(), Vec::new());
        for n in 0..CHATS {
            let times = chat(engine, n).await?;
            firsts.push(times[0]);
            thirds.push(times[2]);
        }
        let (ms, cpu_ms) = watch.stop();
        if sample > 0 {
            wall.push(ms / CHATS as f64);
            cpu.push(cpu_ms / CHATS as f64);
            first.push(median(&firsts));
            third.push(median(&thirds));
        }
    }
    let data = json!({
        "where": name,
        "ms_per_chat": summary(&wall),
        "cpu_ms_per_chat": summary(&cpu),
        "cpu_us_per_turn": median(&cpu) / TURNS as f64 * 1e3,
        "first_turn_ms": median(&first),
        "third_turn_ms": median(&third),
    });
    records.emit("w5", name, data)
}

/// Many conversations at once, with a model server in another process.
#[allow(clippy::cast_precision_loss)]
pub(crate) async fn at_once(records: &mut Records) -> anyhow::Result<()> {
    let server = Server::start()?;
    let place = places()?.into_iter().next();
    let place = place.ok_or_else(|| anyhow::anyhow!("there is no place for a database"))?;
    let (engine, _store) = place.engine_and("agents.db", |b| desk(b, server.model()?))?;
    // Warm: what the process needs for any run at all is there before it is measured.
    together(&engine, 8).await?;
    let before = resident_kib();
    let peak = Peak::watch();
    let watch = Watch::start();
    together(&engine, AT_ONCE).await?;
    let (ms, cpu_ms) = watch.stop();
    let turns = (AT_ONCE * TURNS) as f64;
    let data = json!({
        "where": place.name,
        "at_once": AT_ONCE,
        "agent_turns": turns,
        "model": "openai-chat over HTTP, streamed",
        "model_thinks_ms": THINKING.as_millis(),
        "wall_s": ms / 1e3,
        "turns_per_s": turns / ms * 1e3,
        "cpu_us_per_turn": cpu_ms / turns * 1e3,
        "cpu_ms_per_chat": cpu_ms / AT_ONCE as f64,
        "rss_before_mb": before / 1024.0,
        "rss_kb_per_active_run": (peak.stop().await? - before) / AT_ONCE as f64,
    });
    records.emit("agents", &format!("{AT_ONCE} runs at once"), data)
}

async fn together(engine: &Engine, count: usize) -> anyhow::Result<()> {
    let chats: Vec<_> = (0..count)
        .map(|n| {
            let engine = engine.clone();
            tokio::spawn(async move { chat(&engine, n).await.map(drop) })
        })
        .collect();
    for chat in chats {
        chat.await??;
    }
    Ok(())
}

/// The most resident memory there is while it watches, in KiB.
struct Peak {
    over: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<f64>,
}

impl Peak {
    fn watch() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let task = tokio::spawn(async move {
            let mut most = resident_kib();
            while !seen.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(10)).await;
                most = most.max(resident_kib());
            }
            most
        });
        Self { over, task }
    }

    async fn stop(self) -> anyhow::Result<f64> {
        self.over.store(true, Ordering::Relaxed);
        Ok(self.task.await?)
    }
}

/// The model server, in a process of its own so that its work is not counted as ours.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", super::MODEL_SERVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut url = String::new();
        if let Some(output) = child.stdout.take() {
            std::io::BufReader::new(output).read_line(&mut url)?;
        }
        Ok(Self { child, url: url.trim().to_owned() })
    }

    fn model(&self) -> anyhow::Result<Arc<dyn Provider>> {
        let config: ProviderConfig = serde_json::from_value(json!({
            "provider": "openai-chat",
            "model": "w5",
            "base_url": self.url,
            "max_concurrent": AT_ONCE,
        }))?;
        let deps = Deps {
            env: &|_| None,
            now: Arc::new(|| SystemClock.now()),
            chance: Arc::new(|| 0.5),
            script: &|_| Err("there is none".to_owned()),
        };
        Ok(signoff_models::build("default", &config, &deps)?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends when nobody holds its standard input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The other process: serves models until its standard input ends.
pub(crate) async fn serve() -> anyhow::Result<()> {
    let server = ModelServer::start_forgetful(Arc::new(Desk { thinking: THINKING })).await;
    writeln!(std::io::stdout(), "{}", server.base_url())?;
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    Ok(())
}
