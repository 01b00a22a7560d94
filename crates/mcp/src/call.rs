//! One call of a remote tool.
//!
//! | the server | what happens |
//! |---|---|
//! | gives a result | the call is done |
//! | asks in the middle of the call (before 2026-07-28) | the answer from an earlier round; otherwise the call is cancelled and the question put to people |
//! | ends the call with questions (2026-07-28) | they are put to people; the next call carries the answers |
//! | ends the call with nothing but a state | the call is made again after a moment |
//! | goes away | whether it did anything is not known |

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, RequestId,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RoleClient};
use serde_json::Value;
use signoff_core::Span;
use signoff_tools::{Invocation, ToolError, ToolQuestion, ToolReply};
use tokio::sync::mpsc;

use crate::answer::{Answers, Kept};
use crate::content;
use crate::desk::Asked;
use crate::question::{Asker, Form, Question, together};
use crate::session::Session;
use signoff_core::text::clean;

/// The key under which a server finds our idempotency key.
const IDEMPOTENCY_KEY: &str = "dev.signoff/idempotencyKey";
/// How often a call is made again because the server wants to be asked later.
const MAX_LATER: u32 = 6;
/// The most that a server may want to see again, in bytes.
const MAX_STATE: usize = 64 * 1024;
/// The error of a call that needs something done at an address first (2025-11-25).
const URL_NEEDED: i32 = -32042;

/// What is called, and how long it may take.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) asker: Asker<'a>,
    pub(crate) total: Span,
    pub(crate) idle: Span,
}

/// Why a call gave nothing.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The server went away before it answered.
    Gone,
    /// It said so, or took too long.
    Told(ToolError),
}

/// How one exchange with the server ended.
enum Ended {
    Result(Box<ServerResult>),
    Question(Box<ToolQuestion>),
}

impl Call<'_> {
    /// Makes the call.
    pub(crate) async fn make(
        &self,
        session: &Session,
        invocation: &Invocation,
    ) -> Result<ToolReply, Failed> {
        let answers = Answers::new(&invocation.rounds);
        if answers.stayed_away() {
            return Err(told("what the tool needs was not done"));
        }
        let (mut state, mut responses) = answers.input_required().unwrap_or_default();
        for later in 0..MAX_LATER {
            let mut params = CallToolRequestParams::new(self.asker.tool.to_owned());
            if let Value::Object(arguments) = &invocation.arguments {
                params = params.with_arguments(arguments.clone());
            }
            params.request_state = state.take();
            params.input_responses = Some(responses).filter(|it| !it.is_empty());
            let result = match self.exchange(session, params, invocation, &answers).await? {
                Ended::Question(question) => return Ok(ToolReply::Ask(question)),
                Ended::Result(result) => serde_json::to_value(result).unwrap_or_default(),
            };
            match result.get("resultType").and_then(Value::as_str) {
                None | Some("complete") => {
                    return content::outcome(&result).map(ToolReply::Done).map_err(Failed::Told);
                }
                Some("input_required") => {}
                Some(_) => {
                    return Err(told("the tool gives a kind of result that is not supported"));
                }
            }
            let required = self.required(&result)?;
            match required {
                Required::People(question) => return Ok(ToolReply::Ask(question)),
                Required::Nothing(wanted, given) => (state, responses) = (wanted, given),
            }
            tokio::time::sleep(Duration::from_millis(100 << later)).await;
        }
        Err(told("the server wants to be asked later, again and again"))
    }

    /// Sends the call, and answers what is asked in the middle of it.
    async fn exchange(
        &self,
        session: &Session,
        params: CallToolRequestParams,
        invocation: &Invocation,
        answers: &Answers<'_>,
    ) -> Result<Ended, Failed> {
        let turn = session.turn().await;
        let mut questions = turn.as_ref().map(|_| session.desk.take_questions());
        let mut meta = RequestMetaObject::new();
        meta.insert(IDEMPOTENCY_KEY.to_owned(), invocation.idempotency_key.as_ref().into());
        let options = PeerRequestOptions::with_timeout(self.idle.to_std())
            .reset_timeout_on_progress()
            .with_max_total_timeout(self.total.to_std())
            .with_meta(meta);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let peer = session.peer();
        let sent = peer.send_cancellable_request(request, options).await.map_err(failed)?;
        let mut given_up = GivenUp { peer, id: Some(sent.id.clone()) };
        let mut response = Box::pin(sent.await_response());
        let mut ordinal = 0;
        loop {
            tokio::select! {
                biased;
                ended = &mut response => {
                    given_up.id = None;
                    return match ended {
                        Ok(result) => Ok(Ended::Result(Box::new(result))),
                        Err(error) => self.after_error(error),
                    };
                }
                Some(asked) = next(&mut questions) => {
                    // What cannot be asked is not asked; the tool is told so, and may go on.
                    let Ok(question) = Question::read(&asked.params) else { continue };
                    let digest = question.digest();
                    if let Some(answer) = answers.elicited(ordinal, &digest, &question.form) {
                        ordinal += 1;
                        let _ = asked.answer.send(answer);
                        continue;
                    }
                    // First the call is cancelled, then the question dropped, so that the tool does
                    // not take the silence for an answer.
                    given_up.now().await;
                    drop(asked);
                    let state = Kept::Elicited { ordinal, digest }.to_value();
                    let request = question.request(self.asker);
                    return Ok(Ended::Question(Box::new(ToolQuestion { request, state })));
                }
            }
        }
    }

    /// What an `input_required` result wants.
    fn required(&self, result: &Value) -> Result<Required, Failed> {
        let request_state = result.get("requestState").and_then(Value::as_str).map(str::to_owned);
        let mut given = BTreeMap::new();
        let mut questions = Vec::new();
        let none = serde_json::Map::new();
        let requests = result.get("inputRequests").and_then(Value::as_object).unwrap_or(&none);
        for (key, request) in requests {
            match request["method"].as_str() {
                Some("elicitation/create") => {
                    let question = Question::read(&request["params"]).map_err(told)?;
                    questions.push((key.clone(), question));
                }
                Some("roots/list") => {
                    given.insert(key.clone(), serde_json::json!({ "roots": [] }));
                }
                _ => {
                    return Err(told(
                        "the tool wants a model's answer, which it does not get here",
                    ));
                }
            }
        }
        if questions.is_empty() {
            return Ok(Required::Nothing(request_state, given));
        }
        let request = match &*questions {
            [(_, question)] => question.request(self.asker),
            several => together(several, self.asker).map_err(told)?,
        };
        let asked: BTreeMap<String, Form> =
            questions.into_iter().map(|(key, question)| (key, question.form)).collect();
        let state = Kept::InputRequired { request_state, asked, given }.to_value();
        if state.to_string().len() > MAX_STATE {
            return Err(told("the server wants too much to be remembered with its question"));
        }
        Ok(Required::People(Box::new(ToolQuestion { request, state })))
    }

    /// An error may be a question as well: go there first, then try again.
    fn after_error(&self, error: ServiceError) -> Result<Ended, Failed> {
        let ServiceError::McpError(data) = &error else {
            return Err(failed(error));
        };
        let first = data.data.as_ref().and_then(|data| data["elicitations"].get(0));
        let question = match first {
            Some(params) if data.code.0 == URL_NEEDED => Question::read(params).map_err(told)?,
            _ => return Err(failed(error)),
        };
        if question.form != Form::Link {
            return Err(failed(error));
        }
        let request = question.request(self.asker);
        let state = Kept::Visited.to_value();
        Ok(Ended::Question(Box::new(ToolQuestion { request, state })))
    }
}

enum Required {
    People(Box<ToolQuestion>),
    Nothing(Option<String>, BTreeMap<String, Value>),
}

async fn next(questions: &mut Option<mpsc::Receiver<Asked>>) -> Option<Asked> {
    match questions {
        Some(questions) => questions.recv().await,
        None => std::future::pending().await,
    }
}

/// A call that the server is told of when nobody waits for it any more.
struct GivenUp<'a> {
    peer: &'a rmcp::Peer<RoleClient>,
    id: Option<RequestId>,
}

impl GivenUp<'_> {
    async fn now(&mut self) {
        if let Some(id) = self.id.take() {
            let _ = self.peer.notify_cancelled(notice(id)).await;
        }
    }
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let peer = self.peer.clone();
            runtime.spawn(async move { peer.notify_cancelled(notice(id)).await });
        }
    }
}

fn notice(id: RequestId) -> CancelledNotificationParam {
    CancelledNotificationParam::new(Some(id), Some("nobody waits for it".to_owned()))
}

fn told(problem: impl Into<String>) -> Failed {
    Failed::Told(ToolError::new("tool_failed", problem))
}

fn failed(error: ServiceError) -> Failed {
    match error {
        ServiceError::McpError(error) => told(clean(&error.message, 8 * 1024)),
        ServiceError::Timeout { timeout } => Failed::Told(ToolError::new(
            "tool_timeout",
            format!(
                "the server gave no sign for {timeout:?}, or took too long; it may have happened"
            ),
        )),
        ServiceError::UnexpectedResponse => told("the server's answer cannot be read"),
        _ => Failed::Gone,
    }
}
