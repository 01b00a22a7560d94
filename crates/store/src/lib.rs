//! Where runs live while nobody works on them.
//!
//! [`Store`] is the contract; [`SqliteStore`] keeps it on one machine, [`MemoryStore`] for the length
//! of a process. The `conformance` suite says in tests what the contract says in words, and every
//! store passes it.

#[cfg(test)]
mod agreement_tests;
mod audit;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod contract;
mod entries;
#[cfg(feature = "failpoints")]
pub mod failpoint;
mod memory;
mod sqlite;

pub use contract::{
    Append, AuditEntry, BoxFuture, Claim, Created, Decide, Decided, Definition, Due, End, Follows,
    Lease, LoadedRun, NewRun, NodeId, Page, RequestFilter, Rest, RunFilter, RunRecord, Scope,
    Snapshot, Store, StoreError,
};
pub use memory::MemoryStore;
pub use sqlite::{SqliteOptions, SqliteStore};
