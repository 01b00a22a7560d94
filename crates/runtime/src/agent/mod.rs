//! Agents: a model with instructions and tools takes a turn in the conversation.
//!
//! A turn is a loop: the model is asked; the tools it calls are called, at the same time where it
//! calls several; it is asked again with their results, until it gives its final answer or hands the
//! conversation to another agent. The answer is checked, and a bad one gets one repair turn. Then a
//! person is asked what to do, and the work is kept.
//!
//! An agent that runs elsewhere takes its turn there (`elsewhere.rs`).

mod calls;
mod elsewhere;
mod people;
mod spec;
mod turn;

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::Message;
use signoff_core::journal::{ErrorInfo, Payload};

pub use spec::AgentProfile;
pub(crate) use spec::AgentSpec;
pub(crate) use turn::{Turn, TurnEnd, as_text};

use crate::context::{Context, View};
use crate::executor::{BoxFuture, Executor};

/// The field of an agent's output that says whom it handed the conversation to.
pub const HANDED_OVER: &str = "signoff_handoff_to";

/// The field of a message that says what a briefed agent has to do.
pub(crate) const BRIEF: &str = "brief";

/// An agent as an executor: each message it gets is a turn.
pub(crate) struct AgentExecutor(pub(crate) Arc<AgentSpec>);

impl Executor for AgentExecutor {
    fn run(
        &self,
        ctx: Context,
        message: Arc<Value>,
    ) -> BoxFuture<'static, Result<Payload, ErrorInfo>> {
        let agent = Arc::clone(&self.0);
        Box::pin(async move {
            let view = match message.get(BRIEF).and_then(Value::as_str) {
                Some(brief) if agent.briefed => {
                    ctx.say(Message::user(brief).by("phases"));
                    View::Task
                }
                _ => View::Begun,
            };
            Ok(match Turn::new(&ctx, &agent, view).take().await? {
                TurnEnd::Answer(payload) => payload,
                TurnEnd::Handoff(to) => Payload::value(json!({ HANDED_OVER: to })),
            })
        })
    }
}
