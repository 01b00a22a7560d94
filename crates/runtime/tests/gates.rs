//! An approval is for what was shown, and for nothing else.

#![allow(clippy::unwrap_used)] // tests

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use signoff_core::policy::GateFile;
use signoff_core::{Decision, Effects, RunStatus, ToolSpec};
use signoff_runtime::{Context, EngineBuilder, WorkflowBuilder};
use signoff_tools::{FnTool, Tool};
use support::World;

/// A tool that counts what it is given.
fn counter(done: &Arc<AtomicU32>) -> Arc<dyn Tool> {
    let done = Arc::clone(done);
    let spec = ToolSpec {
        name: "pay".into(),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": { "amount": { "type": "integer" } } }),
        effects: Effects::default(),
    };
    Arc::new(FnTool::new(spec, move |invocation| {
        let amount = invocation.arguments["amount"].as_u64().unwrap_or(0);
        done.fetch_add(u32::try_from(amount).unwrap(), Ordering::Relaxed);
        async { Ok(json!("paid")) }
    }))
}

fn always() -> Vec<GateFile> {
    serde_json::from_value(json!([{ "name": "all", "when": "true" }])).unwrap()
}

#[tokio::test]
async fn what_changed_since_it_was_shown_is_asked_anew() {
    let paid = Arc::new(AtomicU32::new(0));
    // What it pays is one more each time it is started: as if somebody had changed it in between.
    let amount = Arc::new(AtomicU32::new(100));
    let (tool, given) = (counter(&paid), Arc::clone(&amount));
    let pay = move |ctx: Context, _: Arc<Value>| {
        let (tool, amount) = (Arc::clone(&tool), given.load(Ordering::Relaxed));
        async move {
            let paid = ctx.call("pay", &tool, &json!({ "amount": amount })).await?;
            Ok(Value::clone(&paid))
        }
    };
    let build = move |engine: EngineBuilder| {
        engine.built(WorkflowBuilder::new("pay").function("pay", pay.clone()).gates(always()))
    };
    for world in World::all(build) {
        paid.store(0, Ordering::Relaxed);
        amount.store(100, Ordering::Relaxed);
        let run = world.run("pay", json!(null)).await;
        let first = world.pending(&run).remove(0);
        assert_eq!(first.body.context["proposal"]["amount"], 100);
        amount.store(101, Ordering::Relaxed);
        world.answer(&first.id, Decision::approve()).await.unwrap();
        world.engine.idle().await;
        let second = world.pending(&run).remove(0);
        assert_ne!(second.id, first.id);
        assert_eq!(second.body.context["proposal"]["amount"], 101);
        assert_eq!(paid.load(Ordering::Relaxed), 0, "nothing was paid on the old approval");
        world.answer(&second.id, Decision::approve()).await.unwrap();
        world.engine.idle().await;
        assert_eq!(world.status(&run), RunStatus::Completed);
        assert_eq!(paid.load(Ordering::Relaxed), 101);
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_cannot_be_done() {
    let paid = Arc::new(AtomicU32::new(0));
    let tool = counter(&paid);
    let pay = move |ctx: Context, _: Arc<Value>| {
        let tool = Arc::clone(&tool);
        async move {
            let told = ctx.call("pay", &tool, &json!({ "amount": "all of it" })).await;
            Ok(json!(told.unwrap_err().code))
        }
    };
    let build = move |engine: EngineBuilder| {
        engine.built(WorkflowBuilder::new("pay").function("pay", pay.clone()).gates(always()))
    };
    for world in World::all(build) {
        let run = world.run("pay", json!(null)).await;
        assert_eq!(world.engine.state(&run).unwrap().output(), Some(json!("tool_arguments")));
        assert_eq!(paid.load(Ordering::Relaxed), 0);
    }
}

/// A tool that takes a while to show what it would do.
#[derive(Debug)]
struct Slow(ToolSpec);

impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(
        &self,
        _: signoff_tools::Invocation,
    ) -> signoff_tools::BoxFuture<'_, Result<Value, signoff_tools::ToolError>> {
        Box::pin(async { Ok(json!("done")) })
    }

    fn preview(
        &self,
        arguments: &Value,
    ) -> signoff_tools::BoxFuture<'_, Result<Option<Value>, signoff_tools::ToolError>> {
        let n = arguments["n"].as_u64().unwrap_or(0);
        Box::pin(async move {
            tokio::time::sleep(std::time::Duration::from_millis(20 * n)).await;
            Ok(Some(json!({ "summary": "slowly" })))
        })
    }
}

#[tokio::test]
async fn all_calls_of_a_turn_are_asked_about_at_once() {
    let spec = ToolSpec {
        name: "slow".into(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
        effects: Effects::default(),
    };
    let tool: Arc<dyn Tool> = Arc::new(Slow(spec));
    let three = move |ctx: Context, _: Arc<Value>| {
        let tool = Arc::clone(&tool);
        async move {
            let call = |n: u64| {
                let (ctx, tool) = (ctx.clone(), Arc::clone(&tool));
                async move { ctx.call(&format!("call{n}"), &tool, &json!({ "n": n })).await }
            };
            let (one, two, three) = futures_util::join!(call(0), call(1), call(2));
            Ok(json!([one.is_ok(), two.is_ok(), three.is_ok()]))
        }
    };
    let build = move |engine: EngineBuilder| {
        engine.built(WorkflowBuilder::new("three").function("three", three.clone()).gates(always()))
    };
    for world in World::all(build) {
        let run = world.run("three", json!(null)).await;
        let pending = world.pending(&run);
        assert_eq!(pending.len(), 3, "one that waits does not keep the others from asking");
        for request in pending {
            world.answer(&request.id, Decision::approve()).await.unwrap();
            world.engine.idle().await;
        }
        assert_eq!(world.status(&run), RunStatus::Completed);
    }
}
