//! Carries out what the chat asks of an endpoint of Responses.

use std::sync::Arc;

use serde_json::Value;
use signoff_client::{Endpoint, Said, Turn};
use signoff_core::request::{RequestBody, RequestStatus, TakenDecision};
use signoff_core::{Actor, ConversationId, Decision, Request, RequestId, RunId, Tenant, Timestamp};
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use super::perform::on_disk;
use super::{Effect, Told};

/// Talks to an endpoint for the chat.
#[derive(Clone, Debug)]
pub struct Plain {
    endpoint: Arc<Mutex<Endpoint>>,
    told: UnboundedSender<Told>,
    /// The turn that is under way.
    turn: Arc<std::sync::Mutex<Option<JoinHandle<()>>>>,
}

impl Plain {
    /// One that tells what comes of it to `told`.
    pub fn new(endpoint: Endpoint, told: UnboundedSender<Told>) -> Self {
        Self { endpoint: Arc::new(Mutex::new(endpoint)), told, turn: Arc::default() }
    }

    /// Begins to carry out `effect`.
    pub fn perform(&self, effect: Effect) {
        let Self { endpoint, told, .. } = self.clone();
        match effect {
            Effect::Start { input, .. } => self.turn(async move {
                let text = input.as_str().map_or_else(|| input.to_string(), ToOwned::to_owned);
                // One turn after the other.
                let mut endpoint = endpoint.lock().await;
                let turn = endpoint.send(&text).await;
                tell(&mut endpoint, turn, &told).await;
            }),
            Effect::Answer(id, _, decision) => self.turn(async move {
                let content = decision.value().cloned().unwrap_or(Value::Null);
                let mut endpoint = endpoint.lock().await;
                let turn = endpoint.answer(id.as_str(), &content).await;
                let taken = match &turn {
                    Ok(_) => Ok(Box::new(decided(&id, decision))),
                    Err(error) => Err(error.clone()),
                };
                let failed = turn.is_err();
                let _ = told.send(Told::Answered(id, taken));
                if !failed {
                    tell(&mut endpoint, turn, &told).await;
                }
            }),
            Effect::Cancel(..) => {
                self.stop();
                let why = "not listened to any more; what it does there is not known".to_owned();
                let _ = told.send(Told::Said(Said::Failed(why)));
            }
            // Nothing is followed any more: a new conversation.
            Effect::Follow(..) => {
                self.stop();
                tokio::spawn(async move { endpoint.lock().await.forget() });
            }
            other => {
                if let Some(done) = on_disk(other) {
                    let _ = told.send(done);
                }
            }
        }
    }

    fn turn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(work);
        if let Ok(mut turn) = self.turn.lock() {
            *turn = Some(task);
        }
    }

    fn stop(&self) {
        if let Ok(mut turn) = self.turn.lock()
            && let Some(task) = turn.take()
        {
            task.abort();
        }
    }
}

/// Tells a turn as it comes. Whoever listens may be gone.
async fn tell(
    endpoint: &mut Endpoint,
    turn: Result<Turn, signoff_client::ClientError>,
    told: &UnboundedSender<Told>,
) {
    let mut turn = match turn {
        Ok(turn) => turn,
        Err(error) => {
            let _ = told.send(Told::Said(Said::Failed(error.to_string())));
            return;
        }
    };
    loop {
        let said = turn.next().await;
        if matches!(said, Said::Asked(_)) {
            endpoint.turn_to_workflow();
        }
        let over = matches!(said, Said::End);
        if told.send(Told::Said(said)).is_err() || over {
            break;
        }
    }
    endpoint.took(&turn);
}

/// A question of an endpoint, once it is answered.
fn decided(id: &RequestId, decision: Decision) -> Request {
    Request {
        id: id.clone(),
        version: 2,
        status: RequestStatus::Decided,
        run: RunId::new(""),
        root: RunId::new(""),
        workflow: "".into(),
        conversation: ConversationId::new(""),
        tenant: Tenant::local(),
        assignee: None,
        body: RequestBody::input(""),
        created_at: Timestamp(0),
        decision: Some(TakenDecision {
            decision,
            by: Actor::local(),
            at: Timestamp(0),
            sent: None,
        }),
        withdrawn: None,
        deferred_until: None,
    }
}
