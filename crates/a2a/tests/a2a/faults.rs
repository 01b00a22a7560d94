//! Agents that are not there, break, lie, flood, or lead elsewhere. Each fault ends in another look, or in
//! an error with a code and something to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use signoff_core::journal::ErrorInfo;
use signoff_core::{Decision, RequestKind, Span};
use signoff_tools::{Remote as _, RemoteState, RemoteTask, RemoteWatch};

use crate::fake::{Answer, Fake, card, own_card, taken, task};
use crate::support::{WORKFLOW, agent, at, decide, engine, output, pending, says, start};

/// What a server answers to everything.
type Play = Box<dyn Fn() -> Answer + Send + Sync>;

fn watch(seconds: u64) -> RemoteWatch {
    RemoteWatch { task: "T".to_owned(), answered: None, patience: Span::seconds(seconds) }
}

fn error(task: &RemoteTask) -> (&ErrorInfo, bool) {
    match &task.state {
        RemoteState::Unknown { error, passes } => (error, *passes),
        RemoteState::Failed(error) => (error, false),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_agent_that_is_not_there() {
    let nowhere = at(1);
    let begun = nowhere.begin(says("hello")).await.unwrap_err();
    assert_eq!(begun.code, "a2a_unavailable");
    assert!(begun.hint.unwrap().contains("`url`"));
    let looked = nowhere.watch(watch(1)).await;
    let (found, passes) = error(&looked);
    assert_eq!((found.code.as_str(), passes), ("a2a_unavailable", true));
    assert_eq!(looked.task.as_deref(), Some("T"));
}

#[tokio::test]
async fn answers_that_are_none() {
    let flood = format!("{{\"result\":\"{}\"}}", "x".repeat(9 * 1024 * 1024)).into_bytes();
    let faults: [(u16, &str, Vec<u8>, &str); 8] = [
        (500, "text/plain", b"oops".to_vec(), "a2a_unavailable"),
        (429, "text/plain", Vec::new(), "a2a_unavailable"),
        (401, "application/json", b"{}".to_vec(), "a2a_auth"),
        (200, "text/html", b"<html>".to_vec(), "a2a_protocol"),
        (200, "application/json", b"{ \"result\": ".to_vec(), "a2a_protocol"),
        (200, "application/json", b"{\"result\":{\"task\":{}}}".to_vec(), "a2a_protocol"),
        (200, "application/json", b"\xff\xfe".to_vec(), "a2a_protocol"),
        (200, "application/json", flood, "a2a_protocol"),
    ];
    for (status, kind, body, code) in faults {
        let answer = body.clone();
        let fake = Fake::start(move |port, method, _| match method {
            "card" => own_card(port),
            _ => Answer::Raw(status, kind, answer.clone()),
        })
        .await;
        let agent = at(fake.port);
        let begun = agent.begin(says("hello")).await.unwrap_err();
        assert_eq!(begun.code, code, "{begun}");
        assert_eq!(fake.count("SendMessage"), 1, "it is not sent twice");
        let may_have_begun = code == "a2a_protocol" || status == 500;
        assert_eq!(
            begun.hint.unwrap().contains("may have begun"),
            may_have_begun,
            "{status} {kind}"
        );
        let looked = agent.watch(watch(1)).await;
        let (found, passes) = error(&looked);
        assert_eq!((found.code.as_str(), passes), (code, code != "a2a_auth"));
        assert!(fake.count("GetTask") > 1 || code == "a2a_auth", "it is looked for again");
    }
}

#[tokio::test]
async fn cards_that_cannot_be_used() {
    let other = Fake::start(|_, _, _| Answer::Result(json!({}))).await;
    let elsewhere = format!("http://127.0.0.1:{}/rpc", other.port);
    let grpc = json!({ "supportedInterfaces": [
        { "url": "http://127.0.0.1/", "protocolBinding": "GRPC", "protocolVersion": "1.0" },
    ] });
    let (to_card, to_place) = (elsewhere.clone(), elsewhere.clone());
    let cards: [(Play, &str, &str); 6] = [
        (Box::new(move || Answer::Result(card(&to_card))), "a2a_card", "leads to"),
        (Box::new(move || Answer::Result(grpc.clone())), "a2a_card", "gRPC"),
        (Box::new(move || Answer::Redirect(to_place.clone())), "a2a_refused", "HTTP 307"),
        (Box::new(|| Answer::Raw(200, "application/json", b"[".to_vec())), "a2a_card", "not JSON"),
        (Box::new(|| Answer::Raw(404, "text/plain", Vec::new())), "a2a_protocol", "404"),
        (Box::new(|| Answer::Raw(503, "text/plain", Vec::new())), "a2a_unavailable", "503"),
    ];
    for (play, code, words) in cards {
        let fake = Fake::start(move |_, _, _| play()).await;
        let error = at(fake.port).begin(says("hello")).await.unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert_eq!(fake.count("SendMessage"), 0);
    }
    assert!(other.heard().is_empty(), "{:?}", other.heard());
    // Unless the operator says so.
    let told = elsewhere.clone();
    let fake = Fake::start(move |_, _, _| Answer::Result(card(&told))).await;
    let config = format!("url = \"http://127.0.0.1:{}\"\norigins = [\"{elsewhere}\"]", fake.port);
    let _ = agent(&config).begin(says("hello")).await;
    assert_eq!(other.heard(), ["SendMessage"]);
    assert_eq!(other.header("SendMessage", "a2a-version").as_deref(), Some("1.0"));
}

#[tokio::test]
async fn tasks_that_end_badly() {
    for (state, code) in
        [("FAILED", "a2a_failed"), ("REJECTED", "a2a_rejected"), ("CANCELED", "a2a_canceled")]
    {
        let fake = Fake::start(move |port, method, _| match method {
            "card" => own_card(port),
            _ => taken(&task(state, Some("no stock\u{1b}[2J"))),
        })
        .await;
        let begun = at(fake.port).begin(says("hello")).await.unwrap();
        let (found, _) = error(&begun);
        assert_eq!(found.code, code);
        assert!(found.message.ends_with("no stock[2J"), "{found}");
    }
    let fake = Fake::start(|port, method, _| match method {
        "card" => own_card(port),
        "GetTask" => Answer::Error(-32001, "Task not found"),
        _ => Answer::Error(-32004, "not today"),
    })
    .await;
    let agent = at(fake.port);
    assert_eq!(error(&agent.watch(watch(5)).await).0.code, "a2a_task_lost");
    let refused = agent.begin(says("hello")).await.unwrap_err();
    assert_eq!(refused.code, "a2a_refused");
    assert!(refused.message.contains("not today"), "{refused}");
    assert_eq!(agent.cancel("T".to_owned()).await.unwrap_err().code, "a2a_refused");
}

#[tokio::test]
async fn work_without_end_is_left_alone_after_a_while() {
    let fake = Fake::start(|port, method, _| match method {
        "card" => own_card(port),
        "SubscribeToTask" => Answer::Error(-32004, "no streams"),
        _ => Answer::Result(task("WORKING", None)),
    })
    .await;
    let begun = Instant::now();
    let looked = at(fake.port).watch(watch(2)).await;
    assert_eq!(looked.state, RemoteState::Working);
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(2) && took < Duration::from_secs(10), "{took:?}");
    assert!((3..12).contains(&fake.count("GetTask")), "{:?}", fake.heard());
}

#[tokio::test]
async fn a_stream_that_breaks_is_no_end() {
    let looks = Arc::new(AtomicUsize::new(0));
    let fake = Fake::start(move |port, method, _| match method {
        "card" => own_card(port),
        "SubscribeToTask" => Answer::Stream(vec![
            json!({ "task": task("WORKING", None) }),
            json!({ "artifactUpdate": { "taskId": "T" } }),
        ]),
        _ if looks.fetch_add(1, Ordering::Relaxed) < 2 => Answer::Result(task("WORKING", None)),
        _ => Answer::Result(task("COMPLETED", Some("at last"))),
    })
    .await;
    let looked = at(fake.port).watch(watch(20)).await;
    assert_eq!(looked.state, RemoteState::Done("at last".to_owned()));
    assert_eq!(fake.count("SubscribeToTask"), 1, "{:?}", fake.heard());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_put_to_a_person_and_tried_again() {
    let sent = Arc::new(AtomicUsize::new(0));
    let fake = Fake::start(move |port, method, _| match method {
        "card" => own_card(port),
        _ => match sent.fetch_add(1, Ordering::Relaxed) {
            0 => Answer::Gone,
            1 => taken(&task("REJECTED", Some("not like this"))),
            _ => Answer::Result(json!({ "message": {
                "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "data": { "granted": 12 } }],
            } })),
        },
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), at(fake.port), WORKFLOW);
    let run = start(&engine, "12 please").await;
    for code in ["a2a_unavailable", "a2a_rejected"] {
        let request = pending(&engine, &run);
        assert_eq!(request.body.kind, RequestKind::StepError);
        assert_eq!(request.body.context["error"]["code"], code);
        assert!(request.body.context["error"]["hint"].is_string());
        decide(&engine, &run, Decision::Retry { feedback: None }).await;
    }
    assert_eq!(output(&engine, &run), "{\"granted\":12}");
}
