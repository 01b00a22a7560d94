//! An agent and people: its questions, what happens when nobody answers, and what happens when it
//! cannot go on.

use serde_json::{Value, json};
use signoff_core::journal::{ErrorInfo, Payload};
use signoff_core::message::ToolResult;
use signoff_core::request::RequestBody;
use signoff_core::state::Answer;
use signoff_core::{Actor, Decision, DecisionKind, Message, Part, RequestKind, Role, Unanswered};
use signoff_tools::UserInput;

use super::Turn;
use super::turn::Rescue;

impl Turn<'_> {
    /// Asks people. If nobody answers in time, it asks those it escalates to; then the default answer
    /// stands, where there is one that fits.
    pub(super) async fn ask(&self, key: &str, body: RequestBody) -> Result<Answer, ErrorInfo> {
        let people = &self.agent.people;
        let default = people.default_answer.as_ref();
        let default = default.map(|content| Decision::Respond { content: content.clone() });
        let default = default.filter(|decision| body.check(decision).is_ok());
        let finally = if default.is_some() { Unanswered::Default } else { Unanswered::Continue };
        let then = if people.escalate_to.is_some() { Unanswered::Escalate } else { finally };
        let mut answer = self.ask_within(key, body.clone(), then).await?;
        if answer == Answer::Expired
            && let Some(who) = &people.escalate_to
        {
            let mut again = body;
            again.who = Some(who.clone());
            again.reasons.push("nobody answered the first time".to_owned());
            answer = self.ask_within(&format!("{key}^"), again, finally).await?;
        }
        Ok(match (answer, default) {
            (Answer::Expired, Some(decision)) => {
                Answer::Decided { decision, by: Actor::new("default") }
            }
            (answer, _) => answer,
        })
    }

    async fn ask_within(
        &self,
        key: &str,
        mut body: RequestBody,
        then: Unanswered,
    ) -> Result<Answer, ErrorInfo> {
        if let Some(within) = self.agent.people.within {
            let asked_at = self.ctx.now(&format!("{key}@")).await?;
            body.due(asked_at.plus(within), then);
        }
        self.ctx.ask(key, body).await
    }

    /// Shows an answer to a person. If they have something to say, it is said, and the agent goes on.
    pub(super) async fn wants_more(&mut self, key: &str, text: &str) -> Result<bool, ErrorInfo> {
        if self.asked >= self.agent.people.follow_ups {
            return Ok(false);
        }
        self.asked += 1;
        let body = RequestBody {
            context: json!({ "answer": text }),
            allowed: vec![DecisionKind::Approve, DecisionKind::Respond],
            reasons: vec![format!("{} shows every answer to a person", self.agent.title)],
            ..RequestBody::input(format!(
                "{} has answered. Approve it, or say what should be different.",
                self.agent.title
            ))
        };
        match self.ask_within(&format!("{key}+"), body, Unanswered::Approve).await? {
            Answer::Decided { decision: Decision::Respond { content }, by } => {
                let text = content.as_str().unwrap_or_default();
                self.ctx.say(Message::user(text).by(by.0));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Puts a failure to a person: try again, give the answer, or abort.
    pub(super) async fn rescue(
        &mut self,
        key: &str,
        error: ErrorInfo,
    ) -> Result<Rescue, ErrorInfo> {
        if !self.agent.people.rescue {
            return Err(error);
        }
        let response_schema = match &self.agent.output {
            Some((schema, _)) => Value::clone(schema),
            None => json!({ "type": "string", "minLength": 1 }),
        };
        let body = RequestBody {
            kind: RequestKind::StepError,
            context: json!({ "error": error }),
            response_schema,
            allowed: vec![DecisionKind::Retry, DecisionKind::Respond, DecisionKind::Abort],
            reasons: vec![error.message.clone()],
            ..RequestBody::input(format!(
                "{} could not finish its turn. Let it try again, answer in its place, or abort?",
                self.agent.title
            ))
        };
        match self.ask_within(&format!("{key}!"), body, Unanswered::Fail).await? {
            Answer::Decided { decision: Decision::Respond { content }, .. } => {
                let text = match &content {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                self.unfinished.push(Part::Text(text));
                let message = self.close();
                self.ctx.say(message);
                Ok(Rescue::Give(Payload::value(content)))
            }
            Answer::Decided { .. } => Ok(Rescue::Retry),
            Answer::Expired | Answer::Withdrawn => Err(error),
        }
    }
}

/// What the asking agent is told.
pub(super) fn answer_message(id: String, question: &UserInput, answer: Answer) -> Message {
    let (author, content, is_error) = match answer {
        Answer::Decided { decision, by } => (Some(by.0), question.result(&decision), false),
        Answer::Expired | Answer::Withdrawn => {
            (None, json!({ "error": "nobody answered in time" }), true)
        }
    };
    let result = ToolResult { id, content, is_error };
    Message { role: Role::Tool, author, parts: vec![Part::ToolResult(result)] }
}
