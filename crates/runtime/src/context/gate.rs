//! Gates before a tool call: whether it may be made, and who is asked.
//!
//! | the journal says | what happens |
//! |---|---|
//! | the call was made | nothing is judged again |
//! | a question about it waits | it is waited for, whatever the policy says by now |
//! | a question about it was answered with yes | it is judged again: what was not asked for then is asked now |
//! | nothing | it is judged |
//!
//! An approval is bound to the digest of what was shown and counts for that call only. An answer that changes the
//! arguments is judged anew; what speaks against the changed ones and did not against those shown is asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::decision::Then;
use signoff_core::journal::{ErrorInfo, Event, Gated};
use signoff_core::policy::{
    Action, ActionKind, Judgement, OnTimeout, Outcome, Part, Policy, Reason, Remembered,
    see_through, split,
};
use signoff_core::request::{RequestBody, Risk};
use signoff_core::state::Answer;
use signoff_core::{Actor, Decision, DecisionKind, Effects, Name, RequestKind, ToolSpec};
use signoff_tools::Tool;

use super::Context;

/// How often one call may be asked about.
const MAX_ASKS: usize = 8;
/// The arguments under which tools take a command: a line for a shell, or words.
const COMMANDS: [&str; 5] = ["argv", "command", "cmd", "script", "shell"];

/// What comes of a call before it is made.
#[derive(Debug)]
pub(crate) enum Cleared {
    /// It is made; with other arguments, if a person changed them.
    Go(Option<Changed>),
    /// It is not made; this is its result.
    Instead(Result<Value, ErrorInfo>),
}

/// What a person put in place of a model's arguments.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) arguments: Value,
    /// Nobody, if only what was shown was pinned.
    pub(crate) by: Option<Actor>,
}

/// What an answer means for the call.
enum Meant {
    Approved,
    Changed(Changed),
    Instead(Result<Value, ErrorInfo>),
}

impl Context {
    /// Whether a tool may be called with these arguments, after asking whoever must be asked.
    pub(super) async fn clear(
        &self,
        key: &str,
        tool: &Arc<dyn Tool>,
        arguments: &Value,
    ) -> Result<Cleared, ErrorInfo> {
        let spec = tool.spec();
        let policy = &self.cell.definition.policy;
        if policy.gates.is_empty() {
            return Ok(Cleared::Go(None));
        }
        let mut changed: Option<Changed> = None;
        let mut agreed: BTreeSet<(String, String)> = BTreeSet::new();
        for n in 1..=MAX_ASKS {
            let question = format!("{key}#gate{n}");
            let now = changed.as_ref().map_or(arguments, |changed| &changed.arguments);
            let mut on_timeout = OnTimeout::Deny;
            let mut body = None;
            if !self.was_asked(&question) {
                if self.is_done(key) {
                    return Ok(Cleared::Go(changed));
                }
                let actions = self.actions(spec, now);
                let judged = self.judge(policy, &actions);
                let open = judged.reasons.iter().any(|reason| !agreed.contains(&pair(reason)));
                let asks = judged.outcome == Outcome::Ask && (open || agreed.is_empty());
                self.note(key, spec, &actions[0], &judged, asks);
                match judged.outcome {
                    Outcome::Deny => return Ok(Cleared::Instead(Err(denied(&judged)))),
                    _ if !asks => return Ok(Cleared::Go(changed)),
                    _ => {}
                }
                on_timeout = judged.within.map_or(OnTimeout::Deny, |within| within.1);
                let mut asked = self.question(spec, &actions, &judged, now);
                // Looking changes nothing; what cannot be shown is left to the person.
                if let Ok(Some(preview)) = tool.preview(now).await {
                    asked.preview = preview;
                }
                if let Some((within, _)) = judged.within {
                    let asked_at = self.now(&format!("{question}@")).await?;
                    asked.expires_at = Some(asked_at.plus(within));
                }
                body = Some(asked);
            }
            let answer =
                self.ask(&question, body.unwrap_or_else(|| RequestBody::input(""))).await?;
            let shown = self.shown(&question);
            if let Some(word) = shown["on_timeout"].as_str() {
                on_timeout = serde_json::from_value(word.into()).unwrap_or_default();
            }
            match meant(answer, on_timeout) {
                Meant::Instead(result) => return Ok(Cleared::Instead(result)),
                Meant::Changed(new) => changed = Some(new),
                Meant::Approved => {
                    if let Some(pinned) = self.pinned(&question, now) {
                        let by = changed.take().map(|changed| changed.by);
                        changed = Some(Changed { arguments: pinned, by: by.flatten() });
                    }
                }
            }
            let reasons: Vec<Reason> =
                serde_json::from_value(shown["reasons"].clone()).unwrap_or_default();
            agreed.extend(reasons.iter().map(pair));
        }
        let message = format!("people were asked {MAX_ASKS} times about one call without an end");
        Ok(Cleared::Instead(Err(ErrorInfo::new("gate_rounds", message))))
    }

    /// What is about to be done, and, where a tool runs commands, each program of them.
    fn actions(&self, spec: &ToolSpec, arguments: &Value) -> Vec<Action> {
        let path = self.path();
        let progress = self.progress();
        let call = Action {
            agent_path: path.clone(),
            phase: progress.phase.clone(),
            step: progress.step,
            ..Action::tool(spec.name.clone(), arguments.clone(), spec.effects)
        };
        let mut actions = vec![call];
        if !spec.effects.execute {
            return actions;
        }
        for name in COMMANDS {
            match &arguments[name] {
                Value::String(line) => {
                    actions.extend(parts(split(line), vec![line.clone()], arguments, &path));
                }
                Value::Array(words) => {
                    let words: Vec<String> =
                        words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                    actions.extend(parts(see_through(&words), words, arguments, &path));
                }
                _ => {}
            }
        }
        for part in actions.iter_mut().skip(1) {
            (part.phase, part.step) = (progress.phase.clone(), progress.step);
        }
        actions
    }

    /// What the policy says of something that is not a tool call. None, if there is no gate at all.
    pub(crate) fn judge_one(&self, action: &Action) -> Option<Judgement> {
        let policy = &self.cell.definition.policy;
        let judged = || self.judge(policy, std::slice::from_ref(action));
        (!policy.gates.is_empty()).then(judged)
    }

    /// What the policy says of all of them together.
    fn judge(&self, policy: &Policy, actions: &[Action]) -> Judgement {
        let ledger = self.cell.lock().state.ledger.clone();
        let digest = actions[0].digest();
        let remembered = Remembered { denied: ledger.is_denied(&digest), approved: false };
        let counts = ledger.counts(&digest);
        let mut all: Option<Judgement> = None;
        for action in actions {
            let action = Action { counts, ..action.clone() };
            let judged = policy.judge(&action, remembered);
            all = Some(match all {
                None => judged,
                Some(all) => all.and(judged),
            });
        }
        let mut all = all.unwrap_or_default();
        if remembered.denied {
            let evidence = "a person denied exactly this before".to_owned();
            all.reasons.push(Reason {
                gate: "denied".into(),
                criterion: "again".to_owned(),
                evidence,
            });
        }
        all
    }

    /// Journals what was judged, if there is anything to tell.
    fn note(&self, key: &str, spec: &ToolSpec, action: &Action, judged: &Judgement, asks: bool) {
        let outcome = match judged.outcome {
            Outcome::Ask if !asks => Outcome::Allow,
            outcome => outcome,
        };
        self.cell.emit(Event::Gated(Box::new(Gated {
            activation: self.activation,
            key: key.into(),
            digest: action.digest(),
            read_only: spec.effects.read_only,
            outcome,
            reasons: judged.reasons.clone(),
        })));
    }

    fn question(
        &self,
        spec: &ToolSpec,
        actions: &[Action],
        judged: &Judgement,
        arguments: &Value,
    ) -> RequestBody {
        let commands: Vec<&Vec<String>> =
            actions.iter().skip(1).map(|part| &part.command).collect();
        let mut context = json!({
            "tool": spec.name,
            "proposal": arguments,
            "digest": actions[0].digest(),
            "effects": spec.effects.names(),
            "targets": actions.iter().flat_map(|action| &action.targets).collect::<Vec<_>>(),
            "reasons": judged.reasons,
        });
        if !commands.is_empty() {
            context["commands"] = json!(commands);
        }
        if !judged.notes.is_empty() {
            context["notes"] = json!(judged.notes);
        }
        if let Some((_, on_timeout)) = judged.within {
            context["on_timeout"] = json!(on_timeout);
        }
        let risk = judged.risk.or_else(|| spec.effects.destructive.then_some(Risk::High));
        RequestBody {
            kind: RequestKind::ToolCall,
            context,
            response_schema: spec.parameters.clone(),
            allowed: vec![
                DecisionKind::Approve,
                DecisionKind::Edit,
                DecisionKind::Reject,
                DecisionKind::Respond,
                DecisionKind::Skip,
                DecisionKind::Abort,
            ],
            reasons: judged.reasons.iter().map(ToString::to_string).collect(),
            risk: Some(risk.unwrap_or(Risk::Medium)),
            ..RequestBody::input(format!("{} wants to call {}.", self.executor(), spec.name))
        }
    }

    fn was_asked(&self, key: &str) -> bool {
        let inner = self.cell.lock();
        inner.state.open.get(&self.activation).is_some_and(|open| open.asked.contains_key(key))
    }

    /// The arguments with what the preview pinned: the call is refused if what was shown is no longer so.
    fn pinned(&self, key: &str, arguments: &Value) -> Option<Value> {
        let inner = self.cell.lock();
        let open = inner.state.open.get(&self.activation)?;
        let request = inner.state.requests.get(open.asked.get(key)?)?;
        let Value::Object(pin) = &request.body.preview["pin"] else { return None };
        let mut arguments = arguments.clone();
        arguments.as_object_mut()?.extend(pin.clone());
        Some(arguments)
    }

    /// What people were shown with a question.
    fn shown(&self, key: &str) -> Value {
        let inner = self.cell.lock();
        let open = inner.state.open.get(&self.activation);
        let asked = open.and_then(|open| inner.state.requests.get(open.asked.get(key)?));
        asked.map_or(Value::Null, |request| request.body.context.clone())
    }
}

fn pair(reason: &Reason) -> (String, String) {
    (reason.gate.to_string(), reason.criterion.clone())
}

/// The programs of a command line. One that cannot be split is a single one that nobody can see through.
fn parts(
    split: Result<Vec<Part>, String>,
    whole: Vec<String>,
    arguments: &Value,
    path: &[Name],
) -> Vec<Action> {
    match split {
        Ok(parts) => parts
            .into_iter()
            .map(|part| program(part.words, part.writes, None, arguments, path))
            .collect(),
        Err(why) => vec![program(whole, Vec::new(), Some(why), arguments, path)],
    }
}

fn program(
    words: Vec<String>,
    writes: Vec<String>,
    opaque: Option<String>,
    arguments: &Value,
    path: &[Name],
) -> Action {
    let effects = Effects { execute: true, file_edit: !writes.is_empty(), ..Effects::default() };
    Action {
        kind: ActionKind::Command,
        targets: writes,
        agent_path: path.to_vec(),
        opaque,
        command: words.clone(),
        ..Action::tool(words.into_iter().next().unwrap_or_default(), arguments.clone(), effects)
    }
}

fn meant(answer: Answer, on_timeout: OnTimeout) -> Meant {
    let (decision, by) = match answer {
        Answer::Decided { decision, by } => (decision, by),
        Answer::Withdrawn => return Meant::Instead(Err(could_not_ask())),
        Answer::Expired => {
            return match on_timeout {
                OnTimeout::Approve => Meant::Approved,
                OnTimeout::Skip => {
                    Meant::Instead(Ok(json!({ "skipped": "nobody answered in time" })))
                }
                _ => Meant::Instead(Err(could_not_ask())),
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
        Decision::Reject { reason, then: Then::Continue | Then::Stop } => {
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

fn denied(judged: &Judgement) -> ErrorInfo {
    let reasons: Vec<String> = judged.reasons.iter().map(ToString::to_string).collect();
    ErrorInfo::new("denied", format!("this call is not allowed: {}", reasons.join("; ")))
}

fn could_not_ask() -> ErrorInfo {
    ErrorInfo::new("could_not_ask", "a person must agree to this call, and nobody answered in time")
}
