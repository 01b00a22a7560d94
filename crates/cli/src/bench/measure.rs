//! Clocks and summaries.

use std::time::Instant;

use serde_json::{Value, json};

/// Wall and CPU time since it was started.
pub(crate) struct Watch {
    began: Instant,
    cpu: f64,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self { cpu: cpu_ms(), began: Instant::now() }
    }

    /// Milliseconds of wall and of CPU time.
    pub(crate) fn stop(&self) -> (f64, f64) {
        (self.began.elapsed().as_secs_f64() * 1e3, cpu_ms() - self.cpu)
    }
}

/// CPU milliseconds of all threads of this process; zero where the system does not tell.
fn cpu_ms() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return 0.0;
    };
    let nanoseconds: f64 = tasks
        .filter_map(|task| {
            let stat = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            stat.split_whitespace().next()?.parse::<f64>().ok()
        })
        .sum();
    nanoseconds / 1e6
}

/// Resident memory in KiB; zero where the system does not tell.
pub(crate) fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0.0)
}

pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The sample that `part` of all are not above.
pub(crate) fn percentile(samples: &[f64], part: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let place = (sorted.len().saturating_sub(1) as f64 * part).round() as usize;
    sorted.get(place).copied()
}

/// The samples as the other systems' records have them.
pub(crate) fn summary(samples: &[f64]) -> Value {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let p95 = percentile(samples, 0.95);
    #[allow(clippy::cast_precision_loss)]
    let mean = samples.iter().sum::<f64>() / samples.len().max(1) as f64;
    json!({
        "n": samples.len(),
        "median": median(samples),
        "min": sorted.first(),
        "max": sorted.last(),
        "mean": mean,
        "p95": p95,
        "raw": samples,
    })
}

/// The `n`-th of many distinct messages of 200 characters: the same text over and over would flatter
/// whoever stores it.
pub(crate) fn message(n: usize) -> String {
    let mut text = format!("{n:06} ");
    let mut seed = n as u64 ^ 0x9e37_79b9_7f4a_7c15;
    while text.len() < 200 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let letter = (seed >> 59) as u8;
        text.push(if letter < 26 { char::from(b'a' + letter) } else { ' ' });
    }
    text
}
