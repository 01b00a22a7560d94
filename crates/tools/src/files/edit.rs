//! `edit_file`: one exact piece of text for another.

use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::{Effects, ToolSpec};

use super::change::{Current, MAX_CHANGED, current, diff, digest, expect, put, state};
use super::path::Relative;
use super::root::{Root, failed};
use super::{digest_property, path_property};
use crate::builtin::{self, arguments, hinted};
use crate::tool::{Invocation, ToolError};

/// The longest piece of text, in characters.
const MAX_TEXT: usize = 256 * 1024;
/// How many places are named when there are too many.
const PLACES: usize = 5;

pub(super) fn spec() -> ToolSpec {
    // Not idempotent: where the new text contains the old one, a second time adds to the first. Not
    // destructive: what was removed is in the result.
    let effects = Effects { file_edit: true, ..Effects::default() };
    let properties = json!({
        "path": path_property(),
        "old_text": { "type": "string", "minLength": 1, "maxLength": MAX_TEXT,
            "description": "The text to replace, exactly as it is in the file, white space and line ends included; long enough to occur only once." },
        "new_text": { "type": "string", "maxLength": MAX_TEXT, "description": "What to put in its place." },
        "all": { "type": "boolean", "description": "Replace every occurrence; otherwise there must be exactly one." },
        "expected_digest": digest_property(),
    });
    builtin::spec(
        "edit_file",
        "Change a part of a text file in the workspace: exactly one occurrence of old_text, or every one if \
         `all`, becomes new_text. The result is a unified diff of what changed. Read the file first.",
        &properties,
        &["path", "old_text", "new_text"],
        effects,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    expected_digest: Option<String>,
}

/// An edit worked out, and not made yet.
struct Worked {
    path: Relative,
    now: Current,
    after: String,
    times: usize,
    diff: String,
}

impl Edit {
    fn work_out(&self, root: &Root) -> Result<Worked, ToolError> {
        let path = root.path(&self.path)?;
        let Some(now) = current(root, &path)? else {
            return Err(failed(&path, rustix::io::Errno::NOENT));
        };
        expect(&path, Some(&now), self.expected_digest.as_deref())?;
        let Some(content) = &now.content else {
            let message = format!("`{path}` has more than {MAX_CHANGED} bytes");
            return Err(ToolError::new("file_too_large", message));
        };
        let Ok(before) = std::str::from_utf8(content) else {
            return Err(ToolError::new("not_text", format!("`{path}` is not UTF-8 text")));
        };
        let (after, times) = replace(before, &self.old_text, &self.new_text, self.all)
            .map_err(|problem| problem.told(&path, before))?;
        if after.len() as u64 > MAX_CHANGED {
            let message = format!("`{path}` would have more than {MAX_CHANGED} bytes");
            return Err(ToolError::new("file_too_large", message));
        }
        let diff = diff(&path, Some(before), &after);
        Ok(Worked { path, now, after, times, diff })
    }
}

pub(super) fn call(root: &Root, invocation: &Invocation) -> Result<Value, ToolError> {
    let wanted: Edit = arguments(&invocation.arguments)?;
    let _changing = root.changing();
    let Worked { path, now, after, times, diff } = wanted.work_out(root)?;
    put(root, &path, after.as_bytes(), Some(&now), &invocation.idempotency_key)?;
    Ok(json!({
        "path": path.to_string(), "replaced": times, "diff": diff, "digest": digest(after.as_bytes())
    }))
}

/// What a call leaves.
pub(super) fn leaves(root: &Root, given: &Value) -> Result<Option<(Relative, String)>, ToolError> {
    let wanted: Edit = arguments(given)?;
    let Worked { path, after, .. } = wanted.work_out(root)?;
    Ok(Some((path, digest(after.as_bytes()))))
}

pub(super) fn preview(root: &Root, given: &Value) -> Result<Value, ToolError> {
    let wanted: Edit = arguments(given)?;
    let Worked { path, now, times, diff, .. } = wanted.work_out(root)?;
    let places = if times == 1 { "one place".to_owned() } else { format!("{times} places") };
    Ok(json!({
        "summary": format!("Edit {path} in {places}"),
        "diff": diff,
        "pin": { "expected_digest": state(Some(&now)) },
    }))
}

/// Why a text cannot be replaced.
#[derive(Debug, PartialEq)]
pub(super) enum Problem {
    /// It is to become what it is.
    Same,
    /// It is not there; it would be with the file's line ends.
    Missing { line_ends: bool },
    /// It is there more than once, in these lines.
    Several(Vec<usize>),
}

impl Problem {
    fn told(self, path: &Relative, before: &str) -> ToolError {
        match self {
            Self::Same => ToolError::new("no_change", "old_text and new_text are the same"),
            Self::Missing { line_ends: true } => hinted(
                "no_match",
                format!("old_text is not in `{path}` as it is written"),
                "lines of this file end with \\r\\n; write them so",
            ),
            Self::Missing { .. } => hinted(
                "no_match",
                format!("old_text is not in `{path}` ({} lines)", before.lines().count()),
                "read the file and copy the text exactly",
            ),
            Self::Several(lines) => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                hinted(
                    "several_matches",
                    format!("old_text is in `{path}` more than once: lines {}", lines.join(", ")),
                    "give more of the text around it, or set `all`",
                )
            }
        }
    }
}

/// The text with `old` replaced by `new`, and how often.
pub(super) fn replace(
    text: &str,
    old: &str,
    new: &str,
    all: bool,
) -> Result<(String, usize), Problem> {
    if old == new {
        return Err(Problem::Same);
    }
    let step = old.chars().next().map_or(1, char::len_utf8);
    let Some(first) = text.find(old) else {
        let line_ends = text.contains("\r\n") && text.contains(&old.replace('\n', "\r\n"));
        return Err(Problem::Missing { line_ends });
    };
    if all {
        return Ok((text.replace(old, new), text.matches(old).count()));
    }
    // Occurrences that overlap are two as well.
    let mut places = vec![first];
    let mut from = first + step;
    while let Some(next) = text.get(from..).and_then(|rest| rest.find(old)) {
        if places.len() == PLACES {
            break;
        }
        places.push(from + next);
        from += next + step;
    }
    if places.len() > 1 {
        let line = |at: &usize| text[..*at].matches('\n').count() + 1;
        return Err(Problem::Several(places.iter().map(line).collect()));
    }
    Ok((format!("{}{new}{}", &text[..first], &text[first + old.len()..]), 1))
}
