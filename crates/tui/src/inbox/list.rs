//! Which requests are shown, and which one is meant.

use std::collections::BTreeSet;

use signoff_core::request::{Request, RequestStatus, Risk};
use signoff_core::{RequestId, Timestamp};

use super::{Inbox, Row};
use crate::form::Form;

impl Inbox {
    /// Takes all that waits, as read from the server.
    pub(super) fn take_all(&mut self, requests: Vec<Request>) {
        // What was answered while it was looked at stays until it is left.
        let kept = self.at.clone().and_then(|at| self.row(&at).cloned());
        self.rows = requests.into_iter().map(Row::new).collect();
        if let Some(kept) = kept
            && self.row(&kept.request.id).is_none()
        {
            self.rows.push(kept);
        }
        let there: BTreeSet<&RequestId> = self.rows.iter().map(|row| &row.request.id).collect();
        self.marked.retain(|id| there.contains(id));
        self.arrange();
    }

    /// Takes a request as it is now. Says whether it is new.
    pub(super) fn take_one(&mut self, request: Request) -> bool {
        let id = request.id.clone();
        let waits = self.waits(&request);
        if !waits {
            self.marked.remove(&id);
        }
        // What was answered while it was looked at stays until it is left; what is put off goes.
        let over = request.status != RequestStatus::Pending;
        let meant = over && self.at.as_ref() == Some(&id);
        match self.rows.iter().position(|row| row.request.id == id) {
            Some(n) if waits || meant => self.rows[n] = Row::new(request),
            Some(n) => drop(self.rows.remove(n)),
            None if waits => {
                self.rows.push(Row::new(request));
                self.arrange();
                return true;
            }
            None => {}
        }
        self.arrange();
        false
    }

    pub(super) fn row(&self, id: &RequestId) -> Option<&Row> {
        self.rows.iter().find(|row| row.request.id == *id)
    }

    /// Finds anew what is shown, and where the cursor is in it.
    pub(super) fn arrange(&mut self) {
        let words: Vec<String> =
            self.search.text().to_lowercase().split_whitespace().map(ToOwned::to_owned).collect();
        let narrowed = &self.narrowed;
        let fits = |row: &Row| {
            let request = &row.request;
            let assignee = request.assignee.as_ref().map_or("", |it| it.as_str());
            narrowed.kind.as_ref().is_none_or(|kind| request.body.kind.as_str() == kind)
                && narrowed.workflow.as_ref().is_none_or(|workflow| *request.workflow == **workflow)
                && narrowed.assignee.as_ref().is_none_or(|wanted| assignee == wanted)
                && (!narrowed.risky || request.body.risk >= Some(Risk::High))
                && words.iter().all(|word| row.words.contains(word.as_str()))
        };
        self.shown = (0..self.rows.len()).filter(|n| fits(&self.rows[*n])).collect();
        let place = self
            .at
            .as_ref()
            .and_then(|at| self.shown.iter().position(|n| self.rows[*n].request.id == *at));
        if let Some(place) = place {
            self.cursor = place;
        } else {
            self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
            self.meant(Some(self.now));
        }
    }

    /// Whatever is under the cursor is meant now; `came`: it came there by itself.
    pub(super) fn meant(&mut self, came: Option<Timestamp>) {
        let next =
            self.selected().map(|row| (row.request.id.clone(), Form::new(&row.request.body)));
        let left = std::mem::replace(&mut self.at, next.as_ref().map(|(id, _)| id.clone()));
        self.form = next.map(|(_, form)| form);
        self.came_at = came;
        self.scrolled = None;
        // What was answered meanwhile goes when it is left.
        if let Some(left) = left.filter(|left| Some(left) != self.at.as_ref()) {
            let gone =
                |row: &Row| row.request.id == left && row.request.status != RequestStatus::Pending;
            if let Some(n) = self.rows.iter().position(gone) {
                self.rows.remove(n);
                self.arrange();
            }
        }
    }

    /// Moves the cursor by so many.
    pub(super) fn step(&mut self, by: isize) {
        let last = self.shown.len().saturating_sub(1);
        let to = isize::try_from(self.cursor).unwrap_or(0).saturating_add(by).max(0);
        self.go(usize::try_from(to).unwrap_or(0).min(last));
    }

    pub(super) fn go(&mut self, to: usize) {
        if to != self.cursor {
            self.cursor = to;
            self.meant(None);
        }
    }

    /// The next of the values that rows have, after this one; none after the last.
    pub(super) fn next_value(
        &self,
        now: Option<&String>,
        of: impl Fn(&Row) -> String,
    ) -> Option<String> {
        let values: BTreeSet<String> = self.rows.iter().map(of).collect();
        match now {
            None => values.into_iter().next(),
            Some(now) => values.into_iter().find(|value| value > now),
        }
    }
}
