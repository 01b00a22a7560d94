//! Schemathesis makes up requests from the document, good ones and bad ones, and finds no fault: no failure of the
//! server, and no answer that the document does not have.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use signoff_testkit::Process;
use signoff_testkit::peers::{cache, python};

use crate::support::{COMPLETE, PARTY, Place, Server};

const VERSION: &str = "4.32.5";
/// What is looked at in every answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance,negative_data_rejection";
/// Left out: the streams of a run that waits and of the inbox do not end, and have tests of their own (`streams.rs`,
/// `ws.rs`). Streams of responses stay, since they end where their run rests. MCP has rules and a suite of its own
/// (`mcp_conformance.rs`).
const LEFT_OUT: [&str; 4] = ["stream_run", "stream_requests", "mcp_post", "mcp_get"];
/// How many requests are made up for each operation, besides those that follow from its schema.
const EXAMPLES: &str = "6";

fn installed() -> PathBuf {
    let folder = cache(&format!("schemathesis-{VERSION}"));
    std::fs::write(folder.join("requirements.txt"), format!("schemathesis=={VERSION}\n")).unwrap();
    python(&folder, "schemathesis").with_file_name("schemathesis")
}

/// Ids of things that are there, by name: with made-up ones everything would only be unknown.
async fn things(server: &Server) -> Vec<(&'static str, Vec<String>)> {
    let mut runs = Vec::new();
    for input in [PARTY, PARTY, PARTY, COMPLETE] {
        runs.push(server.start("event_planner", input).await);
    }
    runs.push(server.start("ask", "x").await);
    let mut requests = Vec::new();
    for run in runs.iter().filter(|run| **run != runs[3]) {
        requests.push(server.pending(run).await);
    }
    let (status, response) =
        server.post("/v1/responses", &json!({ "model": "event_planner", "input": PARTY })).await;
    assert_eq!(status, 200, "{response}");
    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    let conversation = id(&response["conversation"]);
    let items = server.read(&format!("/v1/conversations/{conversation}/items")).await;
    let items = items["data"].as_array().unwrap().iter().map(id).collect();
    vec![
        ("runs", runs),
        ("requests", requests),
        ("responses", vec![id(&response)]),
        ("conversations", vec![conversation]),
        ("items", items),
        // Those that come to rest at once.
        ("workflows", vec!["event_planner".to_owned(), "ask".to_owned()]),
        ("codes", vec!["unknown_run".to_owned()]),
    ]
}

/// Where those things belong: paths as a pattern, the parameter, and what to take for it.
const PLACES: [(&str, &str, &str); 12] = [
    ("^/v1/runs/", "path.id", "runs"),
    ("^/v1/requests/", "path.id", "requests"),
    ("^/v1/responses/", "path.id", "responses"),
    ("^/v1/conversations/.id.$", "path.id", "conversations"),
    ("^/v1/conversations/.id./items", "path.id", "conversations"),
    ("^/v1/workflows/.id.$", "path.id", "workflows"),
    ("^/v1/entities/", "path.id", "workflows"),
    ("^/bridge/v1/runs/", "path.id", "runs"),
    ("^/ag-ui/", "path.workflow", "workflows"),
    ("^/errors/", "path.code", "codes"),
    ("^/v1/runs$", "body.workflow", "workflows"),
    ("^/v1/responses$", "body.model", "workflows"),
];

fn settings(things: &[(&str, Vec<String>)]) -> String {
    let mut lines = vec!["[dictionaries]".to_owned()];
    lines.extend(things.iter().map(|(name, values)| format!("{name}.values = {}", json!(values))));
    lines.extend(PLACES.iter().map(|(paths, parameter, name)| {
        format!(
            "[[operations]]\ninclude-path-regex = '{paths}'\n[operations.parameters]\n\
             '{parameter}' = {{ dictionary = '{name}', probability = 0.8 }}"
        )
    }));
    lines.join("\n")
}

#[tokio::test]
async fn it_finds_no_fault() {
    let place = Place::new();
    let server = place.serve();
    let document = server.read("/openapi.json").await;
    let methods = document["paths"].as_object().unwrap().values();
    let operations: usize = methods.map(|it| it.as_object().unwrap().len()).sum();
    std::fs::write(place.path("schemathesis.toml"), settings(&things(&server).await)).unwrap();
    let mut command = Command::new(installed());
    command.current_dir(place.path("")).args(["--config-file", "schemathesis.toml", "run"]);
    command.arg(format!("{}/openapi.json", server.url)).args([
        "--seed=1",
        "--workers=2",
        "--mode=all",
        "--phases=coverage,fuzzing",
        "--no-shrink",
        "--warnings=off",
        "--request-timeout=60",
        &format!("--max-examples={EXAMPLES}"),
        &format!("--checks={CHECKS}"),
    ]);
    for left_out in LEFT_OUT {
        command.args(["--exclude-operation-id", left_out]);
    }
    let ended = tokio::task::spawn_blocking(move || Process::start(&mut command).wait());
    let ended = ended.await.unwrap();
    let said = ended.stdout.join("\n");
    assert_eq!(ended.code, Some(0), "{said}\n{}", ended.stderr);
    // It does not ask for the document again.
    let tested = operations - LEFT_OUT.len() - 1;
    assert!(said.contains(&format!("Tested: {tested}")), "{tested} operations: {said}");
    // What it reached is more than refusals.
    let metrics = server.request(reqwest::Method::GET, "/metrics").send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let answered = |route: &str, status: u16| {
        let labels = format!("route=\"{route}\",status=\"{status}\"");
        metrics.lines().any(|line| line.contains(&labels))
    };
    for (route, status) in [
        ("/v1/runs", 201),
        ("/v1/runs/{id}/journal", 200),
        ("/v1/requests/{id}", 200),
        ("/v1/requests/{id}/comment", 200),
        ("/v1/responses/{id}", 200),
        ("/v1/conversations/{id}/items", 200),
    ] {
        assert!(answered(route, status), "{route} {status}: {metrics}");
    }
    assert!(!metrics.contains("status=\"500\""), "{metrics}");
}
