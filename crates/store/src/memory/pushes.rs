//! Who is told elsewhere how a run goes on.

use std::collections::BTreeMap;

use signoff_core::id::{Name, RunId};
use signoff_core::time::Timestamp;

use super::tables::Tables;
use crate::pushes::MAX_PUSHES;
use crate::{MovePush, NextPush, NodeId, Push, PutPush, StoreError, TakePushes, Told};

/// Them all, by their run and their name.
pub(super) type Pushes = BTreeMap<(RunId, Name), StoredPush>;

#[derive(Clone, Debug)]
pub(super) struct StoredPush {
    push: Push,
    looked_at: Timestamp,
    due_at: Timestamp,
    lease: Option<(NodeId, Timestamp)>,
    done: bool,
}

impl Tables {
    pub(super) fn pushes_of(&self, run: &RunId) -> Vec<Push> {
        let own = self.pushes.values().filter(|stored| stored.push.run == *run);
        own.map(|stored| stored.push.clone()).collect()
    }

    /// Whether somebody is still to be told of a run.
    pub(super) fn is_pushed(&self, run: &RunId) -> bool {
        self.pushes.values().any(|stored| stored.push.run == *run && !stored.done)
    }

    /// Those who could not be told, and how many times in a row.
    pub(super) fn failing_pushes(&self) -> Vec<(RunId, Name, u32)> {
        let failing = self.pushes.values().filter(|it| !it.done && it.push.told.failed > 0);
        let mut failing: Vec<_> = failing
            .map(|it| (it.push.run.clone(), it.push.id.clone(), it.push.told.failed))
            .collect();
        failing.sort_by_key(|(_, _, failed)| std::cmp::Reverse(*failed));
        failing
    }

    pub(super) fn put_push(&mut self, put: PutPush) -> Result<bool, StoreError> {
        let Some(&place) = self.run_places.get(&put.run) else {
            return Err(StoreError::UnknownRun(put.run));
        };
        let key = (put.run.clone(), put.id.clone());
        if let Some(there) = self.pushes.get_mut(&key) {
            there.push.body = put.body;
            there.push.told = Told { failed: 0, failing_since: None, ..there.push.told.clone() };
            (there.due_at, there.done) = (Timestamp(0), false);
            return Ok(true);
        }
        if self.pushes_of(&put.run).len() >= MAX_PUSHES {
            return Ok(false);
        }
        let parts =
            self.runs.iter().any(|run| run.record.root == put.run && run.record.id != put.run);
        let push = Push {
            tenant: self.runs[place].record.tenant.clone(),
            run: put.run,
            id: put.id,
            body: put.body,
            told: Told { seq: put.from, parts, ..Told::default() },
        };
        let (looked_at, due_at) = (Timestamp(0), Timestamp(0));
        self.pushes.insert(key, StoredPush { push, looked_at, due_at, lease: None, done: false });
        Ok(true)
    }

    pub(super) fn take_pushes(&mut self, take: &TakePushes) -> Vec<Push> {
        let mut due: Vec<(Timestamp, (RunId, Name))> = self
            .pushes
            .iter()
            .filter(|(_, stored)| self.has_news(stored, take.now))
            .map(|(key, stored)| (stored.due_at, key.clone()))
            .collect();
        due.sort();
        due.truncate(take.limit);
        let until = take.now.plus(take.ttl);
        let mut taken = Vec::new();
        for (_, key) in due {
            if let Some(stored) = self.pushes.get_mut(&key) {
                stored.lease = Some((take.node.clone(), until));
                taken.push(stored.push.clone());
            }
        }
        taken
    }

    fn has_news(&self, stored: &StoredPush, now: Timestamp) -> bool {
        let free = stored.lease.as_ref().is_none_or(|(_, until)| *until <= now);
        if stored.done || stored.due_at > now || !free {
            return false;
        }
        let told = &stored.push.told;
        let Some(&place) = self.run_places.get(&stored.push.run) else { return false };
        let mut parts = self
            .runs
            .iter()
            .map(|run| &run.record)
            .filter(|record| record.root == stored.push.run && record.id != stored.push.run);
        self.runs[place].record.head > told.seq
            || told.failed > 0
            || told.parts && parts.any(|record| record.updated_at >= stored.looked_at)
    }

    pub(super) fn move_push(&mut self, moved: MovePush) -> bool {
        let Some(stored) = self.pushes.get_mut(&(moved.run, moved.id)) else { return false };
        if stored.lease.as_ref().is_none_or(|(node, _)| *node != moved.node) {
            return false;
        }
        let seq = stored.push.told.seq.max(moved.told.seq);
        stored.push.told = Told { seq, ..moved.told };
        stored.looked_at = moved.looked_at;
        (stored.due_at, stored.done) = match moved.next {
            NextPush::News => (Timestamp(0), false),
            NextPush::Again(at) => (at, false),
            NextPush::Nothing => (Timestamp(0), true),
        };
        stored.lease = None;
        true
    }
}
