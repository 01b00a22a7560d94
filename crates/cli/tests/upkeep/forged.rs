//! Decisions by those who may not take them, in every way that has been tried on programs like this one.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, Place, text};

fn add(place: &Place, args: &[&str]) -> String {
    let output = place.command(&[&["user", "add"], args].concat()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The status and the code of an answer.
async fn send(client: &Client, token: &str, path: &str, body: &Value) -> (u16, String) {
    let request = client.request(Method::POST, path).bearer_auth(token).json(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default();
    (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
}

/// A run of somebody's that asks for an approval; the request.
async fn asked(client: &Client, token: &str) -> String {
    let body = json!({ "workflow": "ask", "input": "x" });
    let made = client.request(Method::POST, "/v1/runs").bearer_auth(token).json(&body);
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    let run = text(&made["id"]);
    let since = std::time::Instant::now();
    loop {
        let path = format!("/v1/runs/{run}");
        let found = client.request(Method::GET, &path).bearer_auth(token).send().await.unwrap();
        let found: Value = found.json().await.unwrap();
        if let Some(request) = found["pending"][0].as_str() {
            return request.to_owned();
        }
        assert!(since.elapsed() < signoff_testkit::process::PATIENCE, "{found}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

async fn status_of(client: &Client, token: &str, request: &str) -> String {
    let path = format!("/v1/requests/{request}");
    let found = client.request(Method::GET, &path).bearer_auth(token).send().await.unwrap();
    let found: Value = found.json().await.unwrap();
    text(&found["status"])
}

#[tokio::test]
async fn nobody_decides_what_is_not_theirs() {
    let place = Place::new();
    let ann = add(&place, &["ann", "--tenant", "acme"]);
    let eve = add(&place, &["eve", "--tenant", "bravo", "--role", "admin"]);
    let vic = add(&place, &["vic", "--tenant", "acme", "--role", "viewer"]);
    let server = place.serve();
    let request = asked(&server, &ann).await;
    let decision = format!("/v1/requests/{request}/decision");
    let yes = json!({ "decision": "approve" });
    let unknown = decision.replace("_1/", "_2/");
    for (what, token, path, body, status) in [
        ("another tenant", eve.as_str(), decision.as_str(), yes.clone(), 404),
        ("a viewer", &vic, &decision, yes.clone(), 403),
        ("nobody", "", &decision, yes.clone(), 401),
        ("a token that is not one", "sgn_0000", &decision, yes.clone(), 401),
        (
            "the hash of a token",
            &signoff_store::hex_sha256(ann.as_bytes()),
            &decision,
            yes.clone(),
            401,
        ),
        (
            "an actor of its own",
            &ann,
            &decision,
            json!({ "decision": "approve", "by": "root" }),
            400,
        ),
        (
            "an actor by another name",
            &ann,
            &decision,
            json!({ "decision": "approve", "actor": "root" }),
            400,
        ),
        (
            "roles of its own",
            &ann,
            &decision,
            json!({ "decision": "approve", "roles": ["owner"] }),
            400,
        ),
        (
            "a tenant of its own",
            &ann,
            &decision,
            json!({ "decision": "approve", "tenant": "bravo" }),
            400,
        ),
        ("another version", &ann, &decision, json!({ "decision": "approve", "version": 9 }), 409),
        ("something that is not allowed", &ann, &decision, json!({ "decision": "redo" }), 422),
        ("something that is not known", &ann, &decision, json!({ "decision": "aprove" }), 400),
        ("a question that was not asked", &ann, &unknown, yes.clone(), 404),
    ] {
        let (found, code) = send(&server, token, path, &body).await;
        assert_eq!(found, status, "{what}: {code}");
        assert_eq!(status_of(&server, &ann, &request).await, "pending", "{what}");
    }
    // The one who may; and then nobody any more.
    let keyed = json!({ "decision": "approve", "idempotency_key": "k1" });
    assert_eq!(send(&server, &ann, &decision, &keyed).await.0, 200);
    assert_eq!(send(&server, &ann, &decision, &keyed).await.0, 200, "the same again is the same");
    let no = json!({ "decision": "reject" });
    assert_eq!(send(&server, &ann, &decision, &no).await, (409, "already_decided".to_owned()));
    let reused = json!({ "decision": "reject", "idempotency_key": "k1" });
    assert_eq!(send(&server, &ann, &decision, &reused).await.0, 409, "a key is for one thing");
    let start = json!({ "workflow": "ask", "input": "x", "idempotency_key": "k2" });
    assert_eq!(send(&server, &ann, "/v1/runs", &start).await.0, 201);
    let other = json!({ "workflow": "ask", "input": "y", "idempotency_key": "k2" });
    let conflict = (409, "idempotency_conflict".to_owned());
    assert_eq!(send(&server, &ann, "/v1/runs", &other).await, conflict);
}

#[tokio::test]
async fn what_another_server_gave_opens_nothing() {
    let (here, there) = (Place::new(), Place::new());
    let ann = add(&here, &["ann", "--role", "admin"]);
    let other = add(&there, &["ann", "--role", "admin"]);
    let (server, foreign) = (here.serve(), there.serve());
    let (request, theirs) = (asked(&server, &ann).await, asked(&foreign, &other).await);
    let yes = json!({ "decision": "approve" });
    let decision = format!("/v1/requests/{request}/decision");
    assert_eq!(send(&server, &other, &decision, &yes).await.0, 401, "its token");
    let session = foreign.request(Method::POST, "/v1/session").json(&json!({ "token": other }));
    let session = session.send().await.unwrap();
    let cookie = session.headers()["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let with = server.request(Method::POST, &decision).header("cookie", cookie).json(&yes);
    assert_eq!(with.send().await.unwrap().status(), 401, "its cookie");
    // A link for the request of that name, signed there.
    let link = foreign.request(Method::POST, &format!("/v1/requests/{theirs}/link"));
    let link = link.bearer_auth(&other).json(&json!({ "for": "ann" })).send().await.unwrap();
    let link: Value = link.json().await.unwrap();
    let opened = server.request(Method::GET, &text(&link["url"])).send().await.unwrap();
    assert!(opened.status().is_client_error(), "its link: {}", opened.status());
    assert_eq!(status_of(&server, &ann, &request).await, "pending");
}
