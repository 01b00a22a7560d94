//! The web page as files, and what the API has for it. What people see of it is tested in `web/e2e`.

use std::io::Read as _;

use reqwest::Method;
use serde_json::{Value, json};

use crate::access::{add, asked, get, post};
use crate::support::{PARTY, Place, Server, text};

/// The head of an answer, and its body.
async fn fetch(
    server: &Server,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, reqwest::header::HeaderMap, Vec<u8>) {
    let mut request = server.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn the_page_is_at_its_addresses_and_nowhere_else() {
    let place = Place::new();
    let ada = add(&place, &["ada"]);
    let server = place.serve();
    let (_, _, index) = fetch(&server, Method::GET, "/", &[]).await;
    assert!(String::from_utf8(index.clone()).unwrap().contains("/app.js"));
    // A page is there before anybody has signed in; nothing else is.
    for path in [
        "/runs",
        "/runs/run_1",
        "/runs/run_1/steps/2",
        "/runs/run_1/entries/7",
        "/requests/req_1",
        "/compare/a/b",
        "/workflows",
        "/workflows/x",
        "/audit",
        "/policy",
        "/?kind=input",
    ] {
        let (status, headers, body) = fetch(&server, Method::GET, path, &[]).await;
        assert_eq!((status, &body), (200, &index), "{path}");
        let header = |name: &str| headers[name].to_str().unwrap();
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("x-frame-options"), "DENY");
        let policy = header("content-security-policy");
        for rule in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    for path in ["/v1/runs", "/v1/markdown", "/metrics", "/runs/", "/runs/a/b", "/app.map", "/x"] {
        assert_eq!(server.get(path).await.0, 401, "{path}");
    }
    for path in ["/runs/", "/runs/a/b", "/app.map", "/x", "/index.htm"] {
        let (status, error) = get(&server, &ada, path).await;
        assert_eq!((status, &error["error"]["code"]), (404, &json!("unknown_route")), "{path}");
    }
    let (status, error) = post(&server, &ada, "/runs", json!({})).await;
    assert_eq!((status, &error["error"]["code"]), (405, &json!("method_not_allowed")));
}

#[tokio::test]
async fn its_files_are_sent_packed_and_only_if_they_changed() {
    let server = Place::new().serve();
    for (path, media) in [
        ("/app.js", "text/javascript; charset=utf-8"),
        ("/app.css", "text/css; charset=utf-8"),
        ("/favicon.svg", "image/svg+xml"),
        ("/index.html", "text/html; charset=utf-8"),
    ] {
        let (status, headers, plain) = fetch(&server, Method::GET, path, &[]).await;
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, media), "{path}");
        assert!(!headers.contains_key("content-encoding") && !plain.is_empty());
        assert_eq!(headers["cache-control"], "no-cache", "names never change");
        let zipped = [("accept-encoding", "br, gzip;q=0.8")];
        let (_, packed, body) = fetch(&server, Method::GET, path, &zipped).await;
        assert_eq!(packed["content-encoding"], "gzip");
        assert_eq!(packed["vary"], "accept-encoding");
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain, "{path}");
        let (_, refused, _) =
            fetch(&server, Method::GET, path, &[("accept-encoding", "gzip;q=0")]).await;
        assert!(!refused.contains_key("content-encoding"));
        let known = [("if-none-match", headers["etag"].to_str().unwrap())];
        let (status, _, nothing) = fetch(&server, Method::GET, path, &known).await;
        assert_eq!((status, nothing.len()), (304, 0), "{path}");
        let (status, head, nothing) = fetch(&server, Method::HEAD, path, &[]).await;
        assert_eq!((status, nothing.len()), (200, 0));
        assert_eq!(head["content-length"].to_str().unwrap(), plain.len().to_string());
    }
}

#[tokio::test]
async fn markdown_is_made_harmless_for_everybody_who_may_look() {
    let place = Place::new();
    let eve = add(&place, &["eve", "--role", "viewer"]);
    let server = place.serve();
    let texts = json!({ "texts": ["# Hi\n\nsee <b>x</b> [a](javascript:x)", "a\u{202e}b"] });
    let (status, made) = post(&server, &eve, "/v1/markdown", texts).await;
    assert_eq!(status, 200, "{made}");
    assert_eq!(
        made["html"],
        json!(["<h2>Hi</h2>\n<p>see &lt;b&gt;x&lt;/b&gt; a</p>\n", "<p>a⟨U+202E⟩b</p>\n"])
    );
    let many = json!({ "texts": vec!["x"; 501] });
    let (status, refused) = post(&server, &eve, "/v1/markdown", many).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("invalid_body")));
    assert_eq!(server.post("/v1/markdown", &json!({ "texts": [] })).await.0, 401);
    let (status, _) = post(&server, &eve, "/v1/runs", json!({})).await;
    assert_eq!(status, 403, "looking is all");
}

#[tokio::test]
async fn what_a_run_put_in_a_calendar_is_a_file() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("event_planner", PARTY).await;
    server.pending(&run).await;
    let path = format!("/v1/runs/{run}/calendar");
    let (status, none) = server.get(&path).await;
    assert_eq!((status, &none["error"]["code"]), (404, &json!("no_calendar")));
    server.answer_party(&run).await;
    let (status, headers, body) = fetch(&server, Method::GET, &path, &[]).await;
    assert_eq!(
        (status, &headers["content-type"]),
        (200, &"text/calendar; charset=utf-8".parse().unwrap())
    );
    let file = String::from_utf8(body).unwrap();
    assert!(
        file.starts_with("BEGIN:VCALENDAR\r\n") && file.ends_with("END:VCALENDAR\r\n"),
        "{file}"
    );
    for line in ["SUMMARY:Party for 30 people\r\n", "LOCATION:The Glasshouse\\, city centre\r\n"] {
        assert_eq!(file.matches(line).count(), 1, "{file}");
    }
    let (status, unknown) = server.get("/v1/runs/nope/calendar").await;
    assert_eq!((status, &unknown["error"]["code"]), (404, &json!("unknown_run")));
}

#[tokio::test]
async fn what_failed_or_was_stopped_is_tried_again() {
    let place = Place::new();
    let picky = "workflow: picky\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: Say., output: { type: object, required: [n], properties: { n: { type: integer } } } }\n";
    std::fs::write(place.path("flows/picky.yaml"), picky).unwrap();
    std::fs::write(place.path("flows/picky.script.yaml"), "- { text: no }\n").unwrap();
    let server = place.serve();
    let retry = async |run: &str| server.post(&format!("/v1/runs/{run}/retry"), &json!({})).await;

    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    let (status, refused) = retry(&run).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("not_failed")), "{refused}");
    server.post(&format!("/v1/runs/{run}/cancel"), &json!({})).await;
    let (status, again) = retry(&run).await;
    assert_eq!(status, 201, "{again}");
    let id = text(&again["id"]);
    assert_eq!(again["forked_from"]["run"], json!(run));
    let asked = server.pending(&id).await;
    assert_ne!(asked, request);
    assert_eq!(server.decide(&asked, &json!({ "decision": "approve" })).await.0, 200);
    assert_eq!(server.at_rest(&id).await["status"], "completed");
    assert_eq!(server.read(&format!("/v1/runs/{run}")).await["status"], "cancelled");
    assert_eq!(retry(&id).await.0, 409, "what ended well");

    // A person ended it with an answer: that is asked again.
    let run = server.start("picky", "x").await;
    let request = server.pending(&run).await;
    let (status, _) = server.decide(&request, &json!({ "decision": "abort" })).await;
    assert_eq!(status, 200);
    server.at_rest(&run).await;
    let (status, again) = retry(&run).await;
    assert_eq!(status, 201, "{again}");
    let id = text(&again["id"]);
    let asked = server.pending(&id).await;
    let answer = json!({ "decision": "respond", "content": { "n": 1 } });
    assert_eq!(server.decide(&asked, &answer).await.0, 200);
    assert_eq!(server.at_rest(&id).await["status"], "completed");
    assert_eq!(server.post("/v1/runs/nope/retry", &json!({})).await.0, 404);
}

#[tokio::test]
async fn why_something_is_tried_again_or_forked_is_kept() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("ask", "x").await;
    server.pending(&run).await;
    server.post(&format!("/v1/runs/{run}/cancel"), &json!({})).await;
    let why = json!({ "reason": "the printer works again" });
    let (status, again) = server.post(&format!("/v1/runs/{run}/retry"), &why).await;
    assert_eq!((status, &again["forked_from"]["reason"]), (201, &why["reason"]), "{again}");
    let started = &server.journal(&text(&again["id"])).await[0];
    assert_eq!((&started["reason"], &started["by"]), (&why["reason"], &json!("local")));
    let fork = json!({ "at": 1, "reason": "for comparison" });
    let (status, forked) = server.post(&format!("/v1/runs/{run}/fork"), &fork).await;
    assert_eq!((status, &forked["forked_from"]["reason"]), (201, &fork["reason"]), "{forked}");
    assert!(server.journal(&run).await[0]["reason"].is_null(), "nothing of the old one changes");
    // Nobody writes a book there.
    let long = json!({ "reason": "x".repeat(16 * 1024 + 1) });
    let waits = server.start("ask", "x").await;
    for path in [format!("{run}/retry"), format!("{waits}/cancel"), format!("{waits}/pause")] {
        let (status, refused) = server.post(&format!("/v1/runs/{path}"), &long).await;
        assert_eq!((status, &refused["error"]["code"]), (400, &json!("invalid_body")), "{path}");
    }
}

#[tokio::test]
async fn the_record_is_read_from_its_end() {
    let server = Place::new().serve();
    for _ in 0..5 {
        let run = server.start("ask", "x").await;
        let request = server.pending(&run).await;
        assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    }
    let numbers = |page: &Value| -> Vec<u64> {
        page["data"].as_array().unwrap().iter().map(|line| line["no"].as_u64().unwrap()).collect()
    };
    let oldest = server.read("/v1/audit?limit=100").await;
    let all: Vec<u64> = numbers(&oldest);
    assert!(all.len() >= 5 && all.is_sorted(), "{all:?}");
    let (mut back, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server.read(&format!("/v1/audit?order=newest&limit=2{cursor}")).await;
        back.extend(numbers(&page));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(back.iter().eq(all.iter().rev()), "{back:?}");
    let later = server.read(&format!("/v1/audit?order=newest&after={}", all[2])).await;
    assert!(numbers(&later).iter().eq(all[3..].iter().rev()), "{later}");
    // A cursor is good for the order it came from.
    let page = server.read("/v1/audit?order=newest&limit=2").await;
    let cursor = text(&page["next_cursor"]);
    let (status, refused) = server.get(&format!("/v1/audit?cursor={cursor}")).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("invalid_cursor")), "{refused}");
    assert_eq!(server.get("/v1/audit?order=sideways").await.0, 400);
}

#[tokio::test]
async fn a_run_keeps_the_workflow_it_began_with() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("ask", "x").await;
    server.pending(&run).await;
    assert!(server.process.kill().was_killed());
    let other = "workflow: ask\npattern: graph\nstart: other\nexecutors:\n  other: { ask: { prompt: Else? } }\n";
    std::fs::write(place.path("flows/ask.yaml"), other).unwrap();
    let server = place.serve();
    let now = server.read("/v1/workflows/ask").await;
    let then = server.read(&format!("/v1/runs/{run}/workflow")).await;
    assert_eq!((&now["graph"]["start"], &then["graph"]["start"]), (&json!("other"), &json!("ask")));
    assert_eq!(then["version"], server.read(&format!("/v1/runs/{run}")).await["version"]);
    assert_eq!(server.get("/v1/runs/nope/workflow").await.0, 404);
}

#[tokio::test]
async fn a_pause_may_have_a_reason() {
    let server = Place::new().serve();
    let run = server.start("ask", "x").await;
    server.pending(&run).await;
    let path = format!("/v1/runs/{run}/pause");
    assert_eq!(server.post(&path, &json!({ "reason": "lunch" })).await.0, 200);
    let paused = server.journal(&run).await.pop().unwrap();
    assert_eq!((&paused["type"], &paused["reason"]), (&json!("paused"), &json!("lunch")));
}

#[tokio::test]
async fn the_record_is_checked_and_each_tenant_told_only_that() {
    let place = Place::new();
    let ada = add(&place, &["ada", "--tenant", "one"]);
    let bob = add(&place, &["bob", "--tenant", "two"]);
    let server = place.serve();
    for token in [&ada, &bob, &ada] {
        let (_, request) = asked(&server, token).await;
        let decision = format!("/v1/requests/{request}/decision");
        assert_eq!(post(&server, token, &decision, json!({ "decision": "approve" })).await.0, 200);
    }
    let verify = "/v1/audit/verify";
    assert_eq!(get(&server, &bob, verify).await, (200, json!({ "intact": true })));
    let lines: Vec<Value> =
        get(&server, &bob, "/v1/audit").await.1["data"].as_array().unwrap().clone();
    let words: Vec<&Value> = lines.iter().map(|line| &line["decision"]["decision"]).collect();
    assert_eq!(words, ["requested", "approve"], "of others nothing");
    let back = get(&server, &bob, "/v1/audit?order=newest").await.1;
    let newest: Vec<&Value> = lines.iter().rev().collect();
    assert_eq!(back["data"], json!(newest), "from the end neither");
    // Somebody who can write the file changes one word.
    let database = rusqlite::Connection::open(place.path(".signoff/signoff.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    assert_eq!(database.execute("UPDATE audit SET by = 'eve' WHERE no = 2", []).unwrap(), 1);
    let found = get(&server, &ada, verify).await;
    assert_eq!(found, (200, json!({ "intact": false, "broken_at": 2 })));
}
