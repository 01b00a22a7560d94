//! What reaches a run from outside.

use crate::decision::{Actor, Decision, Then};
use crate::id::RequestNo;
use crate::journal::{ErrorInfo, Event, Input, Outcome};
use crate::state::{Child, RunState};

/// The events an input leads to. None, if it comes too late to matter: an answer to a request that is
/// gone, a second pause, anything after the end.
pub fn input(state: &RunState, input: &Input) -> Vec<Event> {
    if state.end.is_some() {
        return Vec::new();
    }
    match input {
        Input::Decided { request, decision, by, sent } => {
            if !waits(state, *request) {
                return Vec::new();
            }
            let decided = Event::Decided {
                request: *request,
                decision: decision.clone(),
                by: by.clone(),
                sent: sent.clone(),
            };
            match decision {
                Decision::Abort { reason } | Decision::Reject { reason, then: Then::Stop, .. } => {
                    let end = Event::RunCancelled { by: by.clone(), reason: reason.clone() };
                    std::iter::once(decided).chain(ending(state, Some(*request), end)).collect()
                }
                _ => std::iter::once(decided)
                    .chain(siblings(state, *request, decision, by))
                    .collect(),
            }
        }
        Input::Expired { request } if waits(state, *request) => {
            vec![Event::Expired { request: *request }]
        }
        Input::Timer { activation, key } => match state.open.get(activation) {
            Some(open) if open.timers.get(key).is_some_and(|(_, fired)| !fired) => {
                vec![Event::TimerFired { activation: *activation, key: key.clone() }]
            }
            _ => Vec::new(),
        },
        Input::ChildEnded { activation, key, outcome, stopped_by } => {
            let waited_for = state
                .open
                .get(activation)
                .is_some_and(|open| matches!(open.children.get(key), Some(Child::Open)));
            if !waited_for {
                return Vec::new();
            }
            let ended = Event::ChildEnded {
                activation: *activation,
                key: key.clone(),
                outcome: outcome.clone(),
            };
            let Some(by) = stopped_by else {
                return vec![ended];
            };
            let reason = match outcome {
                Outcome::Err(error) => Some(error.message.clone()),
                _ => None,
            };
            let end = Event::RunCancelled { by: by.clone(), reason };
            std::iter::once(ended).chain(ending(state, None, end)).collect()
        }
        Input::OutOfTime {} => {
            let error = ErrorInfo::new("limit_wall", "the run took longer than its limit allows")
                .hint("raise limits.wall in the workflow file");
            ending(state, None, Event::RunFailed { error })
        }
        Input::Cancel { by, reason } => {
            let end = Event::RunCancelled { by: by.clone(), reason: reason.clone() };
            ending(state, None, end)
        }
        Input::Feedback { by, said } => {
            let given = Box::new(state.progress.remark(by.clone(), said));
            vec![Event::Feedback { activation: None, given }]
        }
        Input::RemoveFeedback { by, n } => {
            let known = state.progress.feedback.iter().any(|item| item.given.n == *n);
            let removed = Event::FeedbackRemoved { n: *n, by: by.clone() };
            known.then_some(removed).into_iter().collect()
        }
        Input::Pause { by, reason } if !state.paused => {
            vec![Event::Paused { by: by.clone(), reason: reason.clone() }]
        }
        Input::Resume { by } if state.paused => vec![Event::Resumed { by: by.clone() }],
        Input::Expired { .. } | Input::Pause { .. } | Input::Resume { .. } => Vec::new(),
    }
}

/// What a rejection takes back: the other questions of the same turn, if it is meant so.
fn siblings(state: &RunState, rejected: RequestNo, decision: &Decision, by: &Actor) -> Vec<Event> {
    let Some(asked) = state.requests.get(&rejected) else { return Vec::new() };
    let Some(turn) = asked.body.withdraws(decision) else { return Vec::new() };
    let of_turn = state.pending().filter(|(request, sibling)| {
        *request != rejected && sibling.body.turn.as_ref() == Some(turn)
    });
    let reason = Some(because_rejected(by, rejected));
    let withdrawn =
        |request| Event::Withdrawn { request, by: Some(by.clone()), reason: reason.clone() };
    of_turn.map(|(request, _)| withdrawn(request)).collect()
}

/// Why a question was taken back that belongs to the same turn as one that was rejected.
pub fn because_rejected(by: &Actor, rejected: RequestNo) -> String {
    format!("{by} rejected another call of the same turn (request {rejected})")
}

fn waits(state: &RunState, request: RequestNo) -> bool {
    state.requests.get(&request).is_some_and(|request| request.answer.is_none())
}

/// The end of a run before its work is done: what waits for people is taken back first.
fn ending(state: &RunState, except: Option<RequestNo>, end: Event) -> Vec<Event> {
    state
        .pending()
        .filter(|(request, _)| Some(*request) != except)
        .map(|(request, _)| Event::Withdrawn { request, by: None, reason: None })
        .chain(std::iter::once(end))
        .collect()
}
