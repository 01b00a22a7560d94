//! Where a key may go: into the one header it is for.

use signoff_models::{ProviderKind, Secret};
use signoff_testkit::model_server::{Fault, ModelServer, Replies};

use super::support::{ALL, ask, provider, provider_with, question};

const CANARY: &str = "sk-canary-0123456789";

#[tokio::test]
async fn a_key_is_sent_and_shown_nowhere() {
    for kind in ALL {
        let server = ModelServer::start(Replies::text("hi")).await;
        let mut config = server.config(kind);
        config.api_key_env = Some("THE_KEY".to_owned());
        config.max_retries = Some(0);
        let env = |name: &str| (name == "THE_KEY").then(|| format!("{CANARY}\n"));
        let provider = provider_with(&config, &env);
        assert!(!format!("{provider:?} {provider:#?} {config:?}").contains(CANARY));
        ask(&provider, &question("hi")).await.0.unwrap();
        let sent = server.requests().remove(0);
        let (name, value) = match kind {
            ProviderKind::Anthropic => ("x-api-key", CANARY.to_owned()),
            _ => ("authorization", format!("Bearer {CANARY}")),
        };
        assert_eq!(sent.header(name), Some(value.as_str()));
        assert!(!sent.body.to_string().contains(CANARY));
        for fault in [
            Fault::Echo,
            Fault::StatusBody(500, format!("{{\"error\":\"{CANARY}\"}}")),
            Fault::StatusBody(400, format!("{{\"error\":{{\"message\":\"x {CANARY} y\"}}}}")),
            Fault::Malformed,
            Fault::Break(1),
            Fault::Status(429, None),
        ] {
            server.faults([fault.clone()]);
            let error = ask(&provider, &question("hi")).await.0.unwrap_err();
            let journaled = serde_json::to_string(&error.info).unwrap();
            let all = format!("{error} {error:?} {error:#?} {journaled}");
            assert!(!all.contains(CANARY), "{fault:?}: {all}");
        }
        server.faults([Fault::Echo]);
        let error = ask(&provider, &question("hi")).await.0.unwrap_err();
        assert_eq!(error.info.code, "model_auth");
        assert!(error.info.hint.unwrap().contains("THE_KEY"));
    }
}

#[tokio::test]
async fn a_key_that_is_not_there_is_missed_when_it_is_needed() {
    let server = ModelServer::start(Replies::text("hi")).await;
    for kind in ALL {
        let mut config = server.config(kind);
        config.api_key_env = Some("THE_KEY".to_owned());
        let error = ask(&provider(&config), &question("hi")).await.0.unwrap_err();
        assert_eq!(error.info.code, "model_auth");
        assert_eq!(error.info.hint.as_deref(), Some("set the environment variable THE_KEY"));
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_secret_keeps_itself() {
    let secret = Secret::new(CANARY);
    assert_eq!(
        format!("{secret} {secret:?} {:?}", Some(&secret)),
        "[secret] [secret] Some([secret])"
    );
    assert_eq!(secret.scrub(&format!("a {CANARY} b")), "a [key] b");
    assert_eq!(Secret::new(" ").scrub("a b"), "a b");
}
