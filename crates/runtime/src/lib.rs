//! Performs runs.
//!
//! An [`Engine`] takes a [`Store`](signoff_store::Store), workflows, models and tools, and drives runs:
//! it claims those that can move, performs what their executors do over a [`Context`], journals it,
//! and lets go of them when nothing is left but to wait. Nothing of a waiting run stays in memory.

mod activation;
mod agent;
mod builder;
mod builtin;
mod cell;
mod clock;
mod context;
mod definition;
mod driver;
mod engine;
mod executor;
mod live;
mod output;
mod patience;
mod patterns;
mod roster;
mod rules;
mod scheduler;

pub use agent::{AgentProfile, HANDED_OVER};
pub use builder::WorkflowBuilder;
pub use builtin::{ASK_HUMAN, REQUEST_APPROVAL};
pub use clock::{Clock, ManualClock, SystemClock};
pub use context::{Context, Effect, View};
pub use definition::Definition;
pub use driver::DriveEnd;
pub use engine::{
    Change, DecideError, DecideOutcome, DecideRequest, DeferError, DeferRequest, Engine,
    EngineBuilder, EngineError, ForkRun, Origin, RuleError, RunView, StartRun, Started, Trial,
    Until, new_id, new_secret,
};
pub use executor::{BoxFuture, Executor};
pub use live::{Live, LiveEvent, ModelCall};
