//! A path as an agent writes it: relative, plain, and what it looks like.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::builtin::hinted;
use crate::tool::ToolError;

/// The longest path, in bytes.
const MAX_PATH: usize = 1024;
/// The longest name of one file or folder, in bytes.
const MAX_NAME: usize = 255;
/// How deep a path may go.
const MAX_DEPTH: usize = 64;

/// A path below the root: plain names, none of them `.` or `..`. No names: the root itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relative(Vec<String>);

impl Relative {
    /// Reads what an agent wrote. The error is meant for the agent.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let bad = |why: &str| {
            let hint = "give a path relative to the workspace, such as docs/plan.md";
            let shown: String = text.chars().take(200).flat_map(char::escape_debug).collect();
            Err(hinted("bad_path", format!("`{shown}` is not a path here: {why}"), hint))
        };
        if text.len() > MAX_PATH {
            return bad("it is too long");
        }
        if text.starts_with('/') {
            return bad("it is absolute");
        }
        if text.chars().any(deceives) {
            return bad("it has characters that cannot be seen");
        }
        let mut names = Vec::new();
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." => return bad("`..` is not followed"),
                name if name.len() > MAX_NAME => return bad("a name in it is too long"),
                name => names.push(name.to_owned()),
            }
        }
        if names.len() > MAX_DEPTH {
            return bad("it is too deep");
        }
        Ok(Self(names))
    }

    pub(super) fn names(&self) -> &[String] {
        &self.0
    }

    /// The folder it is in and its name there; none for the root itself.
    pub(super) fn split(&self) -> Option<(&[String], &str)> {
        self.0.split_last().map(|(name, folder)| (folder, name.as_str()))
    }

    pub(super) fn join(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        Self(names)
    }
}

impl std::fmt::Display for Relative {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { f.write_str(".") } else { f.write_str(&self.0.join("/")) }
    }
}

/// Characters by which a path could look like another one to the person who approves it.
pub(super) fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Names that agents neither see nor reach.
#[derive(Clone, Debug)]
pub(super) struct Deny(GlobSet);

impl Deny {
    pub(super) fn new(patterns: &[String]) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let wrong = |why: String| format!("tools.files.deny[{index}]: {why}");
            if pattern.contains('/') {
                return Err(wrong(format!("`{pattern}` must be a name, without `/`")));
            }
            let glob = GlobBuilder::new(pattern).case_insensitive(true).build();
            set.add(glob.map_err(|error| wrong(error.to_string()))?);
        }
        set.build().map(Self).map_err(|error| format!("tools.files.deny: {error}"))
    }

    pub(super) fn name(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    pub(super) fn check(&self, path: &Relative) -> Result<(), ToolError> {
        match path.names().iter().find(|name| self.name(name)) {
            None => Ok(()),
            Some(name) => {
                let message =
                    format!("`{path}` is out of reach: the operator keeps `{name}` from agents");
                Err(ToolError::new("path_denied", message))
            }
        }
    }
}
