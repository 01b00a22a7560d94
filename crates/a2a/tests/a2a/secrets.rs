//! Keys go to the agent and nowhere else, even where it quotes them.

use serde_json::json;
use signoff_core::Decision;
use signoff_tools::Remote as _;

use crate::fake::{Answer, Fake, own_card, taken, task};
use crate::support::{WORKFLOW, agent, decide, engine, output, pending, says, start};

/// Cargo sets it for tests, and no test may set one itself.
const VARIABLE: &str = "CARGO_PKG_DESCRIPTION";
const CANARY: &str = env!("CARGO_PKG_DESCRIPTION");

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_seen_by_nobody_but_the_agent() {
    let fake = Fake::start(|port, method, params| match method {
        "card" => own_card(port),
        "SendMessage" if params["message"]["taskId"].is_null() => {
            taken(&task("INPUT_REQUIRED", Some(&format!("Is {CANARY} yours?"))))
        }
        "SendMessage" => taken(&task("COMPLETED", Some(&format!("it was {CANARY}")))),
        _ => Answer::Result(task("INPUT_REQUIRED", Some(&format!("Is {CANARY} yours?")))),
    })
    .await;
    let config = format!("url = \"http://127.0.0.1:{}\"\ntoken_env = \"{VARIABLE}\"", fake.port);
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), agent(&config), WORKFLOW);
    let run = start(&engine, "a question").await;
    assert_eq!(pending(&engine, &run).body.prompt, "Is [key] yours?");
    decide(&engine, &run, Decision::respond("yes")).await;
    assert_eq!(output(&engine, &run), "it was [key]");
    let sent = fake.header("SendMessage", "authorization");
    assert_eq!(sent, Some(format!("Bearer {CANARY}")));
    assert!(!format!("{:?}", agent(&config)).contains(CANARY));
    drop(engine);
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let Ok(bytes) = std::fs::read(file.unwrap().path()) else { continue };
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "the key is in the store");
    }
}

#[tokio::test]
async fn errors_hold_no_key() {
    let body = json!({ "error": { "code": -32000, "message": format!("bad key: {CANARY}") } });
    for status in [200, 400, 403, 500] {
        let body = body.to_string().into_bytes();
        let fake = Fake::start(move |port, method, _| match method {
            "card" => own_card(port),
            _ => Answer::Raw(status, "application/json", body.clone()),
        })
        .await;
        let config = format!(
            "url = \"http://127.0.0.1:{}\"\nheaders_env = {{ X-Key = \"{VARIABLE}\" }}",
            fake.port
        );
        let error = agent(&config).begin(says("hello")).await.unwrap_err();
        assert!(!format!("{error:?}").contains(CANARY), "{error:?}");
        assert_eq!(fake.header("SendMessage", "x-key").as_deref(), Some(CANARY));
    }
}

#[tokio::test]
async fn a_key_that_is_not_there_is_an_error() {
    let fake = Fake::start(|port, _, _| own_card(port)).await;
    let config =
        format!("url = \"http://127.0.0.1:{}\"\ntoken_env = \"NOT_SET_ANYWHERE\"", fake.port);
    let error = agent(&config).begin(says("hello")).await.unwrap_err();
    assert_eq!(error.code, "a2a_auth");
    assert!(error.message.contains("NOT_SET_ANYWHERE is not set"), "{error}");
    assert!(fake.heard().is_empty());
}
