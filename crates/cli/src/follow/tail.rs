//! New journal entries of a run and the runs that are part of it, whoever writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use signoff_core::journal::Entry;
use signoff_core::{RunId, Seq};
use signoff_store::{RunFilter, RunRecord, Store};

use crate::failure::Result;
use crate::show::{JournalReader, What};

const PAGE: usize = 500;

/// Where the tail begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    /// After this entry.
    After(Seq),
    /// With what comes from now on.
    Now,
}

/// A new entry.
#[derive(Debug)]
pub(super) struct New {
    pub(super) run: RunId,
    pub(super) entry: Entry,
    pub(super) what: What,
}

/// Follows the journals of a tree of runs.
#[derive(Debug)]
pub(super) struct Tail {
    store: Arc<dyn Store>,
    root: RunId,
    runs: BTreeMap<RunId, (Seq, JournalReader)>,
}

impl Tail {
    pub(super) fn new(store: Arc<dyn Store>, root: RunId, from: From) -> Result<Self> {
        let mut tail = Self { store, root, runs: BTreeMap::new() };
        match from {
            // What came before is read all the same, to know who is who.
            From::Now => drop(tail.poll()?),
            From::After(seq) => {
                let before = tail.store.load(&tail.root, Some(seq))?.entries;
                let mut reader = JournalReader::default();
                for entry in &before {
                    reader.read(entry);
                }
                tail.runs.insert(tail.root.clone(), (seq, reader));
            }
        }
        Ok(tail)
    }

    /// All runs of the tree.
    pub(super) fn tree(&self) -> Result<Vec<RunRecord>> {
        let filter = RunFilter { root: Some(self.root.clone()), ..RunFilter::default() };
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.store.runs(&filter, cursor.as_deref(), PAGE)?;
            all.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }

    /// What is new since the last time.
    pub(super) fn poll(&mut self) -> Result<Vec<New>> {
        let mut new = Vec::new();
        for record in self.tree()?.into_iter().rev() {
            let (seen, reader) = self.runs.entry(record.id.clone()).or_default();
            while *seen < record.head {
                let entries = self.store.entries(&record.id, *seen, PAGE)?;
                let Some(last) = entries.last() else { break };
                *seen = last.seq;
                for entry in entries {
                    let what = reader.read(&entry);
                    new.push(New { run: record.id.clone(), entry, what });
                }
            }
        }
        Ok(new)
    }
}
