//! The protocol's own example server, over stdio and over HTTP.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use signoff_core::Decision;
use signoff_mcp::McpSource;
use signoff_tools::ToolSource as _;

use crate::support::{
    answered, asks, call, everything, everything_source, gives, lives, names, reject, source, tool,
};

struct Http(Child, u16);

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Http {
    fn start(port: Option<u16>) -> Self {
        let port = port.unwrap_or_else(|| {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().port()
        });
        let start = || {
            Command::new("node")
                .args([everything().to_str().unwrap(), "streamableHttp"])
                .env("PORT", port.to_string())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut server = Self(start(), port);
        // On a busy machine it takes its time, and somebody may have the port for a moment.
        for _ in 0..1200 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return server;
            }
            if matches!(server.0.try_wait(), Ok(Some(_))) {
                server.0 = start();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not listen");
    }

    fn source(&self) -> McpSource {
        source("all", &format!("url = \"http://127.0.0.1:{}/mcp\"", self.1))
    }
}

async fn does_the_usual(source: &McpSource) {
    let names = names(source).await;
    assert!(names.len() > 10, "{names:?}");
    assert_eq!(call(source, "all_echo", json!({ "message": "hi" })).await.unwrap(), "Echo: hi");
    let sum = call(source, "all_get-sum", json!({ "a": 2, "b": 3 })).await.unwrap();
    assert!(sum.as_str().unwrap().contains('5'), "{sum}");
    let image = call(source, "all_get-tiny-image", json!({})).await.unwrap();
    assert!(image["content"].as_array().unwrap().iter().any(|it| it["type"] == "image"), "{image}");
    let location = json!({ "location": "New York" });
    let weather = call(source, "all_get-structured-content", location).await.unwrap();
    assert!(weather["temperature"].is_number(), "{weather}");
    let wrong = call(source, "all_echo", json!({ "message": 7 })).await.unwrap_err();
    assert_eq!(wrong.0.code, "tool_failed");
}

fn person() -> Value {
    json!({ "name": "Ada", "check": true, "integer": 7 })
}

#[tokio::test]
async fn tools_are_called_over_stdio() {
    let source = everything_source();
    assert_eq!(source.name(), "all");
    does_the_usual(&source).await;
    let echo = tool(&source, "all_echo").await.spec().clone();
    assert!(!echo.effects.repeatable() && echo.effects.destructive && !echo.effects.network);
    assert_eq!(echo.parameters["required"], json!(["message"]));
}

#[tokio::test]
async fn tools_are_called_over_http() {
    let http = Http::start(None);
    let source = http.source();
    does_the_usual(&source).await;
    assert!(tool(&source, "all_echo").await.spec().effects.network);
}

#[tokio::test]
async fn a_person_answers_after_a_restart() {
    let first = everything_source();
    let question = asks(&first, "all_trigger-elicitation-request", &[]).await;
    assert!(question.request.prompt.contains("Please provide inputs"));
    assert_eq!(question.request.response_schema["properties"]["name"]["type"], "string");
    // The session is still good for other calls.
    assert_eq!(call(&first, "all_echo", json!({ "message": "x" })).await.unwrap(), "Echo: x");
    drop(first);

    let second = everything_source();
    let round = answered(&question, Some(Decision::respond(person())));
    let given = gives(&second, "all_trigger-elicitation-request", &[round]).await;
    assert!(given.as_str().unwrap().contains("Ada"), "{given}");
    let round = answered(&question, Some(reject()));
    let given = gives(&second, "all_trigger-elicitation-request", &[round]).await;
    assert!(given.as_str().unwrap().contains("declined"), "{given}");
    let round = answered(&question, None);
    let given = gives(&second, "all_trigger-elicitation-request", &[round]).await;
    assert!(given.as_str().unwrap().contains("cancelled"), "{given}");
}

#[tokio::test]
async fn a_person_answers_over_http_after_a_restart_of_both() {
    let http = Http::start(None);
    let port = http.1;
    let first = http.source();
    let question = asks(&first, "all_trigger-elicitation-request", &[]).await;
    drop((first, http));

    let http = Http::start(Some(port));
    let round = answered(&question, Some(Decision::respond(person())));
    let given = gives(&http.source(), "all_trigger-elicitation-request", &[round]).await;
    assert!(given.as_str().unwrap().contains("Ada"), "{given}");
}

#[tokio::test]
async fn a_server_killed_in_mid_call_is_said_to_be_gone_and_comes_back() {
    let http = Http::start(None);
    let (port, pid) = (http.1, u64::from(http.0.id()));
    let source = http.source();
    let slow = tool(&source, "all_trigger-long-running-operation").await;
    let arguments = json!({ "duration": 60, "steps": 60 });
    let calling =
        tokio::spawn(
            async move { slow.call(crate::support::invocation(arguments, Vec::new())).await },
        );
    tokio::time::sleep(Duration::from_millis(1500)).await;
    drop(http);
    assert!(!lives(pid));
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!(error.0.code, "mcp_disconnected", "{error}");
    assert!(error.0.message.contains("may have happened"), "{error}");

    let _again = Http::start(Some(port));
    for _ in 0..20 {
        if let Ok(tools) = source.tools().await
            && !tools.is_empty()
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(
        call(&source, "all_echo", json!({ "message": "back" })).await.unwrap(),
        "Echo: back"
    );
}
