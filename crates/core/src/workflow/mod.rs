//! Workflow definitions: what a file says, after it was read and checked.
//!
//! A definition is self-contained (prompt files are read in, sub-workflows pinned by hash), so that
//! its content hash stands for everything a run on it will do.

mod alone;
mod bundle;
mod compile;
mod costs;
mod diagnostic;
mod files;
mod hash;
mod parse;
mod patterns;
mod phases;
mod policy;
mod presets;
mod publish;
mod read;
mod scalar;
mod structure;
mod tree;
mod types;
mod validate;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use bundle::link;
pub use compile::{CHAT_VARIABLES, EDGE_VARIABLES, HANDOFF_VARIABLES, TRANSFORM_VARIABLES};
pub use costs::{Amount, Cost, cost_in_words};
pub use diagnostic::Diagnostic;
pub use files::{FileSource, MAX_PROMPT_BYTES, MapFiles, NoFiles};
pub use parse::{Parsed, text_of, yaml};
pub use patterns::{Concurrent, Coordinator, GroupChat, Handoff, Require, Sequential};
pub use phases::{Approval, Control, END, OnExhausted, Phases, Planning};
pub use policy::policy_schema;
pub use presets::{Asks, Preset};
pub use publish::{SCHEMA_ID, json_schema};
pub use tree::{MAX_DEPTH, MAX_FILE_BYTES, MAX_NODES, Position, Tree};
pub use validate::Known;

use crate::deciders::Who;
use crate::id::Name;
use crate::policy::{GateFile, Smart};
use crate::request::{RequestKind, Risk};
use crate::time::Span;

/// What a workflow, an agent, an executor, a type or a tool may be called.
pub(crate) const NAME_PATTERN: &str = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$";

/// A workflow definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// The workflow's id: letters, digits, `_` and `-`.
    #[serde(rename = "workflow")]
    #[schemars(regex(pattern = NAME_PATTERN))]
    pub id: String,
    /// What it does, for people who choose among workflows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The model alias its agents use unless they name their own.
    #[serde(default = "default_model")]
    pub model: String,
    /// JSON Schema of the start input. Text, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Inputs to try it with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Value>,
    /// JSON Schemas by name, for `$ref: "#/types/NAME"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, Value>,
    /// The agents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Agent>,
    /// Tools with canned replies, for demonstrations and tests without a network.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, CannedTool>,
    /// What calling a tool costs, by its name: people are shown it before they agree.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<String, Cost>,
    /// How the agents work together.
    pub pattern: Pattern,
    /// For `pattern: coordinator`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<Coordinator>,
    /// For `pattern: sequential`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<Sequential>,
    /// For `pattern: concurrent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<Concurrent>,
    /// For `pattern: handoff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// For `pattern: group_chat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_chat: Option<GroupChat>,
    /// For `pattern: phases`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// For `pattern: graph`: the executors. Every agent is one by its own name already.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub executors: BTreeMap<String, ExecutorFile>,
    /// For `pattern: graph`: the ways between executors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<EdgeFile>,
    /// For `pattern: graph`: the executor that gets the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Which tool calls need a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateFile>,
    /// When gates that are `smart` ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smart: Option<Smart>,
    /// Bounds on a run.
    #[serde(default, skip_serializing_if = "Limits::is_default")]
    pub limits: Limits,
    /// The workflows it uses, by id, with the content hash of each. Filled in when it is loaded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(skip)]
    pub uses: BTreeMap<String, String>,
}

fn default_model() -> String {
    "default".to_owned()
}

/// How agents work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// A coordinator sends the work round its specialists and puts the result together.
    Coordinator,
    /// One agent after another.
    Sequential,
    /// All agents at once, then an aggregator.
    Concurrent,
    /// Agents hand the conversation to each other, and talk with a person.
    Handoff,
    /// Agents speak in turn, as somebody or a rule chooses.
    GroupChat,
    /// A plan is made, people agree, it is carried out step by step.
    Phases,
    /// Executors and edges as listed.
    Graph,
}

impl Pattern {
    /// The word used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Coordinator => "coordinator",
            Self::Sequential => "sequential",
            Self::Concurrent => "concurrent",
            Self::Handoff => "handoff",
            Self::GroupChat => "group_chat",
            Self::Phases => "phases",
            Self::Graph => "graph",
        }
    }
}

/// An agent: a model with instructions, or one that runs elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [{ "required": ["instructions"] }, { "required": ["remote"] }]))]
pub struct Agent {
    /// What people call it. Its id, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is told to be and do: text, or the name of a `.md` or `.txt` file beside this one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// In place of instructions: an agent that runs elsewhere, by the name the configuration gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The tools it may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// JSON Schema of its final answer. Bad output gets one repair turn. Free text, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// A model alias of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long its questions to people wait for an answer. For ever, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within: Option<Span>,
    /// What an agent's question is answered with when nobody does in time. It is told that nobody
    /// answered, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_answer: Option<Value>,
    /// Whom its question goes to, for as long again, when nobody answers in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalate_to: Option<String>,
    /// Whether it may talk to people.
    #[serde(default, skip_serializing_if = "HumanInput::is_default")]
    pub human_input: HumanInput,
    /// How many questions it may ask people in one turn.
    #[serde(default = "default_follow_ups", skip_serializing_if = "is_default_follow_ups")]
    pub follow_ups: u32,
    /// How many tokens of conversation it is given, as far as they can be estimated. What does not fit
    /// is left out: the first message of a person and the newest messages stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// How many model calls one turn may take.
    #[serde(default = "default_max_steps")]
    pub max_steps: u32,
}

/// Whether an agent talks to people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HumanInput {
    /// Never: it is not offered the tool for it.
    Never,
    /// When it calls `request_user_input`, if it has that tool.
    #[default]
    OnDemand,
    /// A person is asked after each of its answers, and may send it back to work.
    Always,
}

impl HumanInput {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn default_follow_ups() -> u32 {
    8
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_default_follow_ups(n: &u32) -> bool {
    *n == default_follow_ups()
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            name: None,
            instructions: String::new(),
            remote: None,
            tools: Vec::new(),
            output: None,
            model: None,
            answer_within: None,
            default_answer: None,
            escalate_to: None,
            human_input: HumanInput::default(),
            follow_ups: default_follow_ups(),
            context_tokens: None,
            max_steps: default_max_steps(),
        }
    }
}

fn default_max_steps() -> u32 {
    16
}

/// A tool whose replies are written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CannedTool {
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The first whose pattern is found in the arguments (as JSON text, without regard to case) replies.
    pub replies: Vec<CannedReply>,
}

/// One reply of a canned tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CannedReply {
    /// A regular expression; matches anything, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// What the tool gives back.
    pub reply: Value,
}

/// An executor of a graph: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorFile {
    /// An agent takes a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A function registered with the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// A CEL expression over `output` (the message it got) and `input` (the run's input).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<String>,
    /// A person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskFile>,
    /// A person is asked what the message says: the question itself is the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_given: Option<AskGivenFile>,
    /// Another workflow, by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
}

/// A question asked by the workflow itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskFile {
    /// The question.
    pub prompt: String,
    /// What kind of question: input, selection or approval.
    #[serde(default = "default_ask_kind")]
    pub kind: RequestKind,
    /// The answers of a selection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// How much can go wrong: low, medium, high or critical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// How long it waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
}

/// A question that comes with the message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskGivenFile {
    /// How long it waits for an answer, if the message does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
    /// Who may decide, besides what the message says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<Who>,
}

fn default_ask_kind() -> RequestKind {
    RequestKind::Input
}

/// A way between executors: `from` and `to`, or `from` and `switch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeFile {
    /// Where it starts. A list waits for all of them (fan-in).
    pub from: OneOrMany,
    /// Where it leads. A list goes to all of them (fan-out).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<OneOrMany>,
    /// A CEL condition over `output` (what `from` gave), `input` (the run's) and `visits` (by executor).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The first case that holds is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switch: Vec<CaseFile>,
    /// How often it may be taken in one run. Every loop needs one such bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

/// A case of a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// A CEL condition; the last case may do without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Where it leads.
    pub to: String,
}

/// One name, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// The names.
    pub fn names(&self) -> Vec<Name> {
        match self {
            Self::One(name) => vec![name.as_str().into()],
            Self::Many(names) => names.iter().map(|name| name.as_str().into()).collect(),
        }
    }
}

/// Bounds on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// How many model calls a run may make.
    pub model_calls: u32,
    /// How many activations a run may open.
    pub activations: u32,
    /// How long a run may take, waiting included. No limit, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Span>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { model_calls: 1_000, activations: 100_000, wall: None }
    }
}

impl Limits {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
