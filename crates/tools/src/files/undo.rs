//! Undoing what was done to a file: what was there is kept, and put back if nobody has touched the file since.

use rustix::fs::{AtFlags, fsync, unlinkat};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::change::{ABSENT, current, digest, put, state};
use super::path::Relative;
use super::root::{Root, failed};
use crate::builtin::hinted;
use crate::tool::ToolError;

/// The largest content that is kept, in bytes.
const MAX_KEPT: usize = 256 * 1024;

/// A file before a call, and what the call leaves of it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    path: String,
    /// Its content; none, if it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// The digest of what the call leaves.
    leaves: String,
}

/// What is needed to undo a call that leaves `leaves` at `path`: `absent`, or a digest. None, if there is too much of it, or
/// if it is not text.
pub(super) fn keep(
    root: &Root,
    path: &Relative,
    leaves: String,
) -> Result<Option<Value>, ToolError> {
    let content = match current(root, path)? {
        None => None,
        Some(now) => match now.content.map(String::from_utf8) {
            Some(Ok(text)) if text.len() <= MAX_KEPT => Some(text),
            _ => return Ok(None),
        },
    };
    let kept = Kept { path: path.to_string(), content, leaves };
    serde_json::to_value(kept)
        .map(Some)
        .map_err(|error| ToolError::new("internal", error.to_string()))
}

/// Puts back what was there.
pub(super) fn undo(root: &Root, kept: &Value) -> Result<String, ToolError> {
    let kept: Kept = serde_json::from_value(kept.clone()).map_err(|error| {
        ToolError::new("cannot_undo", format!("what was kept cannot be read: {error}"))
    })?;
    let _changing = root.changing();
    let path = root.path(&kept.path)?;
    let now = current(root, &path)?;
    let was = kept.content.as_ref().map_or(ABSENT.to_owned(), |it| digest(it.as_bytes()));
    match state(now.as_ref()) {
        Some(found) if found == was => return Ok(format!("{path} is as it was")),
        Some(found) if found == kept.leaves => {}
        _ => {
            let message = format!("`{path}` was changed since, and is left as it is");
            return Err(hinted("file_changed", message, "look at it yourself"));
        }
    }
    match kept.content {
        Some(content) => {
            put(root, &path, content.as_bytes(), now.as_ref(), &format!("undo {}", kept.leaves))?;
            Ok(format!("{path} is as it was ({} bytes)", content.len()))
        }
        None => {
            let place = root.place(&path, false)?;
            unlinkat(&place.folder, place.name, AtFlags::empty())
                .and_then(|()| fsync(&place.folder))
                .map_err(|error| failed(&path, error))?;
            Ok(format!("{path} is gone again"))
        }
    }
}
