//! W7: the server over HTTP, under load from another process; and what it holds when nothing happens.

mod client;
mod cycles;
mod process;
mod streams;

use std::time::Duration;

use serde_json::json;

use self::process::{Served, Usage};
use super::measure::percentile;
use super::places::{Place, places};
use super::{BenchArgs, Records};

/// How many clients at once.
const CLIENTS: [usize; 3] = [1, 16, 64];
/// One question to a person, and what comes of it.
const ASK: &str = "workflow: ask\npattern: graph\nstart: gate\nexecutors:\n  \
                   gate: { ask: { prompt: \"ok?\" } }\n  \
                   done: { transform: \"'got ' + output.answer\" }\n\
                   edges:\n  - { from: gate, to: done }\n";

/// The words another system is measured in too: start a run that asks (streamed), answer it (streamed).
pub(crate) async fn cycles(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    if let Some(url) = &args.server {
        // Somebody else's server, with the same client.
        let usage = args.pid.map(Usage::of);
        return responses(args, url, usage, "other", records).await;
    }
    for place in places()? {
        let served = serve(&place)?;
        let usage = Some(Usage::of(served.pid()));
        responses(args, &served.url, usage, place.name, records).await?;
    }
    Ok(())
}

async fn responses(
    args: &BenchArgs,
    url: &str,
    usage: Option<Usage>,
    place: &str,
    records: &mut Records,
) -> anyhow::Result<()> {
    let entities = cycles::entities(url).await?;
    for clients in CLIENTS {
        let before = usage.as_ref().map(Usage::cpu_ms);
        let seconds = Duration::from_secs(args.seconds);
        let done = cycles::responses(url, &entities, clients, seconds).await?;
        let cpu = usage.as_ref().zip(before).map(|(usage, before)| usage.cpu_ms() - before);
        let mut data = done.report();
        data["where"] = place.into();
        data["clients"] = clients.into();
        #[allow(clippy::cast_precision_loss)]
        if let Some(cpu) = cpu {
            data["server_cpu_ms_per_cycle"] = (cpu / done.cycles.max(1) as f64).into();
        }
        data["rss_after_mb"] = usage.as_ref().map(Usage::resident_mb).into();
        records.emit("w7", &format!("{place} c={clients}"), data)?;
    }
    Ok(())
}

/// From an answer to the first event that follows it: as fast as 64 clients can, and at the pace of people.
pub(crate) async fn answers(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    for place in places()? {
        let served = serve(&place)?;
        for (case, every) in [("no pause", None), ("10 in a second each", Some(100))] {
            let every = every.map(Duration::from_millis);
            let seconds = Duration::from_secs(args.seconds);
            let usage = Usage::of(served.pid());
            let before = usage.cpu_ms();
            let (times, errors) = cycles::answers(&served.url, 64, every, seconds).await?;
            let cpu = usage.cpu_ms() - before;
            #[allow(clippy::cast_precision_loss)]
            let data = json!({
                "where": place.name,
                "clients": 64,
                "answers": times.len(),
                "errors": errors,
                "answers_per_s": times.len() as f64 / seconds.as_secs_f64(),
                "answer_to_first_event_ms": {
                    "p50": percentile(&times, 0.5),
                    "p95": percentile(&times, 0.95),
                    "p99": percentile(&times, 0.99),
                    "max": percentile(&times, 1.0),
                },
                "server_cpu_ms_per_cycle": cpu / times.len().max(1) as f64,
            });
            records.emit("answers", &format!("{} {case}", place.name), data)?;
        }
    }
    Ok(())
}

/// Streams on runs that wait: what they cost, and how soon they hear of something.
pub(crate) async fn idle(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    let Some(place) = places()?.into_iter().next() else { return Ok(()) };
    let served = serve(&place)?;
    let data = streams::idle(&served, args.streams).await?;
    records.emit("streams", &format!("{} idle", args.streams), data)
}

fn serve(place: &Place) -> anyhow::Result<Served> {
    let flows = place.folder.join("flows");
    std::fs::create_dir_all(&flows)?;
    std::fs::write(flows.join("ask.yaml"), ASK)?;
    Served::start(&place.folder, &flows)
}
