//! What a call would do, as gates see it.

use serde_json::Value;
use signoff_core::policy::{Action, ActionKind, Part, see_through, split};
use signoff_core::{Effects, ToolSpec, text};

use crate::context::Context;

/// The arguments under which tools take a command: a line for a shell, or words.
const COMMANDS: [&str; 5] = ["argv", "command", "cmd", "script", "shell"];

impl Context {
    /// What is about to be done, and, where a tool runs commands, each program of them.
    pub(super) fn actions(
        &self,
        kind: ActionKind,
        spec: &ToolSpec,
        arguments: &Value,
    ) -> Vec<Action> {
        let book = &self.cell.engine.rules;
        let progress = self.progress();
        let mut call = Action {
            kind,
            phase: progress.phase.clone(),
            step: progress.step,
            agent_path: self.path(),
            implementation: implementation(spec),
            workflow: self.cell.definition.workflow.id.as_str().into(),
            ..Action::tool(spec.name.clone(), arguments.clone(), spec.effects)
        };
        if let Some(environment) = &book.environment {
            call.environment = environment.clone();
        }
        let mut actions = vec![call];
        if !spec.effects.execute {
            return actions;
        }
        for name in COMMANDS {
            let (parts, whole) = match &arguments[name] {
                Value::String(line) => (split(line), vec![line.clone()]),
                Value::Array(words) => {
                    let words: Vec<String> =
                        words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                    (see_through(&words), words)
                }
                _ => continue,
            };
            let call = actions[0].clone();
            match parts {
                Ok(parts) => {
                    actions.extend(parts.into_iter().map(|part| program(&call, part, None)));
                }
                // One that cannot be split is a single one that nobody can see through.
                Err(why) => {
                    let part = Part { words: whole, writes: Vec::new() };
                    actions.push(program(&call, part, Some(why)));
                }
            }
        }
        actions
    }
}

/// What a tool is, as far as it can be told from how it presents itself.
fn implementation(spec: &ToolSpec) -> String {
    let said = serde_json::json!({
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "effects": spec.effects.names(),
    });
    text::digest(&said.to_string(), 16)
}

fn program(call: &Action, part: Part, opaque: Option<String>) -> Action {
    let Part { words, writes } = part;
    Action {
        kind: ActionKind::Command,
        name: words.first().cloned().unwrap_or_default().into(),
        effects: Effects { execute: true, file_edit: !writes.is_empty(), ..Effects::default() },
        targets: writes,
        command: words,
        opaque,
        ..call.clone()
    }
}
