//! `write_file`: a whole file, new or in place of the one that is there.

use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::{Effects, ToolSpec};

use super::change::{Current, MAX_CHANGED, current, diff, digest, expect, put, state};
use super::path::Relative;
use super::root::Root;
use super::{digest_property, path_property};
use crate::builtin::{self, arguments, hinted};
use crate::tool::{Invocation, ToolError};

/// The largest content, in characters.
const MAX_CONTENT: usize = 1024 * 1024;

pub(super) fn spec() -> ToolSpec {
    let effects = Effects {
        idempotent: true,
        // It replaces whatever was there.
        destructive: true,
        file_edit: true,
        ..Effects::default()
    };
    let properties = json!({
        "path": path_property(),
        "content": { "type": "string", "maxLength": MAX_CONTENT, "description": "The whole content of the file." },
        "expected_digest": digest_property(),
    });
    builtin::spec(
        "write_file",
        "Create a text file in the workspace, or replace all of one. Missing folders are made. To change a \
         part of a file use edit_file. The file is replaced at once or not at all.",
        &properties,
        &["path", "content"],
        effects,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    path: String,
    content: String,
    #[serde(default)]
    expected_digest: Option<String>,
}

impl Write {
    /// The file it is about, as it is now; refused if it cannot be written.
    fn look(&self, root: &Root) -> Result<(Relative, Option<Current>), ToolError> {
        let path = root.path(&self.path)?;
        let now = current(root, &path)?;
        // What a first attempt has done already is as it should be.
        if !self.done(now.as_ref()) {
            expect(&path, now.as_ref(), self.expected_digest.as_deref())?;
        }
        if now.as_ref().is_some_and(|now| now.content.is_none()) {
            let message = format!("`{path}` has more than {MAX_CHANGED} bytes");
            return Err(hinted(
                "file_too_large",
                message,
                "delete it first if it shall be replaced",
            ));
        }
        Ok((path, now))
    }

    fn done(&self, now: Option<&Current>) -> bool {
        let content = now.and_then(|now| now.content.as_deref());
        content == Some(self.content.as_bytes())
    }
}

pub(super) fn call(root: &Root, invocation: &Invocation) -> Result<Value, ToolError> {
    let wanted: Write = arguments(&invocation.arguments)?;
    let _changing = root.changing();
    let (path, now) = wanted.look(root)?;
    let content = wanted.content.as_bytes();
    let done = wanted.done(now.as_ref());
    if !done {
        put(root, &path, content, now.as_ref(), &invocation.idempotency_key)?;
    }
    let result = match (&now, done) {
        (_, true) => "unchanged",
        (Some(_), _) => "replaced",
        (None, _) => "created",
    };
    Ok(json!({
        "path": path.to_string(), "result": result, "bytes": content.len(), "digest": digest(content)
    }))
}

/// What a call leaves.
pub(super) fn leaves(root: &Root, given: &Value) -> Result<Option<(Relative, String)>, ToolError> {
    let wanted: Write = arguments(given)?;
    Ok(Some((root.path(&wanted.path)?, digest(wanted.content.as_bytes()))))
}

pub(super) fn preview(root: &Root, given: &Value) -> Result<Value, ToolError> {
    let wanted: Write = arguments(given)?;
    let (path, now) = wanted.look(root)?;
    let lines = wanted.content.lines().count();
    let what = match &now {
        Some(_) if wanted.done(now.as_ref()) => "Leave as it is",
        Some(_) => "Replace",
        None => "Create",
    };
    let before = now.as_ref().and_then(|now| now.content.as_deref());
    let diff = match before.map(std::str::from_utf8) {
        Some(Err(_)) => {
            let bytes = now.as_ref().map_or(0, |now| now.bytes);
            format!(
                "(what is there, {bytes} bytes, is not text)\n{}",
                diff(&path, None, &wanted.content)
            )
        }
        Some(Ok(before)) => diff(&path, Some(before), &wanted.content),
        None => diff(&path, None, &wanted.content),
    };
    Ok(json!({
        "summary": format!("{what} {path} ({lines} lines, {} bytes)", wanted.content.len()),
        "diff": diff,
        "pin": { "expected_digest": state(now.as_ref()) },
    }))
}
