//! Multi-agent workflows that stop for people, inside your own program.
//!
//! A workflow is built from async functions over a [`Context`], or read from a file. An [`Engine`]
//! drives its runs on a [`Store`]; where a person must answer, the run parks, durably and without
//! anything left in memory, until somebody decides. Then it goes on exactly where it stood, once, in
//! this process or in another one on the same database.
//!
//! ```
//! use signoff::{Context, Decision, DecideRequest, Engine, RequestBody, StartRun, WorkflowBuilder};
//! use signoff::{Answer, MemoryStore, RunStatus};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let greeting = WorkflowBuilder::new("greeting").function("greet", |ctx: Context, _| async move {
//!     match ctx.ask("name", RequestBody::input("What is your name?")).await? {
//!         Answer::Decided { decision: Decision::Respond { content }, .. } => {
//!             Ok(json!(format!("Hello, {}!", content.as_str().unwrap_or("stranger"))))
//!         }
//!         _ => Ok(json!("Hello, stranger!")),
//!     }
//! });
//! let engine = Engine::builder(std::sync::Arc::new(MemoryStore::new())).built(greeting).build()?;
//!
//! let run = engine.run(StartRun::new("greeting", json!(null))).await?.run;
//! assert_eq!(engine.store().run(&run)?.unwrap().status, RunStatus::Waiting);
//!
//! engine.decide(DecideRequest::new(run.request(1), Decision::respond("Ada"))).await?;
//! engine.idle().await;
//! assert_eq!(engine.state(&run)?.output(), Some(json!("Hello, Ada!")));
//! # Ok(())
//! # }
//! ```
//!
//! # What is done once
//!
//! An executor may be started again from the top: after a pause, after a crash, on another machine.
//! What it did through its context is then answered from the journal. So everything that matters goes
//! through the context: [`Context::model`], [`Context::call`], [`Context::effect`], [`Context::ask`],
//! [`Context::sleep`], [`Context::invoke`], [`Context::workflow`], each under a key of its own.
//!
//! ```
//! use signoff::{Context, Effect, ErrorInfo};
//! use serde_json::{Value, json};
//!
//! async fn pay(ctx: Context, amount: std::sync::Arc<Value>) -> Result<Value, ErrorInfo> {
//!     // The intent is durable before the payment is made. If the process dies in between, nobody
//!     // guesses: a person is asked whether it happened.
//!     let receipt = ctx
//!         .effect("pay", Effect::once(json!({ "pay": amount })), |idempotency_key| async move {
//!             Ok(json!({ "paid_with": &*idempotency_key }))
//!         })
//!         .await?;
//!     Ok(json!({ "receipt": receipt }))
//! }
//! ```

pub use signoff_core::journal::{Entry, ErrorInfo, Event};
pub use signoff_core::request::{Choice, Request, RequestBody, RequestKind, RequestStatus};
pub use signoff_core::state::{Answer, RunState, RunStatus};
pub use signoff_core::workflow::{self, Agent, Workflow};
pub use signoff_core::{
    Actor, ConversationId, Decision, DecisionKind, Effects, Message, Part, RequestId, Role, RunId,
    Span, Timestamp, ToolSpec,
};
pub use signoff_models::{self as models, Provider, Scripted};
pub use signoff_runtime::{
    Clock, Context, DecideError, DecideOutcome, DecideRequest, DriveEnd, Effect, Engine,
    EngineBuilder, EngineError, Executor, ForkRun, Live, LiveEvent, ManualClock, StartRun, Started,
    SystemClock, View, WorkflowBuilder, new_id,
};
pub use signoff_store::{
    self as store, MemoryStore, RequestFilter, RunFilter, Scope, SqliteOptions, SqliteStore, Store,
};
pub use signoff_tools::{self as tools, FnTool, Invocation, Tool, ToolError};
