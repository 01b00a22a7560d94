//! Where runs live while nobody works on them.
//!
//! [`Store`] is the contract; [`SqliteStore`] keeps it on one machine, [`PostgresStore`] for
//! several, [`MemoryStore`] for the length of a process. The `conformance` suite says in tests what the contract says in words, and every
//! store passes it.

#[cfg(test)]
mod agreement_tests;
mod audit;
mod carry_over;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod contract;
mod conversation;
mod encoded;
mod entries;
mod events;
mod exported;
#[cfg(feature = "failpoints")]
pub mod failpoint;
mod gather;
mod links;
mod memory;
mod people;
mod postgres;
mod pushes;
mod rules;
mod scoped;
mod sqlite;
mod upkeep;
mod views;
mod what_waits;
mod wire;

pub use audit::hex_sha256;
pub use carry_over::{CarriedOver, CarriedTable, Peek};
pub use contract::{
    Append, Assigned, AuditEntry, BoxFuture, Claim, Created, Decide, Decided, DecidedAll,
    Definition, Due, End, Ends, Follows, Lease, LoadedRun, NewRun, NodeId, Page, RequestFilter,
    Rest, RunFilter, RunRecord, Scope, Snapshot, Store, StoreError,
};
pub use conversation::{ChangeConversation, ConversationFilter, ConversationRecord};
pub use events::{Happened, MoveWebhook, Notified, Posted, RequestEvent, TakeWebhook};
pub use exported::{
    Exported, ExportedDecision, ExportedRequest, ExportedRun, MoveOut, SeenRun, TakeIn, TakenIn,
    export,
};
pub use links::AddLink;
pub use memory::MemoryStore;
pub use people::{Mark, Marked, Note, NoteLine, Noted, User};
pub use postgres::{PostgresOptions, PostgresStore};
pub use pushes::{MovePush, NextPush, Push, PutPush, TakePushes, Told};
pub use rules::{EndGrant, PolicyPut, PolicyRecord, PutPolicy};
pub use scoped::scoped;
pub use sqlite::{SqliteOptions, SqliteStore};
pub use upkeep::{Duty, Examined, Prune, Pruned, PrunedRun, TakeDuty};
pub use views::View;
pub use wire::{LONGEST_WORD, Wire};
