//! The document says what is served, and what is served is as the document says.
//!
//! A route cannot be added without being described (`server/src/api/mod.rs`); here it is held against
//! what really answers.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{PARTY, Place, Server};

fn repository(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

#[tokio::test]
async fn it_is_the_one_in_the_documentation() {
    let server = Place::new().serve();
    let document = server.read("/openapi.json").await;
    let text = format!("{}\n", serde_json::to_string_pretty(&document).unwrap());
    let path = repository("docs/openapi.json");
    if std::env::var("INSTA_UPDATE").is_ok_and(|it| it == "always") {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "docs/openapi.json is old; INSTA_UPDATE=always writes it anew");
    let page = std::fs::read_to_string(repository("docs/http.md")).unwrap();
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("{path}`")), "docs/http.md lacks {path}");
    }
}

#[tokio::test]
async fn every_route_in_it_is_served() {
    let server = Place::new().serve();
    let document = server.read("/openapi.json").await;
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 15, "{}", paths.len());
    for (path, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let at = path.replace("{id}", "nope").replace("{session}", "nope");
            let streams = &methods[method]["responses"]["200"]["content"]["text/event-stream"];
            let (status, answer) = match method.as_str() {
                // It does not end by itself.
                "get" if streams.is_object() && at == *path => {
                    let begun = server.request(reqwest::Method::GET, &at).send().await.unwrap();
                    (begun.status().as_u16(), Value::Null)
                }
                "get" => server.get(&at).await,
                "delete" => server.delete(&at).await,
                "put" => {
                    let sent = server.request(reqwest::Method::PUT, &at).json(&json!({}));
                    let answer = sent.send().await.unwrap();
                    (answer.status().as_u16(), answer.json().await.unwrap())
                }
                _ => server.post(&at, &json!({ "decision": "approve", "at": 1 })).await,
            };
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            assert!(!["unknown_route", "method_not_allowed"].contains(&code), "{method} {path}");
            let described = &document["paths"][path][method]["responses"][status.to_string()];
            assert!(described.is_object(), "{method} {path} answers {status}: {answer}");
        }
    }
}

/// Whether `value` is what the document says of this answer.
#[track_caller]
fn fits(document: &Value, method: &str, path: &str, status: u16, value: &Value) {
    let response = &document["paths"][path][method]["responses"][status.to_string()];
    let mut schema = response["content"]["application/json"]["schema"].clone();
    assert!(schema.is_object(), "{method} {path} {status} is not described");
    schema["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator.iter_errors(value).map(|it| it.to_string()).collect();
    assert!(problems.is_empty(), "{method} {path}: {problems:?} in {value}");
}

async fn check(server: &Server, document: &Value, path: &str, id: &str) {
    let (status, value) = server.get(&path.replace("{id}", id)).await;
    fits(document, "get", path, status, &value);
}

#[tokio::test]
async fn answers_have_the_shapes_it_says() {
    let server = Place::new().serve();
    let document = server.read("/openapi.json").await;
    let body = json!({ "workflow": "event_planner", "input": PARTY });
    let (status, run) = server.post("/v1/runs", &body).await;
    fits(&document, "post", "/v1/runs", status, &run);
    let id = run["id"].as_str().unwrap();
    let request = server.pending(id).await;
    for round in 0..2 {
        for path in ["/v1/runs/{id}", "/v1/runs/{id}/journal"] {
            check(&server, &document, path, id).await;
        }
        check(&server, &document, "/v1/requests/{id}", &request).await;
        check(&server, &document, "/v1/workflows/{id}", "support_handoff").await;
        for path in [
            "/health",
            "/ready",
            "/v1/workflows",
            "/v1/runs",
            "/v1/requests",
            "/v1/requests/count",
            "/v1/audit",
        ] {
            check(&server, &document, path, "").await;
        }
        for path in
            ["/v1/runs/{id}", "/v1/requests/{id}", "/v1/workflows/{id}", "/v1/runs/{id}/events"]
        {
            check(&server, &document, path, "nope").await;
        }
        if round == 0 {
            server.answer_party(id).await;
        }
    }
    let (status, fork) = server.post(&format!("/v1/runs/{id}/fork"), &json!({ "at": 9 })).await;
    fits(&document, "post", "/v1/runs/{id}/fork", status, &fork);
    let decide = "/v1/requests/{id}/decision";
    let (status, late) = server.decide(&request, &json!({ "decision": "abort" })).await;
    fits(&document, "post", decide, status, &late);
}
