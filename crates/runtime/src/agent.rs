//! Agents: a model with instructions and tools takes a turn in the conversation.
//!
//! A turn is a loop: the model is asked; the tools it calls are called, at the same time where it
//! calls several; it is asked again with their results, until it gives its final answer. The answer
//! is checked, and a bad one gets one repair turn. Then a person is asked what to do, and the work
//! is kept.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};
use signoff_core::journal::{ErrorInfo, Payload, Reply};
use signoff_core::message::{ToolCall, ToolResult};
use signoff_core::request::RequestBody;
use signoff_core::schema::{self, Validator};
use signoff_core::state::Answer;
use signoff_core::{
    Decision, DecisionKind, Key, Message, Name, Part, RequestKind, Role, Span, ToolSpec, Workflow,
};
use signoff_models::{ModelRequest, Provider};
use signoff_tools::{REQUEST_USER_INPUT, Tool, ToolSource, UserInput, request_user_input};

use crate::context::{Context, Effect, View};
use crate::engine::{Parts, ToolPattern};
use crate::executor::{BoxFuture, Executor};
use crate::output;

/// An agent made ready.
pub(crate) struct AgentSpec {
    pub(crate) id: Name,
    pub(crate) title: String,
    model: Name,
    instructions: Arc<str>,
    specs: Arc<[ToolSpec]>,
    tools: HashMap<Name, Arc<dyn Tool>>,
    sources: Vec<(Arc<dyn ToolSource>, ToolPattern)>,
    output: Option<(Arc<Value>, Validator)>,
    provider: Arc<dyn Provider>,
    answer_within: Option<Span>,
    max_steps: u32,
}

impl AgentSpec {
    pub(crate) fn new(workflow: &Workflow, id: &str, parts: &Parts) -> Result<Self, ErrorInfo> {
        let invalid = |problem: String| ErrorInfo::new("invalid_workflow", problem);
        let agent =
            workflow.agents.get(id).ok_or_else(|| invalid(format!("there is no agent `{id}`")))?;
        let mut specs = Vec::new();
        let mut tools = HashMap::new();
        let mut sources = Vec::new();
        for name in &agent.tools {
            if name == REQUEST_USER_INPUT {
                specs.push(request_user_input());
                continue;
            }
            if let Some((source, pattern)) = parts.source(name)? {
                sources.push((source, pattern));
                continue;
            }
            let tool = parts.tool(workflow, name)?;
            specs.push(tool.spec().clone());
            tools.insert(Name::from(name.as_str()), tool);
        }
        let output = match workflow.output_schema(id) {
            None => None,
            Some(schema) => {
                let validator = schema::compile(&schema).map_err(invalid)?;
                Some((Arc::new(schema), validator))
            }
        };
        let model = agent.model.as_ref().unwrap_or(&workflow.model);
        Ok(Self {
            id: id.into(),
            title: agent.name.clone().unwrap_or_else(|| id.to_owned()),
            model: model.as_str().into(),
            instructions: agent.instructions.as_str().into(),
            specs: specs.into(),
            tools,
            sources,
            output,
            provider: parts.provider(&workflow.id, model)?,
            answer_within: agent.answer_within,
            max_steps: agent.max_steps,
        })
    }

    fn request(
        &self,
        turn: u32,
        messages: Vec<Arc<Message>>,
        offered: &[Arc<dyn Tool>],
    ) -> ModelRequest {
        let tools = if offered.is_empty() {
            Arc::clone(&self.specs)
        } else {
            let offered = offered.iter().map(|tool| tool.spec().clone());
            self.specs.iter().cloned().chain(offered).collect()
        };
        ModelRequest {
            agent: self.id.clone(),
            model: self.model.clone(),
            turn,
            instructions: Arc::clone(&self.instructions),
            messages,
            tools,
            output: self.output.as_ref().map(|(schema, _)| Arc::clone(schema)),
        }
    }
}

/// An agent as an executor: each message it gets is a turn.
pub(crate) struct AgentExecutor(pub(crate) Arc<AgentSpec>);

impl Executor for AgentExecutor {
    fn run(
        &self,
        ctx: Context,
        _message: Arc<Value>,
    ) -> BoxFuture<'static, Result<Payload, ErrorInfo>> {
        let agent = Arc::clone(&self.0);
        Box::pin(async move { Turn::new(&ctx, &agent, View::Begun).take().await })
    }
}

/// One agent's turn.
pub(crate) struct Turn<'a> {
    ctx: &'a Context,
    agent: &'a AgentSpec,
    view: View,
    /// The message being made: references to what the model said and the tools gave.
    unfinished: Vec<Part>,
    /// A bad answer and what is wrong with it, to be shown once.
    repair: Option<(Arc<Reply>, String)>,
    /// The tools that the agent's sources have now.
    offered: Vec<Arc<dyn Tool>>,
}

/// What to do after something went wrong.
enum Rescue {
    Retry,
    Give(Payload),
}

impl<'a> Turn<'a> {
    pub(crate) fn new(ctx: &'a Context, agent: &'a AgentSpec, view: View) -> Self {
        Self { ctx, agent, view, unfinished: Vec::new(), repair: None, offered: Vec::new() }
    }

    /// Takes the turn; the result is the final answer, by reference to the message that holds it.
    pub(crate) async fn take(mut self) -> Result<Payload, ErrorInfo> {
        let mut repaired = false;
        for step in 1..=self.agent.max_steps {
            let key = format!("m{step}");
            self.look_at_sources().await;
            let asked = self
                .ctx
                .model(&key, &self.agent.provider, |turn| {
                    self.agent.request(turn, self.messages(), &self.offered)
                })
                .await;
            let reply = match asked {
                Ok(reply) => reply,
                Err(error) => match self.rescue(&key, error).await? {
                    Rescue::Retry => continue,
                    Rescue::Give(payload) => return Ok(payload),
                },
            };
            let calls: Vec<&ToolCall> = reply.parts.iter().filter_map(as_call).collect();
            if !calls.is_empty() {
                self.repair = None;
                self.unfinished.push(Part::Effect(key.as_str().into()));
                self.perform(&key, &calls).await?;
                continue;
            }
            let text = reply.parts.iter().rev().find_map(as_text);
            let problem = match output::check(text, self.agent.output.as_ref().map(|(_, v)| v)) {
                Ok(answer) => return Ok(self.finish(&key, answer)),
                Err(problem) => problem,
            };
            if repaired {
                let error = ErrorInfo::new(
                    "output_invalid",
                    format!("{}'s answer does not fit: {problem}", self.agent.title),
                );
                match self.rescue(&key, error).await? {
                    Rescue::Retry => self.repair = Some((reply, problem)),
                    Rescue::Give(payload) => return Ok(payload),
                }
            } else {
                repaired = true;
                self.repair = Some((reply, problem));
            }
        }
        Err(ErrorInfo::new(
            "limit_steps",
            format!(
                "{} took {} steps without a final answer",
                self.agent.title, self.agent.max_steps
            ),
        )
        .hint("raise max_steps of this agent, or make its instructions clearer"))
    }

    /// The conversation, the turn so far, and what must be repaired.
    fn messages(&self) -> Vec<Arc<Message>> {
        let mut messages = self.ctx.conversation(self.view);
        if !self.unfinished.is_empty() {
            messages.push(Arc::new(self.ctx.spelled_out(&self.message(self.unfinished.clone()))));
        }
        if let Some((reply, problem)) = &self.repair {
            messages.push(Arc::new(self.message(reply.parts.clone())));
            let wanted = match &self.agent.output {
                Some(_) => "Reply again with nothing but JSON that fits the output schema.",
                None => "Reply again with your final answer.",
            };
            messages
                .push(Arc::new(Message::user(format!("That cannot be used: {problem}. {wanted}"))));
        }
        messages
    }

    fn message(&self, parts: Vec<Part>) -> Message {
        Message { role: Role::Assistant, author: Some(self.agent.id.clone()), parts }
    }

    /// The message made so far; the next one begins empty.
    fn close(&mut self) -> Message {
        let parts = std::mem::take(&mut self.unfinished);
        self.message(parts)
    }

    fn finish(&mut self, key: &str, answer: output::Answer) -> Payload {
        self.unfinished.push(Part::Effect(key.into()));
        let message = self.close();
        let number = self.ctx.say_as(message);
        match answer {
            output::Answer::Text => Payload::Text(number),
            output::Answer::Json => Payload::Json(number),
            output::Answer::Picked(value) => Payload::value(value),
        }
    }

    /// Calls the tools and asks the questions of one reply. All tools at once, then all questions at
    /// once; a question closes the message, and each answer is a message of its own.
    async fn perform(&mut self, key: &str, calls: &[&ToolCall]) -> Result<(), ErrorInfo> {
        let mut questions = Vec::new();
        let mut tools = Vec::new();
        for call in calls {
            let effect: Key = format!("{key}/{}", call.id).into();
            if &*call.name == REQUEST_USER_INPUT && self.may_ask() {
                match UserInput::parse(&call.arguments).and_then(|q| Ok((q.to_request()?, q))) {
                    Ok((body, question)) => {
                        questions.push((effect, call.id.clone(), question, body));
                    }
                    Err(problem) => tools.push((effect, None, *call, problem)),
                }
            } else {
                let tool = self.find_tool(&call.name);
                let problem = format!("there is no tool `{}`", call.name);
                tools.push((effect, tool, *call, problem));
            }
        }
        let ctx = self.ctx;
        let keys = join_all(tools.into_iter().map(|(effect, tool, call, problem)| async move {
            // What a tool gave, or why it failed, is in the journal; the model is told either way.
            match tool {
                Some(tool) => {
                    ctx.call_keyed(&effect, &tool, &call.arguments).await.map(|(key, _)| key)
                }
                None => {
                    let refused = Err(ErrorInfo::new("tool_arguments", problem));
                    // The error is recorded under the key, which is all that is wanted.
                    let told = ctx.effect(&effect, Effect::repeatable(), |_| async { refused });
                    told.await.map(|_| ()).or(Ok(())).map(|()| effect)
                }
            }
        }))
        .await;
        for key in keys {
            self.unfinished.push(Part::Effect(key?));
        }
        if questions.is_empty() {
            return Ok(());
        }
        let message = self.close();
        self.ctx.say(message);
        let answers =
            join_all(questions.iter().map(|(effect, _, _, body)| self.ask(effect, body.clone())))
                .await;
        for ((_, id, question, _), answer) in questions.into_iter().zip(answers) {
            self.ctx.say(answer_message(id, &question, answer?));
        }
        Ok(())
    }

    /// A tool of the agent itself, or of a source as it is now.
    fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let from_sources = || self.offered.iter().find(|tool| &*tool.spec().name == name);
        self.agent.tools.get(name).or_else(from_sources).cloned()
    }

    /// Asks the agent's sources for the tools they have now. A source that does not answer has none.
    async fn look_at_sources(&mut self) {
        let mut offered = Vec::new();
        for (source, pattern) in &self.agent.sources {
            let tools = source.tools().await.unwrap_or_default();
            let wanted = |tool: &Arc<dyn Tool>| pattern.fits(&tool.spec().name);
            offered.extend(tools.into_iter().filter(wanted));
        }
        self.offered = offered;
    }

    fn may_ask(&self) -> bool {
        self.agent.specs.iter().any(|spec| &*spec.name == REQUEST_USER_INPUT)
    }

    async fn ask(&self, key: &str, mut body: RequestBody) -> Result<Answer, ErrorInfo> {
        if let Some(within) = self.agent.answer_within {
            let asked_at = self.ctx.now(&format!("{key}@")).await?;
            body.expires_at = Some(asked_at.plus(within));
        }
        self.ctx.ask(key, body).await
    }

    /// Puts a failure to a person: try again, give the answer, or abort.
    async fn rescue(&mut self, key: &str, error: ErrorInfo) -> Result<Rescue, ErrorInfo> {
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
        match self.ask(&format!("{key}!"), body).await? {
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

fn as_call(part: &Part) -> Option<&ToolCall> {
    match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    }
}

fn as_text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        _ => None,
    }
}

/// What the asking agent is told.
fn answer_message(id: String, question: &UserInput, answer: Answer) -> Message {
    let (author, content, is_error) = match answer {
        Answer::Decided { decision, by } => (Some(by.0), question.result(&decision), false),
        Answer::Expired | Answer::Withdrawn => {
            (None, json!({ "error": "nobody answered in time" }), true)
        }
    };
    let result = ToolResult { id, content, is_error };
    Message { role: Role::Tool, author, parts: vec![Part::ToolResult(result)] }
}
