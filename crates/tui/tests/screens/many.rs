//! Ten thousand requests.

use signoff_tui::measure::frames;

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
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
        let (few, many) = (median(few), median(many));
        assert!(many - few < 16.0, "{what} takes {many:.1} ms instead of {few:.1}");
    }
}
