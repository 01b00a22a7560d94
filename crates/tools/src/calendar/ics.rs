//! The text of an `.ics` file: lines, folding, escaping, and which lines are an event.
//!
//! A file is kept as its unfolded lines. What other programs wrote into it stays as it is.

use super::event::Event;

/// The longest line, in octets, without its line break.
const LINE_OCTETS: usize = 75;

/// A calendar file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document {
    lines: Vec<String>,
}

impl Document {
    /// A calendar without events.
    pub(super) fn empty(name: &str) -> Self {
        let lines = [
            "BEGIN:VCALENDAR".to_owned(),
            "VERSION:2.0".to_owned(),
            "PRODID:-//Signoff//Calendar//EN".to_owned(),
            "CALSCALE:GREGORIAN".to_owned(),
            format!("X-WR-CALNAME:{}", escape(name)),
            "END:VCALENDAR".to_owned(),
        ];
        Self { lines: lines.into() }
    }

    /// Reads a file; none, if it is not one calendar with its parts properly closed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let lines = unfold(text);
        let mut open: Vec<&str> = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            if let Some(part) = marker(line, "BEGIN:") {
                if open.is_empty() && (index > 0 || !part.eq_ignore_ascii_case("VCALENDAR")) {
                    return None;
                }
                open.push(part);
            } else if let Some(part) = marker(line, "END:") {
                open.pop().filter(|begun| begun.eq_ignore_ascii_case(part))?;
            } else if open.is_empty() {
                return None;
            }
        }
        (open.is_empty() && !lines.is_empty()).then_some(Self { lines })
    }

    /// The file's text.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| fold(line)).collect()
    }

    /// The events it holds.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.blocks().filter_map(|(from, to)| Event::read(&self.lines[from..to]))
    }

    /// Adds the lines of an event.
    pub(super) fn add(&mut self, event: Vec<String>) {
        let end = self.lines.len().saturating_sub(1);
        self.lines.splice(end..end, event);
    }

    /// Takes out the events that are `unwanted`.
    pub(super) fn remove(&mut self, unwanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let blocks: Vec<(usize, usize)> = self.blocks().collect();
        let mut gone = Vec::new();
        for (from, to) in blocks.into_iter().rev() {
            if let Some(event) = Event::read(&self.lines[from..to]).filter(|event| unwanted(event))
            {
                self.lines.drain(from..to);
                gone.insert(0, event);
            }
        }
        gone
    }

    /// Where the events stand.
    fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let is = |index: usize, prefix| {
            marker(&self.lines[index], prefix)
                .is_some_and(|part| part.eq_ignore_ascii_case("VEVENT"))
        };
        (0..self.lines.len()).filter(move |index| is(*index, "BEGIN:")).filter_map(move |from| {
            let end = (from..self.lines.len()).find(|index| is(*index, "END:"))?;
            Some((from, end + 1))
        })
    }
}

fn marker<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = line.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| rest.trim())
}

/// One property: `NAME;PARAMETER=VALUE:value`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Property {
    pub(super) name: String,
    parameters: Vec<(String, String)>,
    pub(super) value: String,
}

impl Property {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut quoted = false;
        let colon = line.find(|c| {
            quoted ^= c == '"';
            c == ':' && !quoted
        })?;
        let (head, value) = (&line[..colon], &line[colon + 1..]);
        let mut pieces = head.split(';');
        let name = pieces.next()?.to_ascii_uppercase();
        let parameters = pieces
            .filter_map(|piece| piece.split_once('='))
            .map(|(name, value)| (name.to_ascii_uppercase(), value.trim_matches('"').to_owned()))
            .collect();
        Some(Self { name, parameters, value: value.to_owned() })
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value as text.
    pub(super) fn text(&self) -> String {
        unescape(&self.value)
    }
}

/// Text as a property's value. Control characters, which a calendar must not hold, are left out.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\\' | ';' | ',' => escaped.extend(['\\', c]),
            '\n' | '\r' => escaped.push_str("\\n"),
            '\t' => escaped.push(c),
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

/// The text of a property's value.
fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n' | 'N') => text.push('\n'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            c => text.push(c),
        }
    }
    text
}

/// A line as it stands in a file: broken after 75 octets at most, never inside a character.
pub(super) fn fold(line: &str) -> String {
    let mut folded = String::with_capacity(line.len() + 2);
    let mut used = 0;
    for c in line.chars() {
        if used + c.len_utf8() > LINE_OCTETS {
            folded.push_str("\r\n ");
            used = 1;
        }
        folded.push(c);
        used += c.len_utf8();
    }
    folded.push_str("\r\n");
    folded
}

/// The lines of a file, put together again. Bare line feeds, which some programs write, do as well.
pub(super) fn unfold(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for raw in text.trim_start_matches('\u{feff}').split('\n') {
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        match (raw.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(more), Some(line)) => line.push_str(more),
            _ if raw.is_empty() => {}
            _ => lines.push(raw.to_owned()),
        }
    }
    lines
}
