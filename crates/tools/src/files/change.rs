//! What all tools that change files share: what is there now, how it is replaced, and how a change is shown.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fchmod, fsync, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::path::Relative;
use super::root::{Place, Root, failed, size};
use crate::builtin::{head, hinted};
use crate::tool::ToolError;

/// The largest file whose content is changed, in bytes.
pub(super) const MAX_CHANGED: u64 = 4 * 1024 * 1024;
/// The largest file whose digest is taken, in bytes.
pub(super) const MAX_DIGESTED: u64 = 256 * 1024 * 1024;
/// How much of a diff is shown, in bytes of JSON.
const MAX_DIFF: usize = 96 * 1024;
/// How long the search for a short diff may take; after that it is a longer one.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// The digest of a file that is not there.
pub(super) const ABSENT: &str = "absent";

/// A file as it is now.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) stat: Stat,
    pub(super) bytes: u64,
    /// None if it is too large for that.
    pub(super) digest: Option<String>,
    /// None if it is too large to be changed.
    pub(super) content: Option<Vec<u8>>,
}

/// The file at `path`, if there is one.
pub(super) fn current(root: &Root, path: &Relative) -> Result<Option<Current>, ToolError> {
    match root.place(path, false).and_then(|place| look(&place, path)) {
        Ok(current) => Ok(Some(current)),
        Err(error) if error.0.code == "not_found" => Ok(None),
        Err(error) => Err(error),
    }
}

fn look(place: &Place<'_>, path: &Relative) -> Result<Current, ToolError> {
    let (mut file, stat) = place.open(path)?;
    let (mut content, mut sha, mut bytes) = (Vec::new(), Sha256::new(), 0_u64);
    let mut piece = vec![0; 64 * 1024];
    while bytes <= MAX_DIGESTED {
        let read = file.read(&mut piece).map_err(|error| failed(path, error))?;
        let Some(read) = piece.get(..read).filter(|read| !read.is_empty()) else { break };
        bytes += read.len() as u64;
        sha.update(read);
        if bytes <= MAX_CHANGED {
            content.extend_from_slice(read);
        }
    }
    Ok(Current {
        stat,
        bytes: bytes.max(size(&stat)),
        digest: (bytes <= MAX_DIGESTED).then(|| hex(sha)),
        content: (bytes <= MAX_CHANGED).then_some(content),
    })
}

/// `sha256:` and the digest in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

pub(super) fn hex(sha: Sha256) -> String {
    let mut text = String::from("sha256:");
    for byte in sha.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The digest of what is there, for a person to be held to.
pub(super) fn state(current: Option<&Current>) -> Option<&str> {
    current.map_or(Some(ABSENT), |current| current.digest.as_deref())
}

/// Refuses to go on if what is there is not what was expected.
pub(super) fn expect(
    path: &Relative,
    current: Option<&Current>,
    expected: Option<&str>,
) -> Result<(), ToolError> {
    match expected {
        Some(expected) if state(current) != Some(expected) => Err(changed(path)),
        _ => Ok(()),
    }
}

fn changed(path: &Relative) -> ToolError {
    let message = format!("`{path}` is not what it was: somebody else changed it");
    hinted("file_changed", message, "read it again and decide anew")
}

/// Puts `content` at `path`, in place of `before`: all of it or nothing, and on disk when this returns.
pub(super) fn put(
    root: &Root,
    path: &Relative,
    content: &[u8],
    before: Option<&Current>,
    key: &str,
) -> Result<(), ToolError> {
    let place = root.place(path, true)?;
    // The same for every attempt at one call, so that a crash leaves nothing behind for long.
    let sum = digest(key.as_bytes());
    let temporary = format!(".signoff-{}.tmp", sum.get(7..27).unwrap_or_default());
    let done =
        fill(&place, &temporary, content, before.map(|it| Mode::from_raw_mode(it.stat.st_mode)))
            .and_then(|()| exchange(&place, &temporary, before));
    if done != Ok(()) {
        // Whatever went wrong is what is told.
        let _ = unlinkat(&place.folder, temporary.as_str(), AtFlags::empty());
    }
    done.and_then(|()| fsync(&place.folder)).map_err(|error| match error {
        Errno::EXIST | Errno::STALE => changed(path),
        error => failed(path, error),
    })
}

fn fill(place: &Place<'_>, name: &str, content: &[u8], mode: Option<Mode>) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || openat(&place.folder, name, flags, Mode::from_raw_mode(0o666));
    let file = match open() {
        Err(Errno::EXIST) => {
            unlinkat(&place.folder, name, AtFlags::empty())?;
            open()?
        }
        opened => opened?,
    };
    let mut file = std::fs::File::from(file);
    let io = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    file.write_all(content).map_err(io)?;
    if let Some(mode) = mode {
        fchmod(&file, mode & Mode::from_raw_mode(0o777))?;
    }
    fsync(&file)
}

/// Gives the new file its name. `STALE`, `EXIST`: what is there is not `before`.
fn exchange(place: &Place<'_>, temporary: &str, before: Option<&Current>) -> Result<(), Errno> {
    let folder = &place.folder;
    if let Some(before) = before {
        let now = place.stat().map_err(|_| Errno::STALE)?;
        if !same(&now, &before.stat) {
            return Err(Errno::STALE);
        }
        return renameat(folder, temporary, folder, place.name);
    }
    // Unlike a rename, a new link never takes the place of a file that came in between.
    match linkat(folder, temporary, folder, place.name, AtFlags::empty()) {
        Ok(()) => unlinkat(folder, temporary, AtFlags::empty()),
        // A file system without links.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => match place.stat() {
            Err(Errno::NOENT) => renameat(folder, temporary, folder, place.name),
            _ => Err(Errno::EXIST),
        },
        Err(error) => Err(error),
    }
}

/// Whether both are the same file, untouched.
pub(super) fn same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino, a.st_size) == (b.st_dev, b.st_ino, b.st_size)
        && (a.st_mtime, a.st_mtime_nsec) == (b.st_mtime, b.st_mtime_nsec)
        && (a.st_ctime, a.st_ctime_nsec) == (b.st_ctime, b.st_ctime_nsec)
}

/// A unified diff, cut if it is long.
pub(super) fn diff(path: &Relative, before: Option<&str>, after: &str) -> String {
    let from = before.map_or("/dev/null".to_owned(), |_| format!("a/{path}"));
    let old = before.unwrap_or_default();
    let lines = similar::TextDiff::configure().timeout(DIFF_TIME).diff_lines(old, after);
    let whole = lines.unified_diff().header(&from, &format!("b/{path}")).to_string();
    let kept = head(&whole, MAX_DIFF);
    if kept.len() == whole.len() {
        return whole;
    }
    format!("{kept}\n… {} bytes of this diff are left out …\n", whole.len() - kept.len())
}
