//! The question about a call, and what its answer means.

use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::policy::{Action, ActionKind, Clock, Judgement, OnTimeout, share_of};
use signoff_core::request::{RequestBody, Risk};
use signoff_core::state::Answer;
use signoff_core::{Actor, Decision, DecisionKind, RequestKind, Span, ToolSpec, Unanswered};

use crate::context::Context;

/// What a person put in place of a model's arguments.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) arguments: Value,
    /// Nobody, if only what was shown was pinned.
    pub(crate) by: Option<Actor>,
}

/// Whose turn it is to be asked.
#[derive(Clone, Copy)]
pub(super) struct Turn<'a> {
    /// How many have been asked before them.
    pub(super) stage: usize,
    /// The key of the question to them.
    pub(super) key: &'a str,
    /// The key of the question to the first.
    pub(super) first: &'a str,
}

/// What an answer means for the call.
pub(super) enum Meant {
    Approved,
    Changed(Changed),
    Instead(Result<Value, ErrorInfo>),
    /// The run does not go on.
    Stop(ErrorInfo),
    /// It waits until somebody lets it go on, and asks again.
    Pause,
    /// Others are asked.
    Escalate,
}

impl Context {
    pub(super) fn question(
        &self,
        spec: &ToolSpec,
        actions: &[Action],
        judged: &Judgement,
        policy: &str,
    ) -> RequestBody {
        let call = &actions[0];
        let mut context = json!({
            "tool": spec.name,
            "proposal": call.arguments,
            "digest": call.digest(),
            "implementation": call.implementation,
            "effects": spec.effects.names(),
            "targets": actions.iter().flat_map(|action| &action.targets).collect::<Vec<_>>(),
            "reasons": judged.reasons,
        });
        let commands: Vec<_> = actions.iter().skip(1).map(|part| &part.command).collect();
        if !commands.is_empty() {
            context["commands"] = json!(commands);
        }
        if !judged.notes.is_empty() {
            context["notes"] = json!(judged.notes);
        }
        if !policy.is_empty() {
            context["policy"] = policy.into();
        }
        let risk = judged.risk.or_else(|| spec.effects.destructive.then_some(Risk::High));
        let (who, name) = (self.executor(), &spec.name);
        let (prompt, allowed) = match call.kind {
            ActionKind::Handoff => (format!("{who} wants to hand over to {name}."), &HANDED[..]),
            ActionKind::Remote => (format!("{who} wants to send this to {name}."), &HANDED[..]),
            _ => (format!("{who} wants to call {name}."), &CALLED[..]),
        };
        RequestBody {
            kind: RequestKind::ToolCall,
            context,
            response_schema: spec.parameters.clone(),
            allowed: allowed.to_vec(),
            reasons: judged.reasons.iter().map(ToString::to_string).collect(),
            risk: Some(risk.unwrap_or(Risk::Medium)),
            siblings: judged.siblings,
            ..RequestBody::input(prompt)
        }
    }

    /// Asks people about something that the rules judged: those whose turn it is, and then those after them. The answer,
    /// and what is to happen if there was none.
    pub(crate) async fn ask_judged(
        &self,
        key: &str,
        body: RequestBody,
        judged: &Judgement,
    ) -> Result<(Answer, OnTimeout), ErrorInfo> {
        let (mut stage, first) = (0, key);
        loop {
            let key = if stage == 0 { key.to_owned() } else { format!("{key}^{stage}") };
            let mut asked = body.clone();
            let on_timeout = self.address(&mut asked, judged, stage);
            let then = unanswered(on_timeout, &asked.allowed);
            self.set_due(&mut asked, judged, Turn { stage, key: &key, first }, then).await?;
            let answer = self.ask(&key, asked.clone()).await?;
            match (&answer, on_timeout) {
                (Answer::Expired, OnTimeout::Escalate) => stage += 1,
                (Answer::Expired, OnTimeout::Pause) => {
                    self.pause_for(&key).await?;
                    (asked.expires_at, asked.on_timeout) = (None, None);
                    return Ok((self.ask(&format!("{key}~"), asked).await?, on_timeout));
                }
                _ => return Ok((answer, on_timeout)),
            }
        }
    }

    /// Says by when those whose turn it is must have answered, and when they are reminded.
    pub(super) async fn set_due(
        &self,
        asked: &mut RequestBody,
        judged: &Judgement,
        turn: Turn<'_>,
        then: Unanswered,
    ) -> Result<(), ErrorInfo> {
        let Some(within) = within(judged, turn.stage) else { return Ok(()) };
        let asked_at = self.now(&format!("{}@", turn.key)).await?;
        let from = match judged.clock {
            Clock::Shared if turn.stage > 0 => self.now(&format!("{}@", turn.first)).await?,
            _ => asked_at,
        };
        let due = from.plus(within);
        asked.due(due, then);
        let share = judged.remind_share.map(|share| share_of(due.since(asked_at), share));
        asked.remind = asked.remind.into_iter().chain(share).min();
        Ok(())
    }

    /// Puts the question to those whose turn it is. What happens if they do not answer.
    pub(super) fn address(
        &self,
        asked: &mut RequestBody,
        judged: &Judgement,
        stage: usize,
    ) -> OnTimeout {
        let initiator = self.cell.lock().state.started.by.clone();
        let who = match judged.escalation.get(stage.wrapping_sub(1)) {
            Some(stage) => vec![stage.who.clone()],
            None => judged.who.clone(),
        };
        asked.put_to(who, &initiator);
        asked.remind = judged.remind;
        let on_timeout = match judged.within {
            _ if stage >= judged.escalation.len() && stage > 0 => judged.finally,
            Some((_, on_timeout)) => on_timeout,
            None => OnTimeout::Deny,
        };
        if stage > 0 {
            asked.reasons.push("nobody answered in time before".to_owned());
            asked.context["stage"] = stage.into();
        }
        if judged.within.is_some() {
            asked.context["on_timeout"] = json!(on_timeout);
        }
        on_timeout
    }
}

const CALLED: [DecisionKind; 6] = [
    DecisionKind::Approve,
    DecisionKind::Edit,
    DecisionKind::Reject,
    DecisionKind::Respond,
    DecisionKind::Skip,
    DecisionKind::Abort,
];
const HANDED: [DecisionKind; 3] =
    [DecisionKind::Approve, DecisionKind::Reject, DecisionKind::Abort];

/// What follows where nobody can be told that something is not done: without an agreement the run ends.
fn unanswered(on_timeout: OnTimeout, allowed: &[DecisionKind]) -> Unanswered {
    match on_timeout {
        OnTimeout::Deny => Unanswered::Abort,
        OnTimeout::Skip if !allowed.contains(&DecisionKind::Skip) => Unanswered::Abort,
        other => other.into(),
    }
}

/// How long those of a stage have.
fn within(judged: &Judgement, stage: usize) -> Option<Span> {
    let own = judged.escalation.get(stage.wrapping_sub(1)).and_then(|stage| stage.within);
    own.or_else(|| judged.within.map(|(within, _)| within))
}

/// What an answer means; `on_timeout` is what was to happen without one.
pub(super) fn meant(answer: Answer, on_timeout: OnTimeout) -> Meant {
    let (decision, by) = match answer {
        Answer::Decided { decision, by } => (decision, by),
        Answer::Withdrawn => return Meant::Instead(Err(could_not_ask())),
        Answer::Expired => {
            return match on_timeout {
                OnTimeout::Approve => Meant::Approved,
                OnTimeout::Skip => {
                    Meant::Instead(Ok(json!({ "skipped": "nobody answered in time" })))
                }
                OnTimeout::Deny => Meant::Instead(Err(could_not_ask())),
                OnTimeout::Abort => Meant::Stop(could_not_ask()),
                OnTimeout::Pause => Meant::Pause,
                OnTimeout::Escalate => Meant::Escalate,
            };
        }
    };
    match decision {
        Decision::Approve { .. } => Meant::Approved,
        Decision::Edit { value, .. } => Meant::Changed(Changed { arguments: value, by: Some(by) }),
        Decision::Respond { content } => Meant::Instead(Ok(content)),
        Decision::Skip { reason } => {
            Meant::Instead(Ok(json!({ "skipped": reason.unwrap_or_else(|| format!("by {by}")) })))
        }
        Decision::Reject { reason, .. } => {
            let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let message = format!("{by} denied this call{why}. Do not try the same again.");
            Meant::Instead(Err(ErrorInfo::new("denied", message)))
        }
        other => {
            let message = format!("`{}` means nothing here", other.kind().as_str());
            Meant::Instead(Err(ErrorInfo::new("internal", message)))
        }
    }
}

/// What the agent is told of a call that is not allowed.
pub(super) fn denied(judged: &Judgement) -> ErrorInfo {
    let reasons: Vec<String> = judged.reasons.iter().map(ToString::to_string).collect();
    ErrorInfo::new("denied", format!("this call is not allowed: {}", reasons.join("; ")))
}

fn could_not_ask() -> ErrorInfo {
    ErrorInfo::new("could_not_ask", "a person must agree to this call, and nobody answered in time")
}
