//! Workflows whose effects are counted in a ledger, and an engine that knows them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::request::RequestBody;
use signoff_core::state::Answer;
use signoff_core::workflow::{CannedTool, Known, MapFiles, yaml};
use signoff_core::{Effects, Span, ToolSpec, Workflow};
use signoff_models::Scripted;
use signoff_runtime::{Context, Effect, Engine, EngineBuilder, WorkflowBuilder, new_id};
use signoff_store::{NodeId, SqliteOptions, SqliteStore};
use signoff_tools::{BoxFuture, Calendar, Canned, Invocation, Tool, ToolError};

use crate::ledger::{Done, Ledger};

macro_rules! example {
    ($file:literal) => {
        include_str!(concat!("../../../examples/workflows/event_planner/", $file))
    };
}

/// The example, its tools counted; those it calls written are treated as if they must not be repeated.
pub const EVENT_PLANNER: &str = "event_planner";
/// Effects in a row, side by side and in a sub-workflow, with questions and a sleep between them.
pub const ERRANDS: &str = "errands";
/// One question, then one effect.
pub const QUESTION: &str = "question";
/// A question, an effect, a wait for [`open_gate`], another effect.
pub const GATED: &str = "gated";

/// An engine on `database` that knows one of them.
pub fn engine(database: &Path, ledger: &Ledger, workflow: &str, lease: Option<Span>) -> Engine {
    let node: NodeId = new_id().into();
    let store = SqliteStore::open(SqliteOptions::new(database, Arc::clone(&node))).unwrap();
    let mut builder = Engine::builder(Arc::new(store)).node(node);
    if let Some(lease) = lease {
        builder = builder.lease(lease);
    }
    let builder = match workflow {
        EVENT_PLANNER => event_planner(builder, ledger),
        ERRANDS => errands(builder, ledger),
        QUESTION => builder.built(question(ledger)),
        GATED => builder.built(gated(ledger)),
        _ => panic!("there is no workflow {workflow}"),
    };
    builder.build().unwrap()
}

fn event_planner(mut builder: EngineBuilder, ledger: &Ledger) -> EngineBuilder {
    let prompts: MapFiles = [
        ("prompts/venue.md", example!("prompts/venue.md")),
        ("prompts/budget.md", example!("prompts/budget.md")),
        ("prompts/catering.md", example!("prompts/catering.md")),
        ("prompts/logistics.md", example!("prompts/logistics.md")),
        ("prompts/coordinator.md", example!("prompts/coordinator.md")),
    ]
    .into_iter()
    .collect();
    let calendars = ledger.path().with_file_name("calendars");
    let calendar = Calendar::new(calendars).tools();
    let names: Vec<String> = calendar.iter().map(|tool| tool.spec().name.to_string()).collect();
    let mut tools: Vec<&str> = names.iter().map(String::as_str).collect();
    tools.push(signoff_tools::REQUEST_USER_INPUT);
    let known = Known { tools, ..Known::default() };
    let parsed = Workflow::parse(example!("workflow.yaml"), &prompts, &known).unwrap();
    let mut workflow = parsed.workflow;
    for (name, canned) in workflow.tools.clone() {
        let parameters = workflow.tool_schema(&name);
        let canned = Canned::new(&name, &CannedTool { parameters, ..canned }).unwrap();
        let spec = ToolSpec { effects: Effects::default(), ..canned.spec().clone() };
        builder = builder.tool(Counted { spec, tool: Arc::new(canned), ledger: ledger.clone() });
    }
    workflow.tools.clear();
    for tool in calendar {
        let spec = tool.spec().clone();
        builder = builder.tool(Counted { spec, tool, ledger: ledger.clone() });
    }
    let script = Scripted::from_value(yaml(example!("script.yaml")).unwrap()).unwrap();
    builder.workflow(workflow).script(EVENT_PLANNER, Arc::new(script))
}

/// A tool whose calls are in the ledger.
#[derive(Debug)]
struct Counted {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
    ledger: Ledger,
}

impl Tool for Counted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let key = invocation.idempotency_key.to_string();
            let action = json!({ "tool": self.spec.name, "arguments": invocation.arguments });
            let result = self.tool.call(invocation).await?;
            self.ledger.write(&Done { key, action, result: result.clone() });
            Ok(result)
        })
    }
}

/// An effect that must not be repeated: a line in the ledger.
async fn once(ctx: &Context, ledger: &Ledger, name: &str) -> Result<Value, ErrorInfo> {
    let action = json!({ "errand": name });
    let effect = Effect::once(action.clone());
    let done = ctx.effect(name, effect, |key| async move {
        let result = json!({ "done": name });
        // Lets others come between.
        tokio::task::yield_now().await;
        ledger.write(&Done { key: key.to_string(), action, result: result.clone() });
        Ok(result)
    });
    done.await.map(|value| Value::clone(&value))
}

async fn ask(ctx: &Context, prompt: &str) -> Result<Value, ErrorInfo> {
    match ctx.ask(prompt, RequestBody::input(prompt)).await? {
        Answer::Decided { decision, .. } => Ok(serde_json::to_value(decision).unwrap()),
        Answer::Expired | Answer::Withdrawn => Err(ErrorInfo::new("test", "no answer")),
    }
}

fn errands(builder: EngineBuilder, ledger: &Ledger) -> EngineBuilder {
    let at = ledger.clone();
    let child = WorkflowBuilder::new("errand").function("ring", move |ctx, _| {
        let ledger = at.clone();
        async move {
            let dialled = once(&ctx, &ledger, "dial").await?;
            ctx.sleep("ringing", Span(20)).await?;
            let said = ask(&ctx, "what shall I say?").await?;
            Ok(json!([dialled, said, once(&ctx, &ledger, "talk").await?]))
        }
    });
    let (packing, posting, telling) = (ledger.clone(), ledger.clone(), ledger.clone());
    let parent = WorkflowBuilder::new(ERRANDS)
        .function("pack", move |ctx, _| {
            let ledger = packing.clone();
            async move {
                let packed = once(&ctx, &ledger, "pack").await?;
                Ok(json!([packed, ask(&ctx, "for whom?").await?]))
            }
        })
        .function("post", move |ctx, _| {
            let ledger = posting.clone();
            async move {
                let (letter, parcel, stamps) = tokio::join!(
                    once(&ctx, &ledger, "letter"),
                    once(&ctx, &ledger, "parcel"),
                    ask(&ctx, "which stamps?"),
                );
                Ok(json!([letter?, parcel?, stamps?]))
            }
        })
        .sub_workflow("call", child.definition())
        .function("tell", move |ctx, message| {
            let ledger = telling.clone();
            async move { Ok(json!([*message, once(&ctx, &ledger, "tell").await?])) }
        })
        .fan_out("pack", &["post", "call"])
        .fan_in(&["post", "call"], "tell");
    builder.built(child).built(parent)
}

fn question(ledger: &Ledger) -> WorkflowBuilder {
    let ledger = ledger.clone();
    WorkflowBuilder::new(QUESTION).function("ask", move |ctx, _| {
        let ledger = ledger.clone();
        async move {
            let answer = ask(&ctx, "well?").await?;
            once(&ctx, &ledger, "act").await?;
            Ok(answer)
        }
    })
}

fn gated(ledger: &Ledger) -> WorkflowBuilder {
    let ledger = ledger.clone();
    WorkflowBuilder::new(GATED).function("work", move |ctx, _| {
        let ledger = ledger.clone();
        async move {
            ask(&ctx, "now?").await?;
            once(&ctx, &ledger, "before").await?;
            // Whoever comes after us must not have to ask whether that has happened.
            ctx.durable().await?;
            let gate = gate(&ledger);
            ctx.effect("gate", Effect::repeatable(), |_| async move {
                say(&json!({ "at": "gate" }));
                while !gate.exists() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Ok(Value::Null)
            })
            .await?;
            once(&ctx, &ledger, "after").await
        }
    })
}

fn gate(ledger: &Ledger) -> std::path::PathBuf {
    ledger.path().with_extension("gate")
}

/// Lets runs of [`GATED`] go on.
pub fn open_gate(ledger: &Ledger) {
    std::fs::write(gate(ledger), "").unwrap();
}

/// Tells whoever started this process something.
#[allow(clippy::print_stdout)]
pub fn say(value: &Value) {
    println!("{value}");
}
