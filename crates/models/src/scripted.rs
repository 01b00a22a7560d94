//! A model whose replies are written down: the same request always gets the same reply.
//!
//! A [`Scripted`] provider keeps no state. Everything a reply depends on is read from the request (who
//! asks, for the how-manieth time, what was said, which tools gave what), so that a replay, a second
//! process and a fork of a run get the same replies.
//!
//! A script is a list of rules, or an object with `rules` and some more:
//!
//! ```yaml
//! from: "^Today's date is"          # the conversation is read from the last message like this one on
//! chunk: 40                         # texts are streamed in pieces of 40 characters
//! let:                              # values for conditions and templates, worked out in this order
//!   guests: { find: '(\d+) (?:people|guests)', in: input, as: number, default: 20 }
//!   total: "{{ guests * 40 }}"
//! rules:                            # the first rule that fits replies
//!   - agent: venue                  # this agent, or one of a list
//!     turn: 1                       # its first model call in the run
//!     call: [{ tool: web_search, arguments: { query: "venues for {{ guests }} people" } }]
//!   - agent: venue
//!     last: "no results"            # found in the last message, tool results included
//!     text: I found nothing for {{ guests }} guests.
//!   - agent: venue
//!     if: "'venue' in answers_by_agent"
//!     json: { summary: "{{ answers_by_agent.venue.answer }} it is.", next_agent: budget }
//! ```
//!
//! **Conditions**, all of which must hold: `agent`, `turn` (from 1), `messages` (how many the model
//! sees), `id` / `input` / `last` / `when` (a pattern found in the id of the message that started the run, where a
//! client gave it one / the first user message / the last message / the whole conversation), `unless` (a pattern found nowhere), `if` (an expression). Patterns ignore case;
//! named groups are kept in `captures`.
//!
//! **Replies**: `text`, or `json` (made into text), or `call` (a list of tool calls), or `text` with `call`,
//! or `fail: { code, message, retryable }`. `delay: 50ms` waits first, `chunk: N` streams the text in
//! pieces of N characters, `pace: 5ms` waits between pieces.
//!
//! **Templates** are Jinja. A string that is exactly one `{{ expression }}` keeps the type of its value.
//! Using something undefined is an error. Variables: `agent`, `turn`, `messages`, `id`, `input`, `last`, `text`,
//! `captures`, `called` (tools this agent has called), `answers` (what people answered, in order: `agent`,
//! `prompt`, `result`), `answers_by_agent` and `outputs` (the last answer to, and the last JSON object
//! from, each agent), `results` (the last result of each tool), `results_by_agent`, and whatever `let` says.
//! A failed tool's result is `{error: …}`. Besides Jinja's own filters: `thousands`, and for dates
//! `plus_days(n)`, `on_or_after(weekday)`, `long_date` and the test `is date`.

mod dates;
mod file;
mod rule;
mod template;
#[cfg(test)]
mod tests;
mod view;

use std::sync::Arc;

use serde_json::Value;
use signoff_core::journal::ErrorInfo;
use signoff_core::message::ToolCall;
use signoff_core::{Name, Part, Span};

use crate::provider::{
    BoxFuture, Delta, ModelError, ModelIdentity, ModelReply, ModelRequest, Provider, Usage,
};
use rule::{Binding, Reply, Rule};
use template::{Scope, Templates};
use view::View;

/// What is wrong with a script, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ScriptError {
    /// The place in the script, `rules[3].when`.
    pub path: String,
    /// What is wrong there.
    pub problem: String,
}

impl ScriptError {
    fn new(path: impl Into<String>, problem: impl std::fmt::Display) -> Self {
        Self { path: path.into(), problem: problem.to_string() }
    }
}

/// A model whose replies are written down.
#[derive(Debug)]
pub struct Scripted {
    templates: Templates,
    from: Option<regex::Regex>,
    bindings: Vec<(Arc<str>, Binding)>,
    rules: Vec<Rule>,
}

impl Scripted {
    /// Reads a script. See the documentation of scripted models for the format.
    pub fn from_value(script: Value) -> Result<Self, ScriptError> {
        file::read(script)
    }

    /// The reply to `request`, and how it is to be streamed.
    fn reply(&self, request: &ModelRequest) -> Result<(ModelReply, Manner), ModelError> {
        let view = View::of(request, self.from.as_ref());
        let mut scope = view.scope(request);
        for (name, binding) in &self.bindings {
            let value =
                binding.value(&self.templates, &scope).map_err(|error| in_script(&error))?;
            scope.set(name, &value);
        }
        for rule in &self.rules {
            let fits = rule.fits(request, &view, &self.templates, &mut scope);
            if fits.map_err(|error| in_script(&error))? {
                let manner = rule.manner;
                return self
                    .perform(&rule.reply, request, &view, &scope)
                    .map(|reply| (reply, manner));
            }
        }
        Err(no_match(request, &view))
    }

    fn perform(
        &self,
        reply: &Reply,
        request: &ModelRequest,
        view: &View,
        scope: &Scope,
    ) -> Result<ModelReply, ModelError> {
        let render =
            |template| self.templates.render(template, scope).map_err(|error| in_script(&error));
        let mut parts = Vec::new();
        match reply {
            Reply::Fail { info, retryable } => {
                return Err(ModelError { retryable: *retryable, ..ModelError::new(info.clone()) });
            }
            Reply::Json(json) => parts.push(Part::Text(render(json)?.to_string())),
            Reply::Say { text, calls } => {
                if let Some(text) = text {
                    parts.push(Part::Text(template::plain(&render(text)?)));
                }
                for (index, (tool, arguments)) in calls.iter().enumerate() {
                    parts.push(Part::ToolCall(ToolCall {
                        id: format!("{}_{}_{}", request.agent, view.turn, index + 1),
                        name: Name::clone(tool),
                        arguments: render(arguments)?,
                    }));
                }
            }
        }
        let written: usize = parts.iter().map(|part| view::part_text(part).len()).sum();
        Ok(ModelReply {
            parts,
            usage: usage(request.instructions.len() + view.text.len(), written),
            by: None,
        })
    }
}

/// How a reply is given: after which wait, in pieces of how many characters, with which wait between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Manner {
    delay: Option<Span>,
    chunk: Option<usize>,
    pace: Option<Span>,
}

impl Provider for Scripted {
    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let (reply, manner) = self.reply(request)?;
            pause(manner.delay).await;
            for part in &reply.parts {
                let Part::Text(text) = part else { continue };
                for (index, piece) in pieces(text, manner.chunk).into_iter().enumerate() {
                    if index > 0 {
                        pause(manner.pace).await;
                    }
                    sink(Delta::Text(piece.to_owned()));
                }
            }
            Ok(reply)
        })
    }

    fn identity(&self) -> Option<ModelIdentity> {
        Some(ModelIdentity { provider: "scripted", model: None, server: None })
    }
}

async fn pause(span: Option<Span>) {
    if let Some(span) = span {
        tokio::time::sleep(span.to_std()).await;
    }
}

/// `text` in pieces of `size` characters.
fn pieces(text: &str, size: Option<usize>) -> Vec<&str> {
    let Some(size) = size else {
        return if text.is_empty() { Vec::new() } else { vec![text] };
    };
    let mut starts: Vec<usize> =
        text.char_indices().step_by(size.max(1)).map(|(at, _)| at).collect();
    starts.push(text.len());
    starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

/// An estimate that is at least always the same: four bytes to a token.
fn usage(read: usize, written: usize) -> Usage {
    let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
    Usage { input: tokens(read), output: tokens(written), ..Usage::default() }
}

fn in_script(error: &ScriptError) -> ModelError {
    ModelError::new(ErrorInfo::new("script_template", error.to_string()))
}

fn no_match(request: &ModelRequest, view: &View) -> ModelError {
    let last: String = view.last.chars().take(200).collect();
    let info = ErrorInfo::new(
        "script_no_match",
        format!(
            "the script has no rule for call {} of agent `{}` ({} messages, the last: {last:?})",
            view.turn, request.agent, view.messages
        ),
    );
    let hint = format!(
        "add a rule with `agent: {}` and no other condition at the end of the script",
        request.agent
    );
    ModelError::new(info.hint(hint))
}
