//! `list_files`: what there is in the workspace.

use std::collections::VecDeque;

use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_core::{Effects, ToolSpec};

use super::path::{Relative, deceives};
use super::root::{Root, failed, size};
use crate::builtin::{self, arguments, hinted};
use crate::tool::{Invocation, ToolError};

/// How many files and folders are looked at.
const MAX_SEEN: usize = 50_000;
/// How much is given back, in bytes of JSON.
const ROOM: usize = 200 * 1024;

pub(super) fn spec() -> ToolSpec {
    let properties = json!({
        "path": { "type": "string", "maxLength": 1024, "description": "The folder to look into, relative to the workspace; the workspace itself if not given." },
        "depth": { "type": "integer", "minimum": 1, "maximum": 32, "description": "How many levels deep: 1 is only what is directly in the folder; 3 if not given." },
        "glob": { "type": "string", "minLength": 1, "maxLength": 200, "description": "Only what fits: `*.rs` fits names anywhere, `src/**/*.rs` fits paths from the folder on." },
        "limit": { "type": "integer", "minimum": 1, "maximum": 2000, "description": "How many at most; 500 if not given." },
    });
    builtin::spec(
        "list_files",
        "List files and folders of the workspace, with sizes. What is nearest to the folder comes first when \
         there is too much for one result; the result says so then. Links are listed, not followed.",
        &properties,
        &[],
        Effects::READ_ONLY,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    path: Option<String>,
    #[serde(default = "three")]
    depth: usize,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default = "five_hundred")]
    limit: usize,
}

fn three() -> usize {
    3
}

fn five_hundred() -> usize {
    500
}

pub(super) fn call(root: &Root, invocation: &Invocation) -> Result<Value, ToolError> {
    let wanted: List = arguments(&invocation.arguments)?;
    let start = root.path(wanted.path.as_deref().unwrap_or("."))?;
    let filter = wanted.glob.as_deref().map(Filter::new).transpose()?;
    let mut listing = Listing { limit: wanted.limit, ..Listing::default() };
    let mut folders = VecDeque::from([(start.clone(), 1)]);
    // Level by level: if not everything fits, an overview does.
    while let Some((folder, depth)) = folders.pop_front() {
        let entries = match entries(root, &folder, &mut listing) {
            Ok(entries) => entries,
            // It went away or may not be read; the others are still worth listing.
            Err(_) if folder != start => {
                listing.unread += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        for Entry { name, kind, bytes } in entries {
            let path = folder.join(&name);
            let below = path.names().get(start.names().len()..).unwrap_or_default().join("/");
            if filter.as_ref().is_none_or(|filter| filter.fits(&below, &name)) {
                listing.add(&path, kind, bytes);
            }
            if kind == "folder" && depth < wanted.depth {
                folders.push_back((path, depth + 1));
            }
        }
        if listing.full() {
            break;
        }
    }
    Ok(listing.result(&start))
}

struct Entry {
    name: String,
    kind: &'static str,
    bytes: Option<u64>,
}

fn entries(root: &Root, folder: &Relative, listing: &mut Listing) -> Result<Vec<Entry>, ToolError> {
    let handle = root.folder(folder)?;
    let wrong = |error: rustix::io::Errno| failed(folder, error);
    let mut entries = Vec::new();
    for entry in Dir::read_from(&handle).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let name = match entry.file_name().to_str() {
            Ok("." | "..") => continue,
            Ok(name) if !name.chars().any(deceives) => name.to_owned(),
            _ => {
                listing.unnameable += 1;
                continue;
            }
        };
        if root.denies(&name) {
            continue;
        }
        listing.seen += 1;
        if listing.seen > MAX_SEEN {
            break;
        }
        // Gone already, perhaps.
        let Ok(stat) = statat(&handle, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let (kind, bytes) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => ("file", Some(size(&stat))),
            FileType::Directory => ("folder", None),
            FileType::Symlink => ("link", None),
            _ => ("other", None),
        };
        entries.push(Entry { name, kind, bytes });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Which entries are wanted.
struct Filter {
    glob: GlobMatcher,
    names: bool,
}

impl Filter {
    fn new(pattern: &str) -> Result<Self, ToolError> {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| {
            hinted("bad_glob", error.to_string(), "write for example *.md or src/**/*.rs")
        })?;
        Ok(Self { glob: glob.compile_matcher(), names: !pattern.contains('/') })
    }

    fn fits(&self, path: &str, name: &str) -> bool {
        self.glob.is_match(if self.names { name } else { path })
    }
}

#[derive(Default)]
struct Listing {
    entries: Vec<(String, Value)>,
    room_taken: usize,
    left_out: usize,
    limit: usize,
    seen: usize,
    unread: usize,
    unnameable: usize,
}

impl Listing {
    fn add(&mut self, path: &Relative, kind: &str, bytes: Option<u64>) {
        let mut entry = json!({ "path": path.to_string(), "kind": kind });
        if let Some(bytes) = bytes {
            entry["bytes"] = bytes.into();
        }
        let taken = entry.to_string().len() + 1;
        if self.entries.len() >= self.limit || self.room_taken + taken > ROOM {
            self.left_out += 1;
            return;
        }
        self.room_taken += taken;
        self.entries.push((path.to_string(), entry));
    }

    fn full(&self) -> bool {
        self.left_out > 0 || self.seen > MAX_SEEN
    }

    fn result(mut self, start: &Relative) -> Value {
        self.entries.sort_by(|a, b| a.0.cmp(&b.0));
        let more = self.full();
        let entries: Vec<Value> = self.entries.into_iter().map(|(_, entry)| entry).collect();
        let mut result = json!({ "path": start.to_string(), "entries": entries });
        if more {
            result["more"] =
                "there is more than is listed here: look into a folder, or give a glob".into();
        }
        if self.unread > 0 {
            result["unreadable_folders"] = self.unread.into();
        }
        if self.unnameable > 0 {
            result["unnameable"] = self.unnameable.into();
        }
        result
    }
}
