//! A process for tests to kill: the engine with workflows whose effects are counted in a file.
//!
//! | command | what it does |
//! |---|---|
//! | `finish DATABASE LEDGER WORKFLOW INPUT` | starts a run, or goes on with the one there, and answers what it asks, until it is over |
//! | `drive DATABASE LEDGER RUN LEASE_MS` | drives a run of `gated` under short leases, once nobody else does, until it rests or is lost |
//! | `race DATABASE LEDGER NAME` | answers each request of `question` named on standard input, on the line after it, as `NAME` |

#![allow(clippy::unwrap_used)] // what goes wrong here fails a test

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use signoff_core::{Actor, Decision, RequestId, RequestStatus, RunId, Span};
use signoff_runtime::{DecideError, DecideRequest, DriveEnd, Engine, StartRun};
use signoff_store::{RequestFilter, RunFilter, Scope};
use signoff_testkit::workflows::{GATED, QUESTION, engine, say};
use signoff_testkit::{Ledger, answers};

const LOOK_EVERY: Duration = Duration::from_millis(10);

#[tokio::main(worker_threads = 2)]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let on = |database: &str, ledger: &str, workflow: &str, lease| {
        engine(Path::new(database), &Ledger::new(ledger), workflow, lease)
    };
    match args[..] {
        ["finish", database, ledger, workflow, input] => {
            let engine = on(database, ledger, workflow, None);
            finish(&engine, &Ledger::new(ledger), workflow, input).await;
        }
        ["drive", database, ledger, run, lease] => {
            let lease = Span(lease.parse().unwrap());
            drive(&on(database, ledger, GATED, Some(lease)), &RunId::new(run)).await;
        }
        ["race", database, ledger, name] => {
            race(&on(database, ledger, QUESTION, None), name).await;
        }
        _ => panic!("not a command: {args:?}"),
    }
}

async fn finish(engine: &Engine, ledger: &Ledger, workflow: &str, input: &str) {
    let store = engine.store();
    let known = store.runs(&RunFilter::default(), None, 1000).unwrap().items;
    let run = match known.iter().find(|run| run.root == run.id) {
        Some(run) => run.id.clone(),
        None => engine.start(StartRun::new(workflow, input)).await.unwrap().run,
    };
    loop {
        engine.look_for_work(&Scope::Tree(run.clone())).await.unwrap();
        engine.idle().await;
        let status = store.run(&run).unwrap().unwrap().status;
        if status.is_over() {
            return say(&json!({ "over": status }));
        }
        let filter = RequestFilter {
            status: Some(RequestStatus::Pending),
            root: Some(run.clone()),
            ..RequestFilter::default()
        };
        let pending = store.requests(&filter, None, 100).unwrap().items;
        if pending.is_empty() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        for request in pending {
            let decide = DecideRequest::new(request.id.clone(), answers::answer(&request, ledger));
            match engine.decide(decide).await {
                Ok(_) => say(&json!({ "answered": request.id, "kind": request.body.kind })),
                // Another one that finishes the same run was faster.
                Err(DecideError::AlreadyDecided(_) | DecideError::Cancelled(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

async fn drive(engine: &Engine, run: &RunId) {
    loop {
        match engine.resume(run).await {
            None => tokio::time::sleep(LOOK_EVERY).await,
            Some(DriveEnd::Rests(status)) => return say(&json!({ "rests": status })),
            Some(DriveEnd::Lost(error)) => return say(&json!({ "lost": error.code })),
            Some(DriveEnd::Unable(error)) => panic!("{error}"),
            Some(DriveEnd::HandedOver) => panic!("nobody asked for that"),
        }
    }
}

async fn race(engine: &Engine, name: &str) {
    let mut lines = std::io::stdin().lines();
    let answer = |n: u64| Decision::respond(format!("{n} is what {name} says"));
    say(&json!({ "ready": name }));
    for n in 0.. {
        let Some(request) = lines.next() else { break };
        let request = RequestId::new(request.unwrap());
        let decide = DecideRequest::new(request.clone(), answer(n)).by(Actor::new(name));
        say(&json!({ "ready": request }));
        // The starting shot.
        lines.next().unwrap().unwrap();
        let taken = engine.decide(decide).await;
        say(&told(&request, &taken.map(|outcome| outcome.changed)));
    }
    engine.idle().await;
}

fn told(request: &RequestId, taken: &Result<bool, DecideError>) -> Value {
    match taken {
        Ok(changed) => json!({ "request": request, "taken": changed }),
        Err(error) => {
            let decision = match error {
                DecideError::AlreadyDecided(request) => request.decision.as_ref(),
                _ => None,
            };
            json!({
                "request": request,
                "refused": error.code(),
                "message": error.to_string(),
                "decision": decision,
            })
        }
    }
}
