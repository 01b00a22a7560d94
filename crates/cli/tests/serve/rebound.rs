//! A page that points its own name at the server, or comes from elsewhere, gets nothing: on no route, in no dialect.

use reqwest::Method;
use serde_json::Value;

use crate::support::Place;

/// Routes that the document does not have.
const BESIDES: [(&str, &str); 12] = [
    ("POST", "/a2a/ask"),
    ("GET", "/a2a"),
    ("GET", "/a2a/ask/tasks"),
    ("POST", "/a2a/ask/message:stream"),
    ("GET", "/.well-known/agent-card.json"),
    ("POST", "/lf.a2a.v1.A2AService/GetTask"),
    ("GET", "/"),
    ("GET", "/requests"),
    ("GET", "/devui/"),
    ("DELETE", "/mcp"),
    ("GET", "/nothing/of/that/kind"),
    ("OPTIONS", "/v1/runs"),
];

#[tokio::test]
async fn no_route_answers_to_foreign_names_or_pages() {
    let server = Place::new().serve_with(&["--max-rate", "100000"]);
    let port = server.url.rsplit(':').next().unwrap().to_owned();
    let document = server.read("/openapi.json").await;
    let mut routes: Vec<(String, String)> =
        BESIDES.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            routes.push((method.to_uppercase(), path.replace(['{', '}'], "")));
        }
    }
    assert!(routes.len() > 85, "{}", routes.len());
    let ways = [
        ("host", "evil.test".to_owned(), "host_refused"),
        ("host", format!("evil.test:{port}"), "host_refused"),
        ("host", format!("127.0.0.1.evil.test:{port}"), "host_refused"),
        ("host", format!("localhost.:{port}"), "host_refused"),
        ("host", "127.0.0.1:1".to_owned(), "host_refused"),
        ("origin", "http://evil.test".to_owned(), "origin_refused"),
        ("origin", format!("http://evil.test:{port}"), "origin_refused"),
        ("origin", "null".to_owned(), "origin_refused"),
        ("origin", format!("https://127.0.0.1:{port}"), "origin_refused"),
        ("origin", format!("http://127.0.0.1:{port}.evil.test"), "origin_refused"),
    ];
    for (method, path) in &routes {
        for (header, value, code) in &ways {
            let verb: Method = method.parse().unwrap();
            let request = server.request(verb, path).header(*header, value);
            // As a page would ask for it, be it a socket or a stream.
            let request = match path.as_str() {
                "/v1/ws" => request
                    .header("connection", "Upgrade")
                    .header("upgrade", "websocket")
                    .header("sec-websocket-version", "13")
                    .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
                _ => request.header("accept", "application/json, text/event-stream"),
            };
            let response = request.send().await.unwrap();
            let what = format!("{method} {path} with {header}: {value}");
            assert_eq!(response.status(), 403, "{what}");
            let shared =
                response.headers().keys().any(|it| it.as_str().starts_with("access-control"));
            assert!(!shared, "{what}: {:?}", response.headers());
            let answer: Value = response.json().await.unwrap();
            assert_eq!(answer["error"]["code"], **code, "{what}: {answer}");
        }
    }
    assert_eq!(server.read("/v1/runs").await["data"], serde_json::json!([]), "nothing was done");
}

/// HTTP/2 has the name in another place.
#[cfg(feature = "grpc")]
#[tokio::test]
async fn nor_does_http_2() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let server = Place::new().serve();
    let address = server.url.strip_prefix("http://").unwrap();
    for (authority, expected) in [("evil.test", "403"), (address, "200")] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        // The preface, empty settings, and a request whose headers are written out: never indexed, no Huffman.
        let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
        let mut head = Vec::new();
        for (name, value) in [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/v1/runs"),
            (":authority", authority),
        ] {
            head.push(0x10);
            for text in [name, value] {
                head.push(u8::try_from(text.len()).unwrap());
                head.extend(text.as_bytes());
            }
        }
        let length = u32::try_from(head.len()).unwrap().to_be_bytes();
        sent.extend(&length[1..]);
        // Headers, the end of them and of the request, on the first stream.
        sent.extend([0x01, 0x05, 0, 0, 0, 1]);
        sent.extend(head);
        stream.write_all(&sent).await.unwrap();
        let mut all = Vec::new();
        let mut piece = [0; 4096];
        // What is refused says so in its body; what is answered has a list.
        let wanted: &[u8] = if expected == "403" { b"host_refused" } else { b"\"data\"" };
        while !all.windows(wanted.len()).any(|it| it == wanted) {
            let read =
                tokio::time::timeout(std::time::Duration::from_secs(30), stream.read(&mut piece));
            let read = read.await.unwrap().unwrap();
            assert!(read > 0, "{authority}: {}", String::from_utf8_lossy(&all));
            all.extend(&piece[..read]);
        }
    }
}
