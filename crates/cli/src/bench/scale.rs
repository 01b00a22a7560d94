//! How things grow: parked runs and their requests up to a million, a journal up to a hundred thousand entries.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use futures_util::future::join_all;
use serde_json::{Value, json};
use signoff_core::Tenant;
use signoff_core::request::RequestStatus;
use signoff_runtime::StartRun;
use signoff_store::{RequestFilter, Store};

use super::measure::{Watch, median, message, resident_kib};
use super::pause::{answer, workflow};
use super::places::{open, places};
use super::storage::journal_of;
use super::{BenchArgs, Records};

const AT_ONCE: usize = 256;
const RUNS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
const ENTRIES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// What waits here, as the inbox asks for it.
fn pending() -> RequestFilter {
    RequestFilter {
        status: Some(RequestStatus::Pending),
        tenant: Some(Tenant::local()),
        ..RequestFilter::default()
    }
}

/// What a process sees that has just been started on a database: when it was ready, and what its first looks cost.
pub(crate) fn glance(database: &Path) -> anyhow::Result<()> {
    let watch = Watch::start();
    let (_engine, store) = open(database, |builder| Ok(builder.built(workflow(1))))?;
    let open_ms = watch.stop().0;
    let watch = Watch::start();
    let page = store.requests(&pending(), None, 50)?;
    let page_ms = watch.stop().0;
    anyhow::ensure!(page.items.len() == 50, "nothing waits");
    let watch = Watch::start();
    let count = store.count_requests(&pending())?;
    let seen = json!({
        "open_ms": open_ms,
        "page_ms": page_ms,
        "count_ms": watch.stop().0,
        "count": count,
        "rss_mb": resident_kib() / 1024.0,
    });
    writeln!(std::io::stdout(), "{seen}")?;
    Ok(())
}

/// Starts such a process: what it saw, and how long it took from its start to its end.
fn seen_by_another(database: &Path) -> anyhow::Result<(Value, f64)> {
    let watch = Watch::start();
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", super::GLANCE, "--database"])
        .arg(database)
        .output()?;
    let ms = watch.stop().0;
    let seen = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok((seen, ms))
}

/// One database to which more and more runs are parked.
#[allow(clippy::cast_precision_loss)]
pub(crate) async fn parked(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    let Some(place) = places()?.into_iter().next() else { return Ok(()) };
    let database = place.folder.join("scale.db");
    let mut parked = 0;
    for total in RUNS.into_iter().filter(|total| *total <= args.scale) {
        let (engine, store) = open(&database, |builder| Ok(builder.built(workflow(1))))?;
        let (watch, before) = (Watch::start(), parked);
        while parked < total {
            let now = AT_ONCE.min(total - parked);
            let runs = (0..now).map(|n| engine.run(StartRun::new("w3", message(parked + n))));
            for run in join_all(runs).await {
                run?;
            }
            parked += now;
        }
        let cpu_ms = watch.stop().1;
        store.checkpoint()?;
        let mut resumed = Vec::new();
        let page = store.requests(&pending(), None, args.runs.max(3))?;
        for request in &page.items {
            let watch = Watch::start();
            answer(&engine, &request.run, 1, 1).await?;
            resumed.push(watch.stop().0);
        }
        // Those that were answered are made up for, so that the next size is what it says.
        parked -= page.items.len();
        drop((engine, store));
        let (mut starts, mut seen) = (Vec::new(), Vec::new());
        for _ in 0..args.runs.max(3) {
            let (one, ms) = seen_by_another(&database)?;
            starts.push(ms);
            seen.push(one);
        }
        let of = |what: &str| {
            median(&seen.iter().filter_map(|one| one[what].as_f64()).collect::<Vec<_>>())
        };
        let data = json!({
            "where": place.name,
            "M": total,
            "cpu_us_per_parked": cpu_ms / (total - before) as f64 * 1e3,
            "process_ms": median(&starts),
            "open_ms": of("open_ms"),
            "first_page_ms": of("page_ms"),
            "count_ms": of("count_ms"),
            "rss_mb": of("rss_mb"),
            "resume_ms": median(&resumed),
            "disk_bytes_per_parked": place.bytes() as f64 / total as f64,
        });
        records.emit("scale", &format!("parked M={total}"), data)?;
    }
    Ok(())
}

/// Runs that wait, each with a longer journal than the one before.
pub(crate) async fn journals(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    let Some(place) = places()?.into_iter().next() else { return Ok(()) };
    for entries in ENTRIES.into_iter().filter(|entries| *entries <= args.scale) {
        let data = journal_of(&place, entries, args.runs).await?;
        records.emit("scale", &format!("journal entries={entries}"), data)?;
    }
    Ok(())
}
