//! What belongs to another tenant: every operation of the `OpenAPI` document is in a table here, and so is every operation of
//! the dialects that the document does not have. One that is new fails until it is said what others see there.

use std::collections::BTreeSet;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::access::{add, ask, asked, get, post};
use crate::support::{Client, Place, text};
use crate::ws_support::Socket;

/// What of acme's must never be seen by bravo.
const WORDS: [&str; 3] = ["Well?", "zoe", "acme"];

/// What another tenant sees at an operation.
#[derive(Debug)]
enum Sees {
    /// Nothing there: 404, whatever is sent.
    Nothing(Value),
    /// What is the same for all tenants, or one's own: names there mean one's own things. Neither what is seen nor what is
    /// done has to do with others.
    Own(Value),
    /// A stream of what is one's own; it is enough that it begins.
    Stream,
}

use Sees::{Nothing, Own, Stream};

/// Acme's things.
struct Theirs {
    run: String,
    request: String,
    conversation: String,
    grant: String,
}

/// What bravo sees at an operation of the document.
// A table: one row for each kind of operation.
#[allow(clippy::match_same_arms)]
fn sees(method: &str, path: &str, theirs: &Theirs) -> Sees {
    let Theirs { run, request, conversation, .. } = theirs;
    let response = format!("resp_{}_1", run.trim_start_matches("run_"));
    let approve = json!({ "decision": "approve" });
    match (method, path) {
        ("get", "/v1/runs/{id}/events") => Nothing(Value::Null),
        ("get" | "delete", path)
            if [
                "/v1/runs/{id}",
                "/v1/requests/{id}",
                "/v1/responses/{id}",
                "/bridge/v1/runs/{id}",
            ]
            .iter()
            .any(|it| path.starts_with(it)) =>
        {
            Nothing(Value::Null)
        }
        ("delete", "/v1/grants/{id}") => Nothing(Value::Null),
        ("post", "/v1/runs/{id}/fork") => Nothing(json!({ "at": 1 })),
        ("post", "/v1/runs/{id}/feedback") => Nothing(json!({ "text": "x" })),
        ("post", path) if path.starts_with("/v1/runs/{id}/") => Nothing(json!({})),
        ("post", "/v1/requests/{id}/decision") => Nothing(approve),
        ("post", "/v1/requests/{id}/reassign") => Nothing(json!({ "to": "bob" })),
        ("post", "/v1/requests/{id}/comment") => Nothing(json!({ "text": "x" })),
        ("post", "/v1/requests/{id}/link") => Nothing(json!({ "for": "bob" })),
        ("post", "/v1/requests/{id}/defer") => Nothing(json!({ "for": "1h" })),
        ("post", "/v1/requests/{id}/claim" | "/v1/requests/{id}/release") => Nothing(json!({})),
        ("post", "/v1/responses/{id}/cancel") => Nothing(json!({})),
        ("post", "/v1/workflows/{id}/requests/{request}/responses") => Nothing(json!("yes")),
        ("post", "/v1/workflows/{id}/send_responses") => {
            Nothing(json!({ "responses": { (request): "yes" } }))
        }
        // A conversation's name means one of one's own.
        ("post", "/v1/conversations/{id}") => Own(json!({ "metadata": { "a": "b" } })),
        ("post", "/v1/conversations/{id}/items") => {
            Own(json!({ "items": [{ "type": "message", "role": "user", "content": "x" }] }))
        }
        (_, path) if path.starts_with("/v1/conversations") => Own(json!({})),
        ("post", "/v1/requests/decisions") => {
            Own(json!({ "items": [{ "request": request, "decision": "approve" }] }))
        }
        ("post", "/v1/runs") => {
            Own(json!({ "workflow": "ask", "input": "x", "conversation": conversation }))
        }
        ("post", "/v1/responses") => {
            Own(json!({ "model": "ask", "input": "yes", "previous_response_id": response }))
        }
        ("post", "/bridge/v1/responses" | "/bridge/{session}/v1/responses") => {
            Own(json!({ "model": "ask", "input": "yes", "conversation": conversation }))
        }
        ("post", "/ag-ui/{workflow}") => Own(json!({
            "threadId": conversation, "runId": run, "state": {}, "tools": [], "context": [], "forwardedProps": {},
            "messages": [{ "id": "1", "role": "user", "content": "hi" }],
            "resume": [{ "interruptId": request, "status": "resolved", "payload": "yes" }],
        })),
        ("get", "/v1/requests/events") => Stream,
        // Links say by themselves who somebody is (`links.rs`); sockets and MCP are below.
        (_, "/decide/{token}" | "/v1/ws" | "/mcp") => Own(Value::Null),
        ("post", "/v1/grants") => Own(json!({ "within": "1h" })),
        ("post", "/v1/policy/test") => Own(json!({})),
        ("put", "/v1/policy") => Own(json!({ "text": "gates: []" })),
        ("post", "/v1/session") => Own(json!({ "token": "sgn_x" })),
        ("post", "/v1/markdown") => Own(json!({ "texts": ["x"] })),
        ("post", "/v1/entities/{id}/reload") => Own(json!({})),
        (
            "get" | "delete",
            "/health"
            | "/ready"
            | "/metrics"
            | "/openapi.json"
            | "/v1/workflows"
            | "/v1/workflows/{id}"
            | "/v1/runs"
            | "/v1/requests"
            | "/v1/requests/count"
            | "/v1/requests/groups"
            | "/v1/policy"
            | "/v1/grants"
            | "/v1/session"
            | "/v1/audit"
            | "/v1/audit/verify"
            | "/errors/{code}"
            | "/bridge/v1/agents"
            | "/bridge/{session}/v1/agents"
            | "/bridge/v1/workflows/{id}/runs"
            | "/ag-ui/{workflow}"
            | "/meta"
            | "/v1/entities"
            | "/v1/entities/{id}/info",
        ) => Own(Value::Null),
        _ => panic!("{method} {path} is new: say in this table what another tenant sees there"),
    }
}

/// Everything of acme's, as it stands.
async fn state(server: &Client, token: &str, theirs: &Theirs) -> Vec<Value> {
    let mut all = Vec::new();
    for path in [
        format!("/v1/runs/{}", theirs.run),
        format!("/v1/runs/{}/journal", theirs.run),
        format!("/v1/runs/{}/feedback", theirs.run),
        format!("/v1/requests/{}", theirs.request),
        format!("/v1/conversations/{}", theirs.conversation),
        format!("/v1/conversations/{}/items", theirs.conversation),
        "/v1/runs".to_owned(),
        "/v1/requests".to_owned(),
        "/v1/grants".to_owned(),
        "/v1/policy".to_owned(),
        "/v1/audit".to_owned(),
    ] {
        let (status, found) = get(server, token, &path).await;
        assert!(status == 200 || path == "/v1/policy", "{path}: {found}");
        all.push(found);
    }
    all
}

#[track_caller]
fn is_silent(what: &str, answer: &str) {
    for word in WORDS {
        assert!(!answer.contains(word), "{what} tells of {word}: {answer}");
    }
}

async fn begun(place: &Place) -> (crate::support::Server, String, String, Theirs) {
    let zoe = add(place, &["zoe", "--tenant", "acme", "--role", "admin"]);
    let bob = add(place, &["bob", "--tenant", "bravo", "--role", "admin"]);
    let server = place.serve_with(&["--max-rate", "100000"]);
    let (run, request) = asked(&server, &zoe).await;
    let (_, found) = get(&server, &zoe, &format!("/v1/runs/{run}")).await;
    let conversation = text(&found["conversation"]);
    let (status, granted) = post(&server, &zoe, "/v1/grants", json!({ "within": "1h" })).await;
    assert_eq!(status, 201, "{granted}");
    let theirs = Theirs { run, request, conversation, grant: text(&granted["id"]) };
    (server, zoe, bob, theirs)
}

#[tokio::test]
async fn no_operation_of_the_document_shows_or_changes_what_is_anothers() {
    let place = Place::new();
    let (server, zoe, bob, theirs) = begun(&place).await;
    let before = state(&server, &zoe, &theirs).await;
    let (_, document) = get(&server, &bob, "/openapi.json").await;
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let id = match path.trim_start_matches("/bridge").split('/').nth(2).unwrap_or_default()
            {
                "runs" => &theirs.run,
                "requests" => &theirs.request,
                "conversations" => &theirs.conversation,
                "grants" => &theirs.grant,
                "responses" => &format!("resp_{}_1", theirs.run.trim_start_matches("run_")),
                _ => "ask",
            };
            let at = path
                .replace("{id}", id)
                .replace("{request}", &theirs.request)
                .replace("{workflow}", "ask")
                .replace("{session}", &theirs.conversation)
                .replace("{item}", "x")
                .replace("{n}", "1")
                .replace("{code}", "unknown_run")
                .replace("{token}", "x");
            let verb: Method = method.to_uppercase().parse().unwrap();
            let what = format!("{verb} {at}");
            operations += 1;
            let (body, must_be_gone) = match sees(method, path, &theirs) {
                Nothing(body) => (body, true),
                Own(body) => (body, false),
                Stream => {
                    let request = server.request(verb, &at).bearer_auth(&bob);
                    let mut response = request.send().await.unwrap();
                    let first = response.chunk().await.unwrap().unwrap_or_default();
                    is_silent(&what, &String::from_utf8_lossy(&first));
                    continue;
                }
            };
            let mut request = server.request(verb, &at).bearer_auth(&bob);
            if !body.is_null() {
                request = request.json(&body);
            }
            let mut response = request.send().await.unwrap();
            let status = response.status().as_u16();
            // A stream of a run of one's own does not end while that waits.
            let streams = response
                .headers()
                .get("content-type")
                .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
            let answer = if streams {
                String::from_utf8_lossy(&response.chunk().await.unwrap().unwrap_or_default())
                    .into_owned()
            } else {
                response.text().await.unwrap()
            };
            assert!(!must_be_gone || status == 404, "{what}: {status} {answer}");
            assert!(
                status < 500 && (status != 401 || path == "/v1/session"),
                "{what}: {status} {answer}"
            );
            // What is one's own may ask the same question; whose it is says the name.
            let words = answer.replace("Well?", if must_be_gone { "Well?" } else { "" });
            is_silent(&what, &words);
            for id in [&theirs.run, &theirs.grant] {
                let named = at.contains(id.as_str()) || body.to_string().contains(id.as_str());
                assert!(named || !answer.contains(id.as_str()), "{what}: {answer}");
            }
        }
    }
    assert!(operations >= 79, "only {operations} operations were looked at");
    assert_eq!(state(&server, &zoe, &theirs).await, before, "something of acme's changed");
}

/// The methods of A2A, as the protocol's own file lists them.
fn methods() -> BTreeSet<String> {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../a2a-grpc/proto/a2a.proto");
    let proto = std::fs::read_to_string(proto).unwrap();
    let rpc = proto.lines().filter_map(|line| line.trim().strip_prefix("rpc "));
    rpc.map(|line| line.split(['(', ' ']).next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn no_method_of_a2a_shows_or_changes_what_is_anothers() {
    let place = Place::new();
    let (server, zoe, bob, theirs) = begun(&place).await;
    let before = state(&server, &zoe, &theirs).await;
    let run = &theirs.run;
    let message = json!({ "messageId": "m", "role": "ROLE_USER", "taskId": run, "parts": [{ "text": "yes" }] });
    let all = methods();
    assert!(all.len() >= 11, "{all:?}");
    for method in &all {
        let params = match method.as_str() {
            "SendMessage" | "SendStreamingMessage" => json!({ "message": message }),
            "GetTask" | "CancelTask" | "SubscribeToTask" => json!({ "id": run }),
            "ListTasks" => json!({ "contextId": theirs.conversation }),
            "CreateTaskPushNotificationConfig" => {
                json!({ "taskId": run, "url": "https://example.org/" })
            }
            "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
                json!({ "taskId": run, "id": "x" })
            }
            "ListTaskPushNotificationConfigs" => json!({ "taskId": run }),
            "GetExtendedAgentCard" => json!({}),
            other => panic!("{other} is new: say here how it names what is another's"),
        };
        for tenant in [None, Some("acme")] {
            let mut params = params.clone();
            if let Some(tenant) = tenant {
                params["tenant"] = tenant.into();
            }
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let request = server.request(Method::POST, "/a2a/ask").header("a2a-version", "1.0");
            let response = request.bearer_auth(&bob).json(&body).send().await.unwrap();
            let answer = read(&response.text().await.unwrap());
            match method.as_str() {
                "ListTasks" if tenant.is_none() => {
                    assert_eq!(answer["result"]["tasks"], json!([]), "{answer}");
                }
                "GetExtendedAgentCard" => {}
                _ if tenant.is_none() => {
                    assert_eq!(answer["error"]["code"], -32001, "{method}: {answer}");
                }
                _ => assert!(answer["error"].is_object(), "{method}: {answer}"),
            }
            // Whoever names a tenant is told that name again.
            is_silent(
                method,
                &answer.to_string().replace("acme", if tenant.is_some() { "" } else { "acme" }),
            );
        }
    }
    for (verb, path, body) in [
        (Method::GET, format!("/tasks/{run}"), Value::Null),
        (Method::GET, format!("/tasks/{run}:subscribe"), Value::Null),
        (Method::POST, format!("/tasks/{run}:cancel"), json!({})),
        (Method::POST, "/message:send".to_owned(), json!({ "message": message })),
        (Method::POST, "/message:stream".to_owned(), json!({ "message": message })),
        (Method::GET, format!("/tasks/{run}/pushNotificationConfigs"), Value::Null),
        (
            Method::POST,
            format!("/tasks/{run}/pushNotificationConfigs"),
            json!({ "url": "https://example.org/" }),
        ),
        (Method::GET, format!("/tasks/{run}/pushNotificationConfigs/x"), Value::Null),
        (Method::DELETE, format!("/tasks/{run}/pushNotificationConfigs/x"), Value::Null),
    ] {
        let body = (!body.is_null()).then_some(&body);
        let (status, answer) = ask(&server, &bob, verb, &format!("/a2a/ask{path}"), body).await;
        assert_eq!(status, 404, "{path}: {answer}");
        is_silent(&path, &answer.to_string());
        let (status, _) =
            ask(&server, &bob, Method::GET, &format!("/a2a/ask/acme{path}"), None).await;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
    assert_eq!(state(&server, &zoe, &theirs).await, before, "something of acme's changed");
}

#[cfg(feature = "grpc")]
#[tokio::test]
async fn no_call_of_grpc_shows_what_is_anothers() {
    let place = Place::new();
    let (server, zoe, bob, theirs) = begun(&place).await;
    let before = state(&server, &zoe, &theirs).await;
    let http = reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
    // The agent, and the task.
    let mut message = b"\x0a\x03ask\x12".to_vec();
    message.push(u8::try_from(theirs.run.len()).unwrap());
    message.extend(theirs.run.as_bytes());
    let mut body = vec![0];
    body.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    body.extend(message);
    let call = async |token: &str, method: &str| {
        let request = http.post(format!("{}/lf.a2a.v1.A2AService/{method}", server.url));
        let request = request.header("content-type", "application/grpc").header("te", "trailers");
        let request = request.header("a2a-version", "1.0").bearer_auth(token).body(body.clone());
        let response = request.send().await.unwrap();
        let status =
            response.headers().get("grpc-status").map(|it| it.to_str().unwrap().to_owned());
        (status, response.bytes().await.unwrap())
    };
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let (status, said) = call(&bob, method).await;
        // NOT_FOUND
        assert_eq!(status.as_deref(), Some("5"), "{method}: {said:?}");
    }
    assert_eq!(state(&server, &zoe, &theirs).await, before, "something of acme's changed");
    let (status, said) = call(&zoe, "GetTask").await;
    assert!(status.is_none() && said.len() > 100, "its own are there: {status:?} {said:?}");
}

/// An answer, be it JSON or the first event that has some.
fn read(said: &str) -> Value {
    let data = said.lines().filter_map(|line| line.strip_prefix("data: "));
    let data = data.into_iter().find(|it| it.starts_with('{')).unwrap_or(said);
    serde_json::from_str(data).unwrap_or_else(|_| Value::String(said.to_owned()))
}

/// A client of MCP that sends what it is told to.
struct Mcp<'a> {
    server: &'a Client,
    token: &'a str,
    session: Option<String>,
}

impl Mcp<'_> {
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        if method.starts_with("notifications/") {
            body.as_object_mut().unwrap().remove("id");
        }
        let request = self.server.request(Method::POST, "/mcp").bearer_auth(self.token);
        let mut request = request.header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", "2025-06-18");
        }
        let response = request.json(&body).send().await.unwrap();
        let session =
            response.headers().get("mcp-session-id").map(|it| it.to_str().unwrap().to_owned());
        self.session = self.session.take().or(session);
        read(&response.text().await.unwrap())
    }
}

#[tokio::test]
async fn no_tool_of_mcp_shows_or_changes_what_is_anothers() {
    let place = Place::new();
    let (server, zoe, bob, theirs) = begun(&place).await;
    let before = state(&server, &zoe, &theirs).await;
    let mut mcp = Mcp { server: &server, token: &bob, session: None };
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let hello = mcp.ask("initialize", hello).await;
    assert!(hello["result"]["capabilities"].is_object(), "{hello}");
    mcp.ask("notifications/initialized", json!({})).await;
    let listed = mcp.ask("tools/list", json!({})).await;
    let tools: Vec<String> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| text(&tool["name"]))
        .collect();
    assert!(tools.len() >= 9, "{tools:?}");
    for tool in &tools {
        let (arguments, gone) = match tool.as_str() {
            "get_run" => (json!({ "run": theirs.run }), true),
            "get_request" | "get_answer" => (json!({ "request": theirs.request }), true),
            "list_runs" | "list_requests" | "list_workflows" => (json!({}), false),
            // They name nothing that is there already; starting is looked at by its conversation.
            "ask_human" | "request_approval" => continue,
            "start_workflow" => (
                json!({ "workflow": "ask", "input": "x", "conversation": theirs.conversation }),
                false,
            ),
            other => panic!("{other} is new: say here how it names what is another's"),
        };
        let answer = mcp.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        let failed = answer["result"]["isError"] == true || answer["error"].is_object();
        assert_eq!(failed, gone, "{tool}: {answer}");
        // What was started here asks the same.
        is_silent(tool, &answer.to_string().replace("Well?", if gone { "Well?" } else { "" }));
        let named = arguments.to_string().contains(&theirs.run);
        assert!(named || !answer.to_string().contains(&theirs.run), "{tool}: {answer}");
    }
    for method in
        ["resources/read", "resources/subscribe", "tasks/get", "tasks/result", "tasks/cancel"]
    {
        for uri in [
            format!("signoff://runs/{}", theirs.run),
            format!("signoff://requests/{}", theirs.request),
        ] {
            let params = json!({ "uri": uri, "taskId": theirs.request });
            let answer = mcp.ask(method, params).await;
            assert!(answer["error"].is_object(), "{method} {uri}: {answer}");
            is_silent(method, &answer.to_string());
        }
    }
    assert_eq!(state(&server, &zoe, &theirs).await, before, "something of acme's changed");
}

#[tokio::test]
async fn no_message_of_a_socket_shows_or_changes_what_is_anothers() {
    let place = Place::new();
    let (server, zoe, bob, theirs) = begun(&place).await;
    let before = state(&server, &zoe, &theirs).await;
    let bearer = format!("Bearer {bob}");
    let opened = Socket::try_open(&server, "/v1/ws", &[("authorization", &bearer)]).await;
    let mut socket = opened.ok().unwrap();
    assert_eq!(socket.next().await["type"], "hello");
    assert_eq!(socket.next().await["requests"], json!([]));
    // It says itself which messages there are.
    let refused = socket.ask(&json!({ "type": "nothing of that kind" })).await;
    let hint = text(&refused["error"]["hint"]);
    let kinds = hint.split("one of ").nth(1).unwrap_or_else(|| panic!("{refused}"));
    let kinds: Vec<&str> = kinds
        .split([',', ' '])
        .map(|it| it.trim_matches(['`', '.']))
        .filter(|it| !it.is_empty() && *it != "or" && *it != "and")
        .collect();
    assert!(kinds.len() >= 9, "{hint}");
    for kind in kinds {
        let (message, code) = match kind {
            "attach" => (json!({ "run": theirs.run }), Some("unknown_run")),
            "decide" => (
                json!({ "request": theirs.request, "decision": { "decision": "approve" } }),
                Some("unknown_request"),
            ),
            "defer" => (json!({ "request": theirs.request, "for": "1h" }), Some("unknown_request")),
            "resolve_approval" | "approval_response" => (
                json!({ "approval_id": theirs.request, "approved": true }),
                Some("unknown_request"),
            ),
            "detach" => (json!({ "run": theirs.run }), None),
            "requests" | "snapshot" | "request_state" | "ping" => (json!({}), None),
            "start" => (
                json!({ "workflow": "ask", "input": "x", "conversation": theirs.conversation }),
                None,
            ),
            other => panic!("{other} is new: say here how it names what is another's"),
        };
        let mut message = message;
        message["type"] = kind.into();
        let answer = socket.ask(&message).await;
        if let Some(code) = code {
            assert_eq!(answer["error"]["code"], code, "{kind}: {answer}");
        }
        assert!(!answer.to_string().contains("zoe"), "{kind}: {answer}");
        let named = ["attach", "detach"].contains(&kind);
        assert!(named || !answer.to_string().contains(&theirs.run), "{kind}: {answer}");
    }
    assert_eq!(state(&server, &zoe, &theirs).await, before, "something of acme's changed");
}
