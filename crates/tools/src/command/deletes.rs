//! What a command that deletes would take, for a person to see before it is run.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use serde_json::{Value, json};

/// Programs that delete what their arguments name.
const PROGRAMS: [&str; 4] = ["rm", "rmdir", "unlink", "shred"];
/// How many names are shown.
const SAMPLE: usize = 20;
/// How many are looked at.
const MOST: usize = 10_000;
/// How deep folders are looked into.
const DEEPEST: usize = 32;

/// How many files and folders `program` would take, and some of them; none, if it does not delete. Links are not followed.
pub(super) fn affected(program: &str, arguments: &[String], folder: &OwnedFd) -> Option<Value> {
    if !PROGRAMS.contains(&program) {
        return None;
    }
    let mut found = Affected::default();
    let mut only_names = false;
    for argument in arguments {
        if !only_names && argument.starts_with('-') {
            only_names = argument == "--";
            continue;
        }
        found.look(folder, argument, argument, 0);
    }
    let mut files = json!({ "count": found.count, "sample": found.sample });
    if found.more {
        files["more"] = true.into();
    }
    Some(files)
}

#[derive(Default)]
struct Affected {
    count: usize,
    sample: Vec<String>,
    /// There are more than were looked at.
    more: bool,
}

impl Affected {
    fn look(&mut self, folder: &OwnedFd, name: &str, shown: &str, depth: usize) {
        let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        if self.count == MOST || depth == DEEPEST {
            self.more = true;
            return;
        }
        self.count += 1;
        if self.sample.len() < SAMPLE {
            self.sample.push(shown.to_owned());
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(inner) = openat(folder, name, flags, Mode::empty()) else {
            self.more = true;
            return;
        };
        let Ok(entries) = Dir::read_from(&inner) else { return };
        let names =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str().ok().map(str::to_owned));
        let mut names: Vec<String> =
            names.filter(|it| it != "." && it != "..").take(MOST).collect();
        names.sort();
        for name in names {
            self.look(&inner, &name, &format!("{}/{name}", shown.trim_end_matches('/')), depth + 1);
        }
    }
}
