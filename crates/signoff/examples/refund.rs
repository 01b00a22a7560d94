//! A refund desk inside a program of your own: a function looks at a claim, a person approves what is
//! large, the payment is made once. The run survives the end of the program while it waits:
//!
//! ```text
//! cargo run -p signoff --example refund            # starts a run, which waits
//! cargo run -p signoff --example refund -- approve # another process answers it and goes on
//! ```

#![allow(clippy::print_stdout)] // it is a program

use std::sync::Arc;

use serde_json::{Value, json};
use signoff::{
    Answer, Context, DecideRequest, Decision, Effect, Engine, ErrorInfo, RequestBody,
    RequestFilter, RequestStatus, SqliteOptions, SqliteStore, StartRun, WorkflowBuilder, new_id,
};

async fn judge(ctx: Context, claim: Arc<Value>) -> Result<Value, ErrorInfo> {
    let amount = claim["amount"].as_f64().unwrap_or(0.0);
    if amount <= 100.0 {
        return Ok(json!({ "pay": amount }));
    }
    let question = RequestBody::approval(
        format!("Refund {amount} to {}?", claim["customer"]),
        json!({ "amount": amount }),
    );
    match ctx.ask("approve", question).await? {
        Answer::Decided { decision: Decision::Approve { .. }, .. } => Ok(json!({ "pay": amount })),
        Answer::Decided { decision: Decision::Edit { value, .. }, .. } => {
            Ok(json!({ "pay": value["amount"] }))
        }
        _ => Ok(json!({ "pay": 0 })),
    }
}

async fn pay(ctx: Context, message: Arc<Value>) -> Result<Value, ErrorInfo> {
    let amount = message["pay"].clone();
    let action = json!({ "pay": amount });
    ctx.effect("pay", Effect::once(action), |idempotency_key| async move {
        // A real one would hand the key to the payment service.
        Ok(json!({ "paid": amount, "reference": &*idempotency_key }))
    })
    .await
    .map(|receipt| Value::clone(&receipt))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let refunds = WorkflowBuilder::new("refunds")
        .description("Refunds a customer; a person approves what is over 100.")
        .function("judge", judge)
        .function("pay", pay)
        .edge("judge", "pay");
    let node: Arc<str> = new_id().into();
    let store = SqliteStore::open(SqliteOptions::new(".signoff/refunds.db", Arc::clone(&node)))?;
    let engine = Engine::builder(Arc::new(store)).node(node).built(refunds).build()?;

    let waiting =
        RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
    let pending = engine.store().requests(&waiting, None, 10)?.items;
    if std::env::args().nth(1).as_deref() == Some("approve") {
        for request in pending {
            engine.decide(DecideRequest::new(request.id.clone(), Decision::approve())).await?;
            engine.idle().await;
            println!("{} gave {:?}", request.run, engine.state(&request.run)?.output());
        }
    } else {
        let claim = json!({ "customer": "Ada", "amount": 250 });
        let started = engine.run(StartRun::new("refunds", claim)).await?;
        let status = engine.store().run(&started.run)?.map(|run| run.status);
        println!("{} is {status:?}; run it again with `approve`", started.run);
    }
    Ok(())
}
