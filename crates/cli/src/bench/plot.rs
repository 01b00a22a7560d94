//! Plots as SVG, without anything but text: bars of ratios and lines of growth, both on logarithmic scales. Readable on light and
//! on dark paper.

use std::fmt::Write as _;

const WIDTH: f64 = 860.0;
/// Where bars begin, and how much room is left for their numbers.
const LEFT: f64 = 330.0;
const RIGHT: f64 = 60.0;
const ROW: f64 = 20.0;
const HEIGHT: f64 = 420.0;
/// Two labels are at least this far apart.
const LABEL: f64 = 17.0;
const COLOURS: usize = 5;

const STYLE: &str = "<style>
text{fill:#1f2328}.dim{fill:#59636e}.paper{fill:#ffffff}.grid{stroke:#d1d9e0}.axis{stroke:#818b98}
.l0,.l1,.l2,.l3,.l4{fill:none;stroke-width:2}
.l0{stroke:#1d4ed8}.l1{stroke:#b45309}.l2{stroke:#047857}.l3{stroke:#be185d}.l4{stroke:#6d28d9}
.t0{fill:#1d4ed8}.t1{fill:#b45309}.t2{fill:#047857}.t3{fill:#be185d}.t4{fill:#6d28d9}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.dim{fill:#9198a1}.paper{fill:#0d1117}.grid{stroke:#3d444d}.axis{stroke:#656c76}
.l0{stroke:#60a5fa}.l1{stroke:#fbbf24}.l2{stroke:#34d399}.l3{stroke:#f472b6}.l4{stroke:#c4b5fd}
.t0{fill:#60a5fa}.t1{fill:#fbbf24}.t2{fill:#34d399}.t3{fill:#f472b6}.t4{fill:#c4b5fd}}
</style>
";

/// A bar of a plot.
pub(super) struct Bar {
    pub(super) name: String,
    /// How many times better.
    pub(super) ratio: f64,
}

/// A line of a plot: its name, and its points.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn begin(title: &str, below: &str, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n{STYLE}<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
         <text x=\"16\" y=\"26\" font-size=\"15\" font-weight=\"600\">{title}</text>\n\
         <text x=\"16\" y=\"44\" class=\"dim\">{below}</text>\n",
        title = escaped(title),
        below = escaped(below),
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

/// The powers of ten around some numbers.
fn powers(of: impl Iterator<Item = f64> + Clone, least: f64, most: f64) -> (f64, f64) {
    let low = of.clone().fold(least, f64::min).max(1e-3).log10().floor();
    let high = of.fold(most, f64::max).log10().ceil();
    (low, high.max(low + 1.0))
}

fn steps(from: f64, to: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(from), |power| Some(power + 1.0))
        .take_while(move |power| *power <= to + 0.01)
        .map(|power| 10_f64.powf(power))
}

/// One bar for each ratio: how many times better, from 1 on; what is worse goes the other way.
pub(super) fn ratios(title: &str, bars: &[Bar]) -> String {
    let (low, high) = powers(bars.iter().map(|bar| bar.ratio), 1.0, 10.0);
    let place =
        |ratio: f64| LEFT + (ratio.max(1e-3).log10() - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    let (top, mut y) = (66.0, 74.0);
    let mut rows = String::new();
    let mut group = "";
    for bar in bars {
        // What belongs to one workload stands together.
        let workload = bar.name.split(' ').next().unwrap_or_default();
        if !group.is_empty() && group != workload {
            y += ROW / 2.0;
        }
        group = workload;
        let (from, to) = (place(bar.ratio.min(1.0)), place(bar.ratio.max(1.0)));
        let colour = if bar.ratio >= 1.0 { "t0" } else { "t3" };
        let _ = writeln!(
            rows,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text><rect class=\"{colour}\" x=\"{from:.1}\" y=\"{y:.0}\" \
             width=\"{:.1}\" height=\"13\" rx=\"2\"/><text x=\"{:.0}\" y=\"{:.0}\">{}×</text>",
            LEFT - 10.0,
            y + 11.0,
            escaped(&bar.name),
            (to - from).max(2.0),
            to + 6.0,
            y + 11.0,
            short(bar.ratio),
        );
        y += ROW;
    }
    let mut svg = begin(title, "logarithmic; longer is better", y + 12.0);
    for value in steps(low, high) {
        let x = place(value);
        let class = if (value - 1.0).abs() < 0.01 { "axis" } else { "grid" };
        let _ = writeln!(
            svg,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{y:.0}\"/>\
             <text class=\"dim\" x=\"{x:.1}\" y=\"60\" text-anchor=\"middle\">{}×</text>",
            whole(value)
        );
    }
    svg.push_str(&rows);
    svg.push_str("</svg>\n");
    svg
}

/// A power of ten.
fn whole(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.0}M", v / 1e6),
        v if v >= 1e3 => format!("{:.0}k", v / 1e3),
        v if v >= 1.0 => format!("{v:.0}"),
        v => format!("{v}"),
    }
}

/// Lines over `x`, both axes logarithmic: what does not grow is flat, what grows as `x` does is as steep as the dashed line.
pub(super) fn growth(title: &str, x: &str, lines: &[Line]) -> String {
    let all: Vec<(f64, f64)> = lines.iter().flat_map(|line| line.points.iter().copied()).collect();
    let across = powers(all.iter().map(|point| point.0), f64::MAX, 1e-3);
    let up = powers(all.iter().map(|point| point.1), f64::MAX, 1e-3);
    let (left, right, top, bottom) = (64.0, WIDTH - 250.0, 64.0, HEIGHT - 46.0);
    let at_x = |v: f64| left + (v.log10() - across.0) / (across.1 - across.0) * (right - left);
    let at_y = |v: f64| bottom - (v.max(1e-3).log10() - up.0) / (up.1 - up.0) * (bottom - top);
    let below = "both scales are logarithmic: what is flat does not grow; the dashed line grows in proportion";
    let mut svg = begin(title, below, HEIGHT);
    for value in steps(up.0, up.1) {
        let y = at_y(value);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"dim\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            y + 4.0,
            whole(value)
        );
    }
    for value in steps(across.0, across.1) {
        let at = at_x(value);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\
             <text class=\"dim\" x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            whole(value)
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"dim\" x=\"{right}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>",
        bottom + 36.0,
        escaped(x)
    );
    // In proportion: as many powers up as across.
    let both = (across.1 - across.0).min(up.1 - up.0);
    let (end_x, end_y) = (10_f64.powf(across.0 + both), 10_f64.powf(up.0 + both));
    let _ = writeln!(
        svg,
        "<line class=\"axis\" x1=\"{left}\" y1=\"{bottom}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke-dasharray=\"3 5\"/>",
        at_x(end_x),
        at_y(end_y)
    );
    draw_lines(&mut svg, lines, &at_x, &at_y);
    svg.push_str("</svg>\n");
    svg
}

fn draw_lines(
    svg: &mut String,
    lines: &[Line],
    at_x: &dyn Fn(f64) -> f64,
    at_y: &dyn Fn(f64) -> f64,
) {
    let mut labels: Vec<(f64, f64, usize, String)> = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let colour = n % COLOURS;
        let places: Vec<(f64, f64)> =
            line.points.iter().map(|(x, y)| (at_x(*x), at_y(*y))).collect();
        let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(svg, "<polyline class=\"l{colour}\" points=\"{}\"/>", points.join(" "));
        for (x, y) in &places {
            let _ =
                writeln!(svg, "<circle class=\"t{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
        }
        if let (Some((x, y)), Some((_, value))) = (places.last(), line.points.last()) {
            let text = format!("{}: {}", line.name, short(*value));
            labels.push((*y, *x, colour, text));
        }
    }
    // Lines that end at one height are told apart.
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = 0.0_f64;
    for (y, x, colour, text) in labels {
        let y = y.max(free);
        free = y + LABEL;
        let _ = writeln!(
            svg,
            "<text class=\"t{colour}\" x=\"{:.0}\" y=\"{:.1}\">{}</text>",
            x + 10.0,
            y + 4.0,
            escaped(&text)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_are_whole_and_names_do_no_harm() {
        let bar = |name: &str, ratio| Bar { name: name.to_owned(), ratio };
        let svg = ratios("Ratios", &[bar("a <b> & c", 93.0), bar("worse", 0.5)]);
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

    #[test]
    fn labels_of_lines_that_end_together_do_not_cover_each_other() {
        let line =
            |name: &str, end| Line { name: name.to_owned(), points: vec![(1.0, 1.0), (10.0, end)] };
        let svg =
            growth("Growth", "runs", &[line("one", 5.0), line("two", 5.1), line("three", 5.2)]);
        let labels = svg.lines().filter(|line| line.starts_with("<text class=\"t"));
        let mut heights: Vec<f64> = labels
            .map(|line| {
                line.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
            })
            .collect();
        heights.sort_by(f64::total_cmp);
        assert_eq!(heights.len(), 3);
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= LABEL - 0.2), "{heights:?}");
    }
}
