//! Runs and entries as databases take them: checked and encoded by the caller, so that the one who writes need not.

use signoff_core::id::Seq;
use signoff_core::journal::{MAX_BODY_BYTES, Parent, encode};
use signoff_core::time::Timestamp;
use signoff_core::{ConversationId, Name, RunId, RunStatus, Tenant};

use crate::sqlite::project::{Change, changes_of};
use crate::{
    Append, Claim, ConversationRecord, End, Follows, Lease, NewRun, Rest, Snapshot, StoreError,
    entries,
};

/// Entries to add, encoded.
#[derive(Debug)]
pub(crate) struct AppendEntries {
    pub(crate) lease: Lease,
    pub(crate) expected: Seq,
    pub(crate) count: usize,
    pub(crate) body: Vec<u8>,
    pub(crate) changes: Vec<Change>,
    pub(crate) updated_at: Option<Timestamp>,
    pub(crate) consumed: u64,
    pub(crate) status: RunStatus,
    pub(crate) rest: Rest,
    pub(crate) error: Option<String>,
    pub(crate) snapshot: Option<Snapshot>,
}

impl AppendEntries {
    pub(crate) fn new(append: Append) -> Result<Self, StoreError> {
        entries::follow(append.expected, &append.entries)?;
        let body = if append.entries.is_empty() { Vec::new() } else { encode(&append.entries) };
        check_size(&body)?;
        let error = match &append.rest {
            Rest::End(End { error: Some(error), .. }) => Some(
                serde_json::to_string(error)
                    .map_err(|error| StoreError::Failed(error.to_string()))?,
            ),
            _ => None,
        };
        Ok(Self {
            changes: changes_of(&append.entries)?,
            body,
            count: append.entries.len(),
            updated_at: append.entries.last().map(|entry| entry.at),
            lease: append.lease,
            expected: append.expected,
            consumed: append.consumed,
            status: append.status,
            rest: append.rest,
            error,
            snapshot: append.snapshot,
        })
    }
}

/// A run to create, encoded.
#[derive(Debug)]
pub(crate) struct CreateRun {
    pub(crate) id: RunId,
    pub(crate) workflow: Name,
    pub(crate) version: Name,
    pub(crate) conversation: ConversationId,
    pub(crate) tenant: Tenant,
    pub(crate) parent: Option<Parent>,
    pub(crate) status: RunStatus,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) claim: Option<Claim>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) count: usize,
    pub(crate) body: Vec<u8>,
    pub(crate) changes: Vec<Change>,
    pub(crate) follows: Follows,
    /// The conversation it makes known, unless that is known.
    pub(crate) about: Option<ConversationRecord>,
}

impl CreateRun {
    pub(crate) fn new(run: NewRun) -> Result<Self, StoreError> {
        let started = entries::started(&run)?.clone();
        entries::follow(0, &run.entries)?;
        let body = encode(&run.entries);
        check_size(&body)?;
        let at = |entry: Option<&signoff_core::Entry>| entry.map_or(Timestamp(0), |entry| entry.at);
        let about = ConversationRecord::made_by(&run)?;
        Ok(Self {
            changes: changes_of(&run.entries)?,
            body,
            count: run.entries.len(),
            created_at: at(run.entries.first()),
            updated_at: at(run.entries.last()),
            workflow: started.workflow,
            version: started.version,
            conversation: started.conversation,
            tenant: started.tenant,
            parent: started.parent,
            status: run.status,
            deadline: run.deadline,
            // Nobody writes a run that is over.
            claim: run.claim.filter(|_| !run.status.is_over()),
            id: run.id,
            follows: run.follows,
            about,
        })
    }
}

/// What could not be read again is not written.
fn check_size(body: &[u8]) -> Result<(), StoreError> {
    if body.len() > MAX_BODY_BYTES {
        return Err(StoreError::Failed(format!(
            "{} bytes of entries at once are too many; at most {MAX_BODY_BYTES}",
            body.len()
        )));
    }
    Ok(())
}
