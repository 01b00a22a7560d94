//! What is wrong is said, with a code; never is it the server's fault.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Place, Server, text};

async fn raw(
    server: &Server,
    path: &str,
    kind: &str,
    body: impl Into<reqwest::Body>,
) -> (u16, Value) {
    let request = server.request(Method::POST, path).header("content-type", kind).body(body);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[track_caller]
fn refused(what: &str, answer: &(u16, Value), status: u16, code: &str) {
    let (found, body) = answer;
    assert_eq!((*found, &body["error"]["code"]), (status, &json!(code)), "{what}: {body}");
    assert!(!text(&body["error"]["message"]).is_empty(), "{what}: {body}");
}

#[tokio::test]
async fn bodies() {
    let server = Place::new().serve();
    let json = "application/json";
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    for (body, status, code) in [
        ("{", 400, "malformed_json"),
        ("", 400, "invalid_body"),
        ("[]", 400, "invalid_body"),
        ("null", 400, "invalid_body"),
        ("{\"workflow\":1e999}", 400, "malformed_json"),
        ("{\"workflow\":\"\\ud800\"}", 400, "malformed_json"),
        (&deep, 400, "malformed_json"),
        (r#"{"workflow":"ask"}"#, 400, "invalid_body"),
        (r#"{"workflow":7,"input":"x"}"#, 400, "invalid_body"),
        (r#"{"workflow":"ask","input":"x","conversation":"a b"}"#, 400, "invalid_body"),
        (r#"{"workflow":"ask","input":"x","idempotency_key":""}"#, 400, "invalid_body"),
        (r#"{"workflow":"nope","input":"x"}"#, 404, "unknown_workflow"),
        (r#"{"workflow":"event_planner","input":7}"#, 422, "invalid_input"),
    ] {
        refused(body, &raw(&server, "/v1/runs", json, body.to_owned()).await, status, code);
    }
    let utf16: Vec<u8> = vec![0xff, 0xfe, 0x7b];
    refused("not UTF-8", &raw(&server, "/v1/runs", json, utf16).await, 400, "malformed_json");
    let good = r#"{"workflow":"ask","input":"x"}"#;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
        refused(kind, &raw(&server, "/v1/runs", kind, good).await, 415, "unsupported_media_type");
    }
    assert_eq!(raw(&server, "/v1/runs", "Application/JSON; charset=utf-8", good).await.0, 201);
    let large = format!(r#"{{"workflow":"ask","input":"{}"}}"#, "x".repeat(1024 * 1024));
    refused("large", &raw(&server, "/v1/runs", json, large.clone()).await, 413, "body_too_large");
    let unknown = r#"{"workflow":"ask","input":"x","idempotency_kye":"1"}"#;
    let answer = raw(&server, "/v1/runs", json, unknown).await;
    refused(unknown, &answer, 400, "invalid_body");
    assert_eq!(answer.1["error"]["hint"], "did you mean `idempotency_key`?");
    let busy = json!({ "workflow": "ask", "input": "x", "conversation": "c" });
    assert_eq!(server.post("/v1/runs", &busy).await.0, 201);
    refused("busy", &server.post("/v1/runs", &busy).await, 409, "conversation_busy");
}

#[tokio::test]
async fn paths_and_queries() {
    let server = Place::new().serve();
    let run = server.start("ask", "hi").await;
    server.pending(&run).await;
    for (path, status, code) in [
        ("/nothing", 404, "unknown_route"),
        ("/v1", 404, "unknown_route"),
        ("/v1/runs/", 404, "unknown_route"),
        ("/v1/workflows/nope", 404, "unknown_workflow"),
        ("/v1/runs/nope", 404, "unknown_run"),
        ("/v1/runs/nope/journal", 404, "unknown_run"),
        ("/v1/runs/nope/events", 404, "unknown_run"),
        ("/v1/requests/nope", 404, "unknown_request"),
        ("/v1/requests/req_nope_1", 404, "unknown_request"),
        ("/v1/requests/req_x_99999999999999999999", 404, "unknown_request"),
        ("/v1/runs/%00", 404, "unknown_run"),
        ("/v1/runs/%ff", 400, "invalid_path"),
        ("/v1/runs/nope/cancel", 405, "method_not_allowed"),
        ("/v1/runs?limit=0", 400, "invalid_query"),
        ("/v1/runs?limit=501", 400, "invalid_query"),
        ("/v1/runs?limit=-1", 400, "invalid_query"),
        ("/v1/runs?limit=1&limit=2", 400, "invalid_query"),
        ("/v1/runs?stats=waiting", 400, "invalid_query"),
        ("/v1/runs?status=sleeping", 400, "invalid_query"),
        ("/v1/runs?cursor=nope", 400, "invalid_cursor"),
        ("/v1/runs?cursor=q1", 400, "invalid_cursor"),
        ("/v1/runs?cursor=r99999999999999999999", 400, "invalid_cursor"),
        ("/v1/runs?cursor=", 400, "invalid_cursor"),
        ("/v1/requests?cursor=r1", 400, "invalid_cursor"),
        ("/v1/requests?kind=choice", 400, "invalid_query"),
        ("/v1/requests?asignee=ada", 400, "invalid_query"),
        ("/v1/requests/count?limit=1", 400, "invalid_query"),
        ("/v1/audit?cursor=j1", 400, "invalid_cursor"),
        ("/v1/audit?after=x", 400, "invalid_query"),
        ("/v1/workflows?x=1", 400, "invalid_query"),
    ] {
        refused(path, &server.get(path).await, status, code);
    }
    let journal = format!("/v1/runs/{run}/journal");
    for query in ["cursor=j", "cursor=jx", "cursor=a1", "cursor=j99999999999999999999"] {
        refused(query, &server.get(&format!("{journal}?{query}")).await, 400, "invalid_cursor");
    }
    assert_eq!(server.read(&format!("{journal}?cursor=j999999")).await["data"], json!([]));
    refused(
        "after",
        &server.get(&format!("/v1/runs/{run}/events?after=-1")).await,
        400,
        "invalid_query",
    );
    for id in ["x", "-1", "99999999999999999999", "1000000"] {
        let request = server.request(Method::GET, &format!("/v1/runs/{run}/events"));
        let response = request.header("last-event-id", id).send().await.unwrap();
        refused(
            id,
            &(response.status().as_u16(), response.json().await.unwrap()),
            400,
            "invalid_cursor",
        );
    }
    for (method, path) in
        [(Method::DELETE, "/v1/runs"), (Method::PUT, "/health"), (Method::GET, "/v1/runs/x/fork")]
    {
        let response = server.request(method, path).send().await.unwrap();
        assert!(response.headers().contains_key("allow"), "{path}");
        refused(
            path,
            &(response.status().as_u16(), response.json().await.unwrap()),
            405,
            "method_not_allowed",
        );
    }
}

#[tokio::test]
async fn decisions() {
    let server = Place::new().serve();
    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    for (body, status, code) in [
        (json!([]), 400, "invalid_body"),
        (json!({}), 400, "invalid_body"),
        (json!({ "decision": 1 }), 400, "invalid_body"),
        (json!({ "decision": "aprove" }), 400, "invalid_body"),
        (json!({ "decision": "approve", "notes": "x" }), 400, "invalid_body"),
        (json!({ "decision": "approve", "version": "1" }), 400, "invalid_body"),
        (json!({ "decision": "approve", "version": 2 }), 409, "version_conflict"),
        (json!({ "decision": "respond" }), 400, "invalid_body"),
        (json!({ "decision": "respond", "content": "x" }), 422, "decision_not_allowed"),
        (json!({ "decision": "approve", "note": "x".repeat(70_000) }), 422, "invalid_answer"),
    ] {
        refused(
            &body.to_string()[..40.min(body.to_string().len())],
            &server.decide(&request, &body).await,
            status,
            code,
        );
    }
    let allowed = server.decide(&request, &json!({ "decision": "skip" })).await.1;
    assert_eq!(allowed["error"]["details"]["allowed"], json!(["approve", "edit", "reject"]));
    refused(
        "unknown",
        &server.decide("req_x_1", &json!({ "decision": "approve" })).await,
        404,
        "unknown_request",
    );
    let good = json!({ "decision": "approve", "version": 1, "idempotency_key": "k" });
    assert_eq!(server.decide(&request, &good).await.0, 200);
    assert_eq!(server.decide(&request, &good).await.0, 200, "the same again is a success");
    let other = json!({ "decision": "reject", "version": 1 });
    refused("late", &server.decide(&request, &other).await, 409, "already_decided");
}

#[tokio::test]
async fn foreign_hosts_and_pages() {
    let server = Place::new().serve();
    let port = server.url.rsplit(':').next().unwrap().to_owned();
    let send = async |method: Method, headers: &[(&str, &str)]| {
        let mut request = server.request(method, "/v1/runs");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        assert!(response.headers().keys().all(|name| !name.as_str().starts_with("access-control")));
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    for host in
        ["evil.test", "localhost", "localhost:1", "10.0.0.1:80", &format!("evil.test:{port}")]
    {
        refused(host, &send(Method::GET, &[("host", host)]).await, 403, "host_refused");
    }
    let own = format!("localhost:{port}");
    assert_eq!(send(Method::GET, &[("host", &own)]).await.0, 200);
    for origin in
        ["null", "http://evil.test", "https://localhost", &format!("http://evil.test:{port}")]
    {
        for method in [Method::GET, Method::POST, Method::OPTIONS] {
            let answer = send(method, &[("origin", origin)]).await;
            refused(origin, &answer, 403, "origin_refused");
        }
    }
    let same = format!("http://{own}");
    assert_eq!(send(Method::GET, &[("host", &own), ("origin", &same)]).await.0, 200);
    let cross = send(Method::POST, &[("sec-fetch-site", "cross-site")]).await;
    refused("cross-site", &cross, 403, "origin_refused");
}

/// The routes that the document has, with a method.
async fn routes(server: &Server, method: &str) -> Vec<(String, Value)> {
    let document = server.read("/openapi.json").await;
    let paths = document["paths"].as_object().unwrap();
    let found: Vec<_> = paths
        .iter()
        // Links are answered with pages (`links.rs`).
        .filter(|(path, _)| !path.starts_with("/decide/"))
        .filter_map(|(path, methods)| Some((path.clone(), methods.get(method)?.clone())))
        .collect();
    assert!(found.len() > 3, "{method}: {found:?}");
    found
}

#[tokio::test]
async fn no_route_takes_a_body_that_is_not_what_it_says() {
    let server = Place::new().serve();
    for (path, operation) in routes(&server, "post").await {
        if operation["requestBody"].is_null() {
            continue;
        }
        // An answer to a question may be any value.
        let any = path.ends_with("/{request}/responses");
        let path = path.replace(['{', '}'], "");
        for (body, code) in [
            ("{", "malformed_json"),
            ("{\"a\":1,}", "malformed_json"),
            ("{\"a\":NaN}", "malformed_json"),
            ("{} {}", "malformed_json"),
            ("\u{feff}{}", "malformed_json"),
            ("7", "invalid_body"),
            ("\"text\"", "invalid_body"),
            ("[1]", "invalid_body"),
            ("true", "invalid_body"),
        ] {
            let answer = raw(&server, &path, "application/json", body).await;
            if !any || code == "malformed_json" {
                refused(&format!("{path} {body}"), &answer, 400, code);
            }
        }
        let form = raw(&server, &path, "multipart/form-data; boundary=x", "--x--").await;
        refused(&path, &form, 415, "unsupported_media_type");
        if operation["requestBody"]["required"] == true {
            let (status, answer) = raw(&server, &path, "application/json", "{}").await;
            assert!((400..500).contains(&status), "{path}: {answer}");
        }
    }
}

#[tokio::test]
async fn no_route_knows_ids_that_are_not_there() {
    let server = Place::new().serve();
    let long = "a".repeat(8000);
    let ids =
        ["nope", "run_", "req_x_1", "%F0%9F%92%A5", "..%2F..%2Fetc", "%00", "'%3B--", "-1", &long];
    // One of them fits every route that takes a body; the others are refused for what they are.
    let bodies = [
        json!({}),
        json!({ "decision": "approve" }),
        json!({ "at": 1 }),
        json!({ "text": "x" }),
        json!({ "for": "local" }),
        json!({ "metadata": {}, "items": [], "responses": { "req_x_1": "yes" } }),
    ];
    for (method, bodies) in [("get", &[Value::Null][..]), ("post", &bodies[..])] {
        for (path, operation) in routes(&server, method).await {
            // A session of the bridge is whatever a client calls it.
            let named = path.contains('{') && !path.contains("{session}");
            for id in ids.iter().filter(|_| named) {
                let pieces = path.split('/').map(|it| if it.starts_with('{') { id } else { it });
                let at = pieces.collect::<Vec<_>>().join("/");
                let mut found = Vec::new();
                for body in bodies {
                    let (status, answer) = match method {
                        "get" => server.get(&at).await,
                        _ => server.post(&at, body).await,
                    };
                    assert!((400..500).contains(&status), "{method} {at}: {status} {answer}");
                    let described = &operation["responses"][status.to_string()];
                    assert!(described.is_object(), "{method} {path}: {status} is not described");
                    found.push(text(&answer["error"]["code"]));
                }
                let unknown = found.iter().any(|code| code.starts_with("unknown_"));
                assert!(unknown, "{method} {at}: {found:?}");
            }
        }
    }
}
