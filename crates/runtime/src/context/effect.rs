//! Effects: what an executor does to the world, once.
//!
//! | journal says | the effect may be repeated | what happens |
//! |---|---|---|
//! | nothing | yes | perform, journal the result |
//! | nothing | no | journal the intent, make it durable, perform, journal the result |
//! | done | – | the result from the journal |
//! | intended | yes | perform again with the same idempotency key |
//! | intended | no | ask a person: retry, mark as done, or abort |

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use signoff_core::journal::{Audited, EffectKind, ErrorInfo, Event, Outcome, Reply};
use signoff_core::request::RequestBody;
use signoff_core::state::{Answer, EffectState};
use signoff_core::{Decision, DecisionKind, Key, RequestKind, Risk, Timestamp};
use signoff_models::{Delta, ModelRequest, Provider};

use super::Context;
use super::dispatch::is_question;
use crate::live::{LiveEvent, ModelCall};

/// A result that took longer than this to get is made durable at once: losing it would cost more
/// than a commit. What took less rides with the next commit.
const WORTH_A_COMMIT: Duration = Duration::from_millis(2);
/// How often a model is asked again after a passing failure.
const MODEL_ATTEMPTS: u32 = 3;

/// What stands for a result that nobody knows.
pub(crate) const MARKED: &str = "marked as done by a person";

/// How an effect is treated.
#[derive(Clone, Debug)]
pub struct Effect {
    /// What kind it is.
    pub kind: EffectKind,
    /// Whether it may simply be performed again when it is not known to have happened.
    pub repeatable: bool,
    /// What it does, for people who may have to judge it.
    pub action: Value,
    /// What the audit calls it, if gates had something to say about it.
    pub(crate) audited: Option<Box<Audited>>,
}

impl Effect {
    /// An effect that may be repeated.
    pub fn repeatable() -> Self {
        let (kind, action) = (EffectKind::Local, Value::Null);
        Self { kind, repeatable: true, action, audited: None }
    }

    /// An effect that must not be repeated blindly. `action` says what it does.
    pub fn once(action: impl Into<Value>) -> Self {
        Self { repeatable: false, action: action.into(), ..Self::repeatable() }
    }
}

enum Found {
    Done(Outcome),
    InDoubt { attempts: u32 },
    New,
}

impl Context {
    /// Performs an effect of your own, once. `perform` gets an idempotency key to hand on.
    pub async fn effect<F, Fut>(
        &self,
        key: &str,
        effect: Effect,
        perform: F,
    ) -> Result<Arc<Value>, ErrorInfo>
    where
        F: FnOnce(Arc<str>) -> Fut,
        Fut: Future<Output = Result<Value, ErrorInfo>>,
    {
        let performed = |idempotency_key| async {
            match perform(idempotency_key).await {
                Ok(value) => Outcome::Ok(Arc::new(value)),
                Err(error) => Outcome::Err(error),
            }
        };
        match self.perform(key, effect, performed).await? {
            Outcome::Ok(value) => Ok(value),
            Outcome::Reply(_) => Err(ErrorInfo::new("internal", "a reply is not a value")),
            Outcome::Err(error) => Err(error),
        }
    }

    /// The time, remembered.
    pub async fn now(&self, key: &str) -> Result<Timestamp, ErrorInfo> {
        let clock = Arc::clone(&self.cell.engine.clock);
        let now = self
            .effect(key, Effect::repeatable(), |_| async move { Ok(clock.now().0.into()) })
            .await?;
        Ok(Timestamp(now.as_i64().unwrap_or_default()))
    }

    /// A new unique id, remembered.
    pub async fn new_id(&self, key: &str) -> Result<String, ErrorInfo> {
        let id = self
            .effect(key, Effect::repeatable(), |_| async { Ok(crate::engine::new_id().into()) })
            .await?;
        Ok(id.as_str().unwrap_or_default().to_owned())
    }

    /// Asks a model. Its text streams past whoever watches; the reply is remembered whole.
    pub async fn model(
        &self,
        key: &str,
        provider: &Arc<dyn Provider>,
        request: impl FnOnce(u32) -> ModelRequest,
    ) -> Result<Arc<Reply>, ErrorInfo> {
        self.model_for(EffectKind::Model, key, provider, request).await
    }

    /// The same, for an agent or for the rules.
    pub(super) async fn model_for(
        &self,
        kind: EffectKind,
        key: &str,
        provider: &Arc<dyn Provider>,
        request: impl FnOnce(u32) -> ModelRequest,
    ) -> Result<Arc<Reply>, ErrorInfo> {
        if let Found::Done(outcome) = self.find(key) {
            return as_reply(outcome);
        }
        let (turn, total) = {
            let inner = self.cell.lock();
            let turn = inner.state.model_calls.get(self.executor()).copied().unwrap_or(0);
            (turn, inner.state.total_model_calls())
        };
        let limit = self.cell.definition.workflow.limits.model_calls;
        if total >= limit {
            return Err(ErrorInfo::new(
                "limit_model_calls",
                format!("the run has made {total} model calls, as many as its limit allows"),
            )
            .hint("raise limits.model_calls in the workflow file"));
        }
        let request = request(turn);
        let effect = Effect { kind, ..Effect::repeatable() };
        let outcome = self
            .perform(key, effect, |_| async move { self.ask_model(key, provider, &request).await })
            .await?;
        as_reply(outcome)
    }

    async fn ask_model(
        &self,
        key: &str,
        provider: &Arc<dyn Provider>,
        request: &ModelRequest,
    ) -> Outcome {
        let live = &self.cell.engine.live;
        let said = AtomicBool::new(false);
        let call = ModelCall { activation: self.activation, key: key.into() };
        let send = |event| live.send(&self.cell.id, &self.cell.root, event);
        let restart = || {
            if said.swap(false, Ordering::Relaxed) {
                send(LiveEvent::Restart { agent: request.agent.clone(), call: call.clone() });
            }
        };
        let sink = |delta: Delta| match delta {
            Delta::Text(text) if live.watched() => {
                said.store(true, Ordering::Relaxed);
                let (agent, call) = (request.agent.clone(), call.clone());
                send(LiveEvent::Delta { agent, call, text });
            }
            Delta::Restart => restart(),
            _ => {}
        };
        let mut attempt = 1;
        loop {
            match provider.complete(request, &sink).await {
                Ok(reply) => return Outcome::Reply(Arc::new(reply)),
                Err(error) if error.retryable && attempt < MODEL_ATTEMPTS => {
                    restart();
                    tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
                    attempt += 1;
                }
                Err(error) => return Outcome::Err(error.info),
            }
        }
    }

    /// The same for every attempt at an effect, and different for every other one.
    pub(super) fn idempotency_key(&self, key: &str) -> String {
        format!("{}/{}/{key}", self.cell.id, self.activation)
    }

    /// What came of an effect, if it has ended.
    pub(super) fn outcome(&self, key: &str) -> Option<Outcome> {
        match self.find(key) {
            Found::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Whether an effect has ended.
    pub(crate) fn is_done(&self, key: &str) -> bool {
        self.outcome(key).is_some()
    }

    /// Whether an effect was begun, and nobody knows whether it has ended.
    pub(super) fn is_in_doubt(&self, key: &str) -> bool {
        matches!(self.find(key), Found::InDoubt { .. })
    }

    fn find(&self, key: &str) -> Found {
        let inner = self.cell.lock();
        match inner.state.open.get(&self.activation).and_then(|open| open.effects.get(key)) {
            Some(EffectState::Done(outcome)) => Found::Done(outcome.clone()),
            Some(EffectState::Intended { attempts, .. }) => Found::InDoubt { attempts: *attempts },
            None => Found::New,
        }
    }

    pub(super) async fn perform<F, Fut>(
        &self,
        key: &str,
        effect: Effect,
        perform: F,
    ) -> Result<Outcome, ErrorInfo>
    where
        F: FnOnce(Arc<str>) -> Fut,
        Fut: Future<Output = Outcome>,
    {
        match self.find(key) {
            Found::Done(outcome) => return Ok(outcome),
            Found::InDoubt { attempts } if !effect.repeatable => {
                if let Some(outcome) = self.resolve_doubt(key, &effect, attempts).await? {
                    let Effect { kind, audited, .. } = effect;
                    let audited = audited.map(|it| Box::new(Audited { marked: true, ..*it }));
                    self.finished(key, (kind, audited), &outcome, Duration::ZERO, true);
                    return Ok(outcome);
                }
            }
            _ => {}
        }
        if self.cell.engine.is_draining() {
            // The driver gives the run away; whoever gets it comes here again.
            self.cell.driver.wake();
            return std::future::pending().await;
        }
        let key: Key = key.into();
        let _busy = self.mark(|link| &mut link.busy);
        if !effect.repeatable {
            self.cell.emit(Event::Intent {
                activation: self.activation,
                key: key.clone(),
                action: effect.action,
            });
            self.durable().await?;
        }
        let idempotency_key = self.idempotency_key(&key);
        let began = tokio::time::Instant::now();
        let outcome = perform(idempotency_key.into()).await;
        let took = began.elapsed();
        let at_once = !effect.repeatable || took > WORTH_A_COMMIT;
        self.finished(&key, (effect.kind, effect.audited), &outcome, took, at_once);
        Ok(outcome)
    }

    fn finished(
        &self,
        key: &str,
        (kind, audited): (EffectKind, Option<Box<Audited>>),
        outcome: &Outcome,
        took: Duration,
        at_once: bool,
    ) {
        // What only asks people something is not done yet: the round that ends it says so.
        let audited = audited.filter(|_| !is_question(outcome));
        let now = self.cell.engine.clock.now();
        let mut inner = self.cell.lock();
        inner.emit(
            now,
            Event::Effect {
                activation: self.activation,
                key: key.into(),
                kind,
                outcome: outcome.clone(),
                took: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                audited,
            },
        );
        inner.want_flush |= at_once;
    }

    /// Asks a person about an effect that may have happened. `None` means: do it (again).
    async fn resolve_doubt(
        &self,
        key: &str,
        effect: &Effect,
        attempts: u32,
    ) -> Result<Option<Outcome>, ErrorInfo> {
        let body = RequestBody {
            kind: RequestKind::InDoubt,
            risk: Some(Risk::High),
            context: json!({
                "action": effect.action,
                "attempts": attempts,
                "idempotency_key": self.idempotency_key(key),
            }),
            response_schema: json!({}),
            allowed: vec![
                DecisionKind::Retry,
                DecisionKind::Skip,
                DecisionKind::Respond,
                DecisionKind::Abort,
            ],
            reasons: vec![
                "the process stopped after this was begun and before its result was recorded"
                    .to_owned(),
            ],
            ..RequestBody::input(
                "This may have happened: retry it, mark it as done (skip, or respond with its result), or abort?",
            )
        };
        match self.ask(&format!("{key}?{attempts}"), body).await? {
            Answer::Decided { decision: Decision::Retry { .. }, .. } => Ok(None),
            Answer::Decided { decision: Decision::Respond { content }, .. } => {
                Ok(Some(Outcome::Ok(Arc::new(content))))
            }
            Answer::Decided { .. } => {
                let marked = json!({ "status": MARKED });
                Ok(Some(Outcome::Ok(Arc::new(marked))))
            }
            Answer::Expired | Answer::Withdrawn => Err(ErrorInfo::new(
                "in_doubt",
                "nobody said whether this had happened, so it was not done again",
            )),
        }
    }
}

fn as_reply(outcome: Outcome) -> Result<Arc<Reply>, ErrorInfo> {
    match outcome {
        Outcome::Reply(reply) => Ok(reply),
        Outcome::Ok(_) => Err(ErrorInfo::new("internal", "a value is not a reply")),
        Outcome::Err(error) => Err(error),
    }
}
