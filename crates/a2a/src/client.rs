//! An agent that speaks A2A, as the engine knows agents elsewhere.

use std::time::Duration;

use signoff_core::Span;
use signoff_core::journal::ErrorInfo;
use signoff_core::text::clean;
use signoff_net::Client;
use signoff_tools::{
    BoxFuture, Remote, RemoteAnswer, RemoteMessage, RemotePart, RemoteState, RemoteTask,
    RemoteWatch,
};
use tokio::time::{Instant, sleep, timeout};

use crate::card::Interface;
use crate::config::{A2aConfig, Lost, Place};
use crate::failure::{Failure, MAX_SAID};
use crate::known::Known;
use crate::line::{self, Line};
use crate::wire::{Message, Part, Role, Task, TaskState, Told};
use crate::wish::Wish;
use crate::{question, reply};

/// The pauses between attempts at what may be repeated.
const PAUSES: [u64; 4] = [0, 100, 400, 1_600];
/// How long to wait between two looks, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How many messages of a task are read to find its answer.
const LAST_WORDS: u32 = 10;
/// The longest id that is kept.
const MAX_ID: usize = 512;

/// An agent that runs elsewhere and speaks A2A.
#[derive(Debug)]
pub struct A2aAgent {
    name: String,
    place: Place,
    timeout: Span,
    lost: Lost,
    http: Client,
    known: Known,
}

impl A2aAgent {
    /// The agent that `[a2a.NAME]` describes. Nothing is connected to.
    pub fn new(name: &str, config: &A2aConfig) -> Result<Self, ErrorInfo> {
        let wrong = |failure: Failure| ErrorInfo::new(failure.code(), failure.to_string());
        let place = config.place(name).map_err(wrong)?;
        let http = line::client()
            .map_err(|error| wrong(Failure::Config(format!("[a2a.{name}]: {error}"))))?;
        let (timeout, lost) = (config.timeout, config.lost);
        Ok(Self { name: name.to_owned(), place, timeout, lost, http, known: Known::default() })
    }

    fn line(&self) -> Line<'_> {
        Line { http: &self.http, place: &self.place }
    }

    async fn interface(&self) -> Result<Interface, Failure> {
        self.known.interface(&self.line()).await
    }

    /// Asks the agent. Where it may have moved, what can be repeated is asked there once more.
    async fn ask(&self, wish: Wish<'_>) -> Result<Told, Failure> {
        let interface = self.interface().await?;
        let told = self.line().ask(&interface, wish).await;
        match &told {
            Err(failure) if failure.doubts() => {
                self.known.doubt().await;
                let sent = matches!(wish, Wish::Send(_)) && !failure.is_before();
                match self.interface().await {
                    Ok(now) if !sent && now != interface => self.line().ask(&now, wish).await,
                    // What the new card says counts more than what went wrong with the old one.
                    Err(card @ Failure::Card { .. }) => Err(card),
                    _ => told,
                }
            }
            _ => told,
        }
    }

    async fn get(&self, task: &str, history: Option<u32>) -> Result<Task, Failure> {
        match self.ask(Wish::Get { task, history }).await? {
            Told::Task(found) if found.id == task => Ok(*found),
            Told::Task(_) => Err(Failure::Protocol("that is another task".to_owned())),
            _ => Err(Failure::Protocol("that is not a task".to_owned())),
        }
    }

    async fn begin_task(&self, message: RemoteMessage) -> Result<RemoteTask, ErrorInfo> {
        // Reading the card may be repeated; sending the message may not, once it may have arrived.
        let mut found = self.interface().await;
        for pause in &PAUSES[1..] {
            if !found.as_ref().is_err_and(Failure::passes) {
                break;
            }
            sleep(Duration::from_millis(*pause)).await;
            found = self.interface().await;
        }
        found.map_err(|failure| failure.info(&self.name))?;
        let message = spoken(message, None, None);
        let told = self.ask(Wish::Send(&message)).await;
        told.and_then(|told| self.stands(told, None))
            .map_err(|failure| failure.at_the_beginning(&self.name))
    }

    async fn give_answer(&self, answer: RemoteAnswer) -> Result<RemoteTask, Failure> {
        let RemoteAnswer { task, context, question, message } = answer;
        let message = spoken(message, Some(task.clone()), context);
        let mut last = Failure::TaskLost;
        for pause in PAUSES {
            sleep(Duration::from_millis(pause)).await;
            let found = match self.get(&task, None).await {
                Ok(found) => found,
                Err(failure) if failure.passes() => {
                    last = failure;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let arrived = found.history.iter().any(|it| it.message_id == message.message_id);
            if !arrived && question::was_answered(&found, &question) {
                return Err(Failure::Overtaken);
            }
            if arrived || !waits(&found) || question::id(&found) != question {
                return self.stands(Told::Task(Box::new(found)), Some(&question));
            }
            let message = question::addressed(&found, &message);
            match self.ask(Wish::Send(&message)).await {
                Ok(told) => return self.stands(told, Some(&question)),
                // Also where it refuses: the task may have gone on in the meantime.
                Err(failure @ (Failure::Auth(_) | Failure::TaskLost)) => return Err(failure),
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    async fn look(&self, watch: &RemoteWatch) -> Result<RemoteTask, Failure> {
        let deadline = Instant::now() + watch.patience.to_std();
        let answered = watch.answered.as_deref();
        let mut pause = FIRST_PAUSE;
        let mut listens = true;
        loop {
            let looked = match self.get(&watch.task, Some(LAST_WORDS)).await {
                Ok(task) => Ok(self.stands(Told::Task(Box::new(task)), answered)?),
                Err(failure) if failure.passes() => Err(failure),
                Err(failure) => return Err(failure),
            };
            let goes_on = match &looked {
                Ok(task) => task.state == RemoteState::Working,
                Err(_) => true,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if !goes_on || left.is_zero() {
                return looked;
            }
            if looked.is_ok() && std::mem::take(&mut listens) {
                // However it ends, the task is looked at; a broken stream only means to look more often.
                let _ = timeout(left, self.listen(&watch.task, answered)).await;
            } else {
                sleep(pause.min(left)).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// Returns when there may be something to look at.
    async fn listen(&self, task: &str, answered: Option<&str>) -> Result<(), Failure> {
        let interface = self.interface().await?;
        if interface.streams {
            let rests = |told: &Told| match told {
                Told::Task(task) => {
                    !task.status.state.goes_on() && Some(&*question::id(task)) != answered
                }
                Told::Status(status) => !status.state.goes_on(),
                Told::Message(_) => true,
                Told::Other => false,
            };
            if self.line().listen(&interface, task, rests).await? {
                return Ok(());
            }
        }
        sleep(FIRST_PAUSE).await;
        Ok(())
    }

    /// How the task stands, in the engine's words.
    fn stands(&self, told: Told, answered: Option<&str>) -> Result<RemoteTask, Failure> {
        let remote = self.name.clone();
        let task = match told {
            Told::Task(task) => task,
            Told::Message(message) => {
                let state = RemoteState::Done(reply::of_message(&message));
                return Ok(RemoteTask { remote, task: None, context: message.context_id, state });
            }
            Told::Status(_) | Told::Other => {
                return Err(Failure::Protocol("that is neither a task nor a message".to_owned()));
            }
        };
        let context = task.context_id.clone();
        let long = |id: &str| id.is_empty() || id.len() > MAX_ID;
        if long(&task.id) || context.as_deref().is_some_and(|id| id.len() > MAX_ID) {
            return Err(Failure::Protocol("the task has no id that can be used".to_owned()));
        }
        let state = match task.status.state {
            TaskState::Completed => RemoteState::Done(reply::of_task(&task)),
            TaskState::Failed | TaskState::Rejected | TaskState::Canceled => {
                RemoteState::Failed(self.ended(&task))
            }
            _ if waits(&task) && answered != Some(&*question::id(&task)) => {
                RemoteState::Asks(Box::new(question::of_task(&self.name, &task)))
            }
            _ => RemoteState::Working,
        };
        Ok(RemoteTask { remote, task: Some(task.id), context, state })
    }

    /// The error of a task that ended without an answer.
    fn ended(&self, task: &Task) -> ErrorInfo {
        let code = match task.status.state {
            TaskState::Rejected => "a2a_rejected",
            TaskState::Canceled => "a2a_canceled",
            _ => "a2a_failed",
        };
        let how = match task.status.state {
            TaskState::Rejected => "will not do it",
            TaskState::Canceled => "has stopped the task",
            _ => "failed",
        };
        let said = task.status.message.as_ref().map(reply::of_message).unwrap_or_default();
        let said = if said.is_empty() { "it does not say why" } else { &said };
        ErrorInfo::new(
            code,
            clean(&format!("remote agent `{}` {how}: {said}", self.name), MAX_SAID),
        )
        .hint("trying again begins a new task")
    }

    /// What is known of a task that could not be spoken to.
    fn unsure(&self, task: String, context: Option<String>, failure: &Failure) -> RemoteTask {
        let error = failure.info(&self.name);
        let state = match failure {
            Failure::TaskLost | Failure::Overtaken => RemoteState::Failed(error),
            _ => RemoteState::Unknown { error, passes: failure.passes() },
        };
        RemoteTask { remote: self.name.clone(), task: Some(task), context, state }
    }
}

impl Remote for A2aAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn timeout(&self) -> Span {
        self.timeout
    }

    fn begin(&self, message: RemoteMessage) -> BoxFuture<'_, Result<RemoteTask, ErrorInfo>> {
        Box::pin(self.begin_task(message))
    }

    fn answer(&self, answer: RemoteAnswer) -> BoxFuture<'_, RemoteTask> {
        Box::pin(async move {
            let (task, context) = (answer.task.clone(), answer.context.clone());
            match self.give_answer(answer).await {
                Ok(task) => task,
                Err(failure) => self.unsure(task, context, &failure),
            }
        })
    }

    fn watch(&self, watch: RemoteWatch) -> BoxFuture<'_, RemoteTask> {
        Box::pin(async move {
            match self.look(&watch).await {
                Ok(task) => task,
                Err(failure) => self.unsure(watch.task, None, &failure),
            }
        })
    }

    fn cancel(&self, task: String) -> BoxFuture<'_, Result<(), ErrorInfo>> {
        Box::pin(async move {
            let mut last = Failure::TaskLost;
            for pause in PAUSES {
                sleep(Duration::from_millis(pause)).await;
                match self.ask(Wish::Cancel { task: &task }).await {
                    // What is not there any more needs no cancelling.
                    Ok(_) | Err(Failure::TaskLost) => return Ok(()),
                    Err(failure) if failure.passes() => last = failure,
                    Err(failure) => return Err(failure.info(&self.name)),
                }
            }
            Err(last.info(&self.name))
        })
    }

    fn begins_again(&self, error: &ErrorInfo) -> bool {
        self.lost == Lost::Again && error.code == Failure::TaskLost.code()
    }
}

/// Whether the task waits for us.
fn waits(task: &Task) -> bool {
    matches!(task.status.state, TaskState::InputRequired | TaskState::AuthRequired)
}

/// A message in the protocol's words.
fn spoken(message: RemoteMessage, task_id: Option<String>, context_id: Option<String>) -> Message {
    let parts = message.parts.into_iter().map(|part| match part {
        RemotePart::Text { text, about } => {
            let metadata = about.as_object().cloned();
            Part { text: Some(text), metadata, ..Part::default() }
        }
        RemotePart::Data(value) => Part::data(value),
    });
    let parts = parts.collect();
    Message {
        message_id: message.id,
        context_id,
        task_id,
        role: Role::User,
        parts,
        metadata: None,
        ..Message::default()
    }
}
