//! Plots as SVG, without anything but text: bars of ratios and lines of growth, both on logarithmic scales.

use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 250.0;
const ROW: f64 = 22.0;
const HEIGHT: f64 = 380.0;
const COLOURS: [&str; 4] = ["#2563eb", "#d97706", "#059669", "#be185d"];

/// A line of a plot: its name, and its points.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn begin(title: &str, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"15\" font-weight=\"600\">{title}</text>\n",
        title = escaped(title)
    )
}

/// A number as people read it.
pub(super) fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.1}M", v / 1e6),
        v if v >= 1e4 => format!("{:.0}k", v / 1e3),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// One bar for each ratio: how many times better, on a logarithmic scale that begins at 1.
pub(super) fn ratios(title: &str, bars: &[(String, f64)]) -> String {
    let height = 50.0 + ROW * bars_len(bars);
    let most = bars.iter().map(|(_, ratio)| *ratio).fold(10.0, f64::max).log10().ceil();
    let place = |ratio: f64| LEFT + ratio.max(1.0).log10() / most * (WIDTH - LEFT - 70.0);
    let mut svg = begin(title, height);
    for (n, (name, ratio)) in bars.iter().enumerate() {
        let y = 40.0 + ROW * index(n);
        let (end, colour) = (place(*ratio), if *ratio >= 1.0 { COLOURS[0] } else { COLOURS[3] });
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text><rect x=\"{LEFT:.0}\" y=\"{y:.0}\" \
             width=\"{:.1}\" height=\"{:.0}\" fill=\"{colour}\"/><text x=\"{:.0}\" y=\"{:.0}\">{}×</text>",
            LEFT - 8.0,
            y + 12.0,
            escaped(name),
            (end - LEFT).max(2.0),
            ROW - 7.0,
            end + 6.0,
            y + 12.0,
            short(*ratio),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[allow(clippy::cast_precision_loss)]
fn bars_len(bars: &[(String, f64)]) -> f64 {
    bars.len() as f64
}

#[allow(clippy::cast_precision_loss)]
fn index(n: usize) -> f64 {
    n as f64
}

/// Lines over `x`, both axes logarithmic: what does not grow is flat, what grows as `x` does rises as the diagonal.
pub(super) fn growth(title: &str, x: &str, lines: &[Line]) -> String {
    let all: Vec<(f64, f64)> = lines.iter().flat_map(|line| line.points.iter().copied()).collect();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let least = all.iter().map(of).fold(f64::MAX, f64::min).max(1e-3).log10().floor();
        let most = all.iter().map(of).fold(1e-3, f64::max).log10().ceil();
        (least, most.max(least + 1.0))
    };
    let (across, up) = (range(|point| point.0), range(|point| point.1));
    let (left, right, top, bottom) = (70.0, WIDTH - 190.0, 44.0, HEIGHT - 46.0);
    let at_x = |v: f64| left + (v.log10() - across.0) / (across.1 - across.0) * (right - left);
    let at_y = |v: f64| bottom - (v.max(1e-3).log10() - up.0) / (up.1 - up.0) * (bottom - top);
    let mut svg = begin(title, HEIGHT);
    let mut power = up.0;
    while power <= up.1 {
        let (value, y) = (10_f64.powf(power), at_y(10_f64.powf(power)));
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            y + 4.0,
            short(value)
        );
        power += 1.0;
    }
    let mut power = across.0;
    while power <= across.1 {
        let value = 10_f64.powf(power);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            at_x(value),
            bottom + 18.0,
            short(value)
        );
        power += 1.0;
    }
    let _ = writeln!(svg, "<text x=\"{left}\" y=\"{:.0}\">{}</text>", bottom + 36.0, escaped(x));
    for (n, line) in lines.iter().enumerate() {
        let colour = COLOURS[n % COLOURS.len()];
        let points: Vec<String> =
            line.points.iter().map(|(x, y)| format!("{:.1},{:.1}", at_x(*x), at_y(*y))).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        if let Some((x, y)) = line.points.last() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.0}\" y=\"{:.1}\" fill=\"{colour}\">{}: {}</text>",
                at_x(*x) + 6.0,
                at_y(*y) + 4.0,
                escaped(&line.name),
                short(*y)
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_are_whole_and_names_do_no_harm() {
        let bars = vec![("a <b> & c".to_owned(), 93.0), ("worse".to_owned(), 0.5)];
        let svg = ratios("Ratios", &bars);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("a &lt;b&gt; &amp; c") && svg.contains("93.0×"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let line = |name: &str, points| Line { name: name.to_owned(), points };
        let flat = line("flat", vec![(1e3, 0.2), (1e6, 0.2)]);
        let svg = growth("Growth", "runs", &[flat, line("none", Vec::new())]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        // What does not grow is drawn flat.
        let points = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        let heights: Vec<&str> =
            points.split(' ').map(|point| point.split_once(',').unwrap().1).collect();
        assert_eq!(heights[0], heights[1]);
    }
}
