//! A gate as it is written, and as it is judged by.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Checkpoint;
use crate::expr::Expr;
use crate::request::Risk;
use crate::time::Span;

/// The variables a condition may use.
pub(crate) const VARIABLES: &[&str] = &["action"];
/// The most people who must agree.
const MAX_COUNT: u8 = 20;

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

/// Who may decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Who {
    /// These users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// Users with one of these roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// How many of them must agree.
    #[serde(default = "one")]
    pub count: u8,
    /// Whether one who denies decides for all.
    #[serde(default = "yes")]
    pub veto: bool,
    /// Whether whoever started the run may not.
    #[serde(default)]
    pub not_initiator: bool,
}

fn one() -> u8 {
    1
}

fn yes() -> bool {
    true
}

impl Default for Who {
    fn default() -> Self {
        Self { users: Vec::new(), roles: Vec::new(), count: 1, veto: true, not_initiator: false }
    }
}

/// A gate as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Who is asked then, with `on_timeout: escalate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalate_to: Option<Who>,
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
        for (key, who) in [("who", &file.who), ("escalate_to", &file.escalate_to)] {
            if who.as_ref().is_some_and(|who| !(1..=MAX_COUNT).contains(&who.count)) {
                wrong(key, format!("`count` is a number from 1 to {MAX_COUNT}"));
            }
            let named = who.as_ref().filter(|who| who.roles.is_empty() && !who.users.is_empty());
            if named.is_some_and(|who| usize::from(who.count) > who.users.len()) {
                wrong(key, "more must agree than are named".to_owned());
            }
        }
        let timed_out = file.on_timeout != OnTimeout::Deny;
        if timed_out && file.within.is_none() {
            wrong("on_timeout", "it needs `within`".to_owned());
        }
        if (file.on_timeout == OnTimeout::Escalate) != file.escalate_to.is_some() {
            wrong("escalate_to", "it goes with `on_timeout: escalate`".to_owned());
        }
        if file.on_timeout == OnTimeout::Approve && file.risk.is_none_or(|risk| risk > Risk::Low) {
            wrong("on_timeout", "only what has `risk: low` is done when nobody answers".to_owned());
        }
        match about {
            Some(about) if problems.is_empty() => Ok(Self { file, about }),
            _ => Err(problems),
        }
    }
}
