//! What the server writes about itself, and what it never writes.

use serde_json::Value;
use signoff_testkit::Process;

use crate::support::{Place, Server};

const SECRETS: [&str; 3] = ["a secret of mine", "whispered", "opensesame"];

/// Sends things that nobody should find in a log.
async fn tell_secrets(server: &Server, token: &str) {
    let body = serde_json::json!({ "workflow": "ask", "input": SECRETS[0] });
    let start = server.request(reqwest::Method::POST, "/v1/runs").bearer_auth(token).json(&body);
    assert_eq!(start.send().await.unwrap().status(), 201);
    let list = server.request(reqwest::Method::GET, "/v1/requests?text=whispered");
    assert_eq!(list.bearer_auth(token).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn one_line_is_logged_for_a_request_and_nothing_it_carries() {
    let server = Place::new().serve_with(&["--log", "debug"]);
    tell_secrets(&server, SECRETS[2]).await;
    let log = server.stop().exits(0).stderr;
    let line = log.lines().find(|line| line.contains("method=POST")).unwrap();
    for part in ["path=\"/v1/runs\" route=\"/v1/runs\" status=201", "actor=local tenant=local"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    for secret in SECRETS {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

/// A log whose every line is an object.
fn objects(log: &str) -> Vec<Value> {
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for line in &lines {
        for (name, is) in [("timestamp", true), ("level", true), ("target", true)] {
            assert_eq!(line[name].is_string(), is, "{name}: {line}");
        }
        assert!(line["fields"]["message"].is_string(), "{line}");
    }
    lines
}

#[tokio::test]
async fn as_json_every_line_is_an_object_and_says_who_asked() {
    let place = Place::new();
    let add = place.command(&["user", "add", "ada", "--tenant", "acme"]).output().unwrap();
    let token = String::from_utf8(add.stdout).unwrap().trim().to_owned();
    let server = place.serve_with(&["--log", "debug", "--log-format", "json"]);
    tell_secrets(&server, &token).await;
    let (status, _) = server.get("/v1/runs/run_1?after=whispered").await;
    assert_eq!(status, 401);
    let ended = server.stop().exits(0);
    let lines = objects(&ended.stderr);
    let request = |status: u64| {
        let found = lines.iter().find(|line| {
            line["fields"]["message"] == "request" && line["fields"]["status"] == status
        });
        &found.unwrap_or_else(|| panic!("{status}: {}", ended.stderr))["fields"]
    };
    let started = request(201);
    for (name, value) in [
        ("method", "POST"),
        ("path", "/v1/runs"),
        ("route", "/v1/runs"),
        ("actor", "ada"),
        ("tenant", "acme"),
    ] {
        assert_eq!(started[name], value, "{name}: {started}");
    }
    assert!(started["duration_ms"].as_f64().is_some_and(|it| it > 0.0), "{started}");
    let refused = request(401);
    assert_eq!((&refused["method"], &refused["route"]), (&"GET".into(), &"/v1/runs/{id}".into()));
    assert!(refused.get("actor").is_none(), "nobody was let in: {refused}");
    assert!(lines.iter().any(|line| line["fields"]["message"] == "stopping"), "{}", ended.stderr);
    for secret in [SECRETS[0], SECRETS[1], &token] {
        assert!(!ended.stderr.contains(secret), "{secret}: {}", ended.stderr);
    }
}

#[test]
fn the_environment_chooses_the_format_too() {
    let place = Place::new();
    let mut command = place.command(&["serve", "--addr", "127.0.0.1:0"]);
    command.env("SIGNOFF_LOG", "info").env("SIGNOFF_LOG_FORMAT", "json");
    let mut process = Process::start(&mut command);
    assert!(process.line().is_some_and(|line| line.starts_with("signoff listens on")));
    process.terminate();
    let lines = objects(&process.wait().exits(0).stderr);
    assert!(lines.iter().any(|line| line["level"] == "INFO"), "{lines:?}");
}
