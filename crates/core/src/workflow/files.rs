//! Prompt files that a workflow file names, as data that somebody else reads.

use std::collections::BTreeMap;

/// The largest prompt file, in bytes.
pub const MAX_PROMPT_BYTES: usize = 256 * 1024;

/// Where the files beside a workflow file come from.
///
/// The names it is asked for are relative, use `/`, and have no `.` or `..` parts: that was checked
/// before. A source that reads a disk must still refuse links that lead out of the folder.
pub trait FileSource {
    /// The content of the file, none if there is no such file, or why it cannot be read. A file
    /// longer than `limit` bytes may be cut anywhere after that.
    fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, String>;
}

/// No files at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl FileSource for NoFiles {
    fn read(&self, _: &str, _: usize) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }
}

/// Files in memory, by name.
#[derive(Clone, Debug, Default)]
pub struct MapFiles(pub BTreeMap<String, Vec<u8>>);

impl<N: Into<String>, C: Into<Vec<u8>>> FromIterator<(N, C)> for MapFiles {
    fn from_iter<T: IntoIterator<Item = (N, C)>>(files: T) -> Self {
        Self(files.into_iter().map(|(name, content)| (name.into(), content.into())).collect())
    }
}

impl FileSource for MapFiles {
    fn read(&self, path: &str, _: usize) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(path).cloned())
    }
}

/// Whether `instructions` name a file instead of being the text itself.
pub(super) fn names_file(instructions: &str) -> bool {
    let extension = instructions.rsplit_once('.').map(|(_, extension)| extension);
    !instructions.contains('\n') && matches!(extension, Some("md" | "txt"))
}

/// The text of the prompt file `name`, or what is wrong with it and what to do.
pub(super) fn prompt(files: &dyn FileSource, name: &str) -> Result<String, (String, &'static str)> {
    let shown = super::diagnostic::quote(name);
    let inside = "name a file in the same folder or below it";
    // Backslashes and drive letters are paths on some systems and must not mean anything on others.
    let parts = || name.split('/');
    if name.starts_with('/') || name.contains(['\\', ':', '\0']) {
        return Err((format!("{shown} is not a path beside this file"), inside));
    }
    if parts().any(|part| part == "..") {
        return Err((format!("{shown} leads out of the folder of this file"), inside));
    }
    let path: Vec<&str> = parts().filter(|part| *part != "." && !part.is_empty()).collect();
    let bytes = match files.read(&path.join("/"), MAX_PROMPT_BYTES + 1) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            return Err((
                format!("there is no file {shown}"),
                "paths are relative to this file; text that is not a path must not end like one",
            ));
        }
        Err(problem) => return Err((format!("{shown} cannot be read: {problem}"), inside)),
    };
    if bytes.len() > MAX_PROMPT_BYTES {
        return Err((format!("{shown} is larger than {MAX_PROMPT_BYTES} bytes"), "shorten it"));
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.trim().is_empty() => Err((format!("{shown} is empty"), "write it")),
        Ok(text) => Ok(text),
        Err(_) => Err((format!("{shown} is not UTF-8 text"), "save it as UTF-8")),
    }
}
