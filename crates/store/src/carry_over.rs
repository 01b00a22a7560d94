//! What the databases have in common: the tables that are carried over from one to the other, and how it is seen that
//! nothing was lost on the way.

use sha2::{Digest as _, Sha256};

use crate::audit::hex_sha256;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Text,
    Blob,
    Flag,
}

/// A table whose rows are carried over as they are, with all their numbers. Who holds a lease is not: nobody does.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Kind)],
    /// In the order of these.
    pub(crate) key: &'static str,
}

use Kind::{Blob, Flag, Int, Text};

pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "definitions",
        columns: &[("hash", Text), ("id", Text), ("body", Text)],
        key: "hash",
    },
    Table {
        name: "runs",
        columns: &[
            ("no", Int),
            ("id", Text),
            ("root", Text),
            ("tenant", Text),
            ("workflow", Text),
            ("version", Text),
            ("conversation", Text),
            ("status", Text),
            ("head", Int),
            ("ready", Flag),
            ("epoch", Int),
            ("next_input", Int),
            ("parent_run", Text),
            ("parent_activation", Int),
            ("parent_key", Text),
            ("error", Text),
            ("created_at", Int),
            ("updated_at", Int),
        ],
        key: "no",
    },
    Table {
        name: "journal",
        columns: &[("run", Int), ("seq", Int), ("count", Int), ("body", Blob)],
        key: "run, seq",
    },
    Table { name: "snapshots", columns: &[("run", Int), ("seq", Int), ("body", Blob)], key: "run" },
    Table {
        name: "requests",
        columns: &[
            ("no", Int),
            ("run", Int),
            ("number", Int),
            ("root", Text),
            ("tenant", Text),
            ("kind", Text),
            ("agent", Text),
            ("status", Text),
            ("version", Int),
            ("assignee", Text),
            ("created_at", Int),
            ("expires_at", Int),
            ("decision", Text),
            ("decided_by", Text),
            ("decided_at", Int),
            ("sent", Text),
            ("withdrawn", Text),
            ("deferred_until", Int),
            ("body", Text),
        ],
        key: "no",
    },
    Table { name: "inputs", columns: &[("run", Int), ("no", Int), ("body", Text)], key: "run, no" },
    Table {
        name: "timers",
        columns: &[
            ("no", Int),
            ("due_at", Int),
            ("run", Int),
            ("what", Text),
            ("number", Int),
            ("key", Text),
        ],
        key: "no",
    },
    Table {
        name: "audit",
        columns: &[
            ("no", Int),
            ("at", Int),
            ("by", Text),
            ("request", Text),
            ("tenant", Text),
            ("decision", Text),
            ("hash", Text),
        ],
        key: "no",
    },
    Table {
        name: "notes",
        columns: &[
            ("no", Int),
            ("run", Int),
            ("number", Int),
            ("at", Int),
            ("by", Text),
            ("what", Text),
        ],
        key: "no",
    },
    Table {
        name: "views",
        columns: &[("run", Int), ("number", Int), ("person", Text), ("version", Int)],
        key: "run, number, person",
    },
    Table {
        name: "users",
        columns: &[
            ("name", Text),
            ("tenant", Text),
            ("roles", Text),
            ("token", Text),
            ("created_at", Int),
        ],
        key: "name",
    },
    Table {
        name: "conversations",
        columns: &[
            ("no", Int),
            ("tenant", Text),
            ("id", Text),
            ("metadata", Text),
            ("added", Text),
            ("deleted", Flag),
            ("created_at", Int),
            ("updated_at", Int),
        ],
        key: "no",
    },
    Table {
        name: "policies",
        columns: &[("tenant", Text), ("version", Int), ("body", Text), ("by", Text), ("at", Int)],
        key: "tenant, version",
    },
    Table {
        name: "grants",
        columns: &[
            ("no", Int),
            ("id", Text),
            ("tenant", Text),
            ("body", Text),
            ("times", Int),
            ("ended", Flag),
        ],
        key: "no",
    },
    Table {
        name: "webhooks",
        columns: &[("name", Text), ("cursor", Int), ("lease_until", Int)],
        key: "name",
    },
    Table {
        name: "posts",
        columns: &[("webhook", Text), ("request", Text), ("reference", Text)],
        key: "webhook, request",
    },
    Table {
        name: "pushes",
        columns: &[
            ("run", Int),
            ("id", Text),
            ("body", Text),
            ("seq", Int),
            ("parts", Flag),
            ("of_parts", Text),
            ("looked_at", Int),
            ("failed", Int),
            ("failing_since", Int),
            ("due_at", Int),
            ("done", Flag),
        ],
        key: "run, id",
    },
    Table {
        name: "events",
        columns: &[("no", Int), ("at", Int), ("what", Text), ("run", Int), ("number", Int)],
        key: "no",
    },
    Table { name: "secrets", columns: &[("name", Text), ("secret", Text)], key: "name" },
];

impl Table {
    pub(crate) fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn select(&self) -> String {
        format!("SELECT {} FROM {} ORDER BY {}", self.names(), self.name, self.key)
    }
}

/// What stands in a column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Nothing,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
    Flag(bool),
}

/// How many rows there were, and what they said.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    rows: u64,
    hash: Sha256,
}

impl Tally {
    pub(crate) fn add(&mut self, row: &[Cell]) {
        self.rows += 1;
        for cell in row {
            // The length first, so that no two rows look the same.
            let (kind, bytes): (u8, &[u8]) = match cell {
                Cell::Nothing => (0, &[]),
                Cell::Int(number) => (1, &number.to_be_bytes()),
                Cell::Text(text) => (2, text.as_bytes()),
                Cell::Blob(bytes) => (3, bytes),
                Cell::Flag(flag) => (4, &[u8::from(*flag)]),
            };
            self.hash.update([kind]);
            self.hash.update((bytes.len() as u64).to_be_bytes());
            self.hash.update(bytes);
        }
    }

    pub(crate) fn done(self, table: &'static str) -> CarriedTable {
        let sha256 = hex_sha256(&self.hash.finalize());
        CarriedTable { table, rows: self.rows, sha256 }
    }
}

/// A table that was carried over, and read again to see that it was.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CarriedTable {
    /// Its name.
    pub table: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// What they say, as a digest.
    pub sha256: String,
}

/// What came of carrying a database over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedOver {
    /// Whether it was there already, from a time before that was not finished.
    pub was_there: bool,
    /// Its tables.
    pub tables: Vec<CarriedTable>,
}

/// The tables of a database as they are known, before anything is done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peek {
    /// The version of its tables; 0 if it has none.
    pub schema: i64,
    /// The version that this program knows.
    pub known: i64,
}
