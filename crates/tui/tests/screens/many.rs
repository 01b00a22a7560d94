//! Ten thousand requests.

use signoff_tui::measure::frames;

/// The shortest: others may use the machine as well.
fn shortest(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::MAX, f64::min)
}

/// What ten thousand cost more than a handful is less than a frame at 60 Hz. What a frame itself costs is measured by
/// `signoff bench terminal`: this build is not optimised, and the machine may be busy.
#[test]
fn ten_thousand_requests_do_not_slow_a_frame() {
    let (few, many) = (frames(20, 30), frames(10_000, 30));
    for (what, few, many) in [
        ("scroll", &few.scroll, &many.scroll),
        ("search", &few.search, &many.search),
        ("change", &few.change, &many.change),
    ] {
        let (few, many) = (shortest(few), shortest(many));
        assert!(many - few < 16.0, "{what} takes {many:.1} ms instead of {few:.1}");
    }
}
