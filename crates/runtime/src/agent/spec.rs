//! An agent made ready: where it works, with what, and how it talks to people.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::message::HANDOFF_PREFIX;
use signoff_core::schema::{self, Validator};
use signoff_core::workflow::{Agent, HumanInput, Pattern};
use signoff_core::{Effects, Message, Name, Span, ToolSpec, Workflow};
use signoff_models::{ModelIdentity, ModelRequest, Provider};
use signoff_tools::{REQUEST_USER_INPUT, Remote, Tool, ToolSource, request_user_input};

use crate::engine::{Parts, ToolPattern};

/// An agent made ready.
pub(crate) struct AgentSpec {
    pub(crate) id: Name,
    pub(crate) title: String,
    pub(super) output: Option<(Arc<Value>, Validator)>,
    pub(super) people: People,
    /// Whether it is told what to do instead of reading all that was said.
    pub(super) briefed: bool,
    pub(super) work: Work,
}

/// An agent as others may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentProfile {
    /// Its name in the workflow.
    pub name: Name,
    /// The alias of its model; none, if it works elsewhere.
    pub model: Option<Name>,
    /// What others call that model, if this is known.
    pub identity: Option<ModelIdentity>,
}

/// Where an agent works.
pub(super) enum Work {
    /// Here: a model with instructions and tools.
    Here(Box<Here>),
    /// Somewhere else.
    Elsewhere(Arc<dyn Remote>),
}

/// What an agent works with that works here.
pub(super) struct Here {
    pub(super) model: Name,
    pub(super) instructions: Arc<str>,
    pub(super) specs: Arc<[ToolSpec]>,
    pub(super) tools: HashMap<Name, Arc<dyn Tool>>,
    pub(super) sources: Vec<(Arc<dyn ToolSource>, ToolPattern)>,
    pub(super) provider: Arc<dyn Provider>,
    /// Whom it may hand the conversation to.
    pub(super) handoffs: Vec<Name>,
    pub(super) context_tokens: Option<u32>,
    pub(super) max_steps: u32,
}

/// How an agent talks to people.
pub(super) struct People {
    pub(super) input: HumanInput,
    pub(super) follow_ups: u32,
    pub(super) within: Option<Span>,
    pub(super) default_answer: Option<Value>,
    pub(super) escalate_to: Option<String>,
    /// Whether people are asked when it cannot go on; else whoever called it sees to that.
    pub(super) rescue: bool,
}

impl AgentSpec {
    pub(crate) fn new(workflow: &Workflow, id: &str, parts: &Parts) -> Result<Self, ErrorInfo> {
        let invalid = |problem: String| ErrorInfo::new("invalid_workflow", problem);
        let agent =
            workflow.agents.get(id).ok_or_else(|| invalid(format!("there is no agent `{id}`")))?;
        let output = match workflow.output_schema(id) {
            None => None,
            Some(schema) => {
                let validator = schema::compile(&schema).map_err(invalid)?;
                Some((Arc::new(schema), validator))
            }
        };
        let work = match &agent.remote {
            Some(remote) => Work::Elsewhere(parts.remote(remote)?),
            None => Work::Here(Box::new(Here::new(workflow, id, agent, parts)?)),
        };
        Ok(Self {
            id: id.into(),
            title: agent.name.clone().unwrap_or_else(|| id.to_owned()),
            output,
            people: People {
                input: agent.human_input,
                follow_ups: agent.follow_ups,
                within: agent.answer_within,
                default_answer: agent.default_answer.clone(),
                escalate_to: agent.escalate_to.clone(),
                rescue: workflow.in_phases().is_none_or(|it| !it.handles_errors_of(id)),
            },
            briefed: workflow.in_phases().is_some(),
            work,
        })
    }

    pub(crate) fn profile(&self) -> AgentProfile {
        let (model, identity) = match &self.work {
            Work::Here(here) => (Some(here.model.clone()), here.provider.identity()),
            Work::Elsewhere(_) => (None, None),
        };
        AgentProfile { name: self.id.clone(), model, identity }
    }

    pub(super) fn request(
        &self,
        here: &Here,
        turn: u32,
        messages: Vec<Arc<Message>>,
        offered: &[Arc<dyn Tool>],
    ) -> ModelRequest {
        let tools = if offered.is_empty() {
            Arc::clone(&here.specs)
        } else {
            let offered = offered.iter().map(|tool| tool.spec().clone());
            here.specs.iter().cloned().chain(offered).collect()
        };
        ModelRequest {
            agent: self.id.clone(),
            model: here.model.clone(),
            turn,
            instructions: Arc::clone(&here.instructions),
            messages,
            tools,
            output: self.output.as_ref().map(|(schema, _)| Arc::clone(schema)),
            sent: None,
        }
    }
}

impl Here {
    fn new(workflow: &Workflow, id: &str, agent: &Agent, parts: &Parts) -> Result<Self, ErrorInfo> {
        let mut specs = Vec::new();
        let mut tools = HashMap::new();
        let mut sources = Vec::new();
        for name in &agent.tools {
            if name == REQUEST_USER_INPUT {
                if agent.human_input != HumanInput::Never {
                    specs.push(request_user_input());
                }
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
        let handoffs = handoffs(workflow, id);
        specs.extend(handoffs.iter().map(|to| handoff_tool(workflow, to)));
        let model = agent.model.as_ref().unwrap_or(&workflow.model);
        Ok(Self {
            model: model.as_str().into(),
            instructions: agent.instructions.as_str().into(),
            specs: specs.into(),
            tools,
            sources,
            provider: parts.provider(&workflow.id, model)?,
            handoffs,
            context_tokens: agent.context_tokens,
            max_steps: agent.max_steps,
        })
    }
}

/// Whom `agent` may hand the conversation to.
fn handoffs(workflow: &Workflow, agent: &str) -> Vec<Name> {
    let Some(settings) = workflow.handoff.as_ref().filter(|_| workflow.pattern == Pattern::Handoff)
    else {
        return Vec::new();
    };
    let everybody = || settings.agents.iter().filter(|name| *name != agent).cloned().collect();
    let to: Vec<String> = if settings.handoffs.is_empty() {
        everybody()
    } else {
        settings.handoffs.get(agent).cloned().unwrap_or_default()
    };
    to.iter().map(|name| name.as_str().into()).collect()
}

/// The tool by which the conversation is handed to `to`.
fn handoff_tool(workflow: &Workflow, to: &Name) -> ToolSpec {
    let agent = workflow.agents.get(&**to);
    let title = agent.and_then(|agent| agent.name.as_deref()).unwrap_or(to);
    ToolSpec {
        name: format!("{HANDOFF_PREFIX}{to}").into(),
        description: format!("Hand the conversation to {title}, who sees all of it and goes on."),
        parameters: json!({
            "type": "object",
            "properties": { "reason": { "type": "string", "description": "Why, in a few words." } },
            "additionalProperties": false,
        }),
        effects: Effects::READ_ONLY,
    }
}
