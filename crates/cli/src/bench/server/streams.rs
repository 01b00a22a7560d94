//! Many streams on runs that wait.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::client::Connection;
use super::cycles::contains;
use super::process::{Served, Usage};

/// How long it is looked what waiting costs.
const QUIET: Duration = Duration::from_secs(10);
/// Streams on one run.
const EACH: usize = 100;

/// Opens streams, waits, lets one run go on, and sees who hears of it.
#[allow(clippy::cast_precision_loss)]
pub(super) async fn idle(served: &Served, streams: usize) -> anyhow::Result<Value> {
    signoff_server::allow_connections();
    let usage = Usage::of(served.pid());
    let mut asking = Connection::new(&served.url);
    let mut runs = Vec::new();
    for _ in 0..streams.div_ceil(EACH) {
        let start = json!({ "workflow": "ask", "input": "hello" });
        let started = asking.ask("POST", "/v1/runs", Some(&start)).await?;
        let run: Value = serde_json::from_slice(&started.body)?;
        runs.push(run["id"].as_str().context("no id")?.to_owned());
    }
    let before = usage.resident_mb();
    let opening = Instant::now();
    let mut open = Vec::new();
    while open.len() < streams {
        let mut some = JoinSet::new();
        for n in open.len()..streams.min(open.len() + 500) {
            let (url, run) = (served.url.clone(), runs[n / EACH].clone());
            some.spawn(async move {
                let mut events = Connection::new(&url);
                let (status, _) =
                    events.send("GET", &format!("/v1/runs/{run}/events"), None).await?;
                ensure!(status == 200, "a stream was refused: {status}");
                let mut seen = Vec::new();
                while !contains(&seen, b"\"type\":\"asked\"") {
                    seen.extend(events.chunk().await?.context("a stream ended")?);
                }
                Ok((n / EACH, events))
            });
        }
        while let Some(stream) = some.join_next().await {
            open.push(stream??);
        }
    }
    let opened = opening.elapsed();
    let (after, cpu) = (usage.resident_mb(), usage.cpu_ms());
    tokio::time::sleep(QUIET).await;
    let quiet = usage.cpu_ms() - cpu;
    // One run goes on: its streams hear of it.
    let request = format!("req_{}_1", runs[0].trim_start_matches("run_"));
    let decision = json!({ "decision": "respond", "content": "yes" });
    let told = Instant::now();
    let path = format!("/v1/requests/{request}/decision");
    // The connection from before was idle for so long that the server has closed it.
    let answer = Connection::new(&served.url).ask("POST", &path, Some(&decision)).await?;
    ensure!(answer.status == 200, "the answer was not taken");
    for (_, events) in open.iter_mut().filter(|(run, _)| *run == 0) {
        let mut seen = Vec::new();
        while !contains(&seen, b"run_completed") {
            let Some(chunk) = events.chunk().await? else { break };
            seen.extend(chunk);
        }
        ensure!(contains(&seen, b"run_completed"), "a stream did not hear of the end");
    }
    let heard = told.elapsed();
    Ok(json!({
        "streams": open.len(),
        "opened_in_s": opened.as_secs_f64(),
        "rss_before_mb": before,
        "rss_with_mb": after,
        "rss_kb_per_stream": (after - before) * 1024.0 / open.len() as f64,
        "cpu_ms_per_s_idle": quiet / QUIET.as_secs_f64(),
        "end_reaches_100_listeners_ms": heard.as_secs_f64() * 1e3,
    }))
}
