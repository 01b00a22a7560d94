//! The settings of the phases pattern: a plan is made, people agree, it is carried out step by step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Preset, Workflow};
use crate::steps::plan_schema;

/// What a controller says when a step is done.
pub const END: &str = "end";

/// The phases pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// When people are asked, by a common name. What is said beside it counts more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// How the plan is made.
    pub planning: Planning,
    /// How it is carried out.
    pub control: Control,
    /// How many tokens of what people said an agent is told, as far as they can be estimated. What does not fit is left
    /// out, the oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback_tokens: Option<u32>,
    /// The same in characters, as older files say it. `feedback_tokens` counts more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<u32>,
}

/// How a plan is made: improver, planner, reviewer, person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Planning {
    /// The agent that says the task more clearly. The task itself stays as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub improver: Option<String>,
    /// The agent that makes the plan.
    pub planner: String,
    /// The agent that looks at the plan before people do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// How often the reviewer may send a plan back.
    #[serde(default = "one")]
    pub review_rounds: u32,
    /// How many steps a plan may have.
    #[serde(default = "default_max_steps")]
    pub max_steps: u32,
    /// Whether a person is asked to agree to the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<bool>,
    /// How often a person may have the plan revised.
    #[serde(default = "three")]
    pub max_revisions: u32,
    /// What happens when a person wants one more.
    #[serde(default)]
    pub on_exhausted: OnExhausted,
}

/// How a plan is carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The agent that chooses who works on a step next. Without one, whoever the plan names does the step in one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// The agents that do the steps.
    pub workers: Vec<String>,
    /// When a person is asked about a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Whether a person is asked what to do about a step that failed. They are, unless `approval` is `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_on_error: Option<bool>,
    /// Whether a person is asked before each tool call that does more than look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_tools: Option<bool>,
    /// How often a person may have a step done again.
    #[serde(default = "two")]
    pub max_redos: u32,
    /// How often a step that fails is tried.
    #[serde(default = "three")]
    pub max_attempts: u32,
    /// How many turns a controller may give on one step.
    #[serde(default = "default_max_turns")]
    pub max_turns: u32,
    /// How often people may send the run back to planning.
    #[serde(default = "three")]
    pub max_replans: u32,
}

/// When a person is asked about a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Never.
    Never,
    /// Before it is done.
    BeforeStep,
    /// After it was done.
    AfterStep,
    /// Before and after.
    Both,
    /// Only when it failed.
    OnError,
    /// Where a gate says so, and when it failed.
    Conditional,
}

impl Approval {
    /// Whether a person is asked before a step.
    pub fn before(self) -> bool {
        matches!(self, Self::BeforeStep | Self::Both)
    }

    /// Whether a person is asked after a step.
    pub fn after(self) -> bool {
        matches!(self, Self::AfterStep | Self::Both)
    }
}

/// What happens when a plan has been revised as often as it may be, and a person wants one more revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The run fails.
    #[default]
    Fail,
    /// The plan shown last is carried out.
    TakeLast,
    /// It is asked once more, with nothing but approve, edit and reject.
    Escalate,
}

/// How many tokens of what people said an agent is told if the file does not say.
const FEEDBACK_TOKENS: u32 = 1_000;

impl Phases {
    /// How many tokens of what people said an agent is told.
    pub fn told_tokens(&self) -> u32 {
        self.feedback_tokens.or(self.feedback.map(|it| it.div_ceil(4))).unwrap_or(FEEDBACK_TOKENS)
    }

    /// The agents with a part of their own, by the key that names them.
    pub(super) fn parts(&self) -> Vec<(&'static str, &String)> {
        let planning = &self.planning;
        let parts = [
            ("planning/improver", planning.improver.as_ref()),
            ("planning/planner", Some(&planning.planner)),
            ("planning/reviewer", planning.reviewer.as_ref()),
            ("control/controller", self.control.controller.as_ref()),
        ];
        parts.into_iter().filter_map(|(key, agent)| Some((key, agent?))).collect()
    }

    /// All agents with a part, those that plan first.
    pub fn agents(&self) -> impl Iterator<Item = &String> {
        self.parts().into_iter().map(|(_, name)| name).chain(&self.control.workers)
    }

    /// What an agent must answer for its part, if that is fixed.
    pub(super) fn output(&self, agent: &str) -> Option<Value> {
        let (planning, control) = (&self.planning, &self.control);
        let is = |part: Option<&String>| part.is_some_and(|name| name == agent);
        if planning.planner == agent {
            Some(plan_schema(&control.workers, planning.max_steps))
        } else if is(planning.reviewer.as_ref()) {
            Some(json!({
                "type": "object",
                "required": ["approved", "comments"],
                "properties": {
                    "approved": { "type": "boolean" },
                    "comments": { "type": "string" },
                },
                "additionalProperties": false,
            }))
        } else if is(control.controller.as_ref()) {
            let next: Vec<&str> = control.workers.iter().map(String::as_str).chain([END]).collect();
            Some(json!({
                "type": "object",
                "required": ["next", "instruction"],
                "properties": {
                    "next": { "type": "string", "enum": next },
                    "instruction": { "type": "string" },
                },
                "additionalProperties": false,
            }))
        } else {
            None
        }
    }

    /// Whether what fails in `agent` is the business of the pattern, which tries again or asks.
    pub fn handles_errors_of(&self, agent: &str) -> bool {
        let control = &self.control;
        let works = control.workers.iter().chain(&control.controller).any(|name| name == agent);
        works || !self.asks().on_error
    }
}

impl Workflow {
    /// The settings of its phases, if that is its pattern.
    pub fn in_phases(&self) -> Option<&Phases> {
        self.phases.as_ref().filter(|_| self.pattern == super::Pattern::Phases)
    }
}

fn one() -> u32 {
    1
}

fn two() -> u32 {
    2
}

fn three() -> u32 {
    3
}

fn default_max_steps() -> u32 {
    10
}

fn default_max_turns() -> u32 {
    8
}
