//! Clients that start runs and answer them, over and over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::client::Connection;
use crate::bench::measure::percentile;

/// What the clients of one case did.
#[derive(Default)]
pub(super) struct Done {
    pub(super) cycles: usize,
    errors: usize,
    last_error: Option<String>,
    seconds: f64,
    start: Times,
    answer: Times,
}

/// When the first event came, and the end, in milliseconds.
#[derive(Default)]
struct Times {
    first: Vec<f64>,
    done: Vec<f64>,
}

impl Times {
    fn add(&mut self, first: Duration, done: Duration) {
        self.first.push(first.as_secs_f64() * 1e3);
        self.done.push(done.as_secs_f64() * 1e3);
    }

    fn extend(&mut self, other: Self) {
        self.first.extend(other.first);
        self.done.extend(other.done);
    }
}

fn spread(times: &[f64]) -> Value {
    json!({ "p50": percentile(times, 0.5), "p95": percentile(times, 0.95), "p99": percentile(times, 0.99) })
}

impl Done {
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn report(&self) -> Value {
        json!({
            "cycles": self.cycles,
            "errors": self.errors,
            "last_error": self.last_error,
            "seconds": self.seconds,
            "cycles_per_s": self.cycles as f64 / self.seconds,
            "requests_per_s": self.cycles as f64 * 2.0 / self.seconds,
            "start_first_ms": spread(&self.start.first),
            "start_done_ms": spread(&self.start.done),
            "resume_first_ms": spread(&self.answer.first),
            "resume_done_ms": spread(&self.answer.done),
        })
    }
}

/// What a server can start.
pub(super) async fn entities(url: &str) -> anyhow::Result<Vec<String>> {
    let answer = Connection::new(url).ask("GET", "/v1/entities", None).await?;
    let found: Value = serde_json::from_slice(&answer.body)?;
    let entities = found["entities"].as_array().context("no entities")?;
    let ids = entities.iter().filter_map(|entity| entity["id"].as_str());
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    // Ours has examples besides.
    Ok(if ids.iter().any(|id| id == "ask") { vec!["ask".to_owned()] } else { ids })
}

/// `clients` at once, each one cycle after another.
pub(super) async fn responses(
    url: &str,
    entities: &[String],
    clients: usize,
    how_long: Duration,
) -> anyhow::Result<Done> {
    // What is made ready by the first request is not counted.
    let mut warm = Connection::new(url);
    cycle(&mut warm, &entities[0], "warm", &mut Done::default()).await?;
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for n in 0..clients {
        let (url, entity) = (url.to_owned(), entities[n % entities.len()].clone());
        tasks.spawn(async move {
            let mut done = Done::default();
            let mut connection = Connection::new(&url);
            let mut round = 0;
            while began.elapsed() < how_long {
                round += 1;
                let name = format!("{n}-{round}-{}", began.elapsed().as_nanos());
                match cycle(&mut connection, &entity, &name, &mut done).await {
                    Ok(()) => done.cycles += 1,
                    Err(error) => {
                        done.errors += 1;
                        done.last_error = Some(error.to_string());
                        connection = Connection::new(&url);
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                }
            }
            done
        });
    }
    let mut all = Done::default();
    while let Some(done) = tasks.join_next().await {
        let done = done?;
        all.cycles += done.cycles;
        all.errors += done.errors;
        all.last_error = done.last_error.or(all.last_error);
        all.start.extend(done.start);
        all.answer.extend(done.answer);
    }
    all.seconds = began.elapsed().as_secs_f64();
    Ok(all)
}

/// Starts a run that asks, and answers it; both streamed.
async fn cycle(
    connection: &mut Connection,
    entity: &str,
    name: &str,
    done: &mut Done,
) -> anyhow::Result<()> {
    let body = json!({
        "model": "x", "input": "hello", "stream": true, "conversation": format!("c_{name}"),
        "metadata": { "entity_id": entity },
    });
    let started = connection.ask("POST", "/v1/responses", Some(&body)).await?;
    let text = String::from_utf8_lossy(&started.body);
    ensure!(started.status == 200, "{}: {text}", started.status);
    let asked = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter(|data| data.contains("response.request_info.requested"))
        .find_map(|data| serde_json::from_str::<Value>(data).ok())
        .with_context(|| format!("nothing was asked: {text}"))?;
    let mut answer = body;
    let id = asked["request_id"].as_str().unwrap_or_default();
    answer["input"] = json!([{ "type": "message", "role": "user", "content": [
        { "type": "workflow_hil_response", "responses": { id: "yes" } },
    ] }]);
    let answered = connection.ask("POST", "/v1/responses", Some(&answer)).await?;
    let text = String::from_utf8_lossy(&answered.body);
    ensure!(answered.status == 200 && text.contains("got yes"), "{}: {text}", answered.status);
    done.start.add(started.first, started.done);
    done.answer.add(answered.first, answered.done);
    Ok(())
}

/// How long after an answer the run's stream tells what follows, in milliseconds; and how many times that failed.
pub(super) async fn answers(
    url: &str,
    clients: usize,
    every: Option<Duration>,
    how_long: Duration,
) -> anyhow::Result<(Vec<f64>, usize)> {
    let began = Instant::now();
    let url: Arc<str> = url.into();
    let mut tasks = JoinSet::new();
    for n in 0..clients {
        let url = Arc::clone(&url);
        tasks.spawn(async move {
            let (mut times, mut errors) = (Vec::new(), 0);
            let mut asking = Connection::new(&url);
            if let Some(every) = every {
                // Not all at the same moment.
                tokio::time::sleep(every * u32::try_from(n).unwrap_or(0) / 64).await;
            }
            while began.elapsed() < how_long {
                let next = every.map(|every| tokio::time::Instant::now() + every);
                if let Ok(time) = answer(&url, &mut asking).await {
                    times.push(time);
                } else {
                    errors += 1;
                    asking = Connection::new(&url);
                }
                if let Some(next) = next {
                    tokio::time::sleep_until(next).await;
                }
            }
            (times, errors)
        });
    }
    let (mut times, mut errors) = (Vec::new(), 0);
    while let Some(done) = tasks.join_next().await {
        let (more, failed) = done?;
        times.extend(more);
        errors += failed;
    }
    Ok((times, errors))
}

async fn answer(url: &str, asking: &mut Connection) -> anyhow::Result<f64> {
    let start = json!({ "workflow": "ask", "input": "hello" });
    let started = asking.ask("POST", "/v1/runs", Some(&start)).await?;
    ensure!(started.status == 201, "it was not started");
    let run: Value = serde_json::from_slice(&started.body)?;
    let run = run["id"].as_str().context("no id")?.to_owned();
    let mut events = Connection::new(url);
    events.send("GET", &format!("/v1/runs/{run}/events"), None).await?;
    let mut seen = Vec::new();
    while !contains(&seen, b"\"type\":\"asked\"") {
        seen.extend(events.chunk().await?.context("the stream ended")?);
    }
    let request = format!("req_{}_1", run.trim_start_matches("run_"));
    let decision = json!({ "decision": "respond", "content": "yes" });
    let decided = Instant::now();
    let path = format!("/v1/requests/{request}/decision");
    let (answer, event) = tokio::join!(asking.ask("POST", &path, Some(&decision)), async {
        let event = events.chunk().await;
        (event, decided.elapsed())
    });
    ensure!(answer?.status == 200, "the answer was not taken");
    event.0?.context("the stream ended")?;
    Ok(event.1.as_secs_f64() * 1e3)
}

pub(super) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|it| it == part)
}
