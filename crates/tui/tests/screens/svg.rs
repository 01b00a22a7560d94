//! What a terminal shows, as a picture.

use std::fmt::Write as _;

/// The size of a cell, and what is left free around all of them.
const CELL: (u16, u16) = (8, 18);
const EDGE: (u16, u16) = (20, 44);

/// The sixteen colours of a terminal, as pictures on a dark ground show them.
const COLOURS: [&str; 16] = [
    "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
    "#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
];

/// A picture of a terminal of this size, with words for those who do not see it.
pub(crate) fn svg(parser: &vt100::Parser, columns: u16, lines: u16, about: &str) -> String {
    let wide = columns * CELL.0 + 2 * EDGE.0;
    let high = lines * CELL.1 + EDGE.1 + 12;
    let mut out = String::new();
    let _ = write!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" aria-labelledby="t" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13.33">
  <title id="t">{}</title>
  <rect x="0.5" y="0.5" width="{}" height="{}" rx="8" fill="#0d1117" stroke="#6e7681" />
  <g fill="#6e7681"><circle cx="20" cy="18" r="5" /><circle cx="38" cy="18" r="5" /><circle cx="56" cy="18" r="5" /></g>
"##,
        escaped(about),
        wide - 1,
        high - 1
    );
    for y in 0..lines {
        row(&mut out, parser, columns, y);
    }
    out.push_str("</svg>\n");
    out
}

/// Text that is painted alike, one piece after the other; each has its place and its width, whatever the font is.
fn row(out: &mut String, parser: &vt100::Parser, columns: u16, y: u16) {
    let mut x = 0;
    while x < columns {
        let Some(cell) = parser.screen().cell(y, x) else { break };
        let style = paint(cell);
        let (from, mut text) = (x, String::new());
        while let Some(cell) = parser.screen().cell(y, x).filter(|_| x < columns) {
            if !cell.is_wide_continuation() {
                if paint(cell) != style {
                    break;
                }
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            }
            x += 1;
        }
        let shown = if style.1.is_some() { text.as_str() } else { text.trim_end() };
        if shown.is_empty() {
            continue;
        }
        let (left, width) = (EDGE.0 + from * CELL.0, (x - from) * CELL.0);
        let top = EDGE.1 + y * CELL.1;
        if let Some(ground) = style.1 {
            let _ = writeln!(
                out,
                r#"  <rect x="{left}" y="{}" width="{width}" height="{}" fill="{ground}" />"#,
                top - 13,
                CELL.1
            );
        }
        let cells = u16::try_from(unicode_columns(shown)).unwrap_or(0) * CELL.0;
        let _ = writeln!(
            out,
            r#"  <text x="{left}" y="{top}" textLength="{cells}" lengthAdjust="spacingAndGlyphs" xml:space="preserve" {}>{}</text>"#,
            style.0,
            escaped(shown)
        );
    }
}

fn unicode_columns(text: &str) -> usize {
    ratatui::text::Span::raw(text).width()
}

/// How a cell is painted: its text, and its ground if that has a colour.
fn paint(cell: &vt100::Cell) -> (String, Option<&'static str>) {
    let colour = match cell.fgcolor() {
        vt100::Color::Idx(n) if n < 16 => COLOURS[usize::from(n)],
        _ if cell.dim() => "#9198a1",
        _ => "#e6edf3",
    };
    let (fill, ground) = if cell.inverse() { ("#0d1117", Some("#e6edf3")) } else { (colour, None) };
    let mut style = format!(r#"fill="{fill}""#);
    for (is, more) in [
        (cell.bold(), r#" font-weight="700""#),
        (cell.italic(), r#" font-style="italic""#),
        (cell.underline(), r#" text-decoration="underline""#),
    ] {
        if is {
            style.push_str(more);
        }
    }
    (style, ground)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
