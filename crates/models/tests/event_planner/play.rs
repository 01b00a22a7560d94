//! A run of the coordinator pattern, played by hand: one agent after another, tools and answers included.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::message::ToolResult;
use signoff_core::workflow::{Known, MapFiles, yaml};
use signoff_core::{Decision, Message, Part, RequestBody, Role, Timestamp, Workflow, schema};
use signoff_models::{ModelRequest, Provider, Scripted};
use signoff_tools::{Calendar, Canned, Invocation, REQUEST_USER_INPUT, Tool, UserInput};

/// The example's definition and script, read and checked as the engine does it.
pub(crate) fn load() -> (Workflow, Scripted) {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows/event_planner");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let prompts: MapFiles = ["venue", "budget", "catering", "logistics", "coordinator"]
        .map(|agent| format!("prompts/{agent}.md"))
        .into_iter()
        .map(|file| (file.clone(), read(&file)))
        .collect();
    let calendar = Calendar::new("").tools();
    let mut tools: Vec<&str> = calendar.iter().map(|tool| &*tool.spec().name).collect();
    tools.push(REQUEST_USER_INPUT);
    let known = Known { tools, ..Known::default() };
    let workflow = Workflow::parse(&read("workflow.yaml"), &prompts, &known).unwrap().workflow;
    let script = Scripted::from_value(yaml(&read("script.yaml")).unwrap()).unwrap();
    (workflow, script)
}

/// One question that was asked, and by whom.
pub(crate) type Asked = (String, RequestBody);

pub(crate) struct Played {
    pub(crate) asked: Vec<Asked>,
    pub(crate) plan: String,
    pub(crate) summaries: BTreeMap<String, String>,
    pub(crate) first_call_messages: Vec<(String, usize)>,
    pub(crate) events: Value,
}

pub(crate) struct Run {
    script: Scripted,
    workflow: Workflow,
    tools: BTreeMap<String, Arc<dyn Tool>>,
    pub(crate) messages: Vec<Message>,
    turns: BTreeMap<String, u32>,
    played: Played,
}

impl Run {
    pub(crate) fn new(input: &str, folder: &Path) -> Self {
        let (workflow, script) = load();
        let mut tools: BTreeMap<String, Arc<dyn Tool>> = BTreeMap::new();
        for (name, file) in &workflow.tools {
            tools.insert(name.clone(), Arc::new(Canned::new(name, file).unwrap()));
        }
        for tool in Calendar::new(folder).tools() {
            tools.insert(tool.spec().name.to_string(), tool);
        }
        Self {
            script,
            workflow,
            tools,
            messages: vec![
                Message::assistant("coordinator", "Today's date is 2026-11-15."),
                Message::user(input),
            ],
            turns: BTreeMap::new(),
            played: Played {
                asked: Vec::new(),
                plan: String::new(),
                summaries: BTreeMap::new(),
                first_call_messages: Vec::new(),
                events: Value::Null,
            },
        }
    }

    async fn model(&mut self, agent: &str, open: Option<&Message>) -> Vec<Part> {
        let turn = self.turns.entry(agent.into()).or_default();
        let messages: Vec<Arc<Message>> =
            self.messages.iter().chain(open).cloned().map(Arc::new).collect();
        if *turn == 0 {
            self.played.first_call_messages.push((agent.into(), messages.len()));
        }
        let request = ModelRequest {
            agent: agent.into(),
            model: "default".into(),
            turn: *turn,
            instructions: "".into(),
            messages,
            tools: Arc::new([]),
            output: None,
            sent: None,
        };
        *turn += 1;
        self.script.complete(&request, &|_| {}).await.unwrap().parts
    }

    /// One agent's turn; its final text.
    pub(crate) async fn turn(
        &mut self,
        agent: &str,
        decide: &dyn Fn(&RequestBody) -> Option<Decision>,
    ) -> String {
        let allowed = self.workflow.agents[agent].tools.clone();
        let mut open: Option<Message> = None;
        for _ in 0..10 {
            let parts = self.model(agent, open.as_ref()).await;
            let message = open.get_or_insert_with(|| Message {
                parts: Vec::new(),
                ..Message::assistant(agent, "")
            });
            message.parts.extend(parts.iter().cloned());
            let calls: Vec<_> = parts
                .iter()
                .filter_map(|part| match part {
                    Part::ToolCall(call) => Some(call.clone()),
                    _ => None,
                })
                .collect();
            if calls.is_empty() {
                let text = message.last_text().unwrap().to_owned();
                self.messages.extend(open.take());
                return text;
            }
            for call in calls {
                assert!(
                    allowed.iter().any(|tool| **tool == *call.name),
                    "{agent} may not call {}",
                    call.name
                );
                if &*call.name == REQUEST_USER_INPUT {
                    let ask = UserInput::parse(&call.arguments).unwrap();
                    let body = ask.to_request().unwrap();
                    let result = match decide(&body) {
                        Some(decision) => {
                            body.check(&decision).unwrap();
                            ToolResult {
                                id: call.id,
                                content: ask.result(&decision),
                                is_error: false,
                            }
                        }
                        None => ToolResult {
                            id: call.id,
                            content: json!({ "error": "nobody answered in time" }),
                            is_error: true,
                        },
                    };
                    self.played.asked.push((agent.into(), body));
                    self.messages.extend(open.take());
                    self.messages.push(Message {
                        role: Role::Tool,
                        author: Some("local".into()),
                        parts: vec![Part::ToolResult(result)],
                    });
                } else {
                    let tool = Arc::clone(&self.tools[&*call.name]);
                    schema::check(&tool.spec().parameters, &call.arguments).unwrap();
                    let invocation = Invocation {
                        arguments: call.arguments.clone(),
                        idempotency_key: format!("{agent}/{}", call.id).into(),
                        now: Timestamp(1_794_700_800_000),
                        rounds: Vec::new(),
                    };
                    let content = tool.call(invocation).await.unwrap();
                    open.as_mut().unwrap().parts.push(Part::ToolResult(ToolResult {
                        id: call.id,
                        content,
                        is_error: false,
                    }));
                }
            }
        }
        panic!("{agent} does not come to an end");
    }
}

pub(crate) async fn play(input: &str, decide: impl Fn(&RequestBody) -> Option<Decision>) -> Played {
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::new(input, dir.path());
    let output = run.workflow.output_schema("venue").unwrap();
    let mut next = Some("venue".to_owned());
    while let Some(agent) = next {
        let text = run.turn(&agent, &decide).await;
        let said: Value = serde_json::from_str(&text).unwrap();
        schema::check(&output, &said).unwrap();
        assert!(said["summary"].as_str().unwrap().split_whitespace().count() <= 200);
        run.played.summaries.insert(agent.clone(), said["summary"].as_str().unwrap().to_owned());
        next = said["next_agent"].as_str().map(str::to_owned);
        run.messages
            .push(Message::user(format!("{agent} is done; please continue.")).by("coordinator"));
    }
    assert_eq!(run.played.summaries.len(), 4, "all specialists are heard");
    run.played.plan = run.turn("coordinator", &decide).await;
    let list = Arc::clone(&run.tools["list_calendar_events"]);
    let invocation = Invocation {
        arguments: json!({}),
        idempotency_key: "l".into(),
        now: Timestamp(0),
        rounds: Vec::new(),
    };
    run.played.events = list.call(invocation).await.unwrap()["events"].clone();
    for heading in [
        "Executive summary",
        "Venue",
        "Budget",
        "Catering",
        "Logistics",
        "Next steps",
        "Trade-offs",
        "Invitation",
    ] {
        assert!(
            run.played.plan.contains(&format!("\n## {heading}\n")),
            "{heading}\n{}",
            run.played.plan
        );
    }
    assert!(!run.played.plan.contains("\n\n\n\n"), "{}", run.played.plan);
    run.played
}

/// The amounts of the table, the total last.
pub(crate) fn amounts(plan: &str) -> Vec<f64> {
    plan.lines()
        .filter(|line| line.starts_with("| ") && line.contains('$'))
        .map(|line| {
            line.rsplit('$').next().unwrap().replace(['*', '|', ',', ' '], "").parse().unwrap()
        })
        .collect()
}

pub(crate) fn assert_adds_up(plan: &str) {
    let mut amounts = amounts(plan);
    let total = amounts.pop().unwrap();
    assert!((amounts.iter().sum::<f64>() - total).abs() < 0.01, "{plan}");
}
