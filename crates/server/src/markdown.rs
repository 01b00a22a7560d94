//! Markdown as HTML that cannot do anything: raw HTML is shown as text, links lead only where people expect them
//! to, pictures are links, and nothing has a style or a name.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use signoff_core::visible::{self, Secrets};

/// How links may begin. Everything else is shown without being one.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];
/// How deep lists and quotations are kept in each other.
const MAX_DEPTH: usize = 32;

/// `text` as HTML.
pub(crate) fn html(text: &str, secrets: &Secrets) -> String {
    let text = visible::text(text, secrets);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut shown = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut shown, Safe::new(Parser::new_ext(&text, options)));
    // The only styles it writes are those of columns.
    for side in ["left", "center", "right"] {
        let style = format!(" style=\"text-align: {side}\"");
        shown = shown.replace(&style, &format!(" class=\"{side}\""));
    }
    shown
}

/// The events of a text, without those that could do harm.
struct Safe<I> {
    events: I,
    /// For each link that is open, whether it is shown as one.
    links: Vec<bool>,
    depth: usize,
    /// Deeper than anybody writes: this much is left out.
    left_out: usize,
}

impl<'a, I: Iterator<Item = Event<'a>>> Safe<I> {
    fn new(events: I) -> Self {
        Self { events, links: Vec::new(), depth: 0, left_out: 0 }
    }

    fn open(&mut self, to: &str, what: &str) -> Event<'a> {
        let shown = is_safe(to);
        self.links.push(shown);
        if !shown {
            return Event::Text(CowStr::from(what.to_owned()));
        }
        let link = format!(
            "<a href=\"{}\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">{what}",
            escaped(to)
        );
        Event::InlineHtml(link.into())
    }

    fn close(&mut self) -> Event<'a> {
        let shown = self.links.pop().unwrap_or_default();
        if shown { Event::InlineHtml("</a>".into()) } else { Event::Text("".into()) }
    }
}

impl<'a, I: Iterator<Item = Event<'a>>> Iterator for Safe<I> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let event = self.events.next()?;
            match &event {
                Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        self.left_out += 1;
                        continue;
                    }
                }
                Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.left_out > 0 {
                        self.left_out -= 1;
                        continue;
                    }
                }
                _ => {}
            }
            return Some(match event {
                Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
                Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
                Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
                Event::Start(Tag::Link { dest_url, .. }) => self.open(&dest_url, ""),
                Event::Start(Tag::Image { dest_url, .. }) => self.open(&dest_url, "picture: "),
                Event::End(TagEnd::Link | TagEnd::Image) => self.close(),
                // The page around it has the first heading.
                Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
                    level: lower(level),
                    id: None,
                    classes: Vec::new(),
                    attrs: Vec::new(),
                }),
                Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
                other => other,
            });
        }
    }
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H2,
        HeadingLevel::H2 => HeadingLevel::H3,
        HeadingLevel::H3 => HeadingLevel::H4,
        HeadingLevel::H4 => HeadingLevel::H5,
        HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

fn is_safe(to: &str) -> bool {
    SCHEMES.iter().any(|scheme| {
        to.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    })
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        html(text, &Secrets::default())
    }

    #[test]
    fn what_people_write_looks_as_they_mean_it() {
        let text = "# Plan\n\n- **one**\n- `two`\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n\nsee [here](https://example.com/?a=1&b=2)";
        let shown = shown(text);
        for part in [
            "<h2>Plan</h2>",
            "<strong>one</strong>",
            "<code>two</code>",
            "<th class=\"right\">b</th>",
            "<a href=\"https://example.com/?a=1&amp;b=2\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">here</a>",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("style="), "{shown}");
    }

    #[test]
    fn nothing_in_it_can_act() {
        let hostile = [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "a <b onclick=x>b</b>",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](data:text/html,<script>alert(1)</script>)",
            "![x](https://example.com/a.png)",
            "![x](javascript:alert(1))",
            "[x](\"onmouseover=alert(1) https://a)",
            "<https://example.com/\"onclick=alert(1)>",
            "[x](https://example.com/\"onclick=\"alert(1))",
            "```\n</code></pre><script>alert(1)</script>\n```",
            "```\"><script>\nx\n```",
            "<!-- --><style>*{display:none}</style>",
            "<iframe src=//example.com></iframe>",
            "<svg/onload=alert(1)>",
        ];
        for text in hostile {
            let shown = shown(text);
            // What is left are tags of ours; whatever else looks like one is text.
            for (at, _) in shown.match_indices('<') {
                let tag: String = shown[at..].chars().take_while(|c| *c != '>').collect();
                let name: String =
                    tag.chars().skip(1).take_while(|c| c.is_alphanumeric() || *c == '/').collect();
                let known = ["p", "/p", "a", "/a", "b", "pre", "/pre", "code", "/code"];
                assert!(known.contains(&name.as_str()), "{text}: {shown}");
                let plain = tag == format!("<{name}")
                    || tag.starts_with("<a href=\"https://")
                    || tag.starts_with("<code class=\"language-");
                assert!(plain, "{text}: {shown}");
                assert_eq!(tag.matches('"').count() % 2, 0, "{text}: {shown}");
            }
        }
    }

    #[test]
    fn what_is_not_seen_is_named() {
        assert_eq!(shown("a\u{202e}b"), "<p>a⟨U+202E⟩b</p>\n");
    }

    #[test]
    fn depth_is_bounded() {
        let deep = shown(&format!("{} x", "> ".repeat(5000)));
        assert_eq!(deep.matches("<blockquote>").count(), MAX_DEPTH);
        assert_eq!(deep.matches("</blockquote>").count(), MAX_DEPTH);
    }
}
