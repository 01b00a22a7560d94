//! Agents hand the conversation to each other, and talk with a person in between.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::expr::Expr;
use signoff_core::journal::{ErrorInfo, Payload};
use signoff_core::request::RequestBody;
use signoff_core::state::Answer;
use signoff_core::workflow::Handoff;
use signoff_core::{Decision, DecisionKind, Message};

use super::conversation;
use crate::agent::HANDED_OVER;
use crate::context::Context;
use crate::executor::{BoxFuture, Executor};

pub(crate) struct HandoffExecutor {
    settings: Arc<Handoff>,
    until: Option<Arc<Expr>>,
}

impl HandoffExecutor {
    pub(crate) fn new(settings: Handoff, until: Option<Arc<Expr>>) -> Self {
        Self { settings: Arc::new(settings), until }
    }
}

impl Executor for HandoffExecutor {
    fn run(
        &self,
        ctx: Context,
        _message: Arc<Value>,
    ) -> BoxFuture<'static, Result<Payload, ErrorInfo>> {
        let (settings, until) = (Arc::clone(&self.settings), self.until.clone());
        Box::pin(async move {
            let start = settings.start.as_ref().or(settings.agents.first()).cloned();
            let start =
                start.ok_or_else(|| ErrorInfo::new("invalid_workflow", "there are no agents"))?;
            let talk = Talk {
                ctx: &ctx,
                settings: &settings,
                until: until.as_deref(),
                current: start.clone(),
                start,
                turns: 0,
                answers: 0,
                alone: 0,
            };
            talk.go_on().await
        })
    }
}

struct Talk<'a> {
    ctx: &'a Context,
    settings: &'a Handoff,
    until: Option<&'a Expr>,
    start: String,
    current: String,
    turns: u32,
    answers: u32,
    /// Turns the current agent has taken by itself.
    alone: u32,
}

impl Talk<'_> {
    async fn go_on(mut self) -> Result<Payload, ErrorInfo> {
        let mut text = String::new();
        while self.turns < self.settings.max_turns {
            self.turns += 1;
            let key = format!("turn{}", self.turns);
            let output =
                self.ctx.invoke(&key, &self.current, json!({ "turn": self.turns })).await?;
            if let Some(to) = output.get(HANDED_OVER).and_then(Value::as_str) {
                to.clone_into(&mut self.current);
                self.alone = 0;
                continue;
            }
            text = match &*output {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            if self.is_over(&text)? {
                return Ok(self.end("condition", &text));
            }
            if self.goes_on_alone() {
                self.alone += 1;
                let go_on = "Nobody is there to answer. Go on by yourself, or finish.";
                self.ctx.say(Message::user(go_on).by(self.ctx.executor().clone()));
                continue;
            }
            self.alone = 0;
            if !self.hear_the_person(&text).await? {
                return Ok(self.end("user", &text));
            }
        }
        Ok(self.end("limit", &text))
    }

    fn goes_on_alone(&self) -> bool {
        self.settings.autonomous.contains(&self.current)
            && self.alone < self.settings.autonomous_turns
    }

    fn is_over(&self, text: &str) -> Result<bool, ErrorInfo> {
        let Some(until) = self.until else {
            return Ok(false);
        };
        let variables = [
            ("agent", &json!(self.current)),
            ("text", &json!(text)),
            ("turns", &json!(self.turns)),
            ("answers", &json!(self.answers)),
            ("input", &self.ctx.input()),
        ];
        until.holds(&variables).map_err(|problem| ErrorInfo::new("handoff_until", problem))
    }

    /// Asks the person; false if they want to end it.
    async fn hear_the_person(&mut self, text: &str) -> Result<bool, ErrorInfo> {
        let mut path = self.ctx.path();
        path.pop();
        path.push(self.current.as_str().into());
        let body = RequestBody {
            agent_path: path,
            allowed: vec![DecisionKind::Respond, DecisionKind::Skip],
            reasons: vec![format!(
                "{} waits for an answer; skip ends the conversation",
                self.current
            )],
            ..RequestBody::input(text)
        };
        match self.ctx.ask(&format!("ask{}", self.turns), body).await? {
            Answer::Decided { decision: Decision::Respond { content }, by } => {
                self.answers += 1;
                let text = content.as_str().unwrap_or_default();
                self.ctx.say(Message::user(text).by(by.0));
                if !self.settings.return_to_last {
                    self.current.clone_from(&self.start);
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn end(&self, by: &str, text: &str) -> Payload {
        Payload::value(json!({
            "answer": text,
            "agent": self.current,
            "ended_by": by,
            "turns": self.turns,
            "conversation": conversation(self.ctx),
        }))
    }
}
