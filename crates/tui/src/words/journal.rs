//! Journal entries as lines: what happened, who did it, and a few words of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use signoff_core::journal::{EffectKind, Entry, Event, Outcome, Payload, StepEnd};
use signoff_core::{ActivationId, Key, Message, Name, Part, RequestNo};

use super::value::inline;
use super::{decision, kind_title};
use crate::text::{printable_line, short};

const WIDTH: usize = 100;

/// An entry in words.
#[derive(Clone, Debug, Default)]
pub struct What {
    /// What kind of thing.
    pub kind: &'static str,
    /// Who did it.
    pub who: String,
    /// A few words of it.
    pub text: String,
}

/// Reads a journal from its beginning, and remembers who is who.
#[derive(Debug, Default)]
pub struct JournalReader {
    executors: BTreeMap<ActivationId, Name>,
    calls: BTreeMap<(ActivationId, Key), Name>,
    requests: BTreeMap<RequestNo, ActivationId>,
}

impl JournalReader {
    /// The next entry.
    pub fn read(&mut self, entry: &Entry) -> What {
        match &entry.event {
            Event::Started(started) => {
                let by = printable_line(started.by.as_str());
                what("started", by, format!("{}: {}", started.workflow, inline(&started.input)))
            }
            Event::Delivered(delivered) => {
                self.executors.insert(delivered.activation, delivered.to.clone());
                let from = delivered.from.or(delivered.caller.as_ref().map(|it| it.activation));
                let text = match from {
                    Some(from) => format!("gets work from {}", self.name(from)),
                    None => "gets the input".to_owned(),
                };
                what("delivered", printable_line(&delivered.to), text)
            }
            Event::Said { activation, message } => {
                let who = match (&message.author, activation) {
                    (Some(author), _) => printable_line(author),
                    (None, Some(activation)) => self.name(*activation),
                    (None, None) => "input".to_owned(),
                };
                what("said", who, said(message))
            }
            Event::Intent { activation, action, .. } => {
                what("intent", self.name(*activation), inline(action))
            }
            Event::Effect { activation, key, kind, outcome, .. } => {
                self.effect(*activation, key, *kind, outcome)
            }
            Event::Entered(entered) => {
                let title = entered.title.as_deref().map(printable_line).unwrap_or_default();
                let text = match entered.step {
                    Some(step) => format!("{}, step {step}: {title}", entered.phase),
                    None => entered.phase.to_string(),
                };
                what("enters", self.name(entered.activation), text)
            }
            Event::StepEnded { activation, step, how } => {
                let how = match how {
                    StepEnd::Done => "done",
                    StepEnd::Skipped => "left out",
                };
                what("step", self.name(*activation), format!("{step} is {how}"))
            }
            Event::Applied(applied) => {
                let can = if applied.before.is_null() { "cannot" } else { "can" };
                let text = format!("{}, which {can} be undone", printable_line(&applied.tool));
                what("changes", self.name(applied.activation), text)
            }
            Event::RolledBack { activation, step } => {
                what("undone", self.name(*activation), format!("step {step}"))
            }
            Event::Feedback { given, .. } => {
                let author = printable_line(given.author.as_str());
                what("feedback", author, printable_line(&given.text))
            }
            Event::FeedbackRemoved { n, by } => {
                let text = format!("feedback {n} counts no more");
                what("feedback", printable_line(by.as_str()), text)
            }
            Event::Gated(gated) => {
                let reasons: Vec<String> = gated.reasons.iter().map(ToString::to_string).collect();
                let said = match gated.outcome {
                    signoff_core::policy::Outcome::Allow => "may go on",
                    signoff_core::policy::Outcome::Ask => "needs a person",
                    signoff_core::policy::Outcome::Deny => "is not allowed",
                };
                let why = printable_line(&reasons.join("; "));
                let text = if why.is_empty() { said.to_owned() } else { format!("{said}: {why}") };
                what("gate", self.name(gated.activation), text)
            }
            Event::Asked { activation, request, body, .. } => {
                self.requests.insert(*request, *activation);
                let text = format!("{}: {}", kind_title(body.kind).to_lowercase(), body.prompt);
                what("asked", self.name(*activation), text)
            }
            Event::Decided { decision: taken, by, request, .. } => {
                let asker = self.asker(*request);
                let text = format!("{}{}", decision(taken), for_whom(&asker));
                what("decided", printable_line(by.as_str()), text)
            }
            Event::Expired { request } => {
                what("expired", self.asker(*request), "nobody answered in time")
            }
            Event::Withdrawn { request, reason, .. } => {
                let because = reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                let text = format!("the question was taken back{because}");
                what("withdrawn", self.asker(*request), printable_line(&text))
            }
            Event::TimerSet { activation, due, .. } => {
                what("timer", self.name(*activation), format!("sleeps until {due}"))
            }
            Event::TimerFired { activation, .. } => what("timer", self.name(*activation), "wakes"),
            Event::ChildStarted { activation, .. } => {
                what("child", self.name(*activation), "a run of its own began")
            }
            Event::ChildEnded { activation, outcome, .. } => {
                what("child", self.name(*activation), ended(outcome))
            }
            Event::Output { activation, value } => {
                what("output", self.name(*activation), payload(value))
            }
            Event::Completed(completed) => {
                for next in &completed.next {
                    self.executors.insert(next.activation, next.to.clone());
                }
                let to: Vec<String> =
                    completed.next.iter().map(|it| printable_line(&it.to)).collect();
                let text = if to.is_empty() {
                    payload(&completed.output)
                } else {
                    format!("then {}", to.join(", "))
                };
                what("completed", self.name(completed.activation), text)
            }
            Event::Failed { activation, error } => {
                what("failed", self.name(*activation), &error.message)
            }
            Event::Paused { by, reason } => {
                let why = printable_line(reason.as_deref().unwrap_or_default());
                what("paused", printable_line(by.as_str()), &why)
            }
            Event::Resumed { by } => what("resumed", printable_line(by.as_str()), ""),
            Event::RunCompleted {} => what("run completed", String::new(), ""),
            Event::RunFailed { error } => what("run failed", String::new(), &error.message),
            Event::RunCancelled { by, reason } => {
                let reason = reason.as_deref().unwrap_or_default();
                what("run cancelled", printable_line(by.as_str()), reason)
            }
        }
    }

    fn effect(
        &mut self,
        activation: ActivationId,
        key: &Key,
        kind: EffectKind,
        outcome: &Outcome,
    ) -> What {
        let who = self.name(activation);
        if let Outcome::Reply(reply) = outcome {
            for part in &reply.parts {
                if let Part::ToolCall(call) = part {
                    let effect: Key = format!("{key}/{}", call.id).into();
                    self.calls.insert((activation, effect), Arc::clone(&call.name));
                }
            }
            let kind = if kind == EffectKind::Remote { "remote" } else { "model" };
            let mut found = what(kind, who, parts(&reply.parts));
            if !reply.usage.is_nothing() {
                found.text = format!("{} ({})", found.text, reply.usage);
            }
            return found;
        }
        match (kind, self.calls.get(&(activation, key.clone()))) {
            (EffectKind::Tool, Some(tool)) => {
                what("tool", who, format!("{tool}: {}", ended(outcome)))
            }
            (EffectKind::Tool, None) => what("tool", who, ended(outcome)),
            (EffectKind::Model | EffectKind::Judge, _) => what("model", who, ended(outcome)),
            (EffectKind::Remote, _) => what("remote", who, remote(outcome)),
            (EffectKind::Local, _) => what("effect", who, format!("{key}: {}", ended(outcome))),
        }
    }

    fn name(&self, activation: ActivationId) -> String {
        self.executors
            .get(&activation)
            .map_or_else(|| format!("#{activation}"), |it| printable_line(it))
    }

    fn asker(&self, request: RequestNo) -> String {
        self.requests.get(&request).map(|activation| self.name(*activation)).unwrap_or_default()
    }
}

fn what(what: &'static str, who: String, text: impl AsRef<str>) -> What {
    What { kind: what, who, text: short(text.as_ref(), WIDTH) }
}

fn for_whom(asker: &str) -> String {
    if asker.is_empty() { String::new() } else { format!(" (for {asker})") }
}

fn said(message: &Message) -> String {
    if message.parts.iter().all(|part| matches!(part, Part::Effect(_))) {
        return "its turn, as above".to_owned();
    }
    parts(&message.parts)
}

fn parts(parts: &[Part]) -> String {
    let words = parts.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::ToolCall(call) => format!("calls {} {}", call.name, call.arguments),
        Part::ToolResult(result) => inline(&result.content),
        Part::Effect(key) => format!("[{key}]"),
        Part::Input => "the input".to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn payload(payload: &Payload) -> String {
    match payload {
        Payload::Value(value) => inline(value),
        Payload::Text(n) | Payload::Json(n) => format!("message {}", n + 1),
        Payload::Join(edge) => format!("all of edge {edge}"),
        Payload::Input => "the input".to_owned(),
    }
}

/// How a task of an agent elsewhere stands.
fn remote(outcome: &Outcome) -> String {
    let Outcome::Ok(value) = outcome else { return ended(outcome) };
    let task = value["task"].as_str().map(|task| format!("task {task} ")).unwrap_or_default();
    let state = &value["state"];
    let said = |place: &str| state.pointer(place).map(inline).unwrap_or_default();
    if state == "working" {
        format!("{task}is being worked on")
    } else if state.get("asks").is_some() {
        format!("{task}asks: {}", said("/asks/request/prompt"))
    } else if state.get("failed").is_some() {
        format!("{task}failed: {}", said("/failed/message"))
    } else if state.get("unknown").is_some() {
        format!("{task}cannot be looked at: {}", said("/unknown/error/message"))
    } else {
        inline(value)
    }
}

fn ended(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok(value) => inline(value),
        Outcome::Reply(reply) => parts(&reply.parts),
        Outcome::Err(error) => format!("failed: {}", error.message),
    }
}
