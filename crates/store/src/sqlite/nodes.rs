//! Who is alive on this machine: each open store holds a lock on a file of its own, and the lock goes
//! when its process does, however it ends. So the leases of a killed process end at once.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::open::{cannot, create_directory};
use crate::{NodeId, StoreError};

/// The file that says this store is alive.
#[derive(Debug)]
pub(super) struct NodeLock {
    // Unlocked, but not removed, when this goes: whoever finds it ends the leases that are left.
    _locked: File,
}

/// A store that is not alive any more. Its file stays locked by us until its leases are gone.
#[derive(Debug)]
pub(super) struct DeadNode {
    pub(super) node: String,
    path: PathBuf,
    _locked: File,
}

impl NodeLock {
    /// Makes the file of `node` and locks it.
    pub(super) fn hold(database: &Path, node: &NodeId) -> Result<Self, StoreError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if node.is_empty() || node.len() > 128 || !node.chars().all(fits) || node.starts_with('.') {
            return Err(StoreError::Failed(format!("`{node}` cannot be the name of a node")));
        }
        let directory = directory(database);
        create_directory(&directory)?;
        let path = directory.join(&**node);
        let mut tries = 0;
        loop {
            let file = open(&path, true).map_err(|error| cannot("create", &path, &error))?;
            match file.try_lock() {
                // Somebody may have taken the new file for that of a dead node and removed it.
                Ok(()) if is_at(&path, &file) => return Ok(Self { _locked: file }),
                Ok(()) => {}
                Err(TryLockError::Error(error)) => return Err(cannot("lock", &path, &error)),
                Err(TryLockError::WouldBlock) if tries < 100 => {
                    tries += 1;
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Failed(format!("node {node} is running already")));
                }
            }
        }
    }
}

/// The nodes that died. Never `own`.
pub(super) fn find_dead(database: &Path, own: &NodeId) -> Vec<DeadNode> {
    // A directory or file that cannot be read says nothing about who is alive.
    let Ok(files) = std::fs::read_dir(directory(database)) else { return Vec::new() };
    files
        .filter_map(|file| {
            let file = file.ok()?;
            let node = file.file_name().into_string().ok()?;
            if *node == **own {
                return None;
            }
            let path = file.path();
            let locked = open(&path, false).ok()?;
            locked.try_lock().ok()?;
            Some(DeadNode { node, path, _locked: locked })
        })
        .collect()
}

/// How many stores have this database open now.
pub(super) fn count_alive(database: &Path) -> usize {
    let Ok(files) = std::fs::read_dir(directory(database)) else { return 0 };
    let is_locked = |file: std::fs::DirEntry| {
        let file = open(&file.path(), false).ok()?;
        Some(matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    };
    files.filter_map(|file| is_locked(file.ok()?)).filter(|locked| *locked).count()
}

impl DeadNode {
    /// Its leases are gone: nobody needs its file.
    pub(super) fn bury(self) {
        // If it stays, it is found again.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// `signoff.db` has `signoff.db-nodes`, as it has `signoff.db-wal`.
fn directory(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push("-nodes");
    database.with_file_name(name)
}

fn open(path: &Path, create: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn is_at(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (std::fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(here)) => there.ino() == here.ino() && there.dev() == here.dev(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(path: &Path, _: &File) -> bool {
    path.exists()
}
