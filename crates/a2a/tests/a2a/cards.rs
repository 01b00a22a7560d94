//! Agents that move, change, or forget while a task is under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use signoff_core::{Decision, RequestKind, Span};
use signoff_tools::{Remote as _, RemoteState, RemoteWatch};

use crate::fake::{Answer, Fake, card, taken, task};
use crate::support::{WORKFLOW, agent, at, decide, engine, output, pending, says, start};

fn watch() -> RemoteWatch {
    RemoteWatch { task: "T".to_owned(), answered: None, patience: Span::seconds(5) }
}

/// An agent whose card leads to another interface from some moment on.
async fn moving(
    moved: Arc<AtomicBool>,
    to: impl Fn(u16) -> String + Send + Sync + 'static,
) -> Fake {
    Fake::start_at(move |port, path, method, _| {
        let now = moved.load(Ordering::SeqCst);
        let (old, new) = (format!("http://127.0.0.1:{port}/old"), to(port));
        match (method, path, now) {
            ("card", _, false) => Answer::Marked("\"v1\"", card(&old)),
            ("card", _, true) => Answer::Marked("\"v2\"", card(&new)),
            (_, "/old", true) => Answer::Raw(404, "text/plain", Vec::new()),
            ("SendMessage", _, _) => taken(&task("WORKING", None)),
            ("GetTask", "/new", _) => Answer::Result(task("COMPLETED", Some("from there"))),
            ("GetTask", _, _) => Answer::Result(task("WORKING", None)),
            _ => Answer::Error(-32004, "no"),
        }
    })
    .await
}

#[tokio::test]
async fn an_agent_that_moved_is_found_by_its_card() {
    let moved = Arc::new(AtomicBool::new(false));
    let fake = moving(Arc::clone(&moved), |port| format!("http://127.0.0.1:{port}/new")).await;
    let agent = at(fake.port);
    assert_eq!(agent.begin(says("hello")).await.unwrap().state, RemoteState::Working);
    assert_eq!(fake.count("card"), 1);
    moved.store(true, Ordering::SeqCst);
    let found = agent.watch(watch()).await;
    assert_eq!(found.state, RemoteState::Done("from there".to_owned()), "{:?}", fake.heard());
    assert_eq!((fake.count("card"), fake.count("SendMessage")), (2, 1), "{:?}", fake.heard());
    assert_eq!(fake.headers("card", "if-none-match"), ["\"v1\""], "it is asked for what is new");
}

#[tokio::test]
async fn an_agent_that_moved_elsewhere_is_not_followed() {
    let other = Fake::start(|_, _, _| Answer::Result(json!({}))).await;
    let (moved, place) = (Arc::new(AtomicBool::new(false)), other.port);
    let fake = moving(Arc::clone(&moved), move |_| format!("http://127.0.0.1:{place}/new")).await;
    let agent = at(fake.port);
    agent.begin(says("hello")).await.unwrap();
    moved.store(true, Ordering::SeqCst);
    let found = agent.watch(watch()).await;
    assert!(
        matches!(&found.state, RemoteState::Unknown { error, passes: false } if error.code == "a2a_card"),
        "{found:?}"
    );
    assert!(other.heard().is_empty(), "{:?}", other.heard());
}

#[tokio::test]
async fn a_card_that_is_the_same_is_not_sent_again() {
    let fails = Arc::new(AtomicUsize::new(1));
    let fake = Fake::start_at(move |port, _, method, _| match method {
        "card" => Answer::Marked("\"v1\"", card(&format!("http://127.0.0.1:{port}/rpc"))),
        "GetTask" if fails.swap(0, Ordering::SeqCst) > 0 => {
            Answer::Raw(503, "text/plain", Vec::new())
        }
        "GetTask" => Answer::Result(task("COMPLETED", Some("still here"))),
        _ => taken(&task("WORKING", None)),
    })
    .await;
    let agent = at(fake.port);
    agent.begin(says("hello")).await.unwrap();
    let found = agent.watch(watch()).await;
    assert_eq!(found.state, RemoteState::Done("still here".to_owned()));
    assert_eq!(fake.headers("card", "if-none-match"), ["\"v1\""]);
    assert_eq!(fake.same(), 1, "it said that nothing has changed");
}

#[tokio::test]
async fn a_skill_that_is_gone_is_an_error() {
    let gone = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&gone);
    let fake = Fake::start(move |port, method, _| match method {
        "card" => {
            let mut card = card(&format!("http://127.0.0.1:{port}/rpc"));
            let skill = if now.load(Ordering::SeqCst) { "chat" } else { "refund" };
            card["skills"] = json!([{ "id": skill }]);
            Answer::Result(card)
        }
        "GetTask" => Answer::Raw(503, "text/plain", Vec::new()),
        _ => taken(&task("WORKING", None)),
    })
    .await;
    let agent = agent(&format!("url = \"http://127.0.0.1:{}\"\nskill = \"refund\"", fake.port));
    assert_eq!(agent.begin(says("hello")).await.unwrap().state, RemoteState::Working);
    gone.store(true, Ordering::SeqCst);
    let found = agent.watch(watch()).await;
    assert!(
        matches!(&found.state, RemoteState::Unknown { error, passes: false } if error.message.contains("`refund`")),
        "{found:?}"
    );
    assert_eq!(agent.begin(says("more")).await.unwrap_err().code, "a2a_card");
}

/// A card that was signed, and is changed by somebody between.
#[tokio::test]
async fn a_card_that_is_not_as_it_was_signed_is_not_used() {
    let file: serde_json::Value = serde_json::from_str(include_str!("../signed.json")).unwrap();
    let (key, signed) = (file["key"].clone(), file["card"].clone());
    let changed = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&changed);
    let fake = Fake::start(move |port, method, _| match method {
        "card" => {
            let mut card = signed.clone();
            if now.load(Ordering::SeqCst) {
                card["supportedInterfaces"][0]["url"] =
                    json!(format!("http://127.0.0.1:{port}/rpc"));
            }
            Answer::Result(card)
        }
        _ => taken(&task("WORKING", None)),
    })
    .await;
    let jwk = format!(
        "{{ kty = {}, crv = {}, x = {}, y = {} }}",
        key["kty"], key["crv"], key["x"], key["y"]
    );
    let config = format!("url = \"http://127.0.0.1:{}\"\ncard_key = {jwk}", fake.port);
    // It is signed, and leads to a place that is not allowed.
    let error = agent(&config).begin(says("hello")).await.unwrap_err();
    assert!(error.message.contains("leads to https://a.example"), "{error}");
    // Somebody made it lead to a place that is.
    changed.store(true, Ordering::SeqCst);
    let error = agent(&config).begin(says("hello")).await.unwrap_err();
    assert_eq!(error.code, "a2a_card");
    assert!(error.message.contains("signatures"), "{error}");
    assert_eq!(fake.count("SendMessage"), 0);
}

/// An agent that forgets its first task, as one that keeps them in memory does when it restarts.
async fn forgetful() -> Fake {
    let tasks = AtomicUsize::new(0);
    Fake::start(move |port, method, _| match method {
        "card" => crate::fake::own_card(port),
        "SendMessage" => {
            tasks.fetch_add(1, Ordering::SeqCst);
            taken(&task("WORKING", None))
        }
        "GetTask" if tasks.load(Ordering::SeqCst) == 1 => Answer::Error(-32001, "Task not found"),
        "GetTask" => Answer::Result(task("COMPLETED", Some("done"))),
        _ => Answer::Error(-32004, "no"),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_task_is_put_to_a_person_unless_it_may_begin_again() {
    let (folder, fake) = (tempfile::tempdir().unwrap(), forgetful().await);
    let asking = engine(folder.path(), at(fake.port), WORKFLOW);
    let run = start(&asking, "12 please").await;
    let request = pending(&asking, &run);
    assert_eq!(request.body.kind, RequestKind::StepError);
    assert_eq!(request.body.context["error"]["code"], "a2a_task_lost");
    assert!(request.body.context["error"]["hint"].as_str().unwrap().contains("new task"));
    assert_eq!(fake.count("SendMessage"), 1, "nobody has said that it may begin again");
    decide(&asking, &run, Decision::Retry { feedback: None }).await;
    assert_eq!(output(&asking, &run), "done");

    let (folder, fake) = (tempfile::tempdir().unwrap(), forgetful().await);
    let again = agent(&format!("url = \"http://127.0.0.1:{}\"\nlost = \"again\"", fake.port));
    let engine = engine(folder.path(), again, WORKFLOW);
    let run = start(&engine, "12 please").await;
    assert_eq!(output(&engine, &run), "done");
    assert_eq!(fake.count("SendMessage"), 2);
}

#[tokio::test]
async fn a_cancellation_is_said_until_it_is_heard() {
    let fails = AtomicUsize::new(0);
    let fake = Fake::start(move |port, method, _| match method {
        "card" => crate::fake::own_card(port),
        "CancelTask" => match fails.fetch_add(1, Ordering::SeqCst) {
            0 => Answer::Gone,
            1 => Answer::Raw(503, "text/plain", Vec::new()),
            _ => Answer::Result(task("CANCELED", None)),
        },
        _ => Answer::Error(-32004, "no"),
    })
    .await;
    at(fake.port).cancel("T".to_owned()).await.unwrap();
    assert_eq!(fake.count("CancelTask"), 3);
    let lost = Fake::start(|port, method, _| match method {
        "card" => crate::fake::own_card(port),
        _ => Answer::Error(-32001, "Task not found"),
    })
    .await;
    at(lost.port).cancel("T".to_owned()).await.unwrap();
    assert_eq!(lost.count("CancelTask"), 1, "what is not there needs no cancelling");
}
