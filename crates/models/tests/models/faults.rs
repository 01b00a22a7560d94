//! Every fault over every protocol: a retry that succeeds, or an error with a code and a hint.

use std::time::Duration;

use signoff_models::{Delta, ProviderConfig};
use signoff_testkit::model_server::{Fault, ModelServer, Replies};

use super::support::{
    ALL, ask, busy_reply, expected_reply, long_request, provider, question, text_of,
};

const MB: usize = 1024 * 1024;

fn passing() -> Vec<Fault> {
    vec![
        Fault::SlowHead(Duration::from_secs(30)),
        Fault::SlowEvents(Duration::from_secs(30)),
        Fault::Break(0),
        Fault::Break(3),
        Fault::Cut(0),
        Fault::Cut(1),
        Fault::Cut(4),
        Fault::Malformed,
        Fault::Status(429, None),
        Fault::Status(429, Some("0".to_owned())),
        Fault::Status(429, Some("Sun, 15 Nov 2026 00:00:00 GMT".to_owned())),
        Fault::Status(500, None),
        Fault::Status(502, None),
        Fault::Status(503, Some("0".to_owned())),
        Fault::Status(529, None),
        Fault::Status(408, None),
        Fault::StatusBody(500, "<html>Internal Server Error</html>".to_owned()),
        Fault::ContentType("text/html"),
        Fault::LongLine(10 * MB),
        Fault::NotUtf8,
        Fault::Silent,
        Fault::Never,
    ]
}

/// Short waits for faults that are about waiting.
fn impatient(server: &ModelServer, kind: signoff_models::ProviderKind) -> ProviderConfig {
    let mut config = server.config(kind);
    let span = Some("150ms".parse().unwrap());
    config.first_byte_timeout = span;
    config.idle_timeout = span;
    config.connect_timeout = span;
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_passing_fault_is_retried_and_forgotten() {
    let server = ModelServer::start(Replies::new([busy_reply()])).await;
    for kind in ALL {
        let provider = provider(&impatient(&server, kind));
        for fault in passing() {
            let before = server.requests().len();
            server.faults([fault.clone()]);
            let (reply, deltas) = ask(&provider, &long_request()).await;
            assert_eq!(reply, Ok(expected_reply()), "{kind:?} {fault:?}");
            assert_eq!(server.requests().len() - before, 2, "{kind:?} {fault:?}");
            // Whoever watched knows which words count.
            let last =
                deltas.iter().rposition(|delta| *delta == Delta::Restart).map_or(0, |at| at + 1);
            assert_eq!(text_of(&deltas[last..]), "I look in two places: hier und ☂.");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lasting_fault_ends_in_a_typed_error() {
    let cases: Vec<(Fault, &str, usize)> = vec![
        (Fault::Never, "model_timeout", 3),
        (Fault::Silent, "model_timeout", 3),
        (Fault::Break(2), "model_cut", 3),
        (Fault::Cut(2), "model_cut", 3),
        (Fault::Malformed, "model_malformed", 3),
        (Fault::NotUtf8, "model_malformed", 3),
        (Fault::LongLine(10 * MB), "model_malformed", 3),
        (Fault::ContentType("text/html"), "model_malformed", 3),
        (Fault::Status(429, None), "model_rate_limited", 3),
        (Fault::Status(429, Some("3600".to_owned())), "model_rate_limited", 1),
        (Fault::Status(500, None), "model_unavailable", 3),
        (Fault::Status(503, None), "model_overloaded", 3),
        (Fault::Status(529, None), "model_overloaded", 3),
        (Fault::Status(401, None), "model_auth", 1),
        (Fault::Status(403, None), "model_auth", 1),
        (Fault::Status(404, None), "model_not_found", 1),
        (Fault::Status(400, None), "model_bad_request", 1),
        (Fault::Status(302, None), "model_bad_request", 1),
        (Fault::Status(413, None), "model_context_length", 1),
        (
            Fault::StatusBody(
                400,
                r#"{"error":{"code":"context_length_exceeded","message":"too many"}}"#.to_owned(),
            ),
            "model_context_length",
            1,
        ),
        (
            Fault::StatusBody(
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#
                    .to_owned(),
            ),
            "model_context_length",
            1,
        ),
        (
            Fault::StatusBody(400, r#"{"error":{"code":"content_filter","message":"no"}}"#.to_owned()),
            "model_refused",
            1,
        ),
        (
            Fault::StatusBody(
                429,
                r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#.to_owned(),
            ),
            "model_rate_limited",
            1,
        ),
        (Fault::StatusBody(400, "\u{0}not json".to_owned()), "model_bad_request", 1),
        (Fault::StatusBody(404, r#"{"error":"model 'x' not found"}"#.to_owned()), "model_not_found", 1),
    ];
    let server = ModelServer::start(Replies::new([busy_reply()])).await;
    for kind in ALL {
        let provider =
            provider(&ProviderConfig { max_retries: Some(2), ..impatient(&server, kind) });
        for (fault, code, requests) in &cases {
            let before = server.requests().len();
            server.faults(vec![fault.clone(); *requests]);
            let error = ask(&provider, &long_request()).await.0.unwrap_err();
            assert_eq!(error.info.code, *code, "{kind:?} {fault:?}: {error}");
            assert!(error.info.hint.is_some(), "{kind:?} {fault:?}");
            assert!(!error.retryable, "nobody retries the retries");
            assert_eq!(server.requests().len() - before, *requests, "{kind:?} {fault:?}");
        }
        let (reply, _) = ask(&provider, &long_request()).await;
        assert_eq!(reply, Ok(expected_reply()), "nothing of it stays");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slowness_within_the_limits_and_other_liberties_are_no_fault() {
    let server = ModelServer::start(Replies::new([busy_reply()])).await;
    for kind in ALL {
        let provider = provider(&server.config(kind));
        for fault in [
            Fault::None,
            Fault::SlowHead(Duration::from_millis(50)),
            Fault::SlowEvents(Duration::from_millis(5)),
            Fault::Whole,
            Fault::ContentType("application/octet-stream"),
            Fault::ContentType("text/event-stream; charset=utf-8"),
        ] {
            let before = server.requests().len();
            server.faults([fault.clone()]);
            let (reply, deltas) = ask(&provider, &long_request()).await;
            assert_eq!(reply, Ok(expected_reply()), "{kind:?} {fault:?}");
            assert_eq!(server.requests().len() - before, 1, "{kind:?} {fault:?}");
            assert_eq!(text_of(&deltas), "I look in two places: hier und ☂.");
        }
    }
}

#[tokio::test]
async fn nobody_there_is_a_typed_error_too() {
    for kind in ALL {
        let server = ModelServer::start(Replies::text("hi")).await;
        let mut config = server.config(kind);
        config.base_url = Some("http://127.0.0.1:9/v1".to_owned());
        config.max_retries = Some(1);
        let error = ask(&provider(&config), &question("hi")).await.0.unwrap_err();
        assert_eq!(error.info.code, "model_unavailable");
        assert!(error.info.message.contains("asked 2 times"), "{error}");
        config.base_url = Some("http://169.254.169.254/v1".to_owned());
        let error = ask(&provider(&config), &question("hi")).await.0.unwrap_err();
        assert_eq!(error.info.code, "model_unavailable");
        assert!(!error.info.message.contains("asked"), "{error}");
    }
}
