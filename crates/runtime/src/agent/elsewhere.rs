//! The turn of an agent that runs elsewhere.
//!
//! It is told the whole conversation and gets a task. The task is watched for a while; if it takes
//! longer, the run sleeps, and looks again. What it asks becomes a request, and the answer goes on with
//! the same task. Only the message that begins a task must not be sent twice; everything after it can
//! be repeated, so a process that dies in between comes back to the same task.

mod task;

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::{ErrorInfo, Payload};
use signoff_core::state::Answer;
use signoff_core::workflow::HumanInput;
use signoff_core::{Decision, Message, Part, Role};
use signoff_tools::{Remote, RemotePart, RemoteQuestion, RemoteState, RemoteTask};

use task::{Next, Rests};

use super::Turn;
use super::turn::{Rescue, as_text};
use crate::context::{Effect, Standing};
use crate::output;

/// How often a task is begun again without asking anybody, in a turn.
const MAX_AGAIN: u32 = 3;

impl Turn<'_> {
    /// Takes the turn elsewhere.
    pub(in crate::agent) async fn take_elsewhere(
        mut self,
        remote: &Arc<dyn Remote>,
    ) -> Result<Payload, ErrorInfo> {
        let mut next = Next::Begin;
        let mut repaired = false;
        let mut round = 0;
        loop {
            round += 1;
            let (key, again, error) = match self.until_it_rests(remote, round, next).await? {
                Rests::Standing(key, Standing::Answer(reply)) => {
                    let text = reply.parts.iter().rev().find_map(as_text);
                    match output::check(text, self.agent.output.as_ref().map(|(_, it)| it)) {
                        Ok(answer) => {
                            let payload = self.finish(&key, answer);
                            if self.agent.people.input == HumanInput::Always
                                && self.wants_more(&key, text.unwrap_or_default()).await?
                            {
                                next = Next::Begin;
                                continue;
                            }
                            return Ok(payload);
                        }
                        Err(problem) if !repaired => {
                            repaired = true;
                            self.repair = Some((reply, problem));
                            next = Next::Begin;
                            continue;
                        }
                        Err(problem) => (key, Next::Begin, self.unfit(&problem)),
                    }
                }
                Rests::Standing(key, Standing::Said(value)) => match self.taken_over(&value) {
                    Ok(payload) => return Ok(payload),
                    Err(error) => (key, Next::Begin, error),
                },
                Rests::Standing(key, Standing::Task(task)) => match (&task.state, &task.task) {
                    (RemoteState::Asks(question), Some(_)) => {
                        let question = question.clone();
                        match self.put(&key, *question.clone()).await? {
                            Ok(parts) => {
                                next = Next::Answer { task: *task, question: question.id, parts };
                                continue;
                            }
                            Err(error) => {
                                self.let_go(remote, round, &task).await;
                                (key, Next::Begin, error)
                            }
                        }
                    }
                    _ => (key, Next::Begin, ErrorInfo::new("internal", "the task does not rest")),
                },
                Rests::Failed(key, error) if self.may_begin_again(remote, &key, &error).await? => {
                    next = Next::Begin;
                    continue;
                }
                Rests::Failed(key, error) => (key, Next::Begin, error),
                Rests::Stuck(key, again, error) => (key, *again, error),
            };
            next = match self.rescue(&key, error).await? {
                Rescue::Retry => again,
                Rescue::Give(payload) => {
                    if let Some(task) = again.task() {
                        self.let_go(remote, round, task).await;
                    }
                    return Ok(payload);
                }
            };
        }
    }

    /// Puts a question to people; what the agent is told, or why it is left alone.
    async fn put(
        &mut self,
        key: &str,
        question: RemoteQuestion,
    ) -> Result<Result<Vec<RemotePart>, ErrorInfo>, ErrorInfo> {
        let people = &self.agent.people;
        if people.input == HumanInput::Never || self.asked >= people.follow_ups {
            if std::mem::replace(&mut self.refused, true) {
                let message = format!("{} asks on, and may not", self.agent.title);
                let hint = "raise follow_ups of this agent, or let it talk to people";
                return Ok(Err(ErrorInfo::new("remote_questions", message).hint(hint)));
            }
            let no = "Nobody can be asked any more. Go on with what you know, or end.";
            return Ok(Ok(vec![unanswered(no)]));
        }
        self.asked += 1;
        let prompt = question.request.prompt.clone();
        self.ctx.say(Message::assistant(self.agent.id.clone(), prompt));
        let answer = self.ask(&format!("{key}#ask"), question.request).await?;
        let Answer::Decided { decision, by } = answer else {
            return Ok(Ok(vec![unanswered("Nobody answered in time.")]));
        };
        let content = match decision {
            Decision::Respond { content } => content,
            other => serde_json::to_value(&other).unwrap_or_default(),
        };
        let said = Message::user(as_words(&content)).by(by.0.clone());
        self.ctx.say(said);
        Ok(Ok(vec![match content {
            Value::String(text) => {
                RemotePart::Text { text, about: json!({ "author": by, "role": Role::User }) }
            }
            other => RemotePart::Data(other),
        }]))
    }

    /// What a person said of a task that may have begun: its answer.
    fn taken_over(&mut self, value: &Value) -> Result<Payload, ErrorInfo> {
        if value.get("status").is_some_and(|it| it == crate::context::MARKED) {
            let message =
                format!("{} was marked as done, and nobody has its answer", self.agent.title);
            return Err(ErrorInfo::new("in_doubt", message));
        }
        let text = as_words(value);
        let schema = self.agent.output.as_ref().map(|(_, validator)| validator);
        output::check(Some(&text), schema).map_err(|problem| self.unfit(&problem))?;
        self.unfinished.push(Part::Text(text));
        let message = self.close();
        self.ctx.say(message);
        Ok(Payload::value(value.clone()))
    }

    /// Whether the operator lets a task that came to nothing, under this key, be begun again. Once it was, or a person was
    /// asked, it stays so: that is in the journal.
    async fn may_begin_again(
        &mut self,
        remote: &Arc<dyn Remote>,
        key: &str,
        error: &ErrorInfo,
    ) -> Result<bool, ErrorInfo> {
        let note = format!("{key}#again");
        let wanted = self.begun_again < MAX_AGAIN
            && remote.begins_again(error)
            && !self.ctx.was_asked(&format!("{key}!"));
        if !wanted && !self.ctx.is_done(&note) {
            return Ok(false);
        }
        self.begun_again += 1;
        let said = json!({ "remote": remote.name(), "begins_again": true });
        self.ctx.effect(&note, Effect::repeatable(), |_| async { Ok(said) }).await?;
        Ok(true)
    }

    /// Says that nobody waits for a task any more. Whether it hears it changes nothing for us.
    async fn let_go(&self, remote: &Arc<dyn Remote>, round: u32, task: &RemoteTask) {
        let Some(id) = task.task.clone() else { return };
        let cancel = |_| async {
            let heard = remote.cancel(id).await.is_ok();
            Ok(json!({ "remote": remote.name(), "cancelled": heard }))
        };
        let _ = self.ctx.effect(&format!("cancel/{round}"), Effect::repeatable(), cancel).await;
    }

    fn unfit(&self, problem: &str) -> ErrorInfo {
        let message = format!("{}'s answer does not fit: {problem}", self.agent.title);
        ErrorInfo::new("output_invalid", message)
    }
}

fn unanswered(text: &str) -> RemotePart {
    RemotePart::Text { text: text.to_owned(), about: json!({ "answered": false }) }
}

fn as_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
