//! Users, tokens, roles and tenants.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use signoff_testkit::process::{PATIENCE, Process};

use crate::support::{Client, Place, text};

/// Adds a user and gives the token.
pub(crate) fn add(place: &Place, args: &[&str]) -> String {
    let output = place.command(&[&["user", "add"], args].concat()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) fn user(place: &Place, args: &[&str]) -> (bool, String) {
    let output = place.command(&[&["user"], args].concat()).output().unwrap();
    let words = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(words).unwrap())
}

/// A request with a token.
pub(crate) async fn ask(
    client: &Client,
    token: &str,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let mut request = client.request(method, path);
    if !token.is_empty() {
        request = request.bearer_auth(token);
    }
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default())
}

pub(crate) async fn get(client: &Client, token: &str, path: &str) -> (u16, Value) {
    ask(client, token, Method::GET, path, None).await
}

pub(crate) async fn post(client: &Client, token: &str, path: &str, body: Value) -> (u16, Value) {
    ask(client, token, Method::POST, path, Some(&body)).await
}

/// Starts a run with a question, as somebody.
pub(crate) async fn asked(client: &Client, token: &str) -> (String, String) {
    let (status, run) =
        post(client, token, "/v1/runs", json!({ "workflow": "ask", "input": "x" })).await;
    assert_eq!(status, 201, "{run}");
    let run = text(&run["id"]);
    let since = Instant::now();
    loop {
        let (_, found) = get(client, token, &format!("/v1/runs/{run}")).await;
        if let Some(request) = found["pending"][0].as_str() {
            return (run, request.to_owned());
        }
        assert!(since.elapsed() < PATIENCE, "{found}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn with_users_everybody_needs_a_token() {
    let place = Place::new();
    let ada = add(&place, &["ada"]);
    let eve = add(&place, &["eve", "--role", "viewer"]);
    let server = place.serve();
    assert_eq!(server.get("/health").await.0, 200);
    assert_eq!(server.get("/ready").await.0, 200);
    for path in ["/v1/runs", "/v1/requests", "/metrics", "/openapi.json", "/v1/nothing"] {
        let (status, error) = server.get(path).await;
        assert_eq!((status, &error["error"]["code"]), (401, &json!("missing_token")), "{path}");
    }
    let (status, error) = get(&server, "sgn_wrong", "/v1/runs").await;
    assert_eq!((status, &error["error"]["code"]), (401, &json!("invalid_token")));
    let challenge = server.request(Method::GET, "/v1/runs").send().await.unwrap();
    assert_eq!(challenge.headers()["www-authenticate"], "Bearer realm=\"signoff\"");

    // The actor is who holds the token, whatever the body says.
    let (run, request) = asked(&server, &ada).await;
    let (_, found) = get(&server, &ada, &format!("/v1/runs/{run}")).await;
    assert_eq!(found["by"], "ada");
    let decision = format!("/v1/requests/{request}/decision");
    let forged = json!({ "decision": "approve", "by": "root" });
    assert_eq!(post(&server, &ada, &decision, forged).await.0, 400);
    let (status, refused) = post(&server, &eve, &decision, json!({ "decision": "approve" })).await;
    assert_eq!((status, &refused["error"]["code"]), (403, &json!("not_permitted")));
    assert_eq!(get(&server, &eve, &format!("/v1/requests/{request}")).await.1["status"], "pending");
    let (status, decided) = post(&server, &ada, &decision, json!({ "decision": "approve" })).await;
    assert_eq!((status, &decided["decision"]["by"]), (200, &json!("ada")));

    // The name and the token as user and password, as in a URL.
    let basic = server.request(Method::GET, "/v1/session").basic_auth("x", Some(&ada));
    let who: Value = basic.send().await.unwrap().json().await.unwrap();
    assert_eq!(who["actor"], "ada");
}

#[tokio::test]
async fn users_come_and_go_while_the_server_runs() {
    let place = Place::new();
    let server = place.serve();
    assert_eq!(server.get("/v1/session").await.1["actor"], "local");
    let ada = add(&place, &["ada"]);
    let becomes = async |token: &str, wanted: u16| {
        let since = Instant::now();
        while get(&server, token, "/v1/runs").await.0 != wanted {
            assert!(since.elapsed() < PATIENCE, "it is never {wanted}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    becomes("none", 401).await;
    becomes(&ada, 200).await;
    let (fine, words) = user(&place, &["add", "ada"]);
    assert!(!fine && words.contains("--new-token"), "{words}");
    let other = add(&place, &["ada", "--new-token"]);
    becomes(&ada, 401).await;
    becomes(&other, 200).await;
    assert!(user(&place, &["remove", "ada"]).0);
    becomes("none", 200).await;
    assert_eq!(get(&server, "none", "/v1/session").await.1["actor"], "local");
    let (fine, words) = user(&place, &["remove", "ada"]);
    assert!(!fine && words.contains("no user `ada`"), "{words}");
}

#[tokio::test]
async fn a_token_is_kept_nowhere() {
    let place = Place::new();
    let token = add(&place, &["ada", "--tenant", "acme", "--role", "legal"]);
    let server = place.serve();
    assert_eq!(get(&server, &token, "/v1/runs").await.0, 200);
    let (_, listed) = user(&place, &["list", "--json"]);
    assert!(listed.contains(r#""tenant":"acme""#) && listed.contains(r#""roles":["legal"]"#));
    assert!(!listed.contains(&token), "{listed}");
    let ended = server.stop();
    assert!(!format!("{ended:?}").contains(&token));
    for file in std::fs::read_dir(place.path(".signoff")).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let found = bytes.windows(token.len()).any(|it| it == token.as_bytes());
        assert!(!found, "it stands in {}", path.display());
    }
}

#[tokio::test]
async fn other_machines_come_in_only_as_users() {
    let place = Place::new();
    let refused = place.command(&["serve", "--addr", "0.0.0.0:0"]).output().unwrap();
    let words = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(words.contains("no users") && words.contains("signoff user add"), "{words}");
    let ada = add(&place, &["ada"]);
    let mut process = Process::start(&mut place.command(&["serve", "--addr", "0.0.0.0:0"]));
    let line = process.line().unwrap();
    let port = line.rsplit(':').next().unwrap().to_owned();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |token: Option<&str>, origin: Option<&str>| {
        let mut request = http.get(format!("http://127.0.0.1:{port}/v1/runs"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask(None, None).await, 401);
    assert_eq!(ask(Some(&ada), None).await, 200);
    assert_eq!(ask(Some(&ada), Some("http://evil.test")).await, 403);
    // Without a user left nobody comes in: it does not fall open.
    assert!(user(&place, &["remove", "ada"]).0);
    let since = Instant::now();
    while ask(Some(&ada), None).await != 401 {
        assert!(since.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ask(None, None).await, 401);
}

/// Every route that names something, with the id of another tenant: as if it were not there.
#[tokio::test]
async fn tenants_do_not_meet() {
    let place = Place::new();
    let zoe = add(&place, &["zoe", "--tenant", "acme", "--role", "admin"]);
    let bob = add(&place, &["bob", "--tenant", "bravo"]);
    let server = place.serve();
    let (run, request) = asked(&server, &zoe).await;
    let unique = run.strip_prefix("run_").unwrap();
    let (_, theirs) = get(&server, &zoe, &format!("/v1/runs/{run}")).await;
    let conversation = text(&theirs["conversation"]);

    let (status, granted) = post(&server, &zoe, "/v1/grants", json!({ "within": "1h" })).await;
    assert_eq!(status, 201, "{granted}");
    assert_eq!(get(&server, &bob, "/v1/grants").await.1["data"], json!([]));
    let (status, document) = get(&server, &bob, "/openapi.json").await;
    assert_eq!(status, 200);
    let mut asked_for = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        // The bridge has some of them too; a session's name there means one of one's own.
        let native = path.strip_prefix("/bridge").unwrap_or(path);
        // Workflows and what errors mean are the same for all; a link names no tenant (`links.rs`), and a thread
        // one of one's own (`ag_ui.rs`).
        if !path.contains('{')
            || path.starts_with("/errors/")
            || path.starts_with("/decide/")
            || native.starts_with("/{session}")
            || native.starts_with("/v1/workflows/{id}")
            || path.starts_with("/v1/entities")
            || path.starts_with("/ag-ui/")
        {
            continue;
        }
        let id = match native.split('/').nth(2).unwrap() {
            "runs" => run.clone(),
            "requests" => request.clone(),
            "responses" => format!("resp_{unique}_1"),
            "conversations" => conversation.clone(),
            "grants" => text(&granted["id"]),
            other => panic!("{other} is not part of this test"),
        };
        let place = path.replace("{id}", &id).replace("{item}", "x").replace("{n}", "1");
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let body = json!({
                "decision": "approve", "at": 1, "to": "bob", "text": "x", "metadata": {}, "items": [],
            });
            let wanted = match path.rsplit('/').next().unwrap() {
                "decision" => json!({ "decision": "approve" }),
                "fork" => json!({ "at": 1 }),
                "reassign" => json!({ "to": "bob" }),
                "link" => json!({ "for": "bob" }),
                "defer" => json!({ "for": "1h" }),
                "comment" | "feedback" => json!({ "text": "x" }),
                "cancel" | "pause" | "resume" | "retry" | "claim" | "release" => json!({}),
                _ => body,
            };
            let body = (method == Method::POST).then_some(&wanted);
            let (status, answer) = ask(&server, &bob, method.clone(), &place, body).await;
            // A conversation's id means one of one's own: there may be nothing in it.
            let own = path.starts_with("/v1/conversations") && status == 200;
            assert!(status == 404 || own, "{method} {place}: {status} {answer}");
            for word in ["Well?", "zoe", "acme"] {
                assert!(!answer.to_string().contains(word), "{method} {place}: {answer}");
            }
            asked_for += 1;
        }
    }
    assert!(asked_for >= 19, "only {asked_for} routes were looked at");
    for list in ["/v1/runs", "/v1/requests", "/v1/audit"] {
        let (_, found) = get(&server, &bob, list).await;
        assert_eq!(found["data"], json!([]), "{list}");
    }
    let (_, found) = get(&server, &bob, "/bridge/v1/workflows/ask/runs").await;
    assert_eq!(found, json!([]));
    let (_, count) = get(&server, &bob, "/v1/requests/count").await;
    assert_eq!(count["count"], 0);
    // The same name of a conversation, and the same key, are others.
    let same = json!({ "workflow": "ask", "input": "x", "conversation": conversation });
    let (status, own) = post(&server, &bob, "/v1/runs", same).await;
    assert_eq!(status, 201, "{own}");
    assert_ne!(own["id"], theirs["id"]);
    let answer = json!({ "model": "ask", "conversation": conversation, "input": "yes" });
    post(&server, &bob, "/v1/responses", answer).await;
    let (_, after) = get(&server, &zoe, &format!("/v1/requests/{request}")).await;
    assert_eq!((&after["status"], &after["assignee"]), (&json!("pending"), &Value::Null));
    let keyed = json!({ "workflow": "ask", "input": "x", "idempotency_key": "k" });
    let (_, one) = post(&server, &zoe, "/v1/runs", keyed.clone()).await;
    let (status, other) = post(&server, &bob, "/v1/runs", keyed).await;
    assert_eq!(status, 201);
    assert_ne!(one["id"], other["id"]);
    let stream = server.request(Method::GET, &format!("/v1/runs/{run}/events")).bearer_auth(&bob);
    assert_eq!(stream.send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn a_page_signs_in_with_a_cookie() {
    let place = Place::new();
    let ada = add(&place, &["ada"]);
    let server = place.serve();
    let (status, wrong) = server.post("/v1/session", &json!({ "token": "sgn_x" })).await;
    assert_eq!((status, &wrong["error"]["code"]), (401, &json!("invalid_token")));
    let signed_in = server.request(Method::POST, "/v1/session").json(&json!({ "token": ada }));
    let signed_in = signed_in.send().await.unwrap();
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let with = |method, path: &str| server.request(method, path).header("cookie", &cookie);
    assert_eq!(with(Method::GET, "/v1/runs").send().await.unwrap().status(), 200);
    // A page of somebody else that makes the browser ask is refused, cookie or not.
    let start = json!({ "workflow": "ask", "input": "x" });
    let foreign = with(Method::POST, "/v1/runs").header("origin", "http://evil.test").json(&start);
    assert_eq!(foreign.send().await.unwrap().status(), 403);
    let out = with(Method::DELETE, "/v1/session").send().await.unwrap();
    assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn the_cookie_of_a_page_that_came_over_tls_stays_there() {
    let place = Place::new();
    let ada = add(&place, &["ada"]);
    let server = place.serve_with(&["--origin", "https://signoff.test"]);
    let own = server.url.clone();
    let cookie = async |method: Method, headers: &[(&str, &str)]| {
        let mut request = server
            .request(method.clone(), "/v1/session")
            .header("cookie", format!("signoff_token={ada}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if method == Method::POST {
            request = request.json(&json!({ "token": ada }));
        }
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{headers:?}: {}", answer.status());
        answer.headers()["set-cookie"].to_str().unwrap().to_owned()
    };
    for method in [Method::POST, Method::DELETE] {
        let over_tls = cookie(method.clone(), &[("origin", "https://signoff.test")]).await;
        assert!(over_tls.ends_with("; Secure"), "{over_tls}");
        // What a proxy says is what anybody can say; a cookie that is marked so would be lost over plain HTTP.
        for plain in [
            &[][..],
            &[("x-forwarded-proto", "https"), ("forwarded", "proto=https")],
            &[("origin", own.as_str()), ("x-forwarded-proto", "https")],
        ] {
            let kept = cookie(method.clone(), plain).await;
            assert!(!kept.contains("Secure"), "{plain:?}: {kept}");
        }
    }
    // An origin that is nobody's does not come so far.
    let other = server.request(Method::POST, "/v1/session").header("origin", "https://evil.test");
    assert_eq!(other.json(&json!({ "token": ada })).send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn pages_from_named_origins_may_ask() {
    let place = Place::new();
    let server = place.serve_with(&["--origin", "https://desk.test"]);
    let ask = |method, origin: &str| {
        let request = server.request(method, "/v1/runs").header("origin", origin);
        async move { request.send().await.unwrap() }
    };
    let before = ask(Method::OPTIONS, "https://desk.test").await;
    assert_eq!(before.status(), 204);
    assert!(
        before.headers()["access-control-allow-headers"]
            .to_str()
            .unwrap()
            .contains("authorization")
    );
    let asked = ask(Method::GET, "https://desk.test").await;
    assert_eq!(asked.status(), 200);
    assert_eq!(asked.headers()["access-control-allow-origin"], "https://desk.test");
    for method in [Method::OPTIONS, Method::GET] {
        let refused = ask(method, "https://evil.test").await;
        assert_eq!(refused.status(), 403);
        assert!(!refused.headers().contains_key("access-control-allow-origin"));
    }
}

#[tokio::test]
async fn too_much_of_one_user_is_refused() {
    let place = Place::new();
    let (ada, bob) = (add(&place, &["ada"]), add(&place, &["bob"]));
    let server = place.serve_with(&["--max-rate", "20"]);
    let mut refused = None;
    'asking: for _ in 0..100 {
        let asks = (0..16).map(|_| get(&server, &ada, "/v1/session"));
        for (status, answer) in futures_util::future::join_all(asks).await {
            if status == 429 {
                refused = Some(answer);
                break 'asking;
            }
        }
    }
    let refused = refused.expect("a user who asks without end is slowed down");
    assert_eq!(refused["error"]["code"], "too_many_requests");
    assert_eq!(get(&server, &bob, "/v1/session").await.0, 200, "others are not");
}
