//! What operators do: look how the store is, and remove what is long over.

use serde::Serialize;
use signoff_core::id::{Name, RunId, Seq};
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RunStatus};

use crate::contract::NodeId;

/// How many runs one [`Store::prune`](crate::Store::prune) looks at.
pub(crate) const MAX_LOOKED_AT: usize = 200;

/// Conversations to look at, by tenant and id, and where to go on.
pub(crate) type Candidates = (Vec<(String, String)>, Option<u64>);

/// What is to be removed: conversations whose runs are all over, since before a point in time.
#[derive(Clone, Debug)]
pub struct Prune {
    /// Only what has not changed since.
    pub before: Timestamp,
    /// Only conversations whose runs are all of this workflow.
    pub workflow: Option<Name>,
    /// Where the last call ended; 0 to begin.
    pub after: u64,
    /// Says what would be removed, and removes nothing.
    pub dry_run: bool,
    /// Who removes it.
    pub by: Actor,
    /// Now.
    pub at: Timestamp,
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The runs at the top; those that were part of them went with them.
    pub runs: Vec<PrunedRun>,
    /// Where the next call goes on; none at the end.
    pub next: Option<u64>,
}

/// A run that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrunedRun {
    /// Its id.
    pub run: RunId,
    /// The workflow.
    pub workflow: Name,
    /// How it had ended.
    pub status: RunStatus,
    /// How many entries its journal had.
    pub entries: Seq,
    /// How many runs were part of it.
    pub parts: u64,
}

impl PrunedRun {
    /// What the audit says of it.
    pub(crate) fn said(&self) -> String {
        serde_json::json!({
            "decision": "pruned", "workflow": self.workflow, "status": self.status,
            "entries": self.entries, "parts": self.parts,
        })
        .to_string()
    }
}

/// Work that one node at a time does for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Duty {
    /// What is long over is looked for and removed.
    Retention,
}

impl Duty {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Retention => "retention",
        }
    }
}

/// Who wants to do it, and for how long.
#[derive(Clone, Debug)]
pub struct TakeDuty {
    /// What.
    pub duty: Duty,
    /// The node that does it.
    pub node: NodeId,
    /// Now.
    pub now: Timestamp,
    /// Nobody else does it until then.
    pub until: Timestamp,
}

/// How a store is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// What it is: `sqlite`, `postgres` or `memory`.
    pub kind: &'static str,
    /// The version of its tables.
    pub schema: i64,
    /// How many bytes it takes.
    pub bytes: u64,
    /// How many of those are free and used again.
    pub free_bytes: u64,
    /// What does not fit together in it.
    pub problems: Vec<String>,
    /// What time it is there, if it has a clock of its own.
    pub clock: Option<Timestamp>,
    /// How many runs there are.
    pub runs: u64,
    /// How many of them are over.
    pub over: u64,
    /// How many requests wait for people.
    pub pending: u64,
    /// Runs that should go on and that nobody has worked on for a while, the oldest first.
    pub stuck: Vec<RunId>,
    /// How many of those there are.
    pub stuck_count: u64,
    /// How many timers should have fired a while ago.
    pub overdue: u64,
    /// Who could not be told how a run goes on, and how many times in a row.
    pub failing_pushes: Vec<(RunId, Name, u32)>,
    /// Webhooks, how many events they have not been told of, and until when somebody delivers.
    pub webhooks: Vec<(Name, u64, Timestamp)>,
}

/// How many of a kind [`Examined`] names.
pub(crate) const MAX_NAMED: usize = 5;

/// What is said of journals that have not all that they should. Each database has its own way to see it.
pub(crate) const WRONG_LENGTH: &str = "runs whose journal is shorter or longer than they say";

/// What does not fit together is said by its sentence and how many of it there are. The statements are those of both
/// databases.
pub(crate) const SOUND: &[(&str, &str)] = &[
    (
        "entries of journals without a run",
        "SELECT count(*) FROM journal j WHERE NOT EXISTS (SELECT 1 FROM runs u WHERE u.no = j.run)",
    ),
    (
        "requests without a run",
        "SELECT count(*) FROM requests r WHERE NOT EXISTS (SELECT 1 FROM runs u WHERE u.no = r.run)",
    ),
    (
        "requests that wait in runs that are over",
        "SELECT count(*) FROM requests r JOIN runs u ON u.no = r.run
         WHERE r.status = 'pending' AND u.status IN ('completed', 'failed', 'cancelled')",
    ),
    (
        "inputs or timers of runs that are over or gone",
        "SELECT (SELECT count(*) FROM inputs i LEFT JOIN runs u ON u.no = i.run
                 WHERE u.no IS NULL OR u.status IN ('completed', 'failed', 'cancelled'))
              + (SELECT count(*) FROM timers t LEFT JOIN runs u ON u.no = t.run
                 WHERE u.no IS NULL OR u.status IN ('completed', 'failed', 'cancelled'))",
    ),
    (
        "runs whose definition is not there",
        "SELECT count(*) FROM runs u
         WHERE u.status NOT IN ('completed', 'failed', 'cancelled')
             AND NOT EXISTS (SELECT 1 FROM definitions d WHERE d.hash = u.version)",
    ),
];

/// After how long something that should have gone on counts as stuck, in milliseconds.
pub(crate) const A_WHILE: i64 = 60_000;
