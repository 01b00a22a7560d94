//! `delete_file`: a file, or a folder with nothing in it.

use rustix::fs::{AtFlags, FileType, fsync, unlinkat};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::{Effects, ToolSpec};

use super::change::{ABSENT, Current, current, expect, same, state};
use super::path::Relative;
use super::root::{Place, Root, failed};
use super::{digest_property, path_property};
use crate::builtin::{self, arguments, head, hinted};
use crate::tool::{Invocation, ToolError};

/// How much of what is deleted is shown beforehand, in bytes of JSON.
const SHOWN: usize = 16 * 1024;

pub(super) fn spec() -> ToolSpec {
    let effects =
        Effects { idempotent: true, destructive: true, file_edit: true, ..Effects::default() };
    let properties = json!({ "path": path_property(), "expected_digest": digest_property() });
    builtin::spec(
        "delete_file",
        "Delete a file of the workspace, or a folder that is empty. A link is deleted itself, not what it \
         stands for. Deleting what is not there changes nothing and says so.",
        &properties,
        &["path"],
        effects,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    path: String,
    #[serde(default)]
    expected_digest: Option<String>,
}

/// What there is to delete.
enum Found<'a> {
    Nothing,
    File(Place<'a>, Option<Current>),
    Folder(Place<'a>),
    /// A link, a pipe or another thing that has no content of its own.
    Other(Place<'a>, &'static str),
}

fn look<'a>(
    root: &Root,
    path: &'a Relative,
    expected: Option<&str>,
) -> Result<Found<'a>, ToolError> {
    let place = match root.place(path, false) {
        Err(error) if error.0.code == "not_found" => return Ok(Found::Nothing),
        place => place?,
    };
    let stat = match place.stat() {
        Err(Errno::NOENT) => return Ok(Found::Nothing),
        stat => stat.map_err(|error| failed(path, error))?,
    };
    let found = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            // Who may delete a file need not be able to read it.
            let now = match current(root, path) {
                Err(error) if error.0.code == "no_permission" && expected.is_none() => None,
                now => now?,
            };
            expect(path, now.as_ref(), expected)?;
            return Ok(Found::File(place, now));
        }
        FileType::Directory => Found::Folder(place),
        FileType::Symlink => Found::Other(place, "link"),
        _ => Found::Other(place, "special file"),
    };
    match expected {
        None => Ok(found),
        Some(_) => {
            Err(ToolError::new("not_a_file", format!("`{path}` is not a file with a digest")))
        }
    }
}

pub(super) fn call(root: &Root, invocation: &Invocation) -> Result<Value, ToolError> {
    let wanted: Delete = arguments(&invocation.arguments)?;
    let _changing = root.changing();
    let path = root.path(&wanted.path)?;
    let (place, kind, flags) = match look(root, &path, wanted.expected_digest.as_deref())? {
        Found::Nothing => {
            return Ok(json!({ "path": path.to_string(), "result": "not_there" }));
        }
        Found::File(place, now) => {
            let untouched =
                now.is_none_or(|now| place.stat().is_ok_and(|stat| same(&stat, &now.stat)));
            if !untouched {
                let message = format!("`{path}` was changed at this moment");
                return Err(hinted("file_changed", message, "read it again and decide anew"));
            }
            (place, "file", AtFlags::empty())
        }
        Found::Folder(place) => (place, "folder", AtFlags::REMOVEDIR),
        Found::Other(place, kind) => (place, kind, AtFlags::empty()),
    };
    unlinkat(&place.folder, place.name, flags).map_err(|error| match error {
        Errno::NOTEMPTY | Errno::EXIST => hinted(
            "folder_not_empty",
            format!("`{path}` is a folder with something in it"),
            "delete what is in it first",
        ),
        error => failed(&path, error),
    })?;
    fsync(&place.folder).map_err(|error| failed(&path, error))?;
    Ok(json!({ "path": path.to_string(), "result": "deleted", "kind": kind }))
}

/// What a call leaves. A folder, a link or a file that cannot be read is not kept.
pub(super) fn leaves(root: &Root, given: &Value) -> Result<Option<(Relative, String)>, ToolError> {
    let wanted: Delete = arguments(given)?;
    let path = root.path(&wanted.path)?;
    let is_file = matches!(
        look(root, &path, wanted.expected_digest.as_deref())?,
        Found::Nothing | Found::File(_, Some(_))
    );
    Ok(is_file.then(|| (path, ABSENT.to_owned())))
}

/// What a deletion takes: this and nothing else.
fn one(path: &Relative) -> Value {
    json!({ "count": 1, "sample": [path.to_string()] })
}

pub(super) fn preview(root: &Root, given: &Value) -> Result<Value, ToolError> {
    let wanted: Delete = arguments(given)?;
    let path = root.path(&wanted.path)?;
    Ok(match look(root, &path, wanted.expected_digest.as_deref())? {
        Found::Nothing => json!({
            "summary": format!("Nothing: there is no {path}"), "pin": { "expected_digest": ABSENT }
        }),
        Found::Folder(_) => {
            json!({ "summary": format!("Delete the folder {path} if it is empty"), "files": one(&path) })
        }
        Found::Other(_, kind) => {
            json!({ "summary": format!("Delete the {kind} {path}"), "files": one(&path) })
        }
        Found::File(_, None) => {
            json!({ "summary": format!("Delete {path}, which cannot be read"), "files": one(&path) })
        }
        Found::File(_, Some(now)) => {
            let text = now.content.as_deref().and_then(|it| std::str::from_utf8(it).ok());
            let summary = format!("Delete {path} ({} bytes)", now.bytes);
            let mut shown = json!({ "summary": summary, "files": one(&path) });
            if let Some(digest) = state(Some(&now)) {
                shown["pin"] = json!({ "expected_digest": digest });
            }
            match text {
                None => shown["detail"] = "(not text)".into(),
                Some(text) => {
                    let kept = head(text, SHOWN);
                    let rest = if kept.len() < text.len() { "\n…" } else { "" };
                    shown["detail"] = format!("{kept}{rest}").into();
                }
            }
            shown
        }
    })
}
