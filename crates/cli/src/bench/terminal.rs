//! How long a frame of the inbox takes with many requests in it.

use std::time::Instant;

use serde_json::json;
use signoff_tui::measure;

use super::measure::median;
use super::{BenchArgs, Records};

pub(crate) fn frames(args: &BenchArgs, records: &mut Records) -> anyhow::Result<()> {
    let count = u32::try_from(args.parked)?;
    let begun = Instant::now();
    let frames = measure::frames(count, 200, || begun.elapsed().as_secs_f64() * 1e3);
    for (case, samples) in
        [("scroll", &frames.scroll), ("search", &frames.search), ("change", &frames.change)]
    {
        let longest = samples.iter().copied().fold(0.0, f64::max);
        let data = json!({ "requests": count, "frame_ms": median(samples), "longest_ms": longest });
        records.emit("terminal", case, data)?;
    }
    Ok(())
}
