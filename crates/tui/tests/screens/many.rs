//! Ten thousand requests.

use signoff_tui::measure::frames;

/// The shortest: others may use the machine as well.
fn shortest(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::MAX, f64::min)
}

/// How long this thread has computed, in milliseconds: how busy the machine is does not count.
fn computed() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split(' ').next().and_then(|it| it.parse::<f64>().ok());
    nanoseconds
        .map_or_else(|| begun().elapsed().as_secs_f64() * 1e3, |nanoseconds| nanoseconds / 1e6)
}

/// Where the system does not tell, the clock does.
fn begun() -> std::time::Instant {
    static BEGUN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    *BEGUN.get_or_init(std::time::Instant::now)
}

/// What ten thousand cost more than a handful is less than a frame at 60 Hz. What a frame itself costs is measured by
/// `signoff bench terminal`: this build is not optimised, and the machine may be busy.
#[test]
fn ten_thousand_requests_do_not_slow_a_frame() {
    let (few, many) = (frames(20, 30, computed), frames(10_000, 30, computed));
    for (what, few, many) in [
        ("scroll", &few.scroll, &many.scroll),
        ("search", &few.search, &many.search),
        ("change", &few.change, &many.change),
    ] {
        let (few, many) = (shortest(few), shortest(many));
        assert!(many - few < 16.0, "{what} takes {many:.1} ms instead of {few:.1}");
    }
}
