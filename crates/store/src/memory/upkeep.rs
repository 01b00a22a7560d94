//! What operators do: look how it is, remove what is over, take runs in and move them out.

use signoff_core::request::{Request, RequestStatus, TakenDecision};
use signoff_core::time::Timestamp;
use signoff_core::{ConversationId, RequestId, RunId, RunStatus, Tenant};

use super::tables::{StoredRequest, StoredRun, Tables};
use crate::audit::{MOVED_OUT, taken_in};
use crate::entries::started_by;
use crate::upkeep::{A_WHILE, MAX_LOOKED_AT, MAX_NAMED};
use crate::{
    Due, Examined, ExportedRequest, ExportedRun, Happened, MoveOut, NodeId, Prune, Pruned,
    PrunedRun, RunRecord, SeenRun, StoreError, TakeDuty, TakeIn, TakenIn,
};

impl Tables {
    /// Whether the run at a place is still there. Places are not used again.
    pub(super) fn has_run(&self, place: usize) -> bool {
        self.run_places.get(&self.runs[place].record.id) == Some(&place)
    }

    /// The same of a request.
    pub(super) fn has_request(&self, place: usize) -> bool {
        self.request_places.get(&self.requests[place].request.id) == Some(&place)
    }

    pub(super) fn take_duty(&mut self, take: TakeDuty) -> bool {
        let TakeDuty { duty, node, now, until } = take;
        let others = |(held, held_until): &(NodeId, Timestamp)| *held != node && *held_until > now;
        if self.duties.get(&duty).is_some_and(others) {
            return false;
        }
        self.duties.insert(duty, (node, until));
        true
    }

    pub(super) fn timers_of(&self, run: &RunId) -> Vec<(Due, Timestamp)> {
        let Some(&place) = self.run_places.get(run) else { return Vec::new() };
        let mut timers = self.runs[place].timers.clone();
        timers.sort_by_key(|(_, key)| *key);
        timers.into_iter().map(|(due, (at, _))| (due, at)).collect()
    }

    pub(super) fn prune(&mut self, prune: &Prune) -> Pruned {
        let from = usize::try_from(prune.after).unwrap_or(usize::MAX).min(self.runs.len());
        let until = from.saturating_add(MAX_LOOKED_AT).min(self.runs.len());
        let next = (until < self.runs.len()).then_some(until as u64);
        let mut pruned = Pruned { runs: Vec::new(), next };
        for place in from..until {
            let record = &self.runs[place].record;
            if !self.has_run(place) || record.root != record.id {
                continue;
            }
            let (tenant, conversation) = (record.tenant.clone(), record.conversation.clone());
            let runs = self.runs_in(&tenant, &conversation);
            let is_first = runs.iter().find(|it| self.runs[**it].parent.is_none()) == Some(&place);
            if is_first && self.is_over(&runs, prune) {
                self.remove(&runs, (&tenant, &conversation), prune, &mut pruned);
            }
        }
        pruned
    }

    fn runs_in(&self, tenant: &Tenant, conversation: &ConversationId) -> Vec<usize> {
        let own = |run: &RunRecord| run.tenant == *tenant && run.conversation == *conversation;
        let all = (0..self.runs.len()).filter(|place| self.has_run(*place));
        all.filter(|place| own(&self.runs[*place].record)).collect()
    }

    fn is_over(&self, runs: &[usize], prune: &Prune) -> bool {
        let newest_note = self.notes.last().map(|line| &line.request);
        let kept = |place: &usize| {
            let run = &self.runs[*place];
            let record = &run.record;
            let newest = |request: &usize| {
                *request + 1 == self.requests.len()
                    || newest_note == Some(&self.requests[*request].request.id)
            };
            let of_another = prune.workflow.as_ref().is_some_and(|it| *it != record.workflow);
            !record.status.is_over()
                || record.updated_at >= prune.before
                || (run.parent.is_none() && of_another)
                || *place + 1 == self.runs.len()
                || run.requests.iter().any(newest)
                || self.is_pushed(&record.id)
                || self.events.has(&record.id)
        };
        let Some(record) = runs.first().map(|place| &self.runs[*place].record) else {
            return false;
        };
        let mut conversations = self.conversations.iter();
        let changed = conversations.any(|it| {
            it.tenant == record.tenant
                && it.id == record.conversation
                && it.updated_at >= prune.before
        });
        !changed && !runs.iter().any(kept)
    }

    fn remove(
        &mut self,
        runs: &[usize],
        (tenant, conversation): (&Tenant, &ConversationId),
        prune: &Prune,
        pruned: &mut Pruned,
    ) {
        for &place in runs {
            let run = &self.runs[place];
            if run.parent.is_some() {
                continue;
            }
            let parts = runs.iter().map(|it| &self.runs[*it].record);
            let gone = PrunedRun {
                parts: parts.filter(|it| it.root == run.record.id).count() as u64 - 1,
                run: run.record.id.clone(),
                workflow: run.record.workflow.clone(),
                status: run.record.status,
                entries: run.record.head,
            };
            if !prune.dry_run {
                let subject = RequestId::new(gone.run.as_str());
                let by = prune.by.clone();
                self.add_audit_line(prune.at, by, subject, tenant.clone(), gone.said());
            }
            pruned.runs.push(gone);
        }
        if prune.dry_run {
            return;
        }
        for &place in runs {
            let id = self.runs[place].record.id.clone();
            for request in std::mem::take(&mut self.runs[place].requests) {
                let request = self.requests[request].request.id.clone();
                self.request_places.remove(&request);
                self.notes.retain(|line| line.request != request);
                self.views.retain(|(of, _), _| *of != request);
            }
            self.runs[place].entries = Vec::new();
            self.pushes.retain(|(run, _), _| *run != id);
            self.children.remove(&id);
            self.run_places.remove(&id);
        }
        self.conversations.retain(|it| (&it.tenant, &it.id) != (tenant, conversation));
    }

    pub(super) fn take_in(&mut self, take: &TakeIn) -> Result<TakenIn, StoreError> {
        let mut new = Vec::new();
        for run in &take.exported.runs {
            started_by(&run.entries)?;
            let Some(&place) = self.run_places.get(&run.id) else {
                new.push(run);
                continue;
            };
            if !self.runs[place].entries.starts_with(&run.entries) {
                return Ok(TakenIn::Differs(run.id.clone()));
            }
        }
        if new.is_empty() {
            return Ok(TakenIn::Known);
        }
        for definition in &take.exported.definitions {
            let hash = definition.hash.clone();
            self.definitions.entry(hash).or_insert_with(|| definition.clone());
        }
        if let Some(conversation) = take.exported.conversation.clone() {
            self.keep_new_conversation(conversation);
        }
        for run in &new {
            self.insert(run, take)?;
        }
        Ok(TakenIn::New(new.len()))
    }

    fn insert(&mut self, run: &ExportedRun, take: &TakeIn) -> Result<(), StoreError> {
        let started = started_by(&run.entries)?.clone();
        let at = |entry: Option<&signoff_core::Entry>| entry.map_or(Timestamp(0), |entry| entry.at);
        let parent = started.parent.clone();
        let record = RunRecord {
            root: parent.as_ref().map_or(&run.id, |parent| &parent.root).clone(),
            workflow: started.workflow,
            version: started.version,
            conversation: started.conversation,
            tenant: started.tenant.clone(),
            status: run.status,
            head: run.entries.len() as u64,
            error: run.error.clone(),
            created_at: at(run.entries.first()),
            updated_at: at(run.entries.last()),
            id: run.id.clone(),
        };
        let place = self.runs.len();
        self.run_places.insert(run.id.clone(), place);
        if let Some(parent) = &parent {
            self.children.entry(parent.run.clone()).or_default().push(place);
        }
        self.runs.push(StoredRun {
            record: record.clone(),
            parent,
            ready: false,
            lease: None,
            epoch: 0,
            next_input: run.inputs.last().map_or(1, |(no, _)| no + 1),
            inputs: run.inputs.iter().cloned().collect(),
            entries: run.entries.clone(),
            snapshot: None,
            requests: Vec::new(),
            timers: Vec::new(),
        });
        for request in &run.requests {
            self.put_request(place, &record, request, take.at);
        }
        for (due, at) in &run.timers {
            self.set_timer(place, due.clone(), *at);
        }
        self.place(place, |stored| stored.ready = run.is_ready());
        let subject = RequestId::new(run.id.as_str());
        let said = taken_in(run.entries.len());
        self.add_audit_line(take.at, take.by.clone(), subject, started.tenant, said);
        Ok(())
    }

    fn put_request(
        &mut self,
        run: usize,
        record: &RunRecord,
        exported: &ExportedRequest,
        now: Timestamp,
    ) {
        let decision = exported.decided.clone().map(|it| TakenDecision {
            decision: it.decision,
            by: it.by,
            at: it.at,
            sent: it.sent,
        });
        let request = Request {
            id: record.id.request(exported.number),
            version: exported.version,
            status: exported.status,
            run: record.id.clone(),
            root: record.root.clone(),
            workflow: record.workflow.clone(),
            conversation: record.conversation.clone(),
            tenant: record.tenant.clone(),
            assignee: exported.assignee.clone(),
            body: exported.body.clone(),
            created_at: exported.created_at,
            decision,
            withdrawn: exported.withdrawn.clone(),
            deferred_until: exported.deferred_until,
        };
        let place = self.requests.len();
        self.request_places.insert(request.id.clone(), place);
        let number = exported.number;
        self.requests.push(StoredRequest { run, number, request, notes: Vec::new() });
        self.runs[run].requests.push(place);
        for note in exported.notes.clone() {
            self.add_note(place, note);
        }
        if exported.is_pending() {
            self.pending.insert(place);
            self.tell(place, Happened::Requested, now);
        }
    }

    pub(super) fn move_out(&mut self, out: &MoveOut) -> bool {
        if !out.runs.iter().all(|seen| self.as_seen(seen, out.at)) {
            return false;
        }
        for seen in &out.runs {
            let Some(&place) = self.run_places.get(&seen.run) else { continue };
            let run = &mut self.runs[place];
            run.entries.push(out.last_entry(seen.head));
            run.record.head += 1;
            run.record.status = RunStatus::Cancelled;
            run.record.updated_at = out.at;
            run.epoch += 1;
            let tenant = run.record.tenant.clone();
            self.leave(place);
            let subject = RequestId::new(seen.run.as_str());
            self.add_audit_line(out.at, out.by.clone(), subject, tenant, MOVED_OUT.to_owned());
        }
        true
    }

    fn as_seen(&self, seen: &SeenRun, now: Timestamp) -> bool {
        let Some(&place) = self.run_places.get(&seen.run) else { return false };
        let run = &self.runs[place];
        let marks = run.requests.iter().map(|it| &self.requests[*it]);
        let marks: u64 =
            marks.map(|it| u64::from(it.request.version) + it.notes.len() as u64).sum();
        let free = run.lease.as_ref().is_none_or(|(_, until)| *until <= now);
        let now = (run.record.head, run.inputs.len() as u64, marks);
        free && !run.record.status.is_over() && now == (seen.head, seen.inputs, seen.marks)
    }

    pub(super) fn examine(&self, now: Timestamp) -> Examined {
        let long_ago = Timestamp(now.0.saturating_sub(A_WHILE));
        let here = (0..self.runs.len()).filter(|place| self.has_run(*place));
        let runs: Vec<&StoredRun> = here.map(|place| &self.runs[place]).collect();
        let is_stuck = |run: &&&StoredRun| {
            let free = run.lease.as_ref().is_none_or(|(_, until)| *until <= long_ago);
            run.ready && free && run.record.updated_at <= long_ago
        };
        let mut stuck: Vec<&&StoredRun> = runs.iter().filter(is_stuck).collect();
        stuck.sort_by_key(|run| run.record.updated_at);
        Examined {
            kind: "memory",
            runs: runs.len() as u64,
            over: runs.iter().filter(|run| run.record.status.is_over()).count() as u64,
            pending: self
                .pending
                .iter()
                .filter(|it| self.requests[**it].request.status == RequestStatus::Pending)
                .count() as u64,
            stuck: stuck.iter().take(MAX_NAMED).map(|run| run.record.id.clone()).collect(),
            stuck_count: stuck.len() as u64,
            overdue: self.due.keys().filter(|(at, _)| *at <= long_ago).count() as u64,
            failing_pushes: self.failing_pushes().into_iter().take(MAX_NAMED).collect(),
            webhooks: self.events.lags(),
            ..Examined::default()
        }
    }
}
