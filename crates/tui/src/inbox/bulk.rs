//! One decision for several requests, after they were looked at.

use crossterm::event::{KeyCode, KeyEvent};
use signoff_core::decision::Then;
use signoff_core::request::{RequestStatus, Risk};
use signoff_core::{Decision, DecisionKind, RequestId};

use super::{Effect, Focus, Inbox};

/// The most that are decided at once, which is what the server takes.
const MOST: usize = 200;

/// What is about to be decided.
#[derive(Clone, Debug)]
pub(super) struct Bulk {
    pub(super) approve: bool,
    /// Those it covers.
    pub(super) covers: Vec<(RequestId, u32, String)>,
    /// Those that do not accept it, and why.
    pub(super) leaves: Vec<(String, &'static str)>,
    pub(super) scrolled: usize,
}

impl Inbox {
    /// Marks all that are shown, but those of high risk: each of these is marked by itself. If they are marked already,
    /// nothing is any more.
    pub(super) fn mark_all(&mut self) {
        let shown = self.shown.iter().map(|n| &self.rows[*n].request);
        let (risky, usual): (Vec<_>, Vec<_>) =
            shown.partition(|request| request.body.risk >= Some(Risk::High));
        let left = risky.iter().filter(|request| !self.marked.contains(&request.id)).count();
        let usual: Vec<RequestId> = usual.iter().map(|request| request.id.clone()).collect();
        if !usual.is_empty() && usual.iter().all(|id| self.marked.contains(id)) {
            return self.marked.clear();
        }
        self.marked.extend(usual);
        if left > 0 {
            self.say(format!("{left} of high risk left out: Space marks one"), false);
        }
    }

    /// Shows what a decision for all that are marked would cover.
    pub(super) fn begin_bulk(&mut self, approve: bool) {
        let kind = if approve { DecisionKind::Approve } else { DecisionKind::Reject };
        let (mut covers, mut leaves) = (Vec::new(), Vec::new());
        for row in self.rows.iter().filter(|row| self.marked.contains(&row.request.id)) {
            let body = &row.request.body;
            if row.request.status != RequestStatus::Pending {
                leaves.push((row.question.clone(), "it is answered already"));
            } else if !body.allowed.contains(&kind) {
                leaves.push((
                    row.question.clone(),
                    if approve { "it cannot be approved" } else { "it cannot be denied" },
                ));
            } else if covers.len() >= MOST {
                leaves.push((row.question.clone(), "200 at once are the most"));
            } else {
                covers.push((row.request.id.clone(), row.request.version, row.question.clone()));
            }
        }
        if covers.is_empty() && leaves.is_empty() {
            return self.say("nothing is marked: Space marks one, * all that are shown", true);
        }
        self.bulk = Some(Bulk { approve, covers, leaves, scrolled: 0 });
        self.focus = Focus::Bulk;
    }

    /// Decides what was shown.
    pub(super) fn end_bulk(&mut self) -> Vec<Effect> {
        self.focus = Focus::List;
        let Some(bulk) = self.bulk.take() else { return Vec::new() };
        if bulk.covers.is_empty() {
            return Vec::new();
        }
        let decision =
            if bulk.approve { Decision::approve() } else { Decision::reject(None, Then::Continue) };
        self.busy.extend(bulk.covers.iter().map(|(id, ..)| id.clone()));
        self.say(format!("{} are sent …", bulk.covers.len()), false);
        let items = bulk.covers.into_iter().map(|(id, version, _)| (id, version, decision.clone()));
        vec![Effect::Many(items.collect())]
    }

    pub(super) fn bulk_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(bulk) = &mut self.bulk else { return Vec::new() };
        match key.code {
            KeyCode::Enter => return self.end_bulk(),
            KeyCode::Esc | KeyCode::Char('q') => {
                self.bulk = None;
                self.focus = Focus::List;
            }
            KeyCode::Up => bulk.scrolled = bulk.scrolled.saturating_sub(1),
            KeyCode::Down => {
                let most = (bulk.covers.len() + bulk.leaves.len()).saturating_sub(1);
                bulk.scrolled = (bulk.scrolled + 1).min(most);
            }
            _ => {}
        }
        Vec::new()
    }
}
