//! An answer reaches a task once, whatever happens on the way.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use signoff_core::Span;
use signoff_tools::{Remote as _, RemoteAnswer, RemoteState, RemoteTask, RemoteWatch};

use crate::fake::{Answer, Fake, own_card, taken, task};
use crate::support::{at, says};

/// A task that asks, and what was said to it.
#[derive(Default)]
struct Desk {
    heard: Vec<Value>,
    asks_on: bool,
}

impl Desk {
    fn task(&self) -> Value {
        let mut found = match (self.heard.is_empty(), self.asks_on) {
            (true, _) | (_, true) => task("INPUT_REQUIRED", Some("Which?")),
            (false, false) => task("COMPLETED", Some("that one")),
        };
        found["history"] = self.heard.clone().into();
        found
    }
}

/// A desk that takes what it is sent, and what its taking looks like from outside.
async fn desk(asks_on: bool, loses: usize) -> (Fake, Arc<Mutex<Desk>>) {
    let desk = Arc::new(Mutex::new(Desk { asks_on, ..Desk::default() }));
    let (seen, lost) = (Arc::clone(&desk), Mutex::new(loses));
    let fake = Fake::start(move |port, method, params| match method {
        "card" => own_card(port),
        "GetTask" => Answer::Result(seen.lock().unwrap().task()),
        "SendMessage" => {
            let mut desk = seen.lock().unwrap();
            assert_eq!(params["message"]["taskId"], "T");
            assert_eq!(params["message"]["contextId"], "C");
            desk.heard.push(params["message"].clone());
            let mut lost = lost.lock().unwrap();
            if *lost > 0 {
                *lost -= 1;
                return Answer::Gone;
            }
            taken(&desk.task())
        }
        _ => Answer::Error(-32004, "no"),
    })
    .await;
    (fake, desk)
}

async fn question(fake: &Fake) -> String {
    let watch = RemoteWatch { task: "T".into(), answered: None, patience: Span::seconds(1) };
    match at(fake.port).watch(watch).await.state {
        RemoteState::Asks(question) => {
            assert_eq!(question.request.prompt, "Which?");
            question.id
        }
        other => panic!("{other:?}"),
    }
}

async fn answer(fake: &Fake, question: &str) -> RemoteTask {
    let to = RemoteAnswer {
        task: "T".into(),
        context: Some("C".into()),
        question: question.to_owned(),
        message: says("this"),
    };
    at(fake.port).answer(to).await
}

#[tokio::test]
async fn an_answer_is_sent_once() {
    let (fake, desk) = desk(false, 0).await;
    let question = question(&fake).await;
    let done = RemoteState::Done("that one".to_owned());
    assert_eq!(answer(&fake, &question).await.state, done);
    // As a process does that died before it knew.
    assert_eq!(answer(&fake, &question).await.state, done);
    assert_eq!(desk.lock().unwrap().heard.len(), 1);
}

#[tokio::test]
async fn an_answer_whose_receipt_is_lost_is_not_sent_again() {
    let (fake, desk) = desk(false, 1).await;
    let question = question(&fake).await;
    assert_eq!(answer(&fake, &question).await.state, RemoteState::Done("that one".to_owned()));
    assert_eq!(desk.lock().unwrap().heard.len(), 1);
}

#[tokio::test]
async fn a_question_just_answered_is_not_asked_again_at_once() {
    let (fake, desk) = desk(true, 0).await;
    let question = question(&fake).await;
    assert_eq!(answer(&fake, &question).await.state, RemoteState::Working);
    assert_eq!(answer(&fake, &question).await.state, RemoteState::Working);
    assert_eq!(desk.lock().unwrap().heard.len(), 1, "it is in the history");
    let watch = |answered| RemoteWatch { task: "T".into(), answered, patience: Span::seconds(1) };
    let first = at(fake.port).watch(watch(Some(question.clone()))).await;
    assert_eq!(first.state, RemoteState::Working);
    let later = at(fake.port).watch(watch(None)).await;
    assert!(matches!(later.state, RemoteState::Asks(_)), "{later:?}");
}

#[tokio::test]
async fn an_answer_that_comes_after_another_is_an_error() {
    let (fake, desk) = desk(false, 0).await;
    let question = question(&fake).await;
    desk.lock().unwrap().heard = vec![
        json!({ "messageId": "its-message", "role": "ROLE_AGENT", "parts": [{ "text": "Which?" }] }),
        json!({ "messageId": "of-another-run", "role": "ROLE_USER", "parts": [{ "text": "that" }] }),
    ];
    let late = answer(&fake, &question).await;
    assert!(
        matches!(&late.state, RemoteState::Failed(error) if error.code == "a2a_overtaken"),
        "{late:?}"
    );
    assert_eq!(fake.count("SendMessage"), 0);
}

#[tokio::test]
async fn an_answer_to_a_task_that_went_on_is_not_sent() {
    let (fake, desk) = desk(false, 0).await;
    assert!(matches!(answer(&fake, "another question").await.state, RemoteState::Asks(_)));
    assert!(desk.lock().unwrap().heard.is_empty());
    let nobody = Fake::start(|port, method, _| match method {
        "card" => own_card(port),
        _ => Answer::Raw(503, "text/plain", Vec::new()),
    })
    .await;
    let unknown = answer(&nobody, "q").await;
    assert!(matches!(unknown.state, RemoteState::Unknown { passes: true, .. }), "{unknown:?}");
    assert_eq!((unknown.task.as_deref(), unknown.context.as_deref()), (Some("T"), Some("C")));
    let lost = Fake::start(|port, method, _| match method {
        "card" => own_card(port),
        _ => Answer::Result(json!({ "id": "another", "status": { "state": "working" } })),
    })
    .await;
    assert!(matches!(answer(&lost, "q").await.state, RemoteState::Unknown { .. }));
}
