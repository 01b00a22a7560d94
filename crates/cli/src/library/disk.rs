//! Workflow files on a disk: where they are, and reading them with care.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use signoff_core::workflow::{FileSource, MAX_FILE_BYTES};

/// Prompt files beside a workflow file.
pub(super) struct DiskFiles {
    folder: PathBuf,
}

impl DiskFiles {
    /// The files in the folder of `file` and below.
    pub(super) fn beside(file: &Path) -> Self {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        Self { folder: parent.unwrap_or(Path::new(".")).to_owned() }
    }
}

impl FileSource for DiskFiles {
    fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, String> {
        let folder = self.folder.canonicalize().map_err(|error| explain(&error))?;
        let target = match folder.join(path).canonicalize() {
            Ok(target) => target,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(explain(&error)),
        };
        if !target.starts_with(&folder) {
            return Err("it is a link that leads out of the folder".to_owned());
        }
        read_up_to(&target, limit).map(Some)
    }
}

/// The content of a file, which must be a regular one and not larger than a workflow file may be.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = read_up_to(path, MAX_FILE_BYTES + 1)?;
    if bytes.len() > MAX_FILE_BYTES {
        let size = fs::metadata(path).map_or(bytes.len() as u64, |found| found.len());
        return Err(format!("the file has {size} bytes; at most {MAX_FILE_BYTES} are read"));
    }
    Ok(bytes)
}

fn read_up_to(path: &Path, limit: usize) -> Result<Vec<u8>, String> {
    // Looked at before it is opened: opening a pipe would wait for somebody to write to it.
    let found = fs::metadata(path).map_err(|error| explain(&error))?;
    if found.is_dir() {
        return Err("it is a folder, not a file".to_owned());
    }
    if !found.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| explain(&error))?;
    file.take(limit as u64).read_to_end(&mut bytes).map_err(|error| explain(&error))?;
    Ok(bytes)
}

fn explain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
        _ => error.to_string(),
    }
}

/// The workflow files that `path` stands for: itself, or those of a folder (each `*.yaml` in it and
/// each `*/workflow.yaml`), in order.
pub(super) fn discover(path: &Path) -> Result<Vec<PathBuf>, String> {
    let found = fs::metadata(path).map_err(|error| explain(&error))?;
    if !found.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let own = path.join("workflow.yaml");
    if own.is_file() {
        return Ok(vec![own]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| explain(&error))? {
        let file = entry.map_err(|error| explain(&error))?.path();
        let inside = file.join("workflow.yaml");
        if file.is_dir() && inside.is_file() {
            files.push(inside);
        } else if file.is_file() && is_workflow_name(&file) {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn is_workflow_name(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let yaml = file.extension().is_some_and(|it| it == "yaml" || it == "yml");
    yaml && name != "script.yaml" && !name.ends_with(".script.yaml")
}

/// The script beside a workflow file: `NAME.script.yaml`, or `script.yaml` for a `workflow.yaml`.
pub(super) fn script_beside(file: &Path) -> Option<PathBuf> {
    let stem = file.file_stem()?.to_str()?;
    let own = file.with_file_name(format!("{stem}.script.yaml"));
    if own.exists() {
        return Some(own);
    }
    let shared = file.with_file_name("script.yaml");
    shared.exists().then_some(shared)
}
