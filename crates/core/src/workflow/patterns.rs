//! The settings of the patterns by which agents work together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The coordinator pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coordinator {
    /// The agent that puts the result together.
    pub agent: String,
    /// The agents that do the work. Their output must have a `next_agent` that may be null.
    pub specialists: Vec<String>,
    /// Who begins. The first specialist, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Whether every specialist must have been heard before the result is put together.
    #[serde(default)]
    pub require: Require,
    /// How often one specialist may be visited.
    #[serde(default = "default_max_visits")]
    pub max_visits: u32,
}

fn default_max_visits() -> u32 {
    3
}

/// Which specialists must have been heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Require {
    /// All of them.
    #[default]
    All,
    /// Whoever was visited.
    Any,
}

/// The sequential pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sequential {
    /// The agents, in order.
    pub agents: Vec<String>,
}

/// The concurrent pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Concurrent {
    /// The agents that work at the same time.
    pub agents: Vec<String>,
    /// The agent that makes one answer of theirs. Without one the run gives all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregator: Option<String>,
}

/// The handoff pattern: one agent has the conversation; it hands it to another by a tool call, or says
/// something to the person, who answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handoff {
    /// The agents.
    pub agents: Vec<String>,
    /// Who begins. The first agent, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Who may hand to whom. Everybody to everybody, if not given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handoffs: BTreeMap<String, Vec<String>>,
    /// Whether a person's answer goes to the agent who spoke last, and not back to the one who begins.
    #[serde(default = "yes")]
    pub return_to_last: bool,
    /// Agents that go on by themselves instead of waiting for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub autonomous: Vec<String>,
    /// How many turns an autonomous agent takes in a row before a person is asked after all.
    #[serde(default = "default_autonomous_turns")]
    pub autonomous_turns: u32,
    /// How many turns the agents may take together.
    #[serde(default = "default_max_turns")]
    pub max_turns: u32,
    /// A CEL condition, looked at after each turn that is not a handoff: over `agent`, `text` (what it
    /// said), `turns`, `answers` (how often a person answered) and `input`. The run ends when it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

fn yes() -> bool {
    true
}

fn default_autonomous_turns() -> u32 {
    5
}

fn default_max_turns() -> u32 {
    50
}

/// The group chat pattern: agents speak in turn. Without `moderator` and `rule` they go round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupChat {
    /// The agents.
    pub agents: Vec<String>,
    /// An agent that chooses who speaks next: its output must have a `next_speaker` that may be null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moderator: Option<String>,
    /// A CEL expression that gives the name of the next speaker, or null to end: over `last` (who
    /// spoke), `text` (what was said), `round` (from 1), `agents` and `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How many times somebody may speak.
    #[serde(default = "default_max_rounds")]
    pub max_rounds: u32,
    /// A CEL condition over `last`, `text`, `round`, `agents` and `input`. The chat ends when it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// An agent that makes one answer of the chat. The last thing said, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<String>,
}

fn default_max_rounds() -> u32 {
    12
}
