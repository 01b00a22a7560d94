//! The folder the calendars live in: names that stay inside it, one writer at a time, whole writes only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::ics::Document;
use crate::tool::ToolError;

/// The largest calendar that is read.
const MAX_FILE_BYTES: u64 = 8 << 20;
const MAX_NAME_CHARS: usize = 64;

/// A folder of calendars.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The file of calendar `name`; case does not matter, and a space is a hyphen. Any other character is
    /// refused rather than repaired: repairing `../x` could delete from a calendar nobody meant.
    pub(super) fn file(&self, name: &str) -> Result<PathBuf, ToolError> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        let stem = name.to_ascii_lowercase().replace(' ', "-");
        let edges = name.starts_with(' ') || name.ends_with(' ');
        if stem.is_empty() || edges || stem.len() > MAX_NAME_CHARS || !stem.chars().all(fits) {
            return Err(ToolError::new(
                "bad_calendar_name",
                format!(
                    "`{name}` cannot name a calendar: up to {MAX_NAME_CHARS} letters a-z, digits, spaces, - and _"
                ),
            ));
        }
        Ok(self.path.join(format!("{stem}.ics")))
    }

    /// Calendar `name` as it is; empty, if there is none.
    pub(super) fn read(&self, name: &str) -> Result<Document, ToolError> {
        read(&self.file(name)?, name)
    }

    /// Changes calendar `name`. `change` says what to tell, and whether anything changed.
    pub(super) fn change<T>(
        &self,
        name: &str,
        change: impl FnOnce(&mut Document) -> (T, bool),
    ) -> Result<T, ToolError> {
        let file = self.file(name)?;
        fs::create_dir_all(&self.path).map_err(|error| failed(&error))?;
        // Held until the end, against other threads and other processes alike.
        let lock = self.lock().map_err(|error| failed(&error))?;
        let mut document = read(&file, name)?;
        let (told, changed) = change(&mut document);
        if changed {
            replace(&file, &document.text()).map_err(|error| failed(&error))?;
        }
        drop(lock);
        Ok(told)
    }

    fn lock(&self) -> io::Result<File> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.join(".lock"))?;
        file.lock()?;
        Ok(file)
    }
}

fn read(path: &Path, name: &str) -> Result<Document, ToolError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Document::empty(name)),
        Err(error) => return Err(failed(&error)),
    };
    let unreadable = || {
        ToolError::new(
            "bad_calendar",
            format!("the file of calendar `{name}` is not an iCalendar file; it was left alone"),
        )
    };
    let mut text = String::new();
    match file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text) {
        Ok(size) if size as u64 <= MAX_FILE_BYTES => Document::parse(&text).ok_or_else(unreadable),
        Ok(_) => Err(ToolError::new(
            "bad_calendar",
            format!("calendar `{name}` is larger than {MAX_FILE_BYTES} bytes"),
        )),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(unreadable()),
        Err(error) => Err(failed(&error)),
    }
}

/// Puts `text` in the place of `path`: afterwards, and after a crash, it is all old or all new.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("ics.new");
    let mut file = File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn failed(error: &io::Error) -> ToolError {
    ToolError::new("calendar_failed", format!("the calendar could not be used: {error}"))
}
