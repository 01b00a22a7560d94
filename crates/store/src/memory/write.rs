//! The changes of the contract, each checked first and then made.

use signoff_core::deciders::{Deciders, Vote};
use signoff_core::journal::Input;
use signoff_core::plan::because_rejected;
use signoff_core::request::{RequestStatus, TakenDecision};
use signoff_core::time::Timestamp;
use signoff_core::{Actor, RunId};

use super::tables::{StoredRequest, StoredRun, Tables};
use crate::audit::voted;
use crate::contract::{as_given, in_turn};
use crate::entries::MAX_LIMIT;
use crate::links::by_link;
use crate::people::votes_with;
use crate::{
    Append, Claim, ConversationRecord, Created, Decide, Decided, DecidedAll, Due, End, Follows,
    Happened, Lease, NewRun, Note, Noted, Rest, RunRecord, Scope, StoreError, entries,
};

impl Tables {
    pub(super) fn find(&self, id: &RunId) -> Result<usize, StoreError> {
        self.run_places.get(id).copied().ok_or_else(|| StoreError::UnknownRun(id.clone()))
    }

    pub(super) fn create(&mut self, run: NewRun) -> Result<Option<Created>, StoreError> {
        let started = entries::started(&run)?;
        entries::follow(0, &run.entries)?;
        if self.run_places.contains_key(&run.id) {
            return Ok(None);
        }
        if let Follows::Exactly(expected) = &run.follows {
            let latest =
                self.latest_run(&started.tenant, &started.conversation).map(|run| run.id.clone());
            if let Some(run) = latest.filter(|latest| Some(latest) != expected.as_ref()) {
                return Err(StoreError::ConversationMoved { run });
            }
        }
        let at = |entry: Option<&signoff_core::Entry>| entry.map_or(Timestamp(0), |entry| entry.at);
        let parent = started.parent.clone();
        let about = ConversationRecord::made_by(&run)?;
        let record = RunRecord {
            root: parent.as_ref().map_or(&run.id, |parent| &parent.root).clone(),
            workflow: started.workflow.clone(),
            version: started.version.clone(),
            conversation: started.conversation.clone(),
            tenant: started.tenant.clone(),
            status: run.status,
            head: run.entries.len() as u64,
            error: None,
            created_at: at(run.entries.first()),
            updated_at: at(run.entries.last()),
            id: run.id,
        };
        let place = self.runs.len();
        self.run_places.insert(record.id.clone(), place);
        if let Some(parent) = &parent {
            self.children.entry(parent.run.clone()).or_default().push(place);
        }
        self.runs.push(StoredRun {
            record,
            parent,
            ready: false,
            lease: None,
            epoch: 0,
            next_input: 1,
            inputs: std::collections::VecDeque::new(),
            entries: Vec::new(),
            snapshot: None,
            requests: Vec::new(),
            timers: Vec::new(),
        });
        self.project(place, &run.entries);
        self.runs[place].entries = run.entries;
        if let Some(about) = about {
            self.keep_new_conversation(about);
        }
        if run.status.is_over() {
            return Ok(Some(Created { lease: None }));
        }
        self.place(place, |run| run.ready = true);
        if let Some(deadline) = run.deadline {
            self.set_timer(place, Due::Run, deadline);
        }
        let lease = run.claim.and_then(|claim| self.take_lease(place, &claim, Timestamp(0)));
        Ok(Some(Created { lease }))
    }

    pub(super) fn append(&mut self, append: Append) -> Result<(), StoreError> {
        entries::follow(append.expected, &append.entries)?;
        let place = self.find(&append.lease.run)?;
        let run = &self.runs[place];
        if run.record.head != append.expected || !run.is_held_by(&append.lease) {
            return Err(StoreError::Fenced { run: append.lease.run });
        }
        self.project(place, &append.entries);
        let run = &mut self.runs[place];
        run.record.head += append.entries.len() as u64;
        run.record.status = append.status;
        if let Some(last) = append.entries.last() {
            run.record.updated_at = last.at;
        }
        run.entries.extend(append.entries);
        if append.snapshot.is_some() {
            run.snapshot = append.snapshot;
        }
        while run.inputs.front().is_some_and(|(no, _)| *no <= append.consumed) {
            run.inputs.pop_front();
        }
        match append.rest {
            Rest::Keep => {}
            Rest::Park => self.place(place, |run| {
                run.lease = None;
                run.ready = !run.inputs.is_empty();
            }),
            Rest::End(end) => self.end(place, end),
        }
        Ok(())
    }

    /// Nobody works on a run any more, and nothing happens in it.
    pub(super) fn leave(&mut self, place: usize) {
        self.place(place, |run| {
            run.lease = None;
            run.ready = false;
            run.inputs.clear();
        });
        for request in self.runs[place].requests.clone() {
            if self.close(request, RequestStatus::Cancelled, None) {
                self.tell(request, Happened::Cancelled, self.runs[place].record.updated_at);
            }
        }
        for (_, key) in std::mem::take(&mut self.runs[place].timers) {
            self.due.remove(&key);
        }
    }

    fn end(&mut self, place: usize, end: End) {
        self.runs[place].record.error = end.error;
        self.leave(place);
        if let Some(parent) = self.runs[place].parent.clone()
            && let Ok(waiting) = self.find(&parent.run)
        {
            let input = Input::ChildEnded {
                activation: parent.activation,
                key: parent.key,
                outcome: end.outcome,
                stopped_by: end.stopped_by,
            };
            self.give_input(waiting, input);
        }
        let id = self.runs[place].record.id.clone();
        for child in self.children.get(&id).cloned().unwrap_or_default() {
            self.give_input(child, End::for_children());
        }
    }

    pub(super) fn decide(&mut self, decide: Decide) -> Result<Decided, StoreError> {
        let Some(&place) = self.request_places.get(&decide.request) else {
            return Err(StoreError::UnknownRequest(decide.request));
        };
        let found = &self.requests[place];
        let (run, number) = (found.run, found.number);
        let pending = found.request.status == RequestStatus::Pending;
        let late = found.request.body.expires_at.is_some_and(|at| decide.at >= at);
        if pending && late {
            self.expire(place, decide.at);
        }
        if !pending || late {
            return Ok(Decided::TooLate(Box::new(self.requests[place].request.clone())));
        }
        let request = &self.requests[place].request;
        if decide.version.is_some_and(|seen| seen != request.version) {
            return Ok(Decided::Stale(Box::new(request.clone())));
        }
        if let Some(deciders) = &decide.deciders
            && !self.vote(place, &decide, deciders)
        {
            return Ok(Decided::Voted(Box::new(self.requests[place].request.clone())));
        }
        let line = decide.recorded.to_string();
        let taken = TakenDecision {
            decision: decide.decision.clone(),
            by: decide.by.clone(),
            at: decide.at,
            sent: decide.sent.clone(),
        };
        self.close(place, RequestStatus::Decided, Some(taken));
        let tenant = self.requests[place].request.tenant.clone();
        let line = by_link(line, decide.link.as_ref());
        self.add_audit_line(decide.at, decide.by.clone(), decide.request, tenant, line);
        self.tell(place, Happened::Decided, decide.at);
        if let Some(grant) = decide.grant {
            self.add_grant(*grant);
        }
        if let Some(turn) = &decide.withdraw {
            self.withdraw_others(place, turn, &decide.by, decide.at);
        }
        let input = Input::Decided {
            request: number,
            decision: decide.decision,
            by: decide.by,
            sent: decide.sent,
        };
        self.give_input(run, input);
        let head = self.runs[run].record.head;
        let lease = decide.claim.and_then(|claim| self.take_lease(run, &claim, decide.at));
        Ok(Decided::Taken { lease, head })
    }

    pub(super) fn decide_all(&mut self, decides: Vec<Decide>) -> Result<DecidedAll, StoreError> {
        let mut refused = Vec::new();
        for (n, decide) in decides.iter().enumerate() {
            let Some(&place) = self.request_places.get(&decide.request) else {
                return Err(StoreError::UnknownRequest(decide.request.clone()));
            };
            let request = &self.requests[place].request;
            let late = request.body.expires_at.is_some_and(|at| decide.at >= at);
            if request.status != RequestStatus::Pending || late {
                refused.push((n, Decided::TooLate(Box::new(request.clone()))));
            } else if decide.version.is_some_and(|seen| seen != request.version) {
                refused.push((n, Decided::Stale(Box::new(request.clone()))));
            }
        }
        if !refused.is_empty() {
            return Ok(DecidedAll::Refused(refused));
        }
        let mut taken: Vec<(usize, Decided)> = Vec::with_capacity(decides.len());
        for (n, decide) in in_turn(decides) {
            taken.push((n, self.decide(decide)?));
        }
        Ok(DecidedAll::Taken(as_given(taken)))
    }

    /// Takes back what else a turn asks.
    fn withdraw_others(&mut self, rejected: usize, turn: &str, by: &Actor, now: Timestamp) {
        let StoredRequest { run, number, .. } = self.requests[rejected];
        let reason = because_rejected(by, number);
        for place in self.runs[run].requests.clone() {
            if self.requests[place].request.body.turn.as_deref() == Some(turn) {
                self.withdraw(place, Some((by, &reason)), now, true);
            }
        }
    }

    /// Whether enough have decided the same, this one included. If not, it is noted.
    fn vote(&mut self, place: usize, decide: &Decide, deciders: &Deciders) -> bool {
        let vote = Vote {
            by: decide.by.clone(),
            roles: decide.roles.clone(),
            decision: decide.decision.clone(),
        };
        let Some(votes) = votes_with(&self.requests[place].notes, &vote) else { return false };
        if deciders.decided(&votes) {
            return true;
        }
        let noted = Noted::Voted { decision: vote.decision, roles: vote.roles };
        let line = voted(&decide.recorded, &decide.roles);
        self.add_note(place, Note { at: decide.at, by: decide.by.clone(), what: noted });
        self.requests[place].request.version += 1;
        let tenant = self.requests[place].request.tenant.clone();
        let line = by_link(line, decide.link.as_ref());
        self.add_audit_line(decide.at, decide.by.clone(), decide.request.clone(), tenant, line);
        self.tell(place, Happened::Voted, decide.at);
        false
    }

    pub(super) fn claim(
        &mut self,
        scope: &Scope,
        claim: &Claim,
        now: Timestamp,
        limit: usize,
    ) -> Vec<Lease> {
        let free = self.ready.range(..=(now.0, usize::MAX)).map(|&(_, place)| place);
        let limit = limit.min(MAX_LIMIT);
        let chosen: Vec<usize> = match scope {
            Scope::All => free.take(limit).collect(),
            Scope::Tree(top) => {
                let tree = self.tree(top);
                free.filter(|place| tree.contains(place)).take(limit).collect()
            }
        };
        chosen.into_iter().filter_map(|place| self.take_lease(place, claim, now)).collect()
    }

    /// A run and all that are part of it.
    fn tree(&self, top: &RunId) -> std::collections::HashSet<usize> {
        let mut tree = std::collections::HashSet::new();
        let mut todo = vec![top.clone()];
        while let Some(id) = todo.pop() {
            if let Ok(place) = self.find(&id)
                && !tree.insert(place)
            {
                continue;
            }
            for &child in self.children.get(&id).into_iter().flatten() {
                todo.push(self.runs[child].record.id.clone());
            }
        }
        tree
    }

    pub(super) fn renew(&mut self, leases: Vec<Lease>, until: Timestamp) -> Vec<Lease> {
        let mut held = Vec::with_capacity(leases.len());
        for lease in leases {
            let Ok(place) = self.find(&lease.run) else { continue };
            if self.runs[place].is_held_by(&lease) {
                self.place(place, |run| run.lease = Some((lease.node.clone(), until)));
                held.push(lease);
            }
        }
        held
    }

    pub(super) fn release(&mut self, lease: &Lease) {
        if let Ok(place) = self.find(&lease.run)
            && self.runs[place].is_held_by(lease)
        {
            self.place(place, |run| run.lease = None);
        }
    }

    pub(super) fn fire_due(&mut self, now: Timestamp, limit: usize) -> usize {
        let limit = limit.min(MAX_LIMIT);
        let due: Vec<(usize, Due)> =
            self.due.range(..=(now, u64::MAX)).take(limit).map(|(_, due)| due.clone()).collect();
        let fired = due.len();
        for (run, due) in due {
            self.drop_timer(run, &due);
            let input = match due {
                Due::Timer { activation, key } => Input::Timer { activation, key },
                Due::Run => Input::OutOfTime {},
                Due::Request { request } => {
                    if let Some(place) = self.request_of(run, request) {
                        self.expire(place, now);
                    }
                    continue;
                }
                Due::Reminder { request } => {
                    if let Some(place) = self.request_of(run, request) {
                        self.remind(place, now);
                    }
                    continue;
                }
                Due::Deferral { request } => {
                    if let Some(place) = self.request_of(run, request) {
                        self.reopen(place, now);
                    }
                    continue;
                }
            };
            self.give_input(run, input);
        }
        fired
    }
}
