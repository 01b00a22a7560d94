//! Ten thousand requests.

use signoff_tui::measure::frames;

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// A frame at 60 Hz. This build is not optimised, and the machine may be busy: the middle one counts.
#[test]
fn ten_thousand_requests_do_not_slow_a_frame() {
    let frames = frames(10_000, 40);
    for (what, samples) in
        [("scroll", &frames.scroll), ("search", &frames.search), ("change", &frames.change)]
    {
        let median = median(samples);
        assert!(median < 16.0, "{what} takes {median:.1} ms");
    }
}
