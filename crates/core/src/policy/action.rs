//! What is about to be done, as gates see it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::demand::Demand;
use crate::id::Name;
use crate::journal::Cost;
use crate::tool::Effects;

/// What kind of action it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// A tool is called.
    Tool,
    /// A program is run: one part of what a tool that runs commands was given.
    Command,
    /// An agent elsewhere is told something.
    Remote,
    /// An agent hands the conversation to another.
    Handoff,
    /// A plan is about to be carried out.
    Plan,
    /// A step of a plan is about to be done.
    StepBefore,
    /// A step of a plan was done.
    StepAfter,
}

impl ActionKind {
    /// The word used in conditions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Command => "command",
            Self::Remote => "remote",
            Self::Handoff => "handoff",
            Self::Plan => "plan",
            Self::StepBefore => "step_before",
            Self::StepAfter => "step_after",
        }
    }
}

/// What the run has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Tool calls.
    pub calls: u32,
    /// Tool calls that changed something.
    pub writes: u32,
    /// Calls of this tool with these arguments that failed.
    pub failures: u32,
    /// Times in a row that this tool was called with these arguments.
    pub repeats: u32,
    /// Actions in a row that people denied.
    pub denials: u32,
    /// How many of the last 50 that people were asked about they denied.
    #[serde(default)]
    pub recent_denials: u32,
    /// What asking models has cost.
    pub cost: Cost,
}

impl Counts {
    fn named(self, name: &str) -> Option<u32> {
        match name {
            "calls" => Some(self.calls),
            "writes" => Some(self.writes),
            "failures" => Some(self.failures),
            "repeats" => Some(self.repeats),
            "denials" => Some(self.denials),
            "recent_denials" => Some(self.recent_denials),
            _ => None,
        }
    }

    fn to_json(self) -> Value {
        json!({
            "calls": self.calls,
            "writes": self.writes,
            "failures": self.failures,
            "repeats": self.repeats,
            "denials": self.denials,
            "recent_denials": self.recent_denials,
            "cost": self.spent(),
        })
    }

    /// What asking models has cost, in whole units.
    #[allow(clippy::cast_precision_loss)] // money, in whole units
    pub(super) fn spent(self) -> f64 {
        self.cost.0 as f64 / 1e9
    }
}

/// Something that is about to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// What kind.
    pub kind: ActionKind,
    /// The tool, or the first word of a command, or who is handed to.
    pub name: Name,
    /// What the tool is, as a digest of how it presents itself: another one gets another.
    pub implementation: String,
    /// What it is given.
    pub arguments: Value,
    /// What it does to the world, as the tool declares.
    pub effects: Effects,
    /// Files, hosts and other things it is about, as far as the system can tell.
    pub targets: Vec<String>,
    /// The words of a command.
    pub command: Vec<String>,
    /// From the agent at the top down to the one that acts.
    pub agent_path: Vec<Name>,
    /// The phase of the run, where it has any.
    pub phase: Option<Name>,
    /// The step of its plan.
    pub step: Option<u32>,
    /// The workflow.
    pub workflow: Name,
    /// What the operator calls this place: `production`, `staging` …
    pub environment: Name,
    /// What the run has done so far.
    pub counts: Counts,
    /// Why it cannot be told what this does, if so.
    pub opaque: Option<String>,
}

impl Action {
    /// A call of a tool.
    pub fn tool(name: impl Into<Name>, arguments: Value, effects: Effects) -> Self {
        Self {
            kind: ActionKind::Tool,
            name: name.into(),
            implementation: String::new(),
            targets: targets(&arguments),
            arguments,
            effects,
            command: Vec::new(),
            agent_path: Vec::new(),
            phase: None,
            step: None,
            workflow: "".into(),
            environment: "local".into(),
            counts: Counts::default(),
            opaque: None,
        }
    }

    /// As conditions see it.
    pub fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.as_str(),
            "tool": self.name,
            "arguments": self.arguments,
            "effects": self.effects.names(),
            "targets": self.targets,
            "command": self.command,
            "agent": self.agent_path.last(),
            "agent_path": self.agent_path,
            "workflow": self.workflow,
            "phase": self.phase,
            "step": self.step,
            "environment": self.environment,
            "counts": self.counts.to_json(),
            "opaque": self.opaque,
        })
    }

    /// Whether this can hold. What cannot be told may.
    pub(crate) fn may_meet(&self, demand: &Demand) -> bool {
        match demand {
            Demand::Is(path, text) => self.text_at(path).is_none_or(|it| it == text),
            Demand::Begins(path, text) => self.text_at(path).is_none_or(|it| it.starts_with(text)),
            Demand::Ends(path, text) => self.text_at(path).is_none_or(|it| it.ends_with(text)),
            Demand::Has(path, text) => {
                match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                    ["effects"] => self.effects.names().contains(&text.as_str()),
                    ["targets"] => self.targets.contains(text),
                    ["command"] => self.command.contains(text),
                    ["agent_path"] => self.agent_path.iter().any(|agent| **agent == **text),
                    _ => true,
                }
            }
            Demand::Any(path, way, wanted) => match path.as_slice() {
                [list] if list == "targets" => self.targets.iter().any(|it| way.holds(it, wanted)),
                [list] if list == "command" => self.command.iter().any(|it| way.holds(it, wanted)),
                _ => true,
            },
            Demand::Above(path, bound) => match path.as_slice() {
                [counts, name] if counts == "counts" => {
                    self.counts.named(name).is_none_or(|count| i64::from(count) > *bound)
                }
                _ => true,
            },
        }
    }

    /// The whole number that conditions see at a path, if it is one.
    pub(super) fn number_at(&self, path: &[String]) -> Option<i64> {
        match path {
            [field] if field == "step" => self.step.map(i64::from),
            [counts, name] if counts == "counts" => self.counts.named(name).map(i64::from),
            [arguments, name] if arguments == "arguments" => self.arguments.get(name)?.as_i64(),
            _ => None,
        }
    }

    /// The text that conditions see at a path, if it is text.
    pub(super) fn text_at(&self, path: &[String]) -> Option<&str> {
        match path {
            [field] => match field.as_str() {
                "kind" => Some(self.kind.as_str()),
                "tool" => Some(&self.name),
                "agent" => self.agent_path.last().map(|agent| &**agent),
                "workflow" => Some(&self.workflow),
                "environment" => Some(&self.environment),
                "phase" => self.phase.as_deref(),
                _ => None,
            },
            [arguments, name] if arguments == "arguments" => self.arguments.get(name)?.as_str(),
            _ => None,
        }
    }

    /// An action as it was kept in a journal.
    pub fn from_json(kept: &Value) -> Option<Self> {
        let words = |name: &str| -> Vec<String> {
            let items = kept[name].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let text = |name: &str| kept[name].as_str().map(Name::from);
        let count = |name: &str| {
            u32::try_from(kept["counts"][name].as_u64().unwrap_or(0)).unwrap_or(u32::MAX)
        };
        Some(Self {
            kind: serde_json::from_value(kept["kind"].clone()).ok()?,
            name: text("tool")?,
            implementation: String::new(),
            arguments: kept["arguments"].clone(),
            effects: Effects::from_names(words("effects").iter().map(String::as_str)),
            targets: words("targets"),
            command: words("command"),
            agent_path: words("agent_path").into_iter().map(Name::from).collect(),
            workflow: text("workflow").unwrap_or_default(),
            phase: text("phase"),
            step: kept["step"].as_u64().and_then(|step| u32::try_from(step).ok()),
            environment: text("environment").unwrap_or_default(),
            counts: Counts {
                calls: count("calls"),
                writes: count("writes"),
                failures: count("failures"),
                repeats: count("repeats"),
                denials: count("denials"),
                recent_denials: count("recent_denials"),
                cost: Cost::default(),
            },
            opaque: kept["opaque"].as_str().map(str::to_owned),
        })
    }

    /// What an approval is bound to: what is done, with what, by whom, where. Not what the run did before.
    pub fn digest(&self) -> String {
        let mut bound = json!({
            "kind": self.kind.as_str(),
            "name": self.name,
            "implementation": self.implementation,
            "arguments": self.arguments,
            "command": self.command,
            "agent_path": self.agent_path,
            "environment": self.environment,
        });
        crate::schema::sort_keys(&mut bound);
        let digest = Sha256::digest(bound.to_string().as_bytes());
        let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
        digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

/// What conditions may ask of an action.
pub(crate) const FIELDS: [&str; 14] = [
    "kind",
    "tool",
    "arguments",
    "effects",
    "targets",
    "command",
    "agent",
    "agent_path",
    "workflow",
    "phase",
    "step",
    "environment",
    "counts",
    "opaque",
];

/// The names under which tools say what they are about.
const TARGETS: [&str; 12] = [
    "path",
    "file",
    "filename",
    "file_path",
    "directory",
    "url",
    "host",
    "to",
    "recipient",
    "target",
    "resource",
    "table",
];

/// What the arguments name, as far as their own names tell.
fn targets(arguments: &Value) -> Vec<String> {
    let Value::Object(fields) = arguments else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in fields {
        let plain = name.to_ascii_lowercase();
        if !TARGETS
            .iter()
            .any(|target| plain == *target || plain.strip_suffix('s') == Some(*target))
        {
            continue;
        }
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => {
                found.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_of_what_is_done() {
        let action = Action::tool("write", json!({ "path": "a", "text": "x" }), Effects::default());
        let same = Action::tool("write", json!({ "text": "x", "path": "a" }), Effects::default());
        assert_eq!(action.digest(), same.digest(), "the order of fields means nothing");
        let later = Action { counts: Counts { calls: 9, ..Counts::default() }, ..action.clone() };
        assert_eq!(action.digest(), later.digest());
        for other in [
            Action { name: "writes".into(), ..action.clone() },
            Action { arguments: json!({ "path": "a", "text": "y" }), ..action.clone() },
            Action { agent_path: vec!["eve".into()], ..action.clone() },
            Action { environment: "production".into(), ..action.clone() },
        ] {
            assert_ne!(action.digest(), other.digest(), "{other:?}");
        }
    }

    #[test]
    fn targets_are_found_by_name() {
        let found = targets(&json!({
            "path": "a.txt", "urls": ["http://x", 1], "text": "path", "Recipient": "bob", "n": 1,
        }));
        assert_eq!(found, ["a.txt", "http://x", "bob"]);
        assert!(targets(&json!("path")).is_empty());
    }
}
