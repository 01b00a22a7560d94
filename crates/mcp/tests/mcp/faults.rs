//! Servers that change, die, flood, hang, or want more than they get.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_mcp::McpSource;
use signoff_tools::ToolSource as _;

use crate::support::{call, fake, lives, names, source, tool};

#[tokio::test]
async fn a_list_that_changes_is_read_again() {
    for protocol in ["older", "modern"] {
        grows(&fake(protocol, "")).await;
    }
}

async fn grows(source: &McpSource) {
    assert!(!names(source).await.contains(&"fake_grown".to_owned()));
    // The newer protocol tells only who listens, and listening begins beside the first list.
    tokio::time::sleep(Duration::from_millis(200)).await;
    call(source, "fake_grow", json!({})).await.unwrap();
    for _ in 0..50 {
        if names(source).await.contains(&"fake_grown".to_owned()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(call(source, "fake_grown", json!({})).await.unwrap(), "I am new");
}

#[tokio::test]
async fn a_list_without_end_is_cut() {
    assert_eq!(names(&fake("endless", "")).await.len(), 500);
}

#[tokio::test]
async fn a_program_gets_only_the_environment_it_was_given() {
    let given = |more: &'static str| async move {
        let said = call(&fake("older", more), "fake_env", json!({})).await.unwrap();
        serde_json::from_str::<Value>(said.as_str().unwrap()).unwrap()["env"].clone()
    };
    assert_eq!(given("").await, json!(["PATH"]));
    assert_eq!(given("env = [\"HOME\", \"NOT_THERE\"]").await, json!(["HOME", "PATH"]));
}

#[tokio::test]
async fn a_program_ends_with_all_that_it_started() {
    let source = fake("older", "");
    let said = call(&source, "fake_offspring", json!({})).await.unwrap();
    let pids: Vec<u64> = serde_json::from_str(said.as_str().unwrap()).unwrap();
    assert!(pids.iter().all(|pid| lives(*pid)));
    drop(source);
    for _ in 0..100 {
        if !pids.iter().any(|pid| lives(*pid)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{pids:?} live on");
}

#[tokio::test]
async fn a_server_that_dies_in_mid_call_is_started_again() {
    let source = fake("older", "");
    let error = call(&source, "fake_die", json!({})).await.unwrap_err();
    assert_eq!(error.0.code, "mcp_disconnected");
    assert!(error.0.message.contains("may have happened"), "{error}");
    assert_eq!(call(&source, "fake_key", json!({})).await.unwrap(), "key-1");
    // One that keeps dying is left alone for a while.
    let die = tool(&source, "fake_die").await;
    for _ in 0..6 {
        let died = die.call(crate::support::invocation(json!({}), Vec::new())).await.unwrap_err();
        if died.0.code == "mcp_unavailable" {
            assert!(died.0.message.contains("tried again"), "{died}");
            return;
        }
    }
    panic!("it is started again and again");
}

#[tokio::test]
async fn trusted_hints_say_what_may_be_repeated() {
    let count = |more| async move { tool(&fake("older", more), "fake_count").await.spec().effects };
    assert!(!count("").await.repeatable());
    assert!(count("trust_annotations = true").await.repeatable());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_at_once() {
    let nowhere = source("x", "command = [\"no-such-program\"]");
    let error = nowhere.tools().await.unwrap_err();
    assert_eq!(error.0.code, "mcp_unavailable");
    let again = nowhere.tools().await.unwrap_err();
    assert!(again.0.message.contains("tried again"), "{again}");
    let dead = fake("corpse", "").tools().await.unwrap_err();
    assert_eq!(dead.0.code, "mcp_unavailable");
    let absent = source("x", "url = \"http://127.0.0.1:1/mcp\"").tools().await.unwrap_err();
    assert_eq!(absent.0.code, "mcp_unavailable");
    let lost =
        "url = \"http://127.0.0.1:1/mcp\"\nheaders_env = { Authorization = \"NOT_SET_ANYWHERE\" }";
    let lost = source("x", lost).tools().await.unwrap_err();
    assert!(lost.0.message.contains("NOT_SET_ANYWHERE is not set"), "{lost}");
}

#[tokio::test]
async fn noise_is_passed_over_and_a_flood_is_cut_off() {
    let source = fake("noisy", "");
    assert_eq!(call(&source, "fake_noise", json!({})).await.unwrap(), "after the noise");
    assert!(source.last_words().contains("the noisy server is here"));
    let flood = call(&source, "fake_flood", json!({})).await.unwrap_err();
    assert_eq!(flood.0.code, "mcp_disconnected", "{flood}");
    assert_eq!(call(&source, "fake_noise", json!({})).await.unwrap(), "after the noise");
}

#[tokio::test]
async fn progress_gives_time_but_not_without_end() {
    let source = fake("older", "idle_timeout = \"2s\"\ntimeout = \"20s\"");
    let begun = Instant::now();
    let hung = call(&source, "fake_hang", json!({})).await.unwrap_err();
    assert_eq!(hung.0.code, "tool_timeout");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(call(&source, "fake_progress", json!({})).await.unwrap(), "slowly but surely");
    let source = fake("older", "idle_timeout = \"2s\"\ntimeout = \"700ms\"");
    let late = call(&source, "fake_progress", json!({})).await.unwrap_err();
    assert_eq!(late.0.code, "tool_timeout");
}

#[tokio::test]
async fn what_a_server_may_not_have_is_refused_and_the_session_lives() {
    let source = fake("older", "");
    let codes = call(&source, "fake_borrow", json!({})).await.unwrap();
    assert_eq!(codes, "[-32601,-32601]");
    assert_eq!(call(&source, "fake_key", json!({})).await.unwrap(), "key-1");
}

/// A web server that answers everything with `body`.
async fn web(kind: &'static str, body: Vec<u8>) -> u16 {
    let body = axum::body::Bytes::from(body);
    let router = axum::Router::new().fallback(move || {
        let body = body.clone();
        async move { ([("content-type", kind)], body) }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

#[tokio::test]
async fn a_web_server_that_speaks_something_else_is_an_error() {
    let large = vec![b'x'; 10 * 1024 * 1024];
    let event = [b"data: ".to_vec(), large.clone()].concat();
    for (kind, body) in [
        ("text/html", b"<html>".to_vec()),
        ("application/json", b"{}".to_vec()),
        ("application/json", large),
        ("text/event-stream", event),
        ("text/event-stream", b"data: \xff\xfe\n\n".to_vec()),
    ] {
        let port = web(kind, body).await;
        let strange = source("x", &format!("url = \"http://127.0.0.1:{port}/mcp\""));
        let error = tokio::time::timeout(Duration::from_secs(30), strange.tools()).await;
        assert_eq!(error.unwrap().unwrap_err().0.code, "mcp_unavailable", "{kind}");
    }
}
