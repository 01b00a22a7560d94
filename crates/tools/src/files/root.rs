//! The workspace root, and the only way from it to a file.
//!
//! A path is walked name by name from the root's handle: each folder is opened relative to the one before,
//! and never through a symbolic link (`O_NOFOLLOW`). There is no moment between a check and its use, since
//! nothing is checked by path: what is open is what is used, whatever others rename or link meanwhile. It
//! needs no `openat2`, which only Linux has, and no more crates (`cap-std` would follow links that stay
//! inside); and since links are never followed, the path a person approves is the file that is touched.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, fsync, mkdirat, openat, readlinkat, statat,
};
use rustix::io::Errno;

use super::path::{Deny, Relative};
use crate::builtin::hinted;
use crate::tool::ToolError;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The workspace.
#[derive(Debug)]
pub(crate) struct Root {
    handle: OwnedFd,
    deny: Deny,
    changing: Mutex<()>,
}

/// A name in a folder that is open.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) folder: OwnedFd,
    pub(super) name: &'a str,
}

impl Root {
    /// The folder at `path`, which the operator named: here links are followed.
    pub(crate) fn open(path: &Path, deny: &[String]) -> Result<Self, String> {
        let handle = openat(CWD, path, FOLDER, Mode::empty()).map_err(|error| {
            format!("the folder `{}` cannot be opened: {error}", path.display())
        })?;
        Ok(Self { handle, deny: Deny::new(deny)?, changing: Mutex::new(()) })
    }

    /// A path as an agent wrote it.
    pub(crate) fn path(&self, text: &str) -> Result<Relative, ToolError> {
        let path = Relative::parse(text)?;
        self.deny.check(&path)?;
        Ok(path)
    }

    pub(super) fn denies(&self, name: &str) -> bool {
        self.deny.name(name)
    }

    /// Held while a file is changed, so that two calls do not undo each other.
    pub(super) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder at `path`.
    pub(crate) fn folder(&self, path: &Relative) -> Result<OwnedFd, ToolError> {
        self.walk(path, path.names(), false)
    }

    /// Where `path` is or would be, its folder open; folders that are missing are made if `make`.
    pub(super) fn place<'a>(&self, path: &'a Relative, make: bool) -> Result<Place<'a>, ToolError> {
        let Some((folder, name)) = path.split() else {
            return Err(ToolError::new(
                "bad_path",
                "that is the workspace itself, not a file in it",
            ));
        };
        Ok(Place { folder: self.walk(path, folder, make)?, name })
    }

    fn walk(&self, path: &Relative, names: &[String], make: bool) -> Result<OwnedFd, ToolError> {
        let flags = FOLDER | OFlags::NOFOLLOW;
        let open = |at: &OwnedFd, name: &str| openat(at, name, flags, Mode::empty());
        let mut at = open(&self.handle, ".").map_err(|error| failed(path, error))?;
        for name in names {
            let opened = match open(&at, name) {
                Err(Errno::NOENT) if make => {
                    match mkdirat(&at, name.as_str(), Mode::from_raw_mode(0o777)) {
                        Ok(()) => fsync(&at).map_err(|error| failed(path, error))?,
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(failed(path, error)),
                    }
                    open(&at, name)
                }
                opened => opened,
            };
            at = opened.map_err(|error| refused(path, &at, name, error))?;
        }
        Ok(at)
    }
}

impl Place<'_> {
    /// What is there, links not followed.
    pub(super) fn stat(&self) -> Result<Stat, Errno> {
        statat(&self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// The file there, open for reading. Only a regular file is ever opened: a pipe could wait for ever,
    /// and a device could do anything.
    pub(super) fn open(&self, path: &Relative) -> Result<(File, Stat), ToolError> {
        let stat = self.stat().map_err(|error| failed(path, error))?;
        self.regular(path, &stat)?;
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.folder, self.name, flags, Mode::empty())
            .map_err(|error| refused(path, &self.folder, self.name, error))?;
        // It may have been exchanged in between; what is open now stays what it is.
        let stat = fstat(&file).map_err(|error| failed(path, error))?;
        self.regular(path, &stat)?;
        Ok((File::from(file), stat))
    }

    pub(super) fn regular(&self, path: &Relative, stat: &Stat) -> Result<(), ToolError> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(()),
            FileType::Directory => {
                Err(ToolError::new("not_a_file", format!("`{path}` is a folder")))
            }
            FileType::Symlink => Err(link(path, &self.folder, self.name)),
            _ => Err(ToolError::new("not_a_file", format!("`{path}` is not a regular file"))),
        }
    }
}

/// How large it is.
pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

/// Why a name could not be opened. A link gives different errors on different systems.
fn refused(path: &Relative, at: &OwnedFd, name: &str, error: Errno) -> ToolError {
    let links = matches!(error, Errno::LOOP | Errno::NOTDIR | Errno::MLINK)
        && statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
    if links { link(path, at, name) } else { failed(path, error) }
}

fn link(path: &Relative, at: impl AsFd, name: &str) -> ToolError {
    let message = format!("`{path}` leads through the link `{name}`, and links are not followed");
    let target = readlinkat(at, name, Vec::new()).ok().and_then(|it| it.into_string().ok());
    match target {
        Some(target) if !target.starts_with('/') => {
            hinted("link", message, format!("`{name}` stands for `{target}`; name the file itself"))
        }
        _ => hinted("link", message, "name the file itself"),
    }
}

/// What the system says, in words for an agent.
pub(super) fn failed(path: &Relative, error: impl Into<std::io::Error>) -> ToolError {
    let error: std::io::Error = error.into();
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => hinted(
            "not_found",
            format!("there is no `{path}` in the workspace"),
            "list_files shows what there is",
        ),
        Some(Errno::NOTDIR) => ToolError::new(
            "not_a_folder",
            format!("`{path}` leads through something that is not a folder"),
        ),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
            ToolError::new("no_permission", format!("`{path}` may not be opened or changed"))
        }
        _ => ToolError::new("file_failed", format!("`{path}`: {error}")),
    }
}
