//! What is kept, and the rules by which it changes. Mirrors the tables of the `SQLite` store.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use signoff_core::journal::{Entry, Event, Input, Parent};
use signoff_core::policy::Grant;
use signoff_core::request::{Request, RequestStatus, TakenDecision};
use signoff_core::time::Timestamp;
use signoff_core::{Actor, Name, RequestId, RequestNo, RunId, Tenant};

use super::events::Events;
use super::pushes::Pushes;
use crate::audit::{
    EXPIRED, REMINDED, escalated, executed, judged, policy_actor, requested, system_actor,
    withdrawn,
};
use crate::events::{audited, begin_a_run, brought_along};
use crate::people::Noted;
use crate::{
    AuditEntry, Claim, ConversationRecord, Definition, Due, Duty, Happened, Lease, NodeId, Note,
    NoteLine, PolicyRecord, RunRecord, Snapshot, User,
};

/// Everything there is.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub(super) definitions: HashMap<Name, Definition>,
    /// In order of creation; other tables name a run by its place here.
    pub(super) runs: Vec<StoredRun>,
    pub(super) run_places: HashMap<RunId, usize>,
    pub(super) children: HashMap<RunId, Vec<usize>>,
    /// In the order they were asked.
    pub(super) requests: Vec<StoredRequest>,
    pub(super) request_places: HashMap<RequestId, usize>,
    pub(super) pending: BTreeSet<usize>,
    /// Ready runs, by the end of the lease on them (0 if there is none).
    pub(super) ready: BTreeSet<(i64, usize)>,
    pub(super) due: BTreeMap<(Timestamp, u64), (usize, Due)>,
    pub(super) timers_set: u64,
    pub(super) audit: Vec<AuditEntry>,
    pub(super) notes: Vec<NoteLine>,
    /// The last version of a request that somebody opened.
    pub(super) views: BTreeMap<(RequestId, String), u32>,
    pub(super) changes: u64,
    pub(super) users: BTreeMap<String, User>,
    /// In order of creation.
    pub(super) conversations: Vec<ConversationRecord>,
    pub(super) policies: HashMap<Tenant, PolicyRecord>,
    pub(super) grants: Vec<Grant>,
    pub(super) events: Events,
    pub(super) secrets: HashMap<String, String>,
    pub(super) pushes: Pushes,
    pub(super) duties: BTreeMap<Duty, (NodeId, Timestamp)>,
}

#[derive(Clone, Debug)]
pub(super) struct StoredRun {
    pub(super) record: RunRecord,
    pub(super) parent: Option<Parent>,
    pub(super) ready: bool,
    pub(super) lease: Option<(NodeId, Timestamp)>,
    pub(super) epoch: u64,
    pub(super) next_input: u64,
    pub(super) inputs: VecDeque<(u64, Input)>,
    pub(super) entries: Vec<Entry>,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) requests: Vec<usize>,
    pub(super) timers: Vec<(Due, (Timestamp, u64))>,
}

impl StoredRun {
    /// Whether `lease` is still the one that counts.
    pub(super) fn is_held_by(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch
            && self.lease.as_ref().is_some_and(|(node, _)| *node == lease.node)
    }

    fn ready_key(&self) -> i64 {
        self.lease.as_ref().map_or(0, |(_, until)| until.0)
    }
}

#[derive(Clone, Debug)]
pub(super) struct StoredRequest {
    pub(super) run: usize,
    pub(super) number: RequestNo,
    pub(super) request: Request,
    pub(super) notes: Vec<Note>,
}

impl Tables {
    /// Changes a run's readiness or lease, and the list of ready runs with it.
    pub(super) fn place(&mut self, run: usize, change: impl FnOnce(&mut StoredRun)) {
        let stored = &mut self.runs[run];
        if stored.ready {
            self.ready.remove(&(stored.ready_key(), run));
        }
        change(stored);
        if stored.ready {
            self.ready.insert((stored.ready_key(), run));
        }
    }

    /// Puts an input before a run and makes it ready. False if the run is over.
    pub(super) fn give_input(&mut self, run: usize, input: Input) -> bool {
        if self.runs[run].record.status.is_over() {
            return false;
        }
        self.place(run, |run| {
            run.inputs.push_back((run.next_input, input));
            run.next_input += 1;
            run.ready = true;
        });
        true
    }

    /// Leases a run unless somebody holds a live lease on it or it is over.
    pub(super) fn take_lease(
        &mut self,
        run: usize,
        claim: &Claim,
        now: Timestamp,
    ) -> Option<Lease> {
        let stored = &self.runs[run];
        let held = stored.lease.as_ref().is_some_and(|(_, until)| *until > now);
        if held || stored.record.status.is_over() {
            return None;
        }
        self.place(run, |run| {
            run.lease = Some((claim.node.clone(), claim.until));
            run.epoch += 1;
            run.ready = true;
        });
        let stored = &self.runs[run];
        Some(Lease { run: stored.record.id.clone(), node: claim.node.clone(), epoch: stored.epoch })
    }

    /// What follows from entries in other tables.
    pub(super) fn project(&mut self, run: usize, entries: &[Entry]) {
        let brought = brought_along(entries);
        let forked = begin_a_run(entries);
        for entry in entries {
            match &entry.event {
                Event::Asked { request, body, .. } => {
                    let record = &self.runs[run].record;
                    let asked = Request {
                        id: record.id.request(*request),
                        version: 1,
                        status: RequestStatus::Pending,
                        run: record.id.clone(),
                        root: record.root.clone(),
                        workflow: record.workflow.clone(),
                        conversation: record.conversation.clone(),
                        tenant: record.tenant.clone(),
                        assignee: None,
                        body: (**body).clone(),
                        created_at: entry.at,
                        decision: None,
                        withdrawn: None,
                        deferred_until: None,
                    };
                    let (id, tenant) = (asked.id.clone(), asked.tenant.clone());
                    let place = self.ask(run, *request, asked);
                    if !brought.contains(request) {
                        let stored = serde_json::to_string(body).unwrap_or_default();
                        let line = requested(body, &stored);
                        self.add_audit_line(entry.at, system_actor(), id, tenant, line);
                        self.tell(place, Happened::Requested, entry.at);
                    }
                }
                Event::Decided { request, decision, by, sent } => {
                    let taken = TakenDecision {
                        decision: decision.clone(),
                        by: by.clone(),
                        at: entry.at,
                        sent: sent.clone(),
                    };
                    if let Some(place) = self.request_of(run, *request) {
                        self.close(place, RequestStatus::Decided, Some(taken));
                    }
                }
                Event::Expired { request } => {
                    if let Some(place) = self.request_of(run, *request) {
                        self.close(place, RequestStatus::Expired, None);
                    }
                }
                Event::Withdrawn { request, by, reason } => {
                    if let Some(place) = self.request_of(run, *request) {
                        let why = by.as_ref().zip(reason.as_deref());
                        self.withdraw(place, why, entry.at, !brought.contains(request));
                    }
                }
                Event::Gated(gated) if !forked => {
                    if let Some(line) = judged(gated) {
                        self.add_line_on_run(run, entry.at, policy_actor(), line);
                    }
                    if let Some(number) = audited(entries, entry, gated) {
                        self.tell_audited(run, number, entry.at);
                    }
                }
                Event::Effect { audited: Some(_), .. } if !forked => {
                    if let Some(line) = executed(&entry.event) {
                        self.add_line_on_run(run, entry.at, system_actor(), line);
                    }
                }
                Event::TimerSet { activation, key, due } => {
                    let timer = Due::Timer { activation: *activation, key: key.clone() };
                    self.set_timer(run, timer, *due);
                }
                Event::TimerFired { activation, key } => {
                    let timer = Due::Timer { activation: *activation, key: key.clone() };
                    self.drop_timer(run, &timer);
                }
                _ => {}
            }
        }
    }

    fn ask(&mut self, run: usize, number: RequestNo, request: Request) -> usize {
        if let Some(due) = request.body.expires_at {
            self.set_timer(run, Due::Request { request: number }, due);
        }
        if let Some(every) = request.body.remind {
            let due = request.created_at.plus(every);
            self.set_timer(run, Due::Reminder { request: number }, due);
        }
        let place = self.requests.len();
        self.request_places.insert(request.id.clone(), place);
        self.requests.push(StoredRequest { run, number, request, notes: Vec::new() });
        self.pending.insert(place);
        self.runs[run].requests.push(place);
        place
    }

    pub(super) fn request_of(&self, run: usize, number: RequestNo) -> Option<usize> {
        let requests = &self.runs[run].requests;
        requests.iter().copied().find(|&place| self.requests[place].number == number)
    }

    /// Ends a request that is pending, and its deadline. False if it was not.
    pub(super) fn close(
        &mut self,
        place: usize,
        status: RequestStatus,
        decision: Option<TakenDecision>,
    ) -> bool {
        let StoredRequest { run, number, .. } = self.requests[place];
        self.drop_timer(run, &Due::Request { request: number });
        let request = &mut self.requests[place].request;
        if request.status != RequestStatus::Pending {
            return false;
        }
        request.status = status;
        request.version += 1;
        request.decision = decision;
        request.deferred_until = None;
        self.pending.remove(&place);
        true
    }

    /// Takes a request back, if it is still pending; with a line, if somebody's decision is why.
    pub(super) fn withdraw(
        &mut self,
        place: usize,
        why: Option<(&Actor, &str)>,
        now: Timestamp,
        told: bool,
    ) {
        if !self.close(place, RequestStatus::Cancelled, None) {
            return;
        }
        if let Some((by, reason)) = why {
            let request = &mut self.requests[place].request;
            request.withdrawn = Some(reason.to_owned());
            let (id, tenant) = (request.id.clone(), request.tenant.clone());
            self.add_audit_line(now, by.clone(), id, tenant, withdrawn(reason));
        }
        if told {
            self.tell(place, Happened::Cancelled, now);
        }
    }

    /// Lets a request expire, if it is still pending.
    pub(super) fn expire(&mut self, place: usize, now: Timestamp) {
        if self.close(place, RequestStatus::Expired, None) {
            let StoredRequest { run, number, request, .. } = &self.requests[place];
            let (run, number, id) = (*run, *number, request.id.clone());
            let tenant = request.tenant.clone();
            let next = escalated(&request.body);
            let (of, whose) = (id.clone(), tenant.clone());
            self.add_audit_line(now, system_actor(), of, whose, EXPIRED.to_owned());
            if let Some(said) = next {
                self.add_audit_line(now, system_actor(), id, tenant, said);
            }
            self.tell(place, Happened::Expired, now);
            self.give_input(run, Input::Expired { request: number });
        }
    }

    /// Reminds people of a request, if it is still pending, and again after as long.
    pub(super) fn remind(&mut self, place: usize, now: Timestamp) {
        let StoredRequest { run, number, request, .. } = &mut self.requests[place];
        let (RequestStatus::Pending, Some(every)) = (request.status, request.body.remind) else {
            return;
        };
        let (run, number) = (*run, *number);
        let again = Due::Reminder { request: number };
        if request.deferred_until.is_some() {
            // Somebody knows of it, and does not want to see it now.
            self.set_timer(run, again, now.plus(every));
            return;
        }
        request.version += 1;
        let (id, tenant) = (request.id.clone(), request.tenant.clone());
        self.add_note(place, Note { at: now, by: system_actor(), what: Noted::Reminded });
        self.add_audit_line(now, system_actor(), id, tenant, REMINDED.to_owned());
        self.tell(place, Happened::Reminded, now);
        self.set_timer(run, again, now.plus(every));
    }

    /// Puts a request that was put off in sight again, if it still waits.
    pub(super) fn reopen(&mut self, place: usize, now: Timestamp) {
        if self.requests[place].request.deferred_until.take().is_some() {
            self.add_note(place, Note { at: now, by: system_actor(), what: Noted::Reopened });
            self.tell(place, Happened::Reopened, now);
        }
    }

    pub(super) fn set_timer(&mut self, run: usize, due: Due, at: Timestamp) {
        self.drop_timer(run, &due);
        self.timers_set += 1;
        let key = (at, self.timers_set);
        self.due.insert(key, (run, due.clone()));
        self.runs[run].timers.push((due, key));
    }

    pub(super) fn drop_timer(&mut self, run: usize, due: &Due) {
        let timers = &mut self.runs[run].timers;
        if let Some(index) = timers.iter().position(|(set, _)| set == due) {
            let (_, key) = timers.swap_remove(index);
            self.due.remove(&key);
        }
    }

    fn add_line_on_run(&mut self, run: usize, at: Timestamp, by: Actor, line: String) {
        let record = &self.runs[run].record;
        let (subject, tenant) = (RequestId::new(record.id.as_str()), record.tenant.clone());
        self.add_audit_line(at, by, subject, tenant, line);
    }

    pub(super) fn add_audit_line(
        &mut self,
        at: Timestamp,
        by: Actor,
        request: RequestId,
        tenant: Tenant,
        decision: String,
    ) {
        let last = self.audit.last().map(|line| (line.no, line.hash.as_str()));
        let line = AuditEntry::next(last, at, by, request, tenant, decision);
        self.audit.push(line);
    }
}
