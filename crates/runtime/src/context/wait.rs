//! Waiting: for people, for time, for other executors, for other runs.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use serde_json::Value;
use signoff_core::deciders::Who;
use signoff_core::journal::{Caller, Delivered, ErrorInfo, Event, Outcome, Payload};
use signoff_core::question::Question;
use signoff_core::request::RequestBody;
use signoff_core::state::{Activation, Answer, Call, Child};
use signoff_core::{Key, Name, RunState, Span, Unanswered};

use super::Context;

impl Context {
    /// Asks people. The run parks until one of them has decided, or the request's time is over.
    pub async fn ask(&self, key: &str, mut body: RequestBody) -> Result<Answer, ErrorInfo> {
        let request = {
            let now = self.cell.engine.clock.now();
            let path = if body.agent_path.is_empty() { self.path() } else { Vec::new() };
            let mut inner = self.cell.lock();
            let asked = inner.state.open.get(&self.activation).and_then(|open| open.asked.get(key));
            if let Some(request) = asked {
                *request
            } else {
                if body.agent_path.is_empty() {
                    body.agent_path = path;
                }
                // What is proposed stays as it is; what is shown of it hides nothing.
                let body = body.made_visible(&self.cell.engine.secrets);
                let request = inner.state.last_request + 1;
                inner.emit(
                    now,
                    Event::Asked {
                        activation: self.activation,
                        key: key.into(),
                        request,
                        body: Box::new(body),
                    },
                );
                request
            }
        };
        self.wait(|state, _| state.requests.get(&request)?.answer.clone()).await
    }

    /// Asks people what a message says. What the workflow says of it counts too: both must be content with whoever
    /// decides, and its time is the time if the message names none.
    pub(crate) async fn ask_given(
        &self,
        message: &Value,
        within: Option<Span>,
        who: Option<Who>,
    ) -> Result<Answer, ErrorInfo> {
        let wrong = |problem: String| {
            ErrorInfo::new("invalid_question", format!("this cannot be asked: {problem}"))
        };
        let question = Question::read(message).map_err(wrong)?;
        let mut body = question.to_request().map_err(wrong)?;
        let initiator = self.cell.lock().state.started.by.clone();
        body.put_to(who.into_iter().chain(question.who).collect(), &initiator);
        if let Some(within) = question.within.or(within) {
            body.due(self.now("deadline").await?.plus(within), Unanswered::Continue);
        }
        self.ask("ask", body).await
    }

    /// Sleeps, without anything staying awake for it.
    pub async fn sleep(&self, key: &str, span: Span) -> Result<(), ErrorInfo> {
        {
            let now = self.cell.engine.clock.now();
            let mut inner = self.cell.lock();
            let open = inner.state.open.get(&self.activation);
            if open.is_none_or(|open| !open.timers.contains_key(key)) {
                let due = now.plus(span);
                let activation = self.activation;
                inner.emit(now, Event::TimerSet { activation, key: key.into(), due });
            }
        }
        self.wait(|_, open| {
            let (_, fired) = open.timers.get(key)?;
            fired.then_some(())
        })
        .await
    }

    /// Gives another executor of the workflow a message and waits for what it gives.
    pub async fn invoke(
        &self,
        key: &str,
        executor: &str,
        message: impl Into<Value>,
    ) -> Result<Arc<Value>, ErrorInfo> {
        self.open_call(key, executor, message.into())?;
        let _calling = self.mark(|link| &mut link.calling);
        let done = poll_fn(|task| {
            let mut inner = self.cell.lock();
            let open = inner.state.open.get(&self.activation);
            match open.and_then(|open| open.calls.get(key)) {
                Some(Call::Done(value)) => Poll::Ready(Ok(Arc::clone(value))),
                Some(Call::Failed(error)) => Poll::Ready(Err(error.clone())),
                _ => {
                    inner.link(self.activation).wake_me(task);
                    Poll::Pending
                }
            }
        });
        done.await
    }

    fn open_call(&self, key: &str, executor: &str, message: Value) -> Result<(), ErrorInfo> {
        let Some(def) = self.cell.definition.graph.executor(executor) else {
            let message = format!("there is no executor `{executor}`");
            return Err(ErrorInfo::new("unknown_executor", message));
        };
        let to: Name = def.name.clone();
        let now = self.cell.engine.clock.now();
        let mut inner = self.cell.lock();
        let open = inner.state.open.get(&self.activation);
        if open.is_some_and(|open| open.calls.contains_key(key)) {
            return Ok(());
        }
        let activation = inner.state.last_activation + 1;
        let limit = self.cell.definition.workflow.limits.activations;
        if activation > limit {
            return Err(ErrorInfo::new(
                "limit_activations",
                format!("the run would open more than {limit} activations"),
            ));
        }
        let delivered = Delivered {
            activation,
            to,
            payload: Payload::value(message),
            from: None,
            caller: Some(Caller { activation: self.activation, key: key.into() }),
        };
        inner.emit(now, Event::Delivered(delivered));
        Ok(())
    }

    /// Runs another workflow as a run of its own and waits for what it gives.
    pub async fn workflow(&self, key: &str, id: &str, input: Value) -> Result<Value, ErrorInfo> {
        let known = {
            let inner = self.cell.lock();
            let open = inner.state.open.get(&self.activation);
            open.and_then(|open| open.children.get(key)).cloned()
        };
        if !matches!(known, Some(Child::Ended(_))) {
            let key: Key = key.into();
            let activation = self.activation;
            if known.is_none() {
                self.cell.emit(Event::ChildStarted { activation, key: key.clone() });
            }
            // The child must not outlive a crash that forgets its parent's intention.
            self.durable().await?;
            let _busy = self.mark(|link| &mut link.busy);
            let started = self.cell.engine.start_child(self, &key, id, input).await;
            if let Err(error) = &started
                && error.code == "store"
            {
                // No fault of the run: it is left as it stands, and tried again later.
                self.cell.lock().lose(error.clone());
            }
            started?;
        }
        let outcome = self
            .wait(|_, open| match open.children.get(key)? {
                Child::Ended(outcome) => Some(outcome.clone()),
                Child::Open => None,
            })
            .await?;
        match outcome {
            Outcome::Ok(value) => Ok(Value::clone(&value)),
            Outcome::Err(error) => Err(error),
            Outcome::Reply(_) => Err(ErrorInfo::new("internal", "a reply is not an output")),
        }
    }

    /// Waits until the journal holds what `found` looks for. While nothing else goes on in this
    /// activation, it need not be in memory.
    async fn wait<T>(
        &self,
        found: impl Fn(&RunState, &Activation) -> Option<T>,
    ) -> Result<T, ErrorInfo> {
        let waiting = self.mark(|link| &mut link.waiting);
        let result = poll_fn(|task| {
            let mut inner = self.cell.lock();
            if let Some(error) = &inner.lost {
                return Poll::Ready(Err(error.clone()));
            }
            let open = inner.state.open.get(&self.activation);
            if let Some(value) = open.and_then(|open| found(&inner.state, open)) {
                return Poll::Ready(Ok(value));
            }
            inner.link(self.activation).wake_me(task);
            Poll::Pending
        })
        .await;
        drop(waiting);
        result
    }
}
