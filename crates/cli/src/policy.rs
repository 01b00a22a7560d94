//! The operator's policy file: read at the start, and again whenever it changes.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use signoff_core::policy::PolicyFile;
use signoff_runtime::Engine;

use crate::failure::Result;
use crate::library::{self, Report};

/// How often the file is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// The policy in a file, or everything that is wrong with it.
pub(crate) fn read(path: &Path) -> Result<PolicyFile> {
    let (file, report) = read_reporting(path);
    match file {
        Some(file) => Ok(file),
        None => Err(report.into_failure().into()),
    }
}

/// The policy in a file, as far as there is one, and everything that is wrong with it.
pub(crate) fn read_reporting(path: &Path) -> (Option<PolicyFile>, Report) {
    let name = path.display().to_string();
    let mut report = Report::default();
    let text = library::read_text(path, &name, &mut report);
    let file = text.and_then(|text| {
        report.add_source(&name, text.clone());
        PolicyFile::parse(&text)
            .map_err(|problems| report.extend(problems.into_iter().map(|it| it.in_file(&name))))
            .ok()
    });
    (file, report)
}

/// Reads the file again whenever it changes, for as long as the process lives. One that cannot be used is told of in the
/// log, and what was read before stays.
pub(crate) fn watch(engine: Engine, path: PathBuf) {
    let changed = |path: &Path| -> Option<(SystemTime, u64)> {
        let found = std::fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    let mut seen = changed(&path);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(EVERY).await;
            let now = changed(&path);
            if now == seen {
                continue;
            }
            seen = now;
            let file = path.display().to_string();
            match read_reporting(&path) {
                (Some(policy), _) => match engine.set_operator_policy(Some(policy)) {
                    Ok(()) => tracing::info!(file, "the policy was read again"),
                    Err(error) => tracing::error!(file, %error, "the policy stays as it was"),
                },
                (None, report) => {
                    let problems = report.render();
                    tracing::error!(file, problems, "the policy stays as it was");
                }
            }
        }
    });
}
