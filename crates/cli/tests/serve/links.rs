//! Links by which people decide without signing in.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::access::{add, asked, get, post, user};
use crate::deciders::{pending, start};
use crate::gates::{WRITE, clerk};
use crate::policy::wait_for;
use crate::support::{Client, Place, text};

/// Makes a link; what it leads to.
async fn link(client: &Client, token: &str, request: &str, body: Value) -> String {
    let path = format!("/v1/requests/{request}/link");
    let (status, made) = post(client, token, &path, body).await;
    assert_eq!(status, 201, "{made}");
    text(&made["url"])
}

async fn page(response: Response) -> (u16, String) {
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn open(client: &Client, url: &str) -> (u16, String) {
    page(client.request(Method::GET, url).send().await.unwrap()).await
}

fn filled(client: &Client, url: &str, form: &[(&str, &str)]) -> RequestBuilder {
    let form = serde_urlencoded::to_string(form).unwrap();
    let kind = "application/x-www-form-urlencoded";
    client.request(Method::POST, url).header("content-type", kind).body(form)
}

async fn fill_in(client: &Client, url: &str, form: &[(&str, &str)]) -> (u16, String) {
    page(filled(client, url, form).send().await.unwrap()).await
}

/// What the record has, besides what was asked, who looked, and what came of it.
async fn record(client: &Client, token: &str) -> Vec<Value> {
    let mut lines = get(client, token, "/v1/audit?limit=500").await.1["data"].take();
    let lines = lines.as_array_mut().map(std::mem::take).unwrap_or_default();
    let others = ["asked", "requested", "viewed", "executed"].map(Value::from);
    lines.into_iter().filter(|line| !others.contains(&line["decision"]["decision"])).collect()
}

const YES: [(&str, &str); 2] = [("decision", "approve"), ("text", "")];

#[tokio::test]
async fn a_person_decides_with_a_link_and_nothing_else() {
    let place = Place::new();
    let ann = add(&place, &["ann", "--role", "admin"]);
    add(&place, &["bob", "--role", "owner"]);
    let gate = "  - { name: before_file_edit, who: { roles: [owner], not_initiator: true } }\n";
    let server = clerk(&place, gate, WRITE);
    let run = start(&server, &ann).await;
    let request = text(&pending(&server, &ann, &run, "").await["id"]);
    let body = json!({ "for": "bob", "decisions": ["approve", "reject"] });
    let url = link(&server, &ann, &request, body).await;
    assert!(url.starts_with("/decide/") && url.len() < 300, "{url}");
    // What signs links outlives the server.
    server.process.kill();
    let server = place.serve();
    for _ in 0..2 {
        let response = server.request(Method::GET, &url).send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"] {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{policy}");
        }
        assert_eq!(
            [header("cache-control"), header("referrer-policy")],
            ["no-store", "same-origin"]
        );
        let (status, shown) = page(response).await;
        assert_eq!(status, 200);
        for part in ["+hello", "before_file_edit", "<b>bob</b>", "a.txt", "value=\"approve\""] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("<script") && !shown.contains("value=\"edit\""), "{shown}");
    }
    assert_eq!(server.request(Method::HEAD, &url).send().await.unwrap().status(), 200);
    let seen = get(&server, &ann, &format!("/v1/requests/{request}")).await.1;
    assert_eq!((&seen["status"], &seen["version"]), (&json!("pending"), &json!(1)));

    let (status, said) = fill_in(&server, &url, &[("decision", "skip")]).await;
    assert_eq!(status, 422, "not with this link: {said}");
    let (status, said) =
        fill_in(&server, &url, &[("decision", "approve"), ("text", "fine <b>")]).await;
    assert_eq!(status, 200, "{said}");
    assert!(said.contains("Decided by bob") && said.contains("fine &lt;b&gt;"), "{said}");
    for form in
        [&YES[..], &[("decision", "approve"), ("text", "fine <b>")], &[("decision", "reject")]]
    {
        let (status, again) = fill_in(&server, &url, form).await;
        assert_eq!(status, 409, "it is used up: {again}");
        assert!(again.contains("already decided by bob"), "{again}");
    }
    let (status, shown) = open(&server, &url).await;
    assert!(status == 200 && shown.contains("Decided by bob"), "{shown}");
    assert!(!shown.contains("<form"), "{shown}");
    let lines = record(&server, &ann).await;
    assert_eq!((&lines[0]["by"], &lines[0]["decision"]["for"]), (&json!("ann"), &json!("bob")));
    assert_eq!(lines[1]["by"], "bob");
    assert_eq!(lines[1]["decision"]["channel"], "link");
    assert_eq!(lines[1]["decision"]["address"], "127.0.0.1");
    assert_eq!(lines[0]["decision"]["link"], lines[1]["decision"]["link"]);
    assert!(!url.contains(&text(&lines[0]["decision"]["link"])), "what is told opens nothing");
    wait_for(|| place.path("workspace/a.txt").exists()).await;
    let verified = place.command(&["audit", "verify"]).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

#[tokio::test]
async fn a_link_is_made_only_for_who_may_decide_by_who_may_ask_for_it() {
    let place = Place::new();
    let ann = add(&place, &["ann", "--role", "admin"]);
    let bob = add(&place, &["bob", "--role", "owner"]);
    let eve = add(&place, &["eve", "--role", "viewer"]);
    let zoe = add(&place, &["zoe", "--tenant", "acme", "--role", "admin"]);
    let gate = "  - { name: before_file_edit, within: 1h, who: { roles: [owner, viewer, admin], not_initiator: true } }\n";
    let server = clerk(&place, gate, WRITE);
    let run = start(&server, &ann).await;
    let request = pending(&server, &ann, &run, "").await;
    let path = format!("/v1/requests/{}/link", text(&request["id"]));
    for (token, body, status, code) in [
        // Whoever has a link can decide in that name, so not everybody makes one for others.
        (&bob, json!({ "for": "ann" }), 403, "not_permitted"),
        (&eve, json!({ "for": "eve" }), 403, "not_permitted"),
        (&zoe, json!({ "for": "bob" }), 404, "unknown_request"),
        (&ann, json!({ "for": "ann" }), 403, "own_run"),
        (&ann, json!({ "for": "eve" }), 403, "not_permitted"),
        (&ann, json!({ "for": "zoe" }), 400, "invalid_body"),
        (&ann, json!({ "for": "nobody" }), 400, "invalid_body"),
        (&ann, json!({ "for": "local" }), 400, "invalid_body"),
        (&ann, json!({}), 400, "invalid_body"),
        (&ann, json!({ "for": "bob", "within": "8d" }), 400, "invalid_body"),
        (&ann, json!({ "for": "bob", "within": "0s" }), 400, "invalid_body"),
        (&ann, json!({ "for": "bob", "decisions": [] }), 422, "decision_not_allowed"),
        (&ann, json!({ "for": "bob", "decisions": ["redo"] }), 422, "decision_not_allowed"),
        (&ann, json!({ "for": "bob", "decisions": ["edit"] }), 422, "decision_not_allowed"),
    ] {
        let (found, refused) = post(&server, token, &path, body.clone()).await;
        assert_eq!((found, &refused["error"]["code"]), (status, &json!(code)), "{body}: {refused}");
    }
    assert_eq!(record(&server, &ann).await, [] as [Value; 0], "none was made");
    let (status, made) = post(&server, &bob, &path, json!({ "for": "bob", "within": "7d" })).await;
    assert_eq!(
        (status, &made["expires_at"]),
        (201, &request["expires_at"]),
        "not longer than it waits"
    );
    let decision = path.replace("/link", "/decision");
    assert_eq!(post(&server, &bob, &decision, json!({ "decision": "approve" })).await.0, 200);
    let (status, late) = post(&server, &ann, &path, json!({ "for": "bob" })).await;
    assert_eq!((status, &late["error"]["code"]), (409, &json!("already_decided")));
    let (status, shown) = open(&server, &text(&made["url"])).await;
    assert!(status == 200 && shown.contains("Decided by bob"), "{shown}");
}

#[tokio::test]
async fn what_is_not_a_link_or_not_any_more_opens_nothing() {
    let place = Place::new();
    let ann = add(&place, &["ann", "--role", "admin"]);
    add(&place, &["bob"]);
    let server = place.serve();
    let (_, request) = asked(&server, &ann).await;
    let url = link(&server, &ann, &request, json!({ "for": "bob" })).await;
    let other = link(&server, &ann, &request, json!({ "for": "ann" })).await;
    let (said, signature) = url.split_once('.').unwrap();
    let (theirs, _) = other.split_once('.').unwrap();
    let swapped = format!("{theirs}.{signature}");
    let cut = &url[..url.len() - 1];
    for wrong in
        [&swapped, cut, said, "/decide/x", "/decide/%00", &format!("{url}A"), &format!("{url}%20")]
    {
        for (status, shown) in [open(&server, wrong).await, fill_in(&server, wrong, &YES).await] {
            assert_eq!(status, 403, "{wrong}: {shown}");
            assert!(shown.contains("invalid_link") && !shown.contains("Well?"), "{shown}");
        }
    }
    for (name, value) in [("origin", "http://evil.test"), ("origin", "null"), ("host", "evil.test")]
    {
        let foreign = filled(&server, &url, &YES).header(name, value);
        assert_eq!(foreign.send().await.unwrap().status(), 403, "{name}: {value}");
    }
    let json = server.request(Method::POST, &url).json(&json!({ "decision": "approve" }));
    assert_eq!(json.send().await.unwrap().status(), 415);
    for form in
        [&[("decision", "maybe")][..], &[("text", "x")], &[("decision", "approve"), ("by", "ann")]]
    {
        assert_eq!(fill_in(&server, &url, form).await.0, 400, "{form:?}");
    }
    assert_eq!(server.request(Method::DELETE, &url).send().await.unwrap().status(), 401);

    let short = link(&server, &ann, &request, json!({ "for": "bob", "within": "1ms" })).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    for (status, shown) in [open(&server, &short).await, fill_in(&server, &short, &YES).await] {
        assert!(status == 410 && shown.contains("link_expired"), "{status}: {shown}");
    }
    // Who may only look now, was moved to another tenant, or is gone, does not decide.
    for (args, code) in [
        (&["add", "bob", "--new-token", "--role", "viewer"][..], "not_permitted"),
        (&["add", "bob", "--new-token", "--tenant", "acme"], "invalid_link"),
        (&["remove", "bob"], "invalid_link"),
    ] {
        assert!(user(&place, args).0);
        for (status, shown) in [open(&server, &url).await, fill_in(&server, &url, &YES).await] {
            assert!(status == 403 && shown.contains(code), "{args:?}: {status}: {shown}");
        }
    }
    let seen = get(&server, &ann, &format!("/v1/requests/{request}")).await.1;
    assert_eq!((&seen["status"], &seen["version"]), (&json!("pending"), &json!(1)));
    let own = filled(&server, &other, &YES).header("origin", &server.url);
    assert_eq!(own.send().await.unwrap().status(), 200, "as a page of this server sends it");
}

#[tokio::test]
async fn a_link_counts_for_what_was_shown_and_for_one_vote() {
    let place = Place::new();
    let ann = add(&place, &["ann", "--role", "admin"]);
    add(&place, &["bob"]);
    let server = clerk(&place, "  - { name: before_file_edit, who: { count: 2 } }\n", WRITE);
    let run = start(&server, &ann).await;
    let request = text(&pending(&server, &ann, &run, "").await["id"]);
    let bobs = link(&server, &ann, &request, json!({ "for": "bob" })).await;
    let anns = link(&server, &ann, &request, json!({ "for": "ann" })).await;
    let (status, voted) = fill_in(&server, &bobs, &YES).await;
    assert!(status == 202 && voted.contains("Others must agree"), "{voted}");
    for url in [&bobs, &anns] {
        for form in [&YES[..], &[("decision", "reject")]] {
            let (status, refused) = fill_in(&server, url, form).await;
            assert!(status == 409 && refused.contains("version_conflict"), "{status}: {refused}");
        }
        let (status, shown) = open(&server, url).await;
        assert!(status == 200 && shown.contains("was changed"), "{shown}");
        assert!(!shown.contains("<form") && !shown.contains("hello"), "{shown}");
    }
    let seen = get(&server, &ann, &format!("/v1/requests/{request}")).await.1;
    assert_eq!(
        (&seen["version"], &seen["notes"][1]),
        (&json!(2), &Value::Null),
        "one vote: {seen}"
    );
    let anns = link(&server, &ann, &request, json!({ "for": "ann" })).await;
    let (status, done) = fill_in(&server, &anns, &YES).await;
    assert!(status == 200 && done.contains("Decided by ann"), "{done}");
}

#[tokio::test]
async fn questions_are_answered_as_text_or_by_an_option() {
    let place = Place::new();
    let flow = "workflow: free\npattern: graph\nstart: ask\nexecutors:\n  \
                ask: { ask: { prompt: '<script>alert(1)</script> \"&''?', within: 1h } }\n";
    std::fs::write(place.path("flows/free.yaml"), flow).unwrap();
    let server = place.serve();
    let run = server.start("free", "x").await;
    let request = server.pending(&run).await;
    let url = link(&server, "", &request, json!({ "for": "local" })).await;
    let (_, shown) = open(&server, &url).await;
    assert!(shown.contains("&lt;script&gt;alert(1)&lt;/script&gt; &quot;&amp;&#39;?"), "{shown}");
    assert!(!shown.contains("<script"), "{shown}");
    let (status, refused) = fill_in(&server, &url, &[("decision", "respond"), ("text", " ")]).await;
    assert!(status == 422 && refused.contains("write an answer"), "{refused}");
    let form = [("decision", "respond"), ("text", "one\r\n<two> ")];
    let (status, said) = fill_in(&server, &url, &form).await;
    assert!(status == 200 && said.contains("&lt;two&gt;") && !said.contains("<two>"), "{said}");
    let decided = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!(decided["decision"]["content"], "one\n<two>");

    let run = server.start("event_planner", crate::support::PARTY).await;
    let request = server.pending(&run).await;
    let options = server.read(&format!("/v1/requests/{request}")).await["options"].clone();
    let url = link(&server, "", &request, json!({ "for": "local" })).await;
    let (_, shown) = open(&server, &url).await;
    assert!(shown.contains(options[1]["label"].as_str().unwrap()), "{shown}");
    for option in ["0", "99", "x"] {
        let form = [("decision", "respond"), ("text", "Union Hall"), ("option", option)];
        assert!([400, 422].contains(&fill_in(&server, &url, &form).await.0), "{option}");
    }
    let form = [("decision", "respond"), ("text", ""), ("option", "2")];
    assert_eq!(fill_in(&server, &url, &form).await.0, 200);
    let decided = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!(decided["decision"]["content"], options[1]["value"]);
}

#[tokio::test]
async fn a_link_is_not_in_the_log_and_guessing_is_slowed_down() {
    let place = Place::new();
    let server = place.serve_with(&["--log", "debug"]);
    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    let url = link(&server, "", &request, json!({ "for": "local" })).await;
    let token = url.strip_prefix("/decide/").unwrap();
    assert_eq!(open(&server, &url).await.0, 200);
    assert_eq!(open(&server, &format!("{url}/more")).await.0, 404);
    assert_eq!(fill_in(&server, &url, &YES).await.0, 200);
    let mut refused = 0;
    for _ in 0..300 {
        refused += usize::from(open(&server, "/decide/guess").await.0 == 429);
    }
    assert!(refused > 0, "nobody guesses for long");
    assert_eq!(open(&server, &url).await.0, 200, "who has a link is not kept out by it");
    let log = server.stop().exits(0).stderr;
    assert!(log.contains("path=\"/decide/\" route=\"/decide/{token}\" status=200"), "{log}");
    let (said, signature) = token.split_once('.').unwrap();
    assert!(!log.contains(said) && !log.contains(signature), "{log}");
}
