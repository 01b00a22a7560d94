//! One turn of an agent, step by step.

use std::sync::Arc;

use serde_json::json;
use signoff_core::journal::{ErrorInfo, Payload, Reply};
use signoff_core::message::ToolCall;
use signoff_core::workflow::HumanInput;
use signoff_core::{Message, Name, Part, Role};
use signoff_models::{Budget, ModelRequest, trim};
use signoff_tools::Tool;

use super::spec::{AgentSpec, Here, Work};
use crate::context::{Context, Effect, View};
use crate::output;

/// One agent's turn.
pub(crate) struct Turn<'a> {
    pub(super) ctx: &'a Context,
    pub(super) agent: &'a AgentSpec,
    view: View,
    /// The message being made: references to what the model said and the tools gave.
    pub(super) unfinished: Vec<Part>,
    /// A bad answer and what is wrong with it, to be shown once.
    pub(super) repair: Option<(Arc<Reply>, String)>,
    /// The tools that the agent's sources have now.
    pub(super) offered: Vec<Arc<dyn Tool>>,
    /// How many questions people were asked in this turn.
    pub(super) asked: u32,
    /// Whether it was told that it may ask no more.
    pub(super) refused: bool,
    /// How often a task elsewhere was begun again.
    pub(super) begun_again: u32,
}

/// How a turn ended.
pub(crate) enum TurnEnd {
    /// With an answer, by reference to the message that holds it.
    Answer(Payload),
    /// The conversation goes to another agent.
    Handoff(Name),
}

/// What to do after something went wrong.
pub(super) enum Rescue {
    Retry,
    Give(Payload),
}

impl<'a> Turn<'a> {
    pub(crate) fn new(ctx: &'a Context, agent: &'a AgentSpec, view: View) -> Self {
        Self {
            ctx,
            agent,
            view,
            unfinished: Vec::new(),
            repair: None,
            offered: Vec::new(),
            asked: 0,
            refused: false,
            begun_again: 0,
        }
    }

    /// Takes the turn.
    pub(crate) async fn take(self) -> Result<TurnEnd, ErrorInfo> {
        let agent = self.agent;
        match &agent.work {
            Work::Here(here) => self.take_here(here).await,
            Work::Elsewhere(remote) => self.take_elsewhere(remote).await.map(TurnEnd::Answer),
        }
    }

    async fn take_here(mut self, here: &Here) -> Result<TurnEnd, ErrorInfo> {
        let mut repaired = false;
        for step in 1..=here.max_steps {
            let key = format!("m{step}");
            self.look_at_sources(here).await;
            let messages = self.messages_that_fit(&key, here).await?;
            let sent = self.ctx.sent();
            let asked = self
                .ctx
                .model(&key, &here.provider, |turn| ModelRequest {
                    sent,
                    ..self.agent.request(here, turn, messages, &self.offered)
                })
                .await;
            let reply = match asked {
                Ok(reply) => reply,
                Err(error) => match self.rescue(&key, error).await? {
                    Rescue::Retry => continue,
                    Rescue::Give(payload) => return Ok(TurnEnd::Answer(payload)),
                },
            };
            let calls: Vec<&ToolCall> = reply.parts.iter().filter_map(as_call).collect();
            if !calls.is_empty() {
                self.repair = None;
                self.unfinished.push(Part::Effect(key.as_str().into()));
                if let Some(to) = self.perform(here, &key, &calls).await? {
                    return Ok(TurnEnd::Handoff(to));
                }
                continue;
            }
            let text = reply.parts.iter().rev().find_map(as_text);
            let problem = match output::check(text, self.agent.output.as_ref().map(|(_, v)| v)) {
                Ok(answer) => {
                    let payload = self.finish(&key, answer);
                    if self.agent.people.input == HumanInput::Always
                        && self.wants_more(&key, text.unwrap_or_default()).await?
                    {
                        continue;
                    }
                    return Ok(TurnEnd::Answer(payload));
                }
                Err(problem) => problem,
            };
            if repaired {
                let message = format!("{}'s answer does not fit: {problem}", self.agent.title);
                match self.rescue(&key, ErrorInfo::new("output_invalid", message)).await? {
                    Rescue::Retry => {}
                    Rescue::Give(payload) => return Ok(TurnEnd::Answer(payload)),
                }
            }
            repaired = true;
            self.repair = Some((reply, problem));
        }
        let (title, steps) = (&self.agent.title, here.max_steps);
        let message = format!("{title} took {steps} steps without a final answer");
        Err(ErrorInfo::new("limit_steps", message)
            .hint("raise max_steps of this agent, or make its instructions clearer"))
    }

    /// The conversation, the turn so far, and what must be repaired.
    pub(super) fn messages(&self) -> Vec<Arc<Message>> {
        let conversation = self.ctx.conversation(self.view);
        let mut messages: Vec<Arc<Message>> =
            conversation.iter().filter_map(Message::without_handoffs).collect();
        if !self.unfinished.is_empty() {
            messages.push(Arc::new(self.ctx.spelled_out(&self.message(self.unfinished.clone()))));
        }
        if let Some((reply, problem)) = &self.repair {
            messages.push(Arc::new(self.message(reply.parts.clone())));
            let wanted = match &self.agent.output {
                Some(_) => "Reply again with nothing but JSON that fits the output schema.",
                None => "Reply again with your final answer.",
            };
            let text = format!("That cannot be used: {problem}. {wanted}");
            messages.push(Arc::new(Message::user(text)));
        }
        messages
    }

    /// The messages, as far as the agent's budget goes. What is left out is a decision of its own in
    /// the journal, before the model is asked.
    async fn messages_that_fit(
        &self,
        key: &str,
        here: &Here,
    ) -> Result<Vec<Arc<Message>>, ErrorInfo> {
        let Some(tokens) = here.context_tokens.filter(|_| !self.ctx.is_done(key)) else {
            return Ok(self.messages());
        };
        let request = self.agent.request(here, 0, self.messages(), &self.offered);
        let budget = Budget::tokens(tokens as usize).for_messages_of(&request);
        let (kept, omitted) = trim(&request.messages, budget);
        if let Some(omitted) = omitted {
            let decision = json!({
                "left_out": { "from": omitted.from, "to": omitted.to },
                "reason": omitted.reason,
            });
            let note = format!("{key}#budget");
            self.ctx.effect(&note, Effect::repeatable(), |_| async { Ok(decision) }).await?;
        }
        Ok(kept)
    }

    fn message(&self, parts: Vec<Part>) -> Message {
        Message { role: Role::Assistant, author: Some(self.agent.id.clone()), parts }
    }

    /// The message made so far; the next one begins empty.
    pub(super) fn close(&mut self) -> Message {
        let parts = std::mem::take(&mut self.unfinished);
        self.message(parts)
    }

    pub(super) fn finish(&mut self, key: &str, answer: output::Answer) -> Payload {
        self.repair = None;
        self.unfinished.push(Part::Effect(key.into()));
        let message = self.close();
        let number = self.ctx.say_as(message);
        match answer {
            output::Answer::Text => Payload::Text(number),
            output::Answer::Json => Payload::Json(number),
            output::Answer::Picked(value) => Payload::value(value),
        }
    }
}

fn as_call(part: &Part) -> Option<&ToolCall> {
    match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    }
}

pub(crate) fn as_text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        _ => None,
    }
}
