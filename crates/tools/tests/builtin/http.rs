//! The web tools against a server of our own.

use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::Tools;
use super::server::{Server, page};

fn open(more: &str) -> Tools {
    let settings =
        format!("[http]\nallow_private = true\nallow_plain = true\ntimeout = '5s'\n{more}");
    Tools::new(&settings, std::path::Path::new("."))
}

async fn get(tools: &Tools, url: String) -> Value {
    tools.call("http_get", json!({ "url": url })).await.unwrap()
}

#[tokio::test]
async fn content_is_shown_as_what_it_is() {
    let server = Server::start(|path| match path {
        "/json" => {
            page("200 OK", "content-type: application/json; charset=utf-8\r\n", b"{\"a\": [1]}")
        }
        "/problem" => page(
            "404 Not Found",
            "content-type: application/problem+json\r\n",
            b"{\"title\": \"no\"}",
        ),
        "/bad" => page("200 OK", "content-type: application/json\r\n", b"{oops"),
        "/text" => page(
            "200 OK",
            "content-type: text/html\r\netag: \"1\"\r\nset-cookie: a=b\r\n",
            b"<p>hi</p>",
        ),
        "/latin" => page("200 OK", "content-type: text/plain\r\n", b"gr\xfc\xdf"),
        "/image" => page("200 OK", "content-type: image/png\r\n", b"\x89PNG"),
        "/none" => page("200 OK", "", b"plain"),
        "/zero" => page("200 OK", "", b"a\0b"),
        _ => page("204 No Content", "", b""),
    })
    .await;
    let tools = open("");
    assert_eq!(get(&tools, server.url("/json")).await["json"], json!({ "a": [1] }));
    let problem = get(&tools, server.url("/problem")).await;
    assert_eq!((&problem["status"], &problem["json"]["title"]), (&json!(404), &json!("no")));
    assert_eq!(get(&tools, server.url("/bad")).await["text"], "{oops");
    let text = get(&tools, server.url("/text")).await;
    assert_eq!(text["text"], "<p>hi</p>");
    assert_eq!(
        text["headers"],
        json!({ "content-length": "9", "content-type": "text/html", "etag": "\"1\"" })
    );
    let latin = get(&tools, server.url("/latin")).await;
    assert!(
        latin["text"].as_str().unwrap().starts_with("gr\u{fffd}") && latin.get("note").is_some()
    );
    let image = get(&tools, server.url("/image")).await;
    assert_eq!((&image["bytes"], image.get("text")), (&json!(4), None));
    assert_eq!(get(&tools, server.url("/none")).await["text"], "plain");
    assert!(get(&tools, server.url("/zero")).await.get("text").is_none());
    assert_eq!(get(&tools, server.url("/empty")).await["bytes"], 0);
    let head =
        tools.call("http_get", json!({ "url": server.url("/text"), "head": true })).await.unwrap();
    assert!(server.last().starts_with("HEAD ") && head.get("text").is_none());
}

#[tokio::test]
async fn five_megabytes_are_bounded() {
    let server = Server::start(|path| {
        let kind = if path == "/json" { "application/json" } else { "text/plain" };
        page(
            "200 OK",
            &format!("content-type: {kind}\r\n"),
            "\"ä\u{1}".repeat(1_250_000).as_bytes(),
        )
    })
    .await;
    for path in ["/json", "/text"] {
        let result = get(&open(""), server.url(path)).await;
        assert_eq!(result["bytes"], 2 * 1024 * 1024);
        assert!(result["cut"].as_str().unwrap().starts_with("only the first"));
        assert!(result["text"].as_str().unwrap().len() > 50_000);
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let tools = Tools::new(
        "[http]\nallow_private = true\nallow_plain = true\ntimeout = '1s'",
        std::path::Path::new("."),
    );
    assert_eq!(tools.code("http_get", json!({ "url": url })).await, "net_timeout");
}

#[tokio::test]
async fn nothing_private_is_reached_by_default() {
    let server = Server::start(|_| page("200 OK", "", b"inside")).await;
    let port = server.origin.rsplit(':').next().unwrap().to_owned();
    let tools = Tools::new("[http]\nallow_plain = true", std::path::Path::new("."));
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "0.0.0.0",
        "2130706433",
        "0x7f.1",
        "[::ffff:127.0.0.1]",
        "10.0.0.1",
    ] {
        for (tool, call) in [
            ("http_get", json!({ "url": format!("http://{host}:{port}/") })),
            ("http_request", json!({ "method": "POST", "url": format!("http://{host}:{port}/") })),
        ] {
            assert_eq!(tools.code(tool, call).await, "net_refused", "{host}");
        }
    }
    let strict = Tools::new("[http]\nallow_private = true", std::path::Path::new("."));
    for url in [
        server.url("/"),
        "file:///etc/passwd".to_owned(),
        "https://user:pass@127.0.0.1/".to_owned(),
    ] {
        assert_eq!(strict.code("http_get", json!({ "url": url })).await, "net_refused");
    }
    // Even where private addresses are allowed, nobody needs the cloud's credentials.
    assert_eq!(
        open("").code("http_get", json!({ "url": "http://169.254.169.254/" })).await,
        "net_refused"
    );
    assert!(server.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn redirects_are_checked_like_the_first_address() {
    let other = Server::start(|_| page("200 OK", "", b"there")).await;
    let to = other.url("/end");
    let server = Server::start(move |path| {
        let to = match path {
            "/away" => to.as_str(),
            "/metadata" => "http://169.254.169.254/latest",
            _ => "/loop",
        };
        page("302 Found", &format!("location: {to}\r\n"), b"")
    })
    .await;
    let tools = open("");
    let call = json!({ "url": server.url("/away"), "headers": { "x-api-key": "mine", "accept": "text/plain" } });
    let result = tools.call("http_get", call).await.unwrap();
    assert_eq!((&result["text"], &result["url"]), (&json!("there"), &json!(other.url("/end"))));
    assert!(other.last().contains("accept: text/plain") && !other.last().contains("mine"));
    assert_eq!(
        tools.code("http_get", json!({ "url": server.url("/metadata") })).await,
        "net_refused"
    );
    assert_eq!(
        tools.code("http_get", json!({ "url": server.url("/loop") })).await,
        "too_many_redirects"
    );
    // A request that may change something is not sent anywhere else.
    let call = json!({ "method": "POST", "url": server.url("/away"), "body": "x" });
    let result = tools.call("http_request", call).await.unwrap();
    assert_eq!(
        (&result["status"], &result["headers"]["location"]),
        (&json!(302), &json!(other.url("/end")))
    );

    let only = open("hosts = ['localhost', '*.example.org']");
    for url in
        [server.url("/"), "https://example.org/".to_owned(), "https://badexample.org/".to_owned()]
    {
        assert_eq!(only.code("http_get", json!({ "url": url })).await, "host_denied");
    }
    // The names are the same machine, and only one of them may be asked.
    let hop = server.url("/away").replace("127.0.0.1", "localhost");
    assert_eq!(only.code("http_get", json!({ "url": hop })).await, "host_denied");
}

#[tokio::test]
async fn credentials_are_the_operators() {
    let server = Server::start(|_| {
        page(
            "200 OK",
            "content-type: application/json\r\nlink: tok-123456\r\n",
            b"{\"you\": \"sent Bearer tok-123456\"}",
        )
    })
    .await;
    let tools =
        open(&format!("[http.headers.'{}']\nauthorization = 'Bearer tok-123456'", server.origin));
    let result = get(&tools, server.url("/")).await;
    assert!(server.last().contains("authorization: Bearer tok-123456"));
    assert_eq!(result["json"], json!({ "you": "sent [removed]" }));
    assert!(
        !result.to_string().contains("tok-123456")
            && !format!("{:?}", tools.0).contains("tok-123456")
    );
    // The same server by another name is another origin.
    get(&tools, server.url("/").replace("127.0.0.1", "localhost")).await;
    assert!(!server.last().contains("authorization"));
    for name in [
        "Authorization",
        "host",
        "Cookie",
        "Transfer-Encoding",
        "connection",
        "content-length",
        "proxy-authorization",
    ] {
        let call = json!({ "url": server.url("/"), "headers": { name: "x" } });
        assert_eq!(tools.code("http_get", call).await, "bad_header", "{name}");
    }
    for (name, value) in [("a b", "x"), ("x", "a\r\nhost: b")] {
        let call = json!({ "url": server.url("/"), "headers": { name: value } });
        assert_eq!(tools.code("http_get", call).await, "bad_header");
    }
}

#[tokio::test]
async fn a_request_is_sent_as_it_was_shown() {
    let server = Server::start(|_| page("201 Created", "location: /1\r\n", b"")).await;
    let tools = open("");
    let call = json!({ "method": "POST", "url": server.url("/things?a=1"), "json": { "n": 1 }, "headers": { "x-a": "b" } });
    let shown = tools.preview("http_request", call.clone()).await.unwrap();
    assert_eq!(shown["summary"], "POST 127.0.0.1/things");
    let detail = shown["detail"].as_str().unwrap();
    assert!(detail.starts_with(&format!("POST {}/things?a=1\n", server.origin)), "{detail}");
    assert!(detail.contains("x-a: b\n") && detail.ends_with("\n{\"n\":1}"));
    assert!(server.asked.lock().unwrap().is_empty());
    let done = tools.call("http_request", call.clone()).await.unwrap();
    assert_eq!((&done["status"], &done["headers"]["location"]), (&json!(201), &json!("/1")));
    let first = server.last();
    assert!(first.contains("content-type: application/json") && first.ends_with("{\"n\":1}"));
    // Two attempts at one call can be told from two calls.
    let key = |request: &str| {
        request.lines().find(|it| it.starts_with("idempotency-key")).unwrap().to_owned()
    };
    tools.call("http_request", call.clone()).await.unwrap();
    assert_eq!(key(&first), key(&server.last()));
    tools.call_as("another", "http_request", call).await.unwrap();
    assert_ne!(key(&first), key(&server.last()));
    let both = json!({ "method": "PUT", "url": server.url("/"), "json": 1, "body": "x" });
    assert_eq!(tools.code("http_request", both).await, "bad_arguments");
}
