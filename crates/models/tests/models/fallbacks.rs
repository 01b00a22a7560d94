//! One name, several models.

use std::sync::Arc;

use signoff_core::Part;
use signoff_models::{Fallbacks, Provider, ProviderKind};
use signoff_testkit::model_server::{Fault, ModelServer, Replies};

use super::support::{ask, provider, question};

async fn two() -> (ModelServer, ModelServer, Arc<dyn Provider>) {
    let first = ModelServer::start(Replies::text("I am the first.")).await;
    let second = ModelServer::start(Replies::text("I am the second.")).await;
    let mut config = first.config(ProviderKind::OpenAi);
    config.max_retries = Some(1);
    let candidates = vec![
        ("a".into(), provider(&config)),
        ("b".into(), provider(&second.config(ProviderKind::Anthropic))),
    ];
    (first, second, Arc::new(Fallbacks::new(candidates).unwrap()))
}

#[tokio::test]
async fn the_second_is_asked_when_the_first_fails() {
    let (first, second, both) = two().await;
    let said = |text: &str| vec![Part::Text(text.to_owned())];
    let reply = ask(&both, &question("?")).await.0.unwrap();
    assert_eq!((reply.parts, reply.by), (said("I am the first."), None));
    first.faults([Fault::Status(500, None), Fault::Status(500, None)]);
    let reply = ask(&both, &question("?")).await.0.unwrap();
    assert_eq!((reply.parts, reply.by), (said("I am the second."), Some("b".into())));
    assert_eq!(both.identity().unwrap().provider, "openai");
    first.faults([Fault::Status(401, None)]);
    assert_eq!(ask(&both, &question("?")).await.0.unwrap().parts, said("I am the second."));
    assert_eq!(second.requests().len(), 2);
}

#[tokio::test]
async fn all_failures_are_told() {
    let (first, second, both) = two().await;
    first.faults([Fault::Status(401, None)]);
    second.faults([Fault::Status(404, None)]);
    let error = ask(&both, &question("?")).await.0.unwrap_err();
    assert_eq!(error.info.code, "model_not_found");
    assert!(error.info.message.contains("a: ") && error.info.message.contains("b: "), "{error}");
}

#[tokio::test]
async fn half_an_answer_is_not_finished_by_another() {
    let (first, second, both) = two().await;
    // Created, something new, item added, the text, and then nothing: twice.
    first.faults([Fault::Break(4), Fault::Break(4)]);
    let error = ask(&both, &question("?")).await.0.unwrap_err();
    assert_eq!(error.info.code, "model_cut");
    assert!(second.requests().is_empty());
}

#[test]
fn nothing_to_ask_is_nothing() {
    assert!(Fallbacks::new(Vec::new()).is_none());
}
