//! The agent of the documentation, made with the protocol's own Python library.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use signoff_a2a::{A2aAgent, A2aConfig};
use signoff_core::{Actor, Decision, Event, RequestKind, RunStatus};
use signoff_net::{Client, Method, Policy, Request};
use signoff_runtime::ForkRun;
use signoff_testkit::peers::{copied, example, python};

use crate::support::{decide, engine, output, pending, start};

/// The agent, running.
struct Agent {
    process: Child,
    port: u16,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Agent {
    /// Starts it with its tasks in `folder`.
    fn start(folder: &Path, port: Option<u16>, how: Option<&str>) -> Self {
        let home = copied("a2a-python");
        let python = python(&home, "uvicorn");
        let port = port.unwrap_or_else(|| {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        });
        let mut command = Command::new(python);
        match how {
            None => command.arg(home.join("agent.py")),
            Some(how) => {
                let file = if ["old", "rest"].contains(&how) { "other.py" } else { "clerk.py" };
                let other: PathBuf =
                    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a").join(file);
                command.arg(other).arg(how).env("PYTHONPATH", &home)
            }
        };
        command.env("PORT", port.to_string()).env("PYTHONDONTWRITEBYTECODE", "1");
        let log = std::fs::File::create(folder.join("agent.log")).unwrap();
        let process = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut agent = Self { process, port };
        for _ in 0..1200 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return agent;
            }
            if matches!(agent.process.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(folder.join("agent.log")).unwrap_or_default();
        panic!("the agent does not listen: {log}");
    }

    /// As the example's `signoff.toml` has it, at this one's port.
    fn remote(&self) -> A2aAgent {
        let text = std::fs::read_to_string(example("a2a-python").join("signoff.toml")).unwrap();
        let mut file: toml::Table = text.parse().unwrap();
        let agents = file.remove("a2a").unwrap();
        let (name, config) = agents.as_table().unwrap().iter().next().unwrap();
        let mut config: A2aConfig = config.clone().try_into().unwrap();
        config.url = config.url.replace("9999", &self.port.to_string());
        A2aAgent::new(name, &config).unwrap()
    }

    /// All tasks that it has.
    async fn tasks(&self) -> Vec<Value> {
        let url = format!("http://127.0.0.1:{}/", self.port).parse().unwrap();
        let mut request = Request::new(Method::POST, url);
        for (name, value) in [("a2a-version", "1.0"), ("content-type", "application/json")] {
            request.headers.insert(name, value.parse().unwrap());
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {} });
        request.body = body.to_string().into_bytes().into();
        let response = Client::new(Policy::configured()).unwrap().send(request).await.unwrap();
        let answer: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        answer["result"]["tasks"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    }
}

fn workflow() -> String {
    std::fs::read_to_string(example("a2a-python").join("workflow.yaml")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn its_question_waits_for_a_person_while_everybody_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = Agent::start(folder.path(), None, None);
    let port = theirs.port;
    let first = engine(folder.path(), theirs.remote(), &workflow());
    let run = start(&first, "The lamp is broken, 120 please").await;
    let request = pending(&first, &run);
    assert_eq!(request.body.kind, RequestKind::Selection);
    assert_eq!(request.body.prompt, "Grant a refund of 120?");
    assert_eq!(request.body.context["remote"], "refunds");
    let tasks = theirs.tasks().await;
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!(request.body.context["task"], tasks[0]["id"]);
    drop((first, theirs));

    let theirs = Agent::start(folder.path(), Some(port), None);
    let second = engine(folder.path(), theirs.remote(), &workflow());
    decide(&second, &run, Decision::respond("yes")).await;
    assert_eq!(output(&second, &run), "120 granted");
    let after = theirs.tasks().await;
    assert_eq!(after.len(), 1, "{after:?}");
    assert_eq!(
        (&after[0]["id"], &after[0]["status"]["state"]),
        (&tasks[0]["id"], &json!("TASK_STATE_COMPLETED"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn it_answers_without_a_question_or_will_not() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = Agent::start(folder.path(), None, None);
    let engine = engine(folder.path(), theirs.remote(), &workflow());
    let run = start(&engine, "only 12").await;
    assert_eq!(output(&engine, &run), "12 granted");
    let run = start(&engine, "some money").await;
    let request = pending(&engine, &run);
    assert_eq!(request.body.context["error"]["code"], "a2a_rejected");
    assert!(request.body.reasons[0].contains("how much"), "{:?}", request.body.reasons);
    let run = start(&engine, "300 for the sofa").await;
    decide(&engine, &run, Decision::respond("no")).await;
    assert_eq!(output(&engine, &run), "300 not granted");
}

#[tokio::test(flavor = "multi_thread")]
async fn older_and_other_ways_to_speak() {
    for how in ["old", "rest"] {
        let folder = tempfile::tempdir().unwrap();
        let theirs = Agent::start(folder.path(), None, Some(how));
        let engine = engine(folder.path(), theirs.remote(), &workflow());
        let run = start(&engine, "The lamp is broken, 120 please").await;
        assert_eq!(pending(&engine, &run).body.prompt, "Grant a refund of 120?", "{how}");
        decide(&engine, &run, Decision::respond("yes")).await;
        assert_eq!(output(&engine, &run), "120 granted", "{how}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_cancels_its_task() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = Agent::start(folder.path(), None, None);
    let engine = engine(folder.path(), theirs.remote(), &workflow());
    let run = start(&engine, "The lamp is broken, 120 please").await;
    engine.cancel(&run, Actor::new("boss"), None).await.unwrap();
    engine.look_for_work(&signoff_store::Scope::All).await.unwrap();
    engine.idle().await;
    assert_eq!(engine.store().run(&run).unwrap().unwrap().status, RunStatus::Cancelled);
    let tasks = theirs.tasks().await;
    assert_eq!(tasks[0]["status"]["state"], "TASK_STATE_CANCELED", "{tasks:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_does_not_pass_off_another_answer_as_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = Agent::start(folder.path(), None, None);
    let engine = engine(folder.path(), theirs.remote(), &workflow());
    let run = start(&engine, "The lamp is broken, 120 please").await;
    decide(&engine, &run, Decision::respond("yes")).await;
    let journal = engine.store().entries(&run, 0, 100).unwrap();
    let decided = journal.iter().find(|it| matches!(it.event, Event::Decided { .. })).unwrap();
    let fork = ForkRun {
        run: run.clone(),
        at: decided.seq,
        decision: Some(Decision::respond("no")),
        by: Actor::local(),
        reason: None,
    };
    let forked = engine.fork(fork).await.unwrap().run;
    engine.idle().await;
    assert_eq!(pending(&engine, &forked).body.context["error"]["code"], "a2a_overtaken");
    decide(&engine, &forked, Decision::Retry { feedback: None }).await;
    // A new task, which knows the conversation but asks again: it is a new task.
    decide(&engine, &forked, Decision::respond("no")).await;
    assert_eq!(output(&engine, &forked), "120 not granted");
    assert_eq!(output(&engine, &run), "120 granted");
    assert_eq!(theirs.tasks().await.len(), 2);
}

/// One question after another in one task, each with its schema, while both sides restart in between.
#[tokio::test(flavor = "multi_thread")]
async fn it_asks_one_thing_after_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut theirs = Agent::start(folder.path(), None, Some("kept"));
    let port = theirs.port;
    let mut ours = engine(folder.path(), theirs.remote(), &workflow());
    let run = start(&ours, "a transfer").await;
    for (prompt, wrong, answer) in [
        ("How much?", json!("lots"), json!(120)),
        ("Sign in at the bank.", json!(""), json!("done")),
        (
            "Two last things.",
            json!({ "when": "today" }),
            json!({ "when": "today", "note": "thanks" }),
        ),
    ] {
        let request = pending(&ours, &run);
        assert!(request.body.prompt.starts_with(prompt), "{}", request.body.prompt);
        assert!(request.body.check(&Decision::respond(wrong)).is_err(), "{prompt}");
        drop((ours, theirs));
        theirs = Agent::start(folder.path(), Some(port), Some("kept"));
        ours = engine(folder.path(), theirs.remote(), &workflow());
        decide(&ours, &run, Decision::respond(answer)).await;
    }
    let heard = output(&ours, &run).as_str().unwrap().to_owned();
    assert!(heard.contains("120") && heard.contains("done"), "{heard}");
    assert!(heard.contains("today") && heard.contains("thanks"), "{heard}");
    assert_eq!(theirs.tasks().await.len(), 1, "one task, over all restarts");
}

/// An agent that keeps its tasks in memory, restarted while people are asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_a_restart_has_lost_is_put_to_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = Agent::start(folder.path(), None, Some("memory"));
    let port = theirs.port;
    let ours = engine(folder.path(), theirs.remote(), &workflow());
    let run = start(&ours, "a transfer").await;
    drop(theirs);
    let theirs = Agent::start(folder.path(), Some(port), Some("memory"));
    decide(&ours, &run, Decision::respond(120)).await;
    let request = pending(&ours, &run);
    assert_eq!(request.body.kind, RequestKind::StepError);
    assert_eq!(request.body.context["error"]["code"], "a2a_task_lost", "{:?}", request.body);
    assert!(theirs.tasks().await.is_empty(), "no other task was begun by itself");
    decide(&ours, &run, Decision::Retry { feedback: None }).await;
    assert_eq!(pending(&ours, &run).body.prompt, "How much?", "a new task, as the person said");
    assert_eq!(theirs.tasks().await.len(), 1);
}
