//! Which programs may be run, and where they are.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::builtin::hinted;
use crate::tool::ToolError;

/// The programs an operator allows.
#[derive(Debug)]
pub(super) struct Programs {
    any: bool,
    allowed: Vec<String>,
}

/// A program that may be run.
#[derive(Debug)]
pub(super) struct Resolved {
    /// As it was asked for.
    pub(super) name: String,
    /// The file that is run.
    pub(super) path: PathBuf,
}

impl Programs {
    pub(super) fn new(allow: &[String]) -> Result<Self, String> {
        if allow.is_empty() {
            return Err("tools.command.allow: no program is named; leave out [tools.command] if none may be run".into());
        }
        for (index, name) in allow.iter().enumerate() {
            if name.is_empty()
                || (name.contains('/') && !name.starts_with('/'))
                || name.contains('\0')
            {
                return Err(format!(
                    "tools.command.allow[{index}]: `{name}` must be a name, an absolute path or `*`"
                ));
            }
        }
        Ok(Self { any: allow.iter().any(|name| name == "*"), allowed: allow.to_vec() })
    }

    /// The program `name`, looked for in `path` if it is only a name.
    pub(super) fn resolve(&self, name: &str, path: &OsStr) -> Result<Resolved, ToolError> {
        if !self.any && !self.allowed.iter().any(|allowed| allowed == name) {
            let message = format!("`{name}` is not a program that may be run here");
            return Err(hinted("program_denied", message, self.to_string()));
        }
        let found = if name.contains('/') {
            // Below the folder the command runs in, if it is not absolute.
            Some(PathBuf::from(name))
        } else {
            // A relative entry of PATH would mean a program in the agent's own workspace.
            std::env::split_paths(path)
                .filter(|folder| folder.is_absolute())
                .map(|folder| folder.join(name))
                .find(|file| runs(file))
        };
        match found {
            Some(path) => Ok(Resolved { name: name.to_owned(), path }),
            None => {
                Err(ToolError::new("program_missing", format!("there is no program `{name}` here")))
            }
        }
    }
}

impl std::fmt::Display for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.any {
            return f.write_str("Any program may be run.");
        }
        write!(f, "These programs may be run: {}.", self.allowed.join(", "))
    }
}

fn runs(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}
