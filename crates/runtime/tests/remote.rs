//! Agents that run elsewhere, with the elsewhere played here.

#![allow(clippy::unwrap_used)] // it is a test

#[path = "remote/patterns.rs"]
mod patterns;
#[path = "remote/record.rs"]
mod record;
mod support;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::request::{Request, RequestBody, RequestStatus};
use signoff_core::workflow::{Known, NoFiles};
use signoff_core::{Actor, Decision, RequestKind, RunId, RunStatus, Span, Workflow};
use signoff_runtime::{BoxFuture, DecideRequest, Engine, ManualClock, StartRun};
use signoff_store::{MemoryStore, RequestFilter, Scope, Store as _};
use signoff_tools::{
    Remote, RemoteAnswer, RemoteMessage, RemotePart, RemoteQuestion, RemoteState, RemoteTask,
    RemoteWatch,
};
use support::World;

/// Stands as its script says, one state after the other; the last one for ever.
#[derive(Debug, Default)]
struct Played {
    script: Mutex<VecDeque<RemoteState>>,
    heard: Mutex<Vec<String>>,
    fails: Mutex<Option<ErrorInfo>>,
    /// It hears this and never says so.
    mute: Option<&'static str>,
    /// Whether a task that came to nothing may begin again.
    again: Mutex<bool>,
}

impl Played {
    fn new(script: Vec<RemoteState>) -> Arc<Self> {
        Arc::new(Self { script: Mutex::new(script.into()), ..Self::default() })
    }

    fn hear(&self, what: impl Into<String>) {
        self.heard.lock().unwrap().push(what.into());
    }

    async fn hear_out(&self, what: &str, words: &str) {
        self.hear(format!("{what} {words}"));
        if self.mute == Some(what) {
            std::future::pending::<()>().await;
        }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn begun(&self) -> usize {
        self.heard().iter().filter(|it| it.starts_with("begin")).count()
    }

    fn stands(&self) -> RemoteTask {
        let mut script = self.script.lock().unwrap();
        let state = if script.len() > 1 { script.pop_front().unwrap() } else { script[0].clone() };
        RemoteTask {
            remote: "desk".into(),
            task: Some("T".into()),
            context: Some("C".into()),
            state,
        }
    }
}

fn said(message: &RemoteMessage) -> String {
    let words = message.parts.iter().map(|part| match part {
        RemotePart::Text { text, .. } => text.clone(),
        RemotePart::Data(value) => value.to_string(),
    });
    words.collect::<Vec<_>>().join(" | ")
}

impl Remote for Played {
    fn name(&self) -> &'static str {
        "desk"
    }

    fn timeout(&self) -> Span {
        Span::seconds(3600)
    }

    fn begin(&self, message: RemoteMessage) -> BoxFuture<'_, Result<RemoteTask, ErrorInfo>> {
        Box::pin(async move {
            self.hear_out("begin", &said(&message)).await;
            match self.fails.lock().unwrap().take() {
                Some(error) => Err(error),
                None => Ok(self.stands()),
            }
        })
    }

    fn answer(&self, answer: RemoteAnswer) -> BoxFuture<'_, RemoteTask> {
        let heard = format!("{} {} {}", answer.task, answer.question, said(&answer.message));
        Box::pin(async move {
            self.hear_out("answer", &heard).await;
            self.stands()
        })
    }

    fn watch(&self, watch: RemoteWatch) -> BoxFuture<'_, RemoteTask> {
        Box::pin(async move {
            self.hear_out("watch", &watch.task).await;
            self.stands()
        })
    }

    fn cancel(&self, task: String) -> BoxFuture<'_, Result<(), ErrorInfo>> {
        Box::pin(async move {
            self.hear(format!("cancel {task}"));
            Ok(())
        })
    }

    fn begins_again(&self, error: &ErrorInfo) -> bool {
        *self.again.lock().unwrap() && error.code == "lost"
    }
}

fn done(text: &str) -> RemoteState {
    RemoteState::Done(text.to_owned())
}

fn asks(id: &str, prompt: &str) -> RemoteState {
    let request = RequestBody::input(prompt);
    RemoteState::Asks(Box::new(RemoteQuestion { id: id.to_owned(), request }))
}

fn unknown(passes: bool) -> RemoteState {
    RemoteState::Unknown { error: ErrorInfo::new("away", "it is away"), passes }
}

fn workflow(settings: &str) -> Workflow {
    let file = format!(
        "workflow: shop\nagents: {{ clerk: {{ remote: desk, name: Clerk{settings} }} }}\n\
         pattern: sequential\nsequential: {{ agents: [clerk] }}\n"
    );
    let known = Known { remotes: vec!["desk"], ..Known::default() };
    Workflow::parse(&file, &NoFiles, &known).unwrap().workflow
}

/// Each world with an agent of its own.
fn worlds(settings: &str, script: &[RemoteState]) -> Vec<(World, Arc<Played>)> {
    let workflow = workflow(settings);
    let agents = Mutex::new(Vec::new());
    let worlds = World::all(|engine| {
        let agent = Played::new(script.to_vec());
        agents.lock().unwrap().push(Arc::clone(&agent));
        engine.workflow(workflow.clone()).remote(agent)
    });
    worlds.into_iter().zip(agents.into_inner().unwrap()).collect()
}

async fn decide(world: &World, run: &RunId, decision: Decision) {
    let pending = world.pending(run);
    assert_eq!(pending.len(), 1, "{pending:?}");
    world.answer(&pending[0].id, decision).await.unwrap();
    world.engine.idle().await;
}

async fn pass(world: &World, seconds: u64) {
    world.clock.advance(Span::seconds(seconds));
    world.look().await;
}

fn output(world: &World, run: &RunId) -> Value {
    let record = world.store.run(run).unwrap().unwrap();
    assert_eq!(record.status, RunStatus::Completed, "{:?}", record.error);
    world.engine.state(run).unwrap().output().unwrap()
}

fn retry() -> Decision {
    Decision::Retry { feedback: None }
}

#[tokio::test]
async fn its_question_becomes_ours_and_our_answer_goes_on_with_its_task() {
    let script = [RemoteState::Working, asks("q1", "How much?"), RemoteState::Working, done("ok")];
    for (world, agent) in worlds("", &script) {
        let run = world.run("shop", json!("a refund")).await;
        let request = world.pending(&run).remove(0);
        assert_eq!(
            (request.body.kind, request.body.prompt.as_str()),
            (RequestKind::Input, "How much?")
        );
        assert_eq!(world.status(&run), RunStatus::Waiting);
        decide(&world, &run, Decision::respond("all of it")).await;
        assert_eq!(output(&world, &run), "ok");
        assert_eq!(
            agent.heard(),
            ["begin a refund", "watch T", "answer T q1 all of it", "watch T"]
        );
        let said: Vec<String> =
            world.engine.state(&run).unwrap().messages.iter().map(|it| it.text()).collect();
        assert_eq!(said, ["a refund", "How much?", "all of it", "ok"]);
    }
}

#[tokio::test]
async fn long_work_is_slept_over_and_too_long_work_is_put_to_a_person() {
    for (world, agent) in worlds("", &[RemoteState::Working]) {
        let run = world.run("shop", json!("x")).await;
        assert_eq!(world.status(&run), RunStatus::Waiting);
        for _ in 0..40 {
            pass(&world, 300).await;
        }
        let request = world.pending(&run).remove(0);
        assert_eq!(request.body.kind, RequestKind::StepError);
        assert_eq!(request.body.context["error"]["code"], "remote_timeout");
        let looks = agent.heard().len();
        assert!((10..30).contains(&looks), "{looks}");
        *agent.script.lock().unwrap() = [done("at last")].into();
        decide(&world, &run, retry()).await;
        pass(&world, 300).await;
        assert_eq!(output(&world, &run), "at last");
        assert_eq!(agent.begun(), 1, "it is the same task");
    }
}

#[tokio::test]
async fn an_agent_out_of_reach_is_looked_for_again() {
    let script = [RemoteState::Working, unknown(true), unknown(true), done("back")];
    for (world, agent) in worlds("", &script) {
        let run = world.run("shop", json!("x")).await;
        for _ in 0..3 {
            pass(&world, 60).await;
        }
        assert_eq!(output(&world, &run), "back");
        assert_eq!(agent.begun(), 1);
    }
    for (world, agent) in worlds("", &[RemoteState::Working, unknown(false), done("back")]) {
        let run = world.run("shop", json!("x")).await;
        assert_eq!(world.pending(&run)[0].body.context["error"]["code"], "away");
        decide(&world, &run, retry()).await;
        assert_eq!(output(&world, &run), "back");
        assert_eq!(agent.begun(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_does_not_arrive_is_sent_again() {
    let script = [asks("q", "Which?"), unknown(true), RemoteState::Working, done("good")];
    for (world, agent) in worlds("", &script) {
        let run = world.run("shop", json!("x")).await;
        decide(&world, &run, Decision::respond("this")).await;
        assert_eq!(world.status(&run), RunStatus::Waiting);
        for _ in 0..3 {
            pass(&world, 60).await;
        }
        assert_eq!(output(&world, &run), "good");
        assert_eq!(agent.heard(), ["begin x", "answer T q this", "answer T q this", "watch T"]);
    }
}

#[tokio::test]
async fn an_answer_that_never_arrived_is_not_asked_for_again() {
    let script = [asks("q", "Which?"), unknown(false), done("good")];
    for (world, agent) in worlds("", &script) {
        let run = world.run("shop", json!("x")).await;
        decide(&world, &run, Decision::respond("this")).await;
        assert_eq!(world.pending(&run)[0].body.kind, RequestKind::StepError);
        decide(&world, &run, retry()).await;
        assert_eq!(output(&world, &run), "good");
        assert_eq!(agent.heard(), ["begin x", "answer T q this", "answer T q this"]);
    }
}

#[tokio::test]
async fn a_failure_is_put_to_a_person() {
    let failed = RemoteState::Failed(ErrorInfo::new("broken", "it broke"));
    for (world, agent) in worlds("", &[failed.clone(), failed, done("third time")]) {
        *agent.fails.lock().unwrap() = Some(ErrorInfo::new("away", "nobody there"));
        let run = world.run("shop", json!("x")).await;
        for code in ["away", "broken", "broken"] {
            assert_eq!(world.pending(&run)[0].body.context["error"]["code"], code);
            decide(&world, &run, retry()).await;
        }
        assert_eq!(output(&world, &run), "third time");
        assert_eq!(agent.begun(), 4, "a new task each time");
    }
    for (world, _) in worlds("", &[RemoteState::Failed(ErrorInfo::new("broken", "it broke"))]) {
        let run = world.run("shop", json!("x")).await;
        decide(&world, &run, Decision::respond("I did it")).await;
        assert_eq!(output(&world, &run), "I did it");
    }
}

#[tokio::test]
async fn a_run_that_is_cancelled_lets_the_task_go() {
    for (world, agent) in worlds("", &[asks("q", "Which?")]) {
        let run = world.run("shop", json!("x")).await;
        world.engine.cancel(&run, Actor::new("boss"), None).await.unwrap();
        world.look().await;
        assert_eq!(world.status(&run), RunStatus::Cancelled);
        assert_eq!(agent.heard().last().unwrap(), "cancel T");
    }
}

#[tokio::test]
async fn it_asks_as_often_as_it_may() {
    for (world, agent) in worlds(", follow_ups: 1", &[asks("q", "And?")]) {
        let run = world.run("shop", json!("x")).await;
        decide(&world, &run, Decision::respond("so")).await;
        assert_eq!(world.pending(&run)[0].body.context["error"]["code"], "remote_questions");
        let heard = agent.heard();
        assert!(heard[2].contains("Nobody can be asked"), "{heard:?}");
        assert_eq!(heard.last().unwrap(), "cancel T");
    }
    let late = ", answer_within: 1m, default_answer: blue, escalate_to: boss";
    for (world, agent) in worlds(late, &[asks("q", "Which?"), done("fine")]) {
        let run = world.run("shop", json!("x")).await;
        pass(&world, 61).await;
        assert_eq!(world.pending(&run)[0].body.who.as_deref(), Some("boss"));
        pass(&world, 61).await;
        assert_eq!(output(&world, &run), "fine");
        assert_eq!(agent.heard()[1], "answer T q blue");
    }
    for (world, agent) in worlds(", answer_within: 1m", &[asks("q", "Which?"), done("fine")]) {
        let run = world.run("shop", json!("x")).await;
        pass(&world, 61).await;
        assert_eq!(output(&world, &run), "fine");
        assert_eq!(agent.heard()[1], "answer T q Nobody answered in time.");
    }
}

#[tokio::test]
async fn its_answer_must_fit_and_may_be_shown_to_a_person() {
    let schema = ", output: { type: object, required: [sum] }";
    for (world, agent) in worlds(schema, &[done("12"), done("{\"sum\":12}")]) {
        let run = world.run("shop", json!("x")).await;
        assert_eq!(output(&world, &run), json!({ "sum": 12 }));
        assert!(agent.heard()[1].contains("That cannot be used"), "{:?}", agent.heard());
    }
    for (world, _) in worlds(schema, &[done("12")]) {
        let run = world.run("shop", json!("x")).await;
        assert_eq!(world.pending(&run)[0].body.context["error"]["code"], "output_invalid");
    }
    for (world, agent) in worlds(", human_input: always", &[done("red"), done("blue")]) {
        let run = world.run("shop", json!("x")).await;
        decide(&world, &run, Decision::respond("not red")).await;
        decide(&world, &run, Decision::approve()).await;
        assert_eq!(output(&world, &run), "blue");
        assert_eq!(agent.heard()[1], "begin x | clerk: red | local: not red");
    }
}

/// A run in a process that dies as soon as its agent hears something and does not say so. What
/// the next process finds.
fn dies(first: Played, at: &'static str) -> (Arc<MemoryStore>, Arc<ManualClock>, RunId) {
    let store = Arc::new(MemoryStore::new());
    let clock = Arc::new(ManualClock::new(signoff_core::Timestamp(1_794_700_800_000)));
    let mute = Arc::new(Played { mute: Some(at), ..first });
    let process = tokio::runtime::Runtime::new().unwrap();
    let run = process.block_on(async {
        let engine = engine(&store, &clock, Arc::clone(&mute));
        let started = engine.start(StartRun::new("shop", json!("x"))).await.unwrap();
        while !mute.heard().iter().any(|it| it.starts_with(at)) {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            if let Some(request) = requests(&store).pop() {
                let _ =
                    engine.decide(DecideRequest::new(request.id, Decision::respond("so"))).await;
            }
        }
        started.run
    });
    process.shutdown_background();
    clock.advance(Span::seconds(60));
    (store, clock, run)
}

fn engine(store: &Arc<MemoryStore>, clock: &Arc<ManualClock>, agent: Arc<Played>) -> Engine {
    let builder = Engine::builder(Arc::clone(store) as _).clock(Arc::clone(clock) as _);
    builder.workflow(workflow("")).remote(agent).build().unwrap()
}

fn requests(store: &MemoryStore) -> Vec<Request> {
    let filter = RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
    store.requests(&filter, None, 9).unwrap().items
}

#[test]
fn a_message_that_may_have_been_sent_is_put_to_a_person() {
    let tasks = [
        (retry(), "done", 1),
        (Decision::respond("it says no"), "it says no", 0),
        (Decision::respond(json!({ "task": "T" })), "done", 0),
    ];
    for (decision, expected, begun) in tasks {
        let (store, clock, run) = dies(Played::default(), "begin");
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let agent = Played::new(vec![done("done")]);
            let engine = engine(&store, &clock, Arc::clone(&agent));
            engine.look_for_work(&Scope::All).await.unwrap();
            engine.idle().await;
            let request = requests(&store).remove(0);
            assert_eq!(request.body.kind, RequestKind::InDoubt);
            assert_eq!(request.body.context["action"]["remote"], "desk");
            assert_eq!(agent.begun(), 0, "nothing is sent twice by itself");
            engine.decide(DecideRequest::new(request.id, decision)).await.unwrap();
            engine.idle().await;
            assert_eq!(engine.state(&run).unwrap().output().unwrap(), expected);
            assert_eq!(agent.begun(), begun);
        });
    }
}

#[test]
fn a_process_that_dies_later_leaves_a_task_that_the_next_one_goes_on_with() {
    let working = || VecDeque::from([RemoteState::Working]);
    let asking = || VecDeque::from([asks("q", "Which?")]);
    for (script, at, expected) in
        [(working(), "watch", ["watch T"]), (asking(), "answer", ["answer T q so"])]
    {
        let first = Played { script: Mutex::new(script), ..Played::default() };
        let (store, clock, run) = dies(first, at);
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let agent = Played::new(vec![done("done")]);
            let engine = engine(&store, &clock, Arc::clone(&agent));
            engine.look_for_work(&Scope::All).await.unwrap();
            engine.idle().await;
            assert_eq!(engine.state(&run).unwrap().output().unwrap(), "done");
            assert_eq!(agent.heard(), expected);
        });
    }
}

#[tokio::test]
async fn it_takes_part_in_a_pattern_like_any_other() {
    let file = "workflow: party\n\
        agents: { lead: { remote: desk }, venue: { remote: desk }, budget: { remote: desk } }\n\
        pattern: coordinator\n\
        coordinator: { agent: lead, specialists: [venue, budget] }\n";
    let known = Known { remotes: vec!["desk"], ..Known::default() };
    let workflow = Workflow::parse(file, &NoFiles, &known).unwrap().workflow;
    let agent = Played::new(vec![done("the barn"), done("100"), done("the plan")]);
    let heard = Arc::clone(&agent);
    let world = World::all(move |it| it.workflow(workflow.clone()).remote(agent.clone())).remove(0);
    let run = world.run("party", json!("a party")).await;
    assert_eq!(output(&world, &run), "the plan");
    let heard = heard.heard();
    assert!(heard[0].ends_with(" | a party"), "{heard:?}");
    assert!(heard[1].contains(" | a party | venue: the barn | lead: "), "{heard:?}");
    assert!(heard[2].contains(" | budget: 100 | lead: "), "{heard:?}");
}
