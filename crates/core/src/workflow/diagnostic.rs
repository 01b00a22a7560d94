//! What is wrong with a file, and where: for people, with a place and a suggestion.

use std::fmt::{self, Write as _};

use super::tree::{Position, Tree};

/// How many problems of one file are reported; past that, more of them help nobody.
pub(super) const MAX_PROBLEMS: usize = 100;
/// How many are looked up, to find the first ones in the order of the file.
const MAX_LOCATED: usize = 10 * MAX_PROBLEMS;
/// The longest name that is shown in full or compared with others.
const MAX_SHOWN: usize = 64;
/// The longest source line that is shown.
const MAX_LINE: usize = 160;

/// One problem of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, where the caller named one.
    pub file: Option<String>,
    /// The line, from 1; 0 where the definition did not come from text.
    pub line: usize,
    /// The column in characters, from 1; 0 where the definition did not come from text.
    pub column: usize,
    /// The place in the definition as a JSON pointer, for example `/agents/venue/tools/0`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub suggestion: Option<String>,
}

impl Diagnostic {
    /// The same problem, in `file`.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// The problem with the line of `source` it is about, and a caret below the place.
    pub fn render(&self, source: &str) -> String {
        let mut text = self.headline();
        let line = source.trim_start_matches('\u{feff}').lines().nth(self.line.wrapping_sub(1));
        if let (Some(line), true) = (line, self.column <= MAX_LINE) {
            let shown: String = line.chars().take(MAX_LINE).map(visible).collect();
            // A tab keeps its width only under another tab.
            let padding: String = line
                .chars()
                .take(self.column.saturating_sub(1))
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            let number = self.line.to_string();
            let gutter = " ".repeat(number.len());
            let _ = write!(text, "\n{number} | {shown}\n{gutter} | {padding}^");
        }
        if let Some(suggestion) = &self.suggestion {
            text.push_str("\nhint: ");
            text.push_str(suggestion);
        }
        text
    }

    fn headline(&self) -> String {
        let mut text = String::new();
        if let Some(file) = &self.file {
            text.push_str(file);
            text.push(':');
        }
        if self.line > 0 {
            let _ = write!(text, "{}:{}:", self.line, self.column);
        } else if !self.path.is_empty() {
            let _ = write!(text, "{}:", self.path);
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&self.message);
        text
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "\nhint: {suggestion}"),
            None => Ok(()),
        }
    }
}

/// Terminals act on control characters; a source line must not reach them as it is.
fn visible(c: char) -> char {
    if c.is_control() && c != '\t' { '\u{fffd}' } else { c }
}

/// Where in a definition a problem is, before it is known where in a file that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// At the value itself.
    Value,
    /// At the key that holds the value.
    Key,
    /// At a known position.
    At(Position),
}

/// A problem of a definition, before it is known where in a file it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) path: String,
    pub(super) spot: Spot,
    pub(super) message: String,
    pub(super) suggestion: Option<String>,
}

impl Problem {
    /// A problem of the value at `path`.
    pub(super) fn value(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), spot: Spot::Value, message: message.into(), suggestion: None }
    }

    /// A problem of the key that ends `path`.
    pub(super) fn key(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { spot: Spot::Key, ..Self::value(path, message) }
    }

    /// A problem at a place that has no path, such as a syntax error.
    pub(super) fn at(position: Position, message: impl Into<String>) -> Self {
        Self { spot: Spot::At(position), ..Self::value("", message) }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.suggestion = Some(hint.into());
        self
    }

    pub(super) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.suggestion = hint;
        self
    }

    fn locate(self, tree: Option<&Tree>) -> Diagnostic {
        let position = match (self.spot, tree) {
            (Spot::At(position), _) => position,
            (Spot::Value, Some(tree)) => tree.value_position(&self.path),
            (Spot::Key, Some(tree)) => tree.key_position(&self.path),
            (_, None) => Position { line: 0, column: 0 },
        };
        Diagnostic {
            file: None,
            line: position.line,
            column: position.column,
            path: self.path,
            message: self.message,
            suggestion: self.suggestion,
        }
    }
}

/// The problems with their places, in the order of the file.
pub(super) fn locate(problems: Vec<Problem>, tree: Option<&Tree>) -> Vec<Diagnostic> {
    let mut all: Vec<Diagnostic> =
        problems.into_iter().take(MAX_LOCATED).map(|problem| problem.locate(tree)).collect();
    all.sort_by_key(|problem| (problem.line, problem.column));
    all.dedup();
    all.truncate(MAX_PROBLEMS);
    all
}

/// `name` in backticks, cut where it is long.
pub(super) fn quote(name: &str) -> String {
    let name: String = name.chars().map(visible).collect();
    match name.char_indices().nth(MAX_SHOWN) {
        Some((cut, _)) => format!("`{}…`", &name[..cut]),
        None => format!("`{name}`"),
    }
}

/// Names in backticks, separated by commas; only the first of many.
pub(super) fn quote_all<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(20).map(quote).collect();
    if names.next().is_some() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// A hint for a name that is not among `known`: the nearest one, or all of them.
pub(super) fn suggest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    what: &str,
) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() {
        return None;
    }
    Some(match nearest(name, &known) {
        Some(found) => format!("did you mean {}?", quote(found)),
        None => format!("{what}: {}", quote_all(known)),
    })
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.is_empty() || name.len() > MAX_SHOWN {
        return None;
    }
    let lower = name.to_lowercase();
    known
        .iter()
        .filter(|candidate| candidate.len() <= MAX_SHOWN)
        .map(|candidate| {
            (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), *candidate)
        })
        .filter(|(distance, candidate)| {
            let longest = name.chars().count().max(candidate.chars().count());
            *distance <= (longest / 3).max(1) && *distance < longest
                || lower.len() >= 3 && candidate.to_lowercase().starts_with(&lower)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
