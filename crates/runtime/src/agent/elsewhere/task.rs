//! One task elsewhere: begun, answered, watched and slept over until it rests.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::{Message, Span};
use signoff_tools::{
    Remote, RemoteAnswer, RemoteMessage, RemotePart, RemoteState, RemoteTask, RemoteWatch,
};

use crate::agent::Turn;
use crate::context::{Effect, Standing};
use crate::patterns::words;

/// How long a task is looked at before the run sleeps.
const PATIENCE: Span = Span::seconds(60);
/// How long the run sleeps at first, and at most.
const FIRST_REST: Span = Span::seconds(5);
const LONGEST_REST: Span = Span::seconds(300);
/// How often in a row a task may be out of reach before a person is asked.
const MAX_FAILURES: u32 = 8;
/// How much of a message people are shown who must judge whether it was sent, in characters.
const SHOWN: usize = 200;

/// What comes next in a turn.
pub(super) enum Next {
    /// A new task.
    Begin,
    /// An answer to a question of the task.
    Answer { task: RemoteTask, question: String, parts: Vec<RemotePart> },
    /// Another look at the task.
    Look(RemoteTask),
}

impl Next {
    /// What to do when the task is taken up again: `answer` is what has not arrived.
    fn again(task: RemoteTask, answer: Option<RemoteAnswer>) -> Self {
        match answer {
            Some(answer) => {
                Self::Answer { task, question: answer.question, parts: answer.message.parts }
            }
            None => Self::Look(task),
        }
    }

    /// The task it is about.
    pub(super) fn task(&self) -> Option<&RemoteTask> {
        match self {
            Self::Begin => None,
            Self::Answer { task, .. } | Self::Look(task) => Some(task),
        }
    }
}

/// How a task came to rest, and under which key that is in the journal.
pub(super) enum Rests {
    Standing(String, Standing),
    /// It has a task that cannot be waited for; trying again does what comes next.
    Stuck(String, Box<Next>, ErrorInfo),
    Failed(String, ErrorInfo),
}

impl Turn<'_> {
    /// Does what comes next, and waits until the agent has answered, asks, or cannot be waited for.
    pub(super) async fn until_it_rests(
        &self,
        remote: &Arc<dyn Remote>,
        round: u32,
        next: Next,
    ) -> Result<Rests, ErrorInfo> {
        let ctx = self.ctx;
        let mut key = format!("send/{round}");
        let began = ctx.now(&format!("{key}@")).await?;
        // What has not arrived yet, and which question it answers.
        let mut answer = None;
        let mut answered = None;
        let mut stands = match next {
            Next::Begin => match self.begin(remote, &key).await {
                Ok(stands) => stands,
                Err(error) => return Ok(Rests::Failed(key, error)),
            },
            Next::Look(task) => {
                Standing::Task(Box::new(RemoteTask { state: RemoteState::Working, ..task }))
            }
            Next::Answer { task, question, parts } => {
                let message = RemoteMessage { id: ctx.message_id(&key), parts };
                let to = RemoteAnswer {
                    task: task.task.clone().unwrap_or_default(),
                    context: task.context.clone(),
                    question: question.clone(),
                    message,
                };
                answered = Some(question);
                let stands = self.deliver(remote, &key, to.clone()).await?;
                answer = Some(to);
                stands
            }
        };
        let (mut failures, mut rests) = (0, 0);
        for look in 1.. {
            let task = match stands {
                Standing::Task(task) => task,
                other => return Ok(Rests::Standing(key, other)),
            };
            let unknown = match &task.state {
                RemoteState::Working => None,
                RemoteState::Unknown { error, passes } => {
                    failures += 1;
                    if !passes || failures >= MAX_FAILURES {
                        let error = error.clone();
                        return Ok(Rests::Stuck(key, Box::new(Next::again(*task, answer)), error));
                    }
                    Some(())
                }
                RemoteState::Failed(error) => {
                    let error = error.clone();
                    return Ok(Rests::Failed(key, error));
                }
                RemoteState::Asks(_) | RemoteState::Done(_) => {
                    return Ok(Rests::Standing(key, Standing::Task(task)));
                }
            };
            if unknown.is_none() {
                (failures, answer) = (0, None);
            }
            if look > 1 || unknown.is_some() {
                let now = ctx.now(&format!("{key}@now")).await?;
                if now.since(began) > remote.timeout() {
                    let next = Box::new(Next::again(*task, answer));
                    return Ok(Rests::Stuck(key, next, self.too_long(remote)));
                }
                rests += 1;
                ctx.sleep(&format!("rest/{round}/{look}"), rest(rests)).await?;
            }
            let Some(id) = task.task.clone() else {
                let error = ErrorInfo::new("internal", "the task has no id");
                return Ok(Rests::Failed(key, error));
            };
            stands = if let Some(to) = &answer {
                key = format!("send/{round}/{look}");
                self.deliver(remote, &key, to.clone()).await?
            } else {
                key = format!("watch/{round}/{look}");
                // If it still shows the question after all this patience, it asks again.
                let watch = RemoteWatch { task: id, answered: answered.take(), patience: PATIENCE };
                let perform = || async { Ok(remote.watch(watch).await) };
                ctx.remote(&key, Effect::repeatable(), perform).await?
            };
        }
        Err(ErrorInfo::new("internal", "there is always another look"))
    }

    async fn begin(&self, remote: &Arc<dyn Remote>, key: &str) -> Result<Standing, ErrorInfo> {
        let parts: Vec<RemotePart> = self.messages().iter().filter_map(|it| spoken(it)).collect();
        let id = self.ctx.message_id(key);
        let last = match parts.last() {
            Some(RemotePart::Text { text, .. }) => text.chars().take(SHOWN).collect::<String>(),
            _ => String::new(),
        };
        let audited = self.ctx.clear_remote(key, remote.name(), &last).await??;
        let action = json!({ "remote": remote.name(), "message_id": id, "text": last });
        let message = RemoteMessage { id, parts };
        let effect = Effect { audited, ..Effect::once(action) };
        let stands = self.ctx.remote(key, effect, || remote.begin(message)).await?;
        Ok(match &stands {
            // A person found the task that was begun, and we go on with it.
            Standing::Said(value) => match found_task(value) {
                Some(task) => Standing::Task(Box::new(RemoteTask {
                    remote: remote.name().to_owned(),
                    task: Some(task.to_owned()),
                    context: None,
                    state: RemoteState::Working,
                })),
                None => stands,
            },
            _ => stands,
        })
    }

    /// Hands over an answer. The agent is looked at first, so this may be done again.
    async fn deliver(
        &self,
        remote: &Arc<dyn Remote>,
        key: &str,
        to: RemoteAnswer,
    ) -> Result<Standing, ErrorInfo> {
        // The message's id is made of the activation's number, which must be the same after a crash.
        if !self.ctx.is_done(key) {
            self.ctx.durable().await?;
        }
        let perform = || async { Ok(remote.answer(to).await) };
        self.ctx.remote(key, Effect::repeatable(), perform).await
    }

    fn too_long(&self, remote: &Arc<dyn Remote>) -> ErrorInfo {
        let (title, limit) = (&self.agent.title, remote.timeout());
        ErrorInfo::new("remote_timeout", format!("{title} has worked for more than {limit}"))
            .hint("trying again waits as long once more; raise `timeout` of the remote agent")
    }
}

/// How long the run sleeps when it does so for the `time`th time.
fn rest(time: u32) -> Span {
    let doubled = FIRST_REST.0.saturating_mul(1 << time.saturating_sub(1).min(16));
    Span(doubled.min(LONGEST_REST.0))
}

/// A message of the conversation as an agent elsewhere hears it; none, if it has no words.
fn spoken(message: &Message) -> Option<RemotePart> {
    let words = words(message)?;
    let text = match &message.author {
        Some(author) => format!("{author}: {words}"),
        None => words,
    };
    let mut about = json!({ "role": message.role });
    if let Some(author) = &message.author {
        about["author"] = json!(author);
    }
    Some(RemotePart::Text { text, about })
}

/// The task in `{"task": ID}`.
fn found_task(value: &Value) -> Option<&str> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    fields.get("task")?.as_str()
}
