//! W4: many runs parked on one question each; then the inbox is listed and one is answered.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use futures_util::future::join_all;
use serde_json::json;
use signoff_core::request::RequestStatus;
use signoff_runtime::StartRun;
use signoff_store::{RequestFilter, Store};

use super::measure::{Watch, median, message, resident_kib};
use super::pause::{answer, workflow};
use super::places::{Place, open, places};
use super::{BenchArgs, Records};

const AT_ONCE: usize = 256;

/// The resident memory, in KiB, of a process that has just been started on this database, has listed
/// the inbox and answered one request.
fn seen_by(place: &Place, database: &str) -> anyhow::Result<f64> {
    let output = Command::new(std::env::current_exe()?)
        .args(["bench", super::LOOK, "--database"])
        .arg(place.folder.join(database))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The other process. Where no request waits, it makes one first, so that both do the same.
pub(crate) async fn look(database: &Path) -> anyhow::Result<()> {
    let (engine, store) = open(database, |builder| Ok(builder.built(workflow(1))))?;
    let filter = RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
    engine.run(StartRun::new("w3", message(0))).await?;
    let page = store.requests(&filter, None, 50)?;
    for request in page.items.iter().take(1) {
        answer(&engine, &request.run, 1, 1).await?;
    }
    writeln!(std::io::stdout(), "{}", resident_kib())?;
    Ok(())
}

#[allow(clippy::cast_precision_loss)]
pub(crate) async fn parked(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    let total = args.parked;
    for place in places()? {
        let (engine, store) = place.engine_on("w4.db", |builder| builder.built(workflow(1)))?;
        // Warm: what the process needs for any run at all is there before it is measured.
        for n in 0..AT_ONCE {
            engine.run(StartRun::new("w3", message(n))).await?;
        }
        let before = resident_kib();
        let watch = Watch::start();
        let mut started = 0;
        while started < total {
            let now = AT_ONCE.min(total - started);
            let runs = (0..now).map(|n| engine.run(StartRun::new("w3", message(started + n))));
            for run in join_all(runs).await {
                run?;
            }
            started += now;
        }
        let (park_ms, park_cpu_ms) = watch.stop();
        let after = resident_kib();
        store.checkpoint()?;
        let bytes = place.bytes();
        drop((engine, store));
        let (with_none, with_all) = (seen_by(&place, "empty.db")?, seen_by(&place, "w4.db")?);

        // As a process that has just started would.
        let (engine, store) = place.engine_on("w4.db", |builder| builder.built(workflow(1)))?;
        let filter =
            RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
        let (mut first_page, mut resumed) = (Vec::new(), Vec::new());
        let mut ids = Vec::new();
        for _ in 0..args.runs.max(3) {
            let watch = Watch::start();
            let page = store.requests(&filter, None, 50)?;
            first_page.push(watch.stop().0);
            ids = page.items.into_iter().map(|request| request.run).collect();
        }
        let watch = Watch::start();
        let mut cursor = None;
        let mut listed = 0;
        loop {
            let page = store.requests(&filter, cursor.as_deref(), 1_000)?;
            listed += page.items.len();
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let list_ms = watch.stop().0;
        anyhow::ensure!(listed == total + AT_ONCE, "{listed} requests wait, not {total}");
        for run in ids.iter().take(args.runs.max(3)) {
            let watch = Watch::start();
            answer(&engine, run, 1, 1).await?;
            resumed.push(watch.stop().0);
        }
        let all = (total + AT_ONCE) as f64;
        let data = json!({
            "where": place.name,
            "M": total,
            "park_s": park_ms / 1e3,
            "parked_per_s": total as f64 / park_ms * 1e3,
            "cpu_us_per_parked": park_cpu_ms / total as f64 * 1e3,
            "rss_before_mb": before / 1024.0,
            "rss_after_mb": after / 1024.0,
            "rss_kb_per_parked": (after - before) / total as f64,
            "fresh_rss_mb_with_none_parked": with_none / 1024.0,
            "fresh_rss_mb_with_all_parked": with_all / 1024.0,
            "disk_bytes_per_parked": bytes as f64 / all,
            "first_page_ms": median(&first_page),
            "list_s": list_ms / 1e3,
            "resume_ms": median(&resumed),
        });
        records.emit("w4", &format!("{} M={total}", place.name), data)?;
    }
    Ok(())
}
