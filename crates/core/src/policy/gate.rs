//! A gate as it is written, and as it is judged by.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, Checkpoint, FIELDS, Needs, Quick, Remind};
use crate::deciders::Who;
use crate::decision::Siblings;
use crate::demand::Demand;
use crate::expr::Expr;
use crate::request::Risk;
use crate::time::Span;
use crate::tool::Effects;

/// The variables a condition may use.
pub(crate) const VARIABLES: &[&str] = &["action"];
/// The most stages of an escalation.
const MAX_STAGES: usize = 4;

/// When a gate asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Whenever it applies.
    #[default]
    Always,
    /// Only if something speaks for it: what it is about, what it does, what happened before.
    Smart,
    /// Never; it is only noted.
    Audit,
    /// Never; it is not done.
    Deny,
}

/// What happens when nobody answers in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// It is not done, and the agent is told so.
    #[default]
    Deny,
    /// It is left out.
    Skip,
    /// The run is paused.
    Pause,
    /// The run is stopped.
    Abort,
    /// Others are asked.
    Escalate,
    /// It is done. Only where little can go wrong.
    Approve,
}

/// Who is asked next when nobody answers in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Who may decide then.
    pub who: Who,
    /// How long they have; as long as those before, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
}

/// From when on the time of those is counted who are asked next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// From when they are asked: each has all of its time.
    #[default]
    Reset,
    /// From when the first were asked: the last deadline never moves.
    Shared,
}

impl Clock {
    // Serde gives it so.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_reset(&self) -> bool {
        *self == Self::Reset
    }
}

/// A gate as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateFile {
    /// Its name, or a checkpoint: `before_file_edit` …
    pub name: String,
    /// A CEL condition over `action`. Not needed for a checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// When it asks.
    #[serde(default)]
    pub ask: How,
    /// Who may decide; anybody, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<Who>,
    /// How long it waits for an answer; for ever, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
    /// What happens then.
    #[serde(default)]
    pub on_timeout: OnTimeout,
    /// Who is asked then, one after the other, with `on_timeout: escalate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<Stage>,
    /// From when on their time is counted.
    #[serde(default, skip_serializing_if = "Clock::is_reset")]
    pub clock: Clock,
    /// What happens when the last of them has not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finally: Option<OnTimeout>,
    /// How often people are reminded: every so often, or whenever a share of the time is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind: Option<Remind>,
    /// What a rejection means for the other calls of the same turn.
    #[serde(default, skip_serializing_if = "Siblings::is_independent")]
    pub siblings: Siblings,
    /// How much can go wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// What people should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What is wrong with a gate, and at which of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateProblem {
    /// The key.
    pub key: &'static str,
    /// What is wrong.
    pub message: String,
}

/// What a gate is about.
#[derive(Clone, Debug)]
pub(crate) enum About {
    Checkpoint(Checkpoint),
    Condition(Arc<Expr>),
    /// Both must hold.
    Both(Checkpoint, Arc<Expr>),
}

/// A gate that can judge.
#[derive(Clone, Debug)]
pub struct Gate {
    /// As it is written.
    pub file: GateFile,
    pub(crate) about: About,
    /// What must hold for its condition to hold.
    pub(crate) demands: Vec<Demand>,
    /// Its condition, as far as it is plain.
    pub(crate) quick: Quick,
    /// What of an action its condition asks for.
    pub(crate) needs: Needs,
}

impl Gate {
    /// Makes a gate ready; or says everything that is wrong with it.
    pub fn compile(file: GateFile) -> Result<Self, Vec<GateProblem>> {
        let mut problems = Vec::new();
        let mut wrong = |key, message: String| problems.push(GateProblem { key, message });
        let checkpoint = Checkpoint::ALL.into_iter().find(|it| it.as_str() == file.name);
        let condition = file.when.as_deref().map(|source| Expr::compile(source, VARIABLES));
        let about = match (checkpoint, condition) {
            (_, Some(Err(problem))) => {
                wrong("when", problem);
                None
            }
            (_, Some(Ok(expr))) if unfit(&expr).is_some() => {
                wrong("when", unfit(&expr).unwrap_or_default());
                None
            }
            (Some(checkpoint), Some(Ok(expr))) => Some(About::Both(checkpoint, Arc::new(expr))),
            (Some(checkpoint), None) => Some(About::Checkpoint(checkpoint)),
            (None, Some(Ok(expr))) => Some(About::Condition(Arc::new(expr))),
            (None, None) => {
                let names: Vec<_> = Checkpoint::ALL.iter().map(|it| it.as_str()).collect();
                let message =
                    format!("it needs `when`; without it, it is one of {}", names.join(", "));
                wrong("name", message);
                None
            }
        };
        let stages = file.escalation.iter().map(|stage| ("escalation", &stage.who));
        for (key, who) in file.who.iter().map(|who| ("who", who)).chain(stages) {
            if let Some(problem) = who.problem() {
                wrong(key, problem);
            }
        }
        let timed_out = file.on_timeout != OnTimeout::Deny;
        if timed_out && file.within.is_none() {
            wrong("on_timeout", "it needs `within`".to_owned());
        }
        let escalates = file.on_timeout == OnTimeout::Escalate;
        if escalates == file.escalation.is_empty() || (!escalates && file.finally.is_some()) {
            wrong("escalation", "it goes with `on_timeout: escalate`".to_owned());
        }
        if file.escalation.len() > MAX_STAGES {
            wrong("escalation", format!("at most {MAX_STAGES} stages"));
        }
        if file.clock == Clock::Shared {
            let mut times = vec![file.within];
            times.extend(file.escalation.iter().map(|stage| stage.within));
            if !escalates {
                wrong("clock", "it goes with `on_timeout: escalate`".to_owned());
            } else if !times.is_sorted_by(|one, next| one.is_some() && one < next) {
                let message = "with `clock: shared` each stage has a `within`, longer than the one before, \
                               because it counts from the first question on";
                wrong("clock", message.to_owned());
            }
        }
        if matches!(file.remind, Some(Remind::Share(_))) && file.within.is_none() {
            wrong("remind", "a share of the time needs `within`".to_owned());
        }
        if file.finally == Some(OnTimeout::Escalate) {
            wrong("finally", "after the last stage there is nobody left".to_owned());
        }
        let approves =
            file.on_timeout == OnTimeout::Approve || file.finally == Some(OnTimeout::Approve);
        if approves && file.risk.is_none_or(|risk| risk > Risk::Low) {
            wrong("on_timeout", "only what has `risk: low` is done when nobody answers".to_owned());
        }
        match about {
            Some(about) if problems.is_empty() => {
                let (demands, quick, needs) = match &about {
                    About::Checkpoint(_) => Default::default(),
                    About::Condition(expr) | About::Both(_, expr) => {
                        (Demand::of(expr, "action"), Quick::of(expr), Needs::of(expr))
                    }
                };
                Ok(Self { file, about, demands, quick, needs })
            }
            _ => Err(problems),
        }
    }
}

/// Why a condition can never be judged: it asks for what no action has, or gives something else than true or false.
fn unfit(expr: &Expr) -> Option<String> {
    let asked = expr.fields_of("action");
    if let Some(unknown) = asked.iter().find(|field| !FIELDS.contains(&field.as_str())) {
        let known = FIELDS.join(", ");
        return Some(format!("an action has no `{unknown}`; it has {known}"));
    }
    // What a tool is given is not known here; everything else is of one type.
    let guesses = asked.contains("arguments");
    let (effects, command) = (Effects::default(), vec!["ls".to_owned()]);
    let action = Action {
        phase: Some("control".into()),
        step: Some(1),
        opaque: Some("it depends".to_owned()),
        agent_path: vec!["agent".into()],
        targets: vec!["a".to_owned()],
        command,
        ..Action::tool("tool", serde_json::json!({}), effects)
    };
    expr.holds(&[("action", &action.to_json())]).err().filter(|_| !guesses)
}
