//! Agents speak in turn: round and round, as a rule says, or as a moderator chooses.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::expr::Expr;
use signoff_core::journal::{ErrorInfo, Payload};
use signoff_core::workflow::GroupChat;

use super::{as_text, conversation};
use crate::context::Context;
use crate::executor::{BoxFuture, Executor};

pub(crate) struct GroupChatExecutor {
    settings: Arc<GroupChat>,
    until: Option<Arc<Expr>>,
    rule: Option<Arc<Expr>>,
}

impl GroupChatExecutor {
    pub(crate) fn new(
        settings: GroupChat,
        until: Option<Arc<Expr>>,
        rule: Option<Arc<Expr>>,
    ) -> Self {
        Self { settings: Arc::new(settings), until, rule }
    }
}

impl Executor for GroupChatExecutor {
    fn run(
        &self,
        ctx: Context,
        _message: Arc<Value>,
    ) -> BoxFuture<'static, Result<Payload, ErrorInfo>> {
        let settings = Arc::clone(&self.settings);
        let (until, rule) = (self.until.clone(), self.rule.clone());
        Box::pin(async move {
            let chat = Chat { ctx: &ctx, settings: &settings, until, rule };
            chat.go_on().await
        })
    }
}

struct Chat<'a> {
    ctx: &'a Context,
    settings: &'a GroupChat,
    until: Option<Arc<Expr>>,
    rule: Option<Arc<Expr>>,
}

/// The last thing said, and by whom.
struct Said {
    last: String,
    text: String,
    round: u32,
}

impl Chat<'_> {
    async fn go_on(&self) -> Result<Payload, ErrorInfo> {
        let mut said = Said { last: String::new(), text: String::new(), round: 1 };
        let ended_by = loop {
            if said.round > self.settings.max_rounds {
                break "limit";
            }
            let Some(speaker) = self.next_speaker(&said).await? else {
                break "speaker";
            };
            let key = format!("round{}", said.round);
            let output = self.ctx.invoke(&key, &speaker, json!({ "round": said.round })).await?;
            said.text = as_text(&output);
            said.last = speaker;
            if self.is_over(&said)? {
                break "condition";
            }
            said.round += 1;
        };
        if let Some(summarizer) = &self.settings.summarizer {
            let summary = self.ctx.invoke("summary", summarizer, Value::Null).await?;
            said.text = as_text(&summary);
        }
        Ok(Payload::value(json!({
            "answer": said.text,
            "ended_by": ended_by,
            "rounds": said.round.min(self.settings.max_rounds),
            "conversation": conversation(self.ctx),
        })))
    }

    async fn next_speaker(&self, said: &Said) -> Result<Option<String>, ErrorInfo> {
        let chosen = if let Some(moderator) = &self.settings.moderator {
            let key = format!("choice{}", said.round);
            let output = self.ctx.invoke(&key, moderator, Value::Null).await?;
            match output.get("next_speaker") {
                Some(name) => name.clone(),
                None => Value::String(as_text(&output).trim().to_owned()),
            }
        } else if let Some(rule) = &self.rule {
            self.eval(rule, said, Expr::eval)?
        } else {
            let agents = &self.settings.agents;
            let at = (said.round as usize - 1) % agents.len().max(1);
            return Ok(agents.get(at).cloned());
        };
        match chosen {
            Value::Null => Ok(None),
            Value::String(name) if name.is_empty() => Ok(None),
            Value::String(name) if self.settings.agents.contains(&name) => Ok(Some(name)),
            other => {
                let agents = self.settings.agents.join(", ");
                let message = format!("{other} cannot speak next; {agents} can, or null to end");
                Err(ErrorInfo::new("group_chat_speaker", message))
            }
        }
    }

    fn is_over(&self, said: &Said) -> Result<bool, ErrorInfo> {
        self.until.as_ref().map_or(Ok(false), |until| self.eval(until, said, Expr::holds))
    }

    fn eval<T>(
        &self,
        expr: &Expr,
        said: &Said,
        how: impl Fn(&Expr, &[(&str, &Value)]) -> Result<T, String>,
    ) -> Result<T, ErrorInfo> {
        let variables = [
            ("last", &json!(said.last)),
            ("text", &json!(said.text)),
            ("round", &json!(said.round)),
            ("agents", &json!(self.settings.agents)),
            ("input", &self.ctx.input()),
        ];
        how(expr, &variables).map_err(|problem| ErrorInfo::new("group_chat_rule", problem))
    }
}
