//! Runs as the store holds them after the event, and what must be true of every one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use signoff_core::journal::{Input, to_json};
use signoff_core::{
    Decision, Entry, Event, Request, RequestId, RequestKind, RequestStatus, RunState, RunStatus,
};
use signoff_store::{
    AuditEntry, RequestFilter, RunFilter, RunRecord, SqliteOptions, SqliteStore, Store,
};

const PAGE: usize = 1000;

/// Everything the store holds of one run.
#[derive(Clone, Debug)]
pub struct Record {
    /// As lists show it.
    pub run: RunRecord,
    /// Its journal.
    pub entries: Vec<Entry>,
    /// What reached it and is not in the journal.
    pub inputs: Vec<(u64, Input)>,
    /// What it asked.
    pub requests: Vec<Request>,
    /// The audit lines of those, and of the run itself.
    pub audit: Vec<AuditEntry>,
}

/// Opens a database under a name of its own.
pub fn open(database: &Path) -> SqliteStore {
    SqliteStore::open(SqliteOptions::new(database, signoff_runtime::new_id())).unwrap()
}

/// All runs of a database, oldest first; none if there is no database.
pub fn read_all(database: &Path) -> Vec<Record> {
    if !database.exists() {
        return Vec::new();
    }
    let store = open(database);
    let audit = audit(&store);
    let requests = all(|at| store.requests(&RequestFilter::default(), at, PAGE).unwrap());
    let mut runs = all(|at| store.runs(&RunFilter::default(), at, PAGE).unwrap());
    runs.reverse();
    let of_run = |run: RunRecord| {
        let entries = store.load(&run.id, Some(u64::MAX >> 1)).unwrap().entries;
        let inputs = store.inputs(&run.id, 0).unwrap();
        let requests: Vec<_> = requests.iter().filter(|it| it.run == run.id).cloned().collect();
        let mut asked: BTreeSet<RequestId> = requests.iter().map(|it| it.id.clone()).collect();
        asked.insert(RequestId::new(run.id.as_str()));
        let audit = audit.iter().filter(|it| asked.contains(&it.request)).cloned().collect();
        Record { run, entries, inputs, requests, audit }
    };
    runs.into_iter().map(of_run).collect()
}

fn all<T>(page: impl Fn(Option<&str>) -> signoff_store::Page<T>) -> Vec<T> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let page = page(cursor.as_deref());
        found.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return found;
        }
    }
}

/// The whole audit, its chain checked.
fn audit(store: &SqliteStore) -> Vec<AuditEntry> {
    let mut lines: Vec<AuditEntry> = Vec::new();
    loop {
        let more = store.audit(None, lines.len() as u64, PAGE).unwrap();
        if more.is_empty() {
            return lines;
        }
        for line in more {
            let before = lines.last().map_or("", |last| last.hash.as_str());
            assert_eq!(line.no, lines.len() as u64 + 1, "the audit has a gap");
            assert!(line.follows(before), "the audit's chain is broken at {}", line.no);
            lines.push(line);
        }
    }
}

impl Record {
    /// Its journal folded.
    pub fn state(&self) -> RunState {
        RunState::fold(&self.entries).unwrap()
    }

    /// What it gave.
    pub fn output(&self) -> Value {
        self.state().output().unwrap_or_default()
    }

    /// The decisions in its journal, by request number.
    pub fn decisions(&self) -> Vec<(u32, &Decision)> {
        let decided = |entry| match entry {
            &Entry { event: Event::Decided { request, ref decision, .. }, .. } => {
                Some((request, decision))
            }
            _ => None,
        };
        self.entries.iter().filter_map(decided).collect()
    }

    /// Its requests of a kind.
    pub fn asked(&self, kind: RequestKind) -> impl Iterator<Item = &Request> {
        self.requests.iter().filter(move |it| it.body.kind == kind)
    }

    /// How often something in doubt was done again because a person said so.
    pub fn retries(&self) -> usize {
        let retry = |(_, decision): &(u32, &Decision)| matches!(decision, Decision::Retry { .. });
        self.decisions().iter().filter(|it| retry(it)).count()
    }

    /// Checks all that must be true of a run that has completed, whatever happened on the way.
    #[track_caller]
    pub fn assert_whole(&self) {
        let run = &self.run;
        assert_eq!(run.status, RunStatus::Completed, "{run:?} {:#?}", self.entries.last());
        let numbers: Vec<u64> = self.entries.iter().map(|entry| entry.seq).collect();
        assert_eq!(numbers, (1..=run.head).collect::<Vec<_>>(), "the journal has gaps");
        assert!(self.inputs.is_empty(), "lost: {:?}", self.inputs);
        let is_start = |entry: &&Entry| matches!(entry.event, Event::Started(_));
        assert_eq!(self.entries.iter().filter(is_start).count(), 1);
        let is_end = |entry: &&Entry| matches!(entry.event, Event::RunCompleted {});
        assert_eq!(self.entries.iter().filter(is_end).count(), 1);
        assert!(self.entries.last().as_ref().is_some_and(is_end), "something after the end");
        assert_eq!(self.state().open.len(), 0, "an activation is still open");
        self.assert_effects();
        self.assert_answers();
        self.assert_executed();
    }

    /// Each effect has one result; each intent beyond the first was a person's.
    #[track_caller]
    fn assert_effects(&self) {
        let mut results = BTreeSet::new();
        let mut intents: BTreeMap<_, usize> = BTreeMap::new();
        let mut doubts = BTreeMap::new();
        let mut retries: BTreeMap<_, usize> = BTreeMap::new();
        for entry in &self.entries {
            match &entry.event {
                Event::Effect { activation, key, .. } => {
                    assert!(results.insert((*activation, key.clone())), "twice: {entry:?}");
                }
                Event::Intent { activation, key, .. } => {
                    assert!(!results.contains(&(*activation, key.clone())), "again: {entry:?}");
                    *intents.entry((*activation, key.clone())).or_default() += 1;
                }
                Event::Asked { activation, key, request, body }
                    if body.kind == RequestKind::InDoubt =>
                {
                    let (effect, _) = key.rsplit_once('?').unwrap();
                    doubts.insert(*request, (*activation, effect.into()));
                }
                Event::Decided { request, decision: Decision::Retry { .. }, .. } => {
                    if let Some(effect) = doubts.get(request) {
                        *retries.entry(effect.clone()).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
        for (effect, count) in intents {
            assert!(results.contains(&effect), "no result: {effect:?}");
            let allowed = 1 + retries.get(&effect).copied().unwrap_or(0);
            assert!(count <= allowed, "{effect:?} was begun {count} times, {allowed} allowed");
        }
    }

    /// Each request has one decision: in the journal, in the inbox and in the audit.
    #[track_caller]
    fn assert_answers(&self) {
        let asked: Vec<u32> = self
            .entries
            .iter()
            .filter_map(|entry| match entry.event {
                Event::Asked { request, .. } => Some(request),
                _ => None,
            })
            .collect();
        assert_eq!(asked, (1..).take(asked.len()).collect::<Vec<_>>());
        let decisions = self.decisions();
        let mut decided: Vec<u32> = decisions.iter().map(|(request, _)| *request).collect();
        decided.sort_unstable();
        assert_eq!(decided, asked, "one decision for each request: {decisions:?}");
        assert_eq!(self.requests.len(), asked.len());
        let ends: Vec<&AuditEntry> = self.audit.iter().filter(|it| it.ends_request()).collect();
        assert_eq!(ends.len(), asked.len(), "one end of each request in the audit");
        for (number, decision) in decisions {
            let id = self.run.id.request(number);
            let request = self.requests.iter().find(|it| it.id == id).unwrap();
            assert_eq!(request.status, RequestStatus::Decided);
            assert_eq!(&request.decision.as_ref().unwrap().decision, decision, "{id}");
            let line = ends.iter().find(|it| it.request == id).unwrap();
            let begins = self.said("requested").filter(|(about, _)| **about == id).count();
            assert_eq!(begins, 1, "{id} was asked once");
            let mut written: Value = serde_json::from_str(&line.decision).unwrap();
            // How it came is of the audit alone.
            if let Some(said) = written.as_object_mut() {
                said.retain(|key, _| !["waited_ms", "channel", "address"].contains(&key.as_str()));
            }
            let written: Decision = serde_json::from_value(written).unwrap();
            assert_eq!(&written, decision, "{id}");
            assert_eq!(line.by, request.decision.as_ref().unwrap().by);
        }
    }

    /// What the audit says of it with this word, and about what.
    pub fn said(&self, word: &str) -> impl Iterator<Item = (&RequestId, Value)> {
        let said = |line: &AuditEntry| serde_json::from_str::<Value>(&line.decision).unwrap();
        let lines = self.audit.iter().map(move |line| (&line.request, said(line)));
        lines.filter(move |(_, said)| said["decision"] == word)
    }

    /// Each call that gates let pass is in the audit once, when it has ended.
    #[track_caller]
    fn assert_executed(&self) {
        let ended = |entry: &Entry| match &entry.event {
            Event::Effect { activation, key, audited: Some(_), .. } => {
                Some((u64::from(*activation), key.to_string()))
            }
            _ => None,
        };
        let ended: Vec<_> = self.entries.iter().filter_map(ended).collect();
        let key = |said: &Value| said["key"].as_str().unwrap().to_owned();
        let lines = self.said("executed");
        let said: Vec<_> =
            lines.map(|(_, said)| (said["activation"].as_u64().unwrap(), key(&said))).collect();
        assert_eq!(said, ended, "each call that ended, once");
    }

    /// Its journal without what is different in every run: times and ids.
    pub fn comparable(&self) -> Vec<Value> {
        let (run, conversation) = (self.run.id.unique(), self.run.conversation.as_str());
        let entry = |entry: &Entry| {
            let mut json = to_json(entry);
            json["at"] = Value::Null;
            if let Value::Object(fields) = &mut json {
                fields.shift_remove("took");
            }
            let text = json.to_string().replace(run, "RUN").replace(conversation, "CONVERSATION");
            let mut json = serde_json::from_str(&text).unwrap();
            hide(&mut json, "uid");
            json
        };
        self.entries.iter().map(entry).collect()
    }

    /// Checks that what was printed of the journal is in it, word for word: nothing that anybody has
    /// seen is lost. Returns how many entries that were.
    #[track_caller]
    pub fn assert_holds(&self, printed: &[Value]) -> usize {
        let mut count = 0;
        for line in printed.iter().filter(|line| line["run"] == self.run.id.as_str()) {
            let Some(seq) = line["seq"].as_u64() else { continue };
            let entry = usize::try_from(seq).ok().and_then(|seq| self.entries.get(seq - 1));
            let mut there = to_json(entry.unwrap_or_else(|| panic!("lost: {line}")));
            there["run"] = self.run.id.as_str().into();
            assert_eq!(&there, line, "something else was shown");
            count += 1;
        }
        count
    }
}

fn hide(value: &mut Value, name: &str) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                if field == name {
                    *value = Value::Null;
                } else {
                    hide(value, name);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, name)),
        _ => {}
    }
}
