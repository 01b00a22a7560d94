//! Kills this process around a chosen commit, so that tests can show that nothing is lost there.
//!
//! | variable | meaning |
//! |---|---|
//! | `SIGNOFF_CRASH_AT` | `before:N` or `after:N`: abort before, or right after, the N-th commit; after means it is durable and nobody has been told |
//! | `SIGNOFF_CRASH_COUNT_FILE` | a file that says after each commit how many there have been |
//! | `SIGNOFF_COMMIT_DELAY_MS` | wait this long before each commit, to make windows wider |

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Commits of this process that changed something.
static COMMITS: AtomicU64 = AtomicU64::new(0);
static PLAN: OnceLock<Plan> = OnceLock::new();

#[derive(Debug, Default)]
struct Plan {
    before: Option<u64>,
    after: Option<u64>,
    delay: Option<Duration>,
    count_file: Option<std::path::PathBuf>,
}

impl Plan {
    fn get() -> &'static Self {
        PLAN.get_or_init(|| {
            let crash = std::env::var("SIGNOFF_CRASH_AT").unwrap_or_default();
            let at = |side: &str| crash.strip_prefix(side)?.strip_prefix(':')?.parse().ok();
            Self {
                before: at("before"),
                after: at("after"),
                delay: std::env::var("SIGNOFF_COMMIT_DELAY_MS")
                    .ok()
                    .and_then(|ms| ms.parse().ok())
                    .map(Duration::from_millis),
                count_file: std::env::var_os("SIGNOFF_CRASH_COUNT_FILE").map(Into::into),
            }
        })
    }
}

/// A commit that changes something is about to be made.
pub(crate) fn before_commit() {
    let plan = Plan::get();
    if let Some(delay) = plan.delay {
        std::thread::sleep(delay);
    }
    if plan.before == Some(COMMITS.load(Ordering::SeqCst) + 1) {
        std::process::abort();
    }
}

/// It was made.
pub(crate) fn after_commit() {
    let commits = COMMITS.fetch_add(1, Ordering::SeqCst) + 1;
    let plan = Plan::get();
    // Not when the store is closed: a process may end without closing it.
    if let Some(path) = &plan.count_file {
        // A test that asks for the file notices when it is not there.
        let _ = std::fs::write(path, commits.to_string());
    }
    if plan.after == Some(commits) {
        std::process::abort();
    }
}

/// How many commits this process has made so far.
pub fn commits() -> u64 {
    COMMITS.load(Ordering::SeqCst)
}
