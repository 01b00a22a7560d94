//! Too much of something, from clients and from those whom the server asks: it is refused or cut, the server stays small,
//! and others are served meanwhile.

#[path = "bombs/flood.rs"]
mod flood;

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use self::flood::Flood;
use crate::support::{Client, Place, Server, text};

/// How much more memory the server may take, whatever is done to it.
const MORE: u64 = 160 * 1024 * 1024;
/// What somebody wants to send in vain.
const LOTS: usize = 64 * 1024 * 1024;
/// How long anybody else may have to wait. Generous: the machine may be busy.
const SOON: Duration = Duration::from_secs(20);

/// Watches over a server: its memory, and whether others are served.
struct Guarded {
    server: Server,
    before: u64,
    over: Arc<AtomicBool>,
    other: JoinHandle<(u32, Duration, u64)>,
}

impl Guarded {
    async fn start(place: &Place) -> Self {
        let server = place.serve_with(&["--max-rate", "100000"]);
        // Once for everything that is made at the first use.
        let run = server.start("ask", "hi").await;
        server.pending(&run).await;
        let (over, process) = (Arc::new(AtomicBool::new(false)), server.process.id());
        let before = resident(process);
        let (client, done) = (server.client.clone(), Arc::clone(&over));
        let other = tokio::spawn(async move {
            let (mut count, mut slowest, mut most) = (0, Duration::ZERO, 0);
            while !done.load(Ordering::SeqCst) || count == 0 {
                let since = Instant::now();
                other_client(&client).await;
                (count, slowest) = (count + 1, slowest.max(since.elapsed()));
                most = most.max(resident(process));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            (count, slowest, most)
        });
        Self { server, before, over, other }
    }

    /// What is certain once it is over.
    async fn end(self, what: &str) {
        self.over.store(true, Ordering::SeqCst);
        let (served, slowest, most) = self.other.await.unwrap();
        let more = most.saturating_sub(self.before);
        assert!(more < MORE, "{what}: {} MiB more", more >> 20);
        assert!(slowest < SOON, "{what}: of {served} others one waited for {slowest:?}");
        let ended = self.server.stop();
        assert!(!ended.stderr.contains("panicked"), "{what}: {}", ended.stderr);
    }
}

/// Somebody who wants no more than anybody may want.
async fn other_client(client: &Client) {
    assert_eq!(client.read("/health").await["status"], "ok");
    let run = client.start("ask", "hi").await;
    let request = client.pending(&run).await;
    assert_eq!(client.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
}

/// The memory that a process has, as the system says.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or_default()
}

async fn post(
    server: &Client,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> (u16, Value) {
    // A connection of its own: one that was idle for long may be closed just then.
    let request = server.request(Method::POST, path).header("connection", "close");
    let mut request = request.body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default())
}

const JSON: (&str, &str) = ("content-type", "application/json");

/// JSON that nests, JSON with keys without number, and JSON that is packed, wherever JSON is taken.
#[tokio::test]
async fn json_that_is_too_much() {
    let guarded = Guarded::start(&Place::new()).await;
    let server = &guarded.server;
    let deep =
        |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    let keys = |count: usize| {
        let keys: Vec<String> = (0..count).map(|n| format!("\"k{n}\":{n}")).collect();
        format!("{{{}}}", keys.join(","))
    };
    let document = server.read("/openapi.json").await;
    let mut paths: Vec<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, methods)| methods["post"]["requestBody"].is_object())
        .map(|(path, _)| path.replace(['{', '}'], ""))
        .collect();
    assert!(paths.len() > 20, "{paths:?}");
    paths.extend(["/a2a/ask".to_owned(), "/ag-ui/ask".to_owned(), "/mcp".to_owned()]);
    let accept = ("accept", "application/json, text/event-stream");
    for path in &paths {
        for body in [deep("[", "]"), deep("{\"a\":", "}"), keys(60_000)] {
            let (status, answer) = post(server, path, &[JSON, accept], body.into_bytes()).await;
            let refused = (400..500).contains(&status);
            // Errors of JSON-RPC come as answers. Words that pass over what they do not know keep nothing of it.
            let passed_over = status == 200 && answer.to_string().len() < 4 * 1024;
            assert!(refused || passed_over, "{path}: {status} {answer}");
        }
        // Nothing is unpacked on the way in.
        let packed = [JSON, accept, ("content-encoding", "gzip")];
        let (status, answer) = post(server, path, &packed, gzip_bomb()).await;
        assert!((400..500).contains(&status) || answer["error"].is_object(), "{path}: {answer}");
    }
    // What is wrong with something large is said without repeating all of it.
    let body = format!(r#"{{"workflow":"ask","input":{}}}"#, keys(60_000));
    let (status, answer) = post(server, "/v1/runs", &[JSON], body.into_bytes()).await;
    assert_eq!((status, code(&answer)), (422, "invalid_input"));
    assert!(answer.to_string().len() < 16 * 1024, "{} bytes", answer.to_string().len());
    guarded.end("JSON").await;
}

/// 50 MB of nothing, packed.
fn gzip_bomb() -> Vec<u8> {
    let mut child = std::process::Command::new("gzip")
        .arg("-9c")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || {
        for _ in 0..50 {
            input.write_all(&vec![b' '; 1024 * 1024]).unwrap();
        }
    });
    let output = child.wait_with_output().unwrap().stdout;
    writing.join().unwrap();
    assert!(output.len() < 100 * 1024, "{}", output.len());
    output
}

/// Texts that are made to be hard to read.
#[tokio::test]
async fn markdown_that_never_comes_to_an_end() {
    let guarded = Guarded::start(&Place::new()).await;
    for piece in [
        "> ",
        "- ",
        "[",
        "![",
        "*",
        "**a",
        "_a*",
        "`",
        "<a",
        "|a|\n|-|\n",
        "1. ",
        "[a](",
        "&#",
        "\\",
        "~~a",
    ] {
        let texts = json!({ "texts": [piece.repeat(400_000 / piece.len())] });
        let since = Instant::now();
        let (status, answer) = guarded.server.post("/v1/markdown", &texts).await;
        assert_eq!(status, 200, "{piece}: {answer}");
        assert!(since.elapsed() < SOON, "{piece}: {:?}", since.elapsed());
    }
    guarded.end("Markdown").await;
}

/// Conditions, patterns and schemas that take for ever, over what clients send.
#[tokio::test]
async fn expressions_over_large_inputs() {
    let place = Place::new();
    let flow = |id: &str, more: &str| {
        let text = format!("workflow: {id}\npattern: graph\nstart: a\n{more}");
        std::fs::write(place.path(&format!("flows/{id}.yaml")), text).unwrap();
    };
    flow(
        "pairs",
        "input: { type: array }\nexecutors:\n  a: { transform: 'input.all(x, input.all(y, input.all(z, x + y + z >= 0)))' }\n",
    );
    flow("pattern", "executors:\n  a: { transform: \"input.matches('^(a+)+$')\" }\n");
    flow("long", "executors:\n  a: { transform: \"input.matches('^(([a-z]+)*,?)*$')\" }\n");
    flow(
        "schema",
        "input: { type: string, pattern: '^(a|a)*(a|aa)*$' }\nexecutors:\n  a: { transform: input }\n",
    );
    let guarded = Guarded::start(&place).await;
    let server = &guarded.server;
    let start = async |workflow: &str, input: Value| {
        server.post("/v1/runs", &json!({ "workflow": workflow, "input": input })).await
    };
    let many: Vec<u32> = (0..100_000).collect();
    let since = Instant::now();
    let (status, run) = start("pairs", json!(many)).await;
    assert_eq!(status, 201, "{run}");
    let failed = server.at_rest(&text(&run["id"])).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    assert!(failed["error"].to_string().contains("more than 1000000 items"), "{failed}");
    let bad = format!("{}!", "a".repeat(500_000));
    for workflow in ["pattern", "long"] {
        let (_, run) = start(workflow, json!(bad)).await;
        let ended = server.at_rest(&text(&run["id"])).await;
        assert_eq!((&ended["status"], &ended["output"]), (&json!("completed"), &json!(false)));
    }
    let (status, refused) = start("schema", json!(bad)).await;
    assert_eq!((status, code(&refused)), (422, "invalid_input"), "{refused}");
    assert!(since.elapsed() < SOON * 3, "{:?}", since.elapsed());
    guarded.end("expressions").await;
}

/// Files that become very large when they are read.
#[tokio::test]
async fn files_that_multiply() {
    let place = Place::new();
    let mut yaml = "workflow: w\ntypes:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..30 {
        let again = vec![format!("*a{}", n - 1); 10].join(", ");
        writeln!(yaml, "  a{n}: &a{n} [{again}]").unwrap();
    }
    std::fs::write(place.path("bomb.yaml"), yaml).unwrap();
    std::fs::write(place.path("deep.yaml"), format!("workflow: w\ntypes: {}", "[".repeat(200_000)))
        .unwrap();
    for file in ["bomb.yaml", "deep.yaml"] {
        let since = Instant::now();
        let mut command = place.command(&["check", file]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{file}: {output:?}");
        assert!(since.elapsed() < SOON, "{file}: {:?}", since.elapsed());
        assert!(output.stdout.len() + output.stderr.len() < 64 * 1024, "{file}");
    }
}

fn connect(server: &Client) -> TcpStream {
    let stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

fn socket(server: &Client) -> TcpStream {
    let mut stream = connect(server);
    let host = server.url.strip_prefix("http://").unwrap();
    let head = format!(
        "GET /v1/ws HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 101");
    stream
}

/// Writes pieces until the other side hangs up or takes no more; how much went.
fn pour(stream: &mut TcpStream, piece: &[u8], most: usize) -> usize {
    let mut sent = 0;
    while sent < most && stream.write_all(piece).is_ok() {
        sent += piece.len();
    }
    sent
}

/// Frames and fragments without end, and clients that ask and never read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_without_end_and_clients_that_never_read() {
    let guarded = Guarded::start(&Place::new()).await;
    let client = guarded.server.client.clone();
    tokio::task::spawn_blocking(move || {
        // A text that goes on in fragments; each is masked with zeros.
        let mut first = vec![0x01, 0xfe, 0x40, 0x00, 0, 0, 0, 0];
        let mut more = vec![0x00, 0xfe, 0x40, 0x00, 0, 0, 0, 0];
        first.extend(vec![b'x'; 0x4000]);
        more.extend(vec![b'x'; 0x4000]);
        let mut stream = socket(&client);
        stream.write_all(&first).unwrap();
        let sent = pour(&mut stream, &more, LOTS);
        assert!(sent < LOTS, "a message has no end: {sent}");
        // Fragments of nothing.
        let mut stream = socket(&client);
        let nothing: Vec<u8> = [0x01, 0x80, 0, 0, 0, 0]
            .into_iter()
            .chain([0x00, 0x80, 0, 0, 0, 0].repeat(2000))
            .collect();
        stream.write_all(&nothing).unwrap();
        // A frame that says it is enormous.
        let mut stream = socket(&client);
        let _ = stream
            .write_all(&[0x81, 0xff, 0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        let sent = pour(&mut stream, &vec![b'x'; 64 * 1024], LOTS);
        assert!(sent < LOTS, "a frame has no end: {sent}");
        // Signs of life without end, whose answers nobody reads.
        let mut stream = socket(&client);
        pour(&mut stream, &[0x89, 0x80, 0, 0, 0, 0].repeat(1000), 8 * 1024 * 1024);
        // Questions without end, whose answers nobody reads.
        let host = client.url.strip_prefix("http://").unwrap();
        let ask = format!("GET /openapi.json HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let mut idle = Vec::new();
        for _ in 0..20 {
            let mut stream = connect(&client);
            stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
            pour(&mut stream, ask.repeat(100).as_bytes(), 20 * 1024 * 1024);
            idle.push(stream);
        }
        // Streams that nobody reads.
        for _ in 0..500 {
            let mut stream = connect(&client);
            let ask = format!("GET /v1/requests/events HTTP/1.1\r\nHost: {host}\r\n\r\n");
            stream.write_all(ask.as_bytes()).unwrap();
            idle.push(stream);
        }
        std::thread::sleep(Duration::from_secs(3));
        drop(idle);
    })
    .await
    .unwrap();
    guarded.end("sockets").await;
}

/// Calls of gRPC that are larger than they may be, or say so.
#[cfg(feature = "grpc")]
#[tokio::test]
async fn calls_of_grpc_are_bounded() {
    let guarded = Guarded::start(&Place::new()).await;
    let http = reqwest::Client::builder().http2_prior_knowledge().no_proxy().build().unwrap();
    let large = |says: u32, flag: u8, bytes: usize| {
        let mut body = vec![flag];
        body.extend(says.to_be_bytes());
        body.extend(vec![0x0a; bytes]);
        body
    };
    for (what, body) in [
        ("a large message", large(4 << 20, 0, 4 << 20)),
        ("one that says so", large(u32::MAX, 0, 100)),
        ("one that is packed", large(100, 1, 100)),
        ("one that nests", {
            // Data in data in data: a list of a list of a list.
            let mut nested = Vec::new();
            for _ in 0..10_000 {
                let mut outer = vec![0x32];
                let mut length = nested.len() + 1;
                while length > 127 {
                    outer.push(u8::try_from(length & 127).unwrap() | 128);
                    length >>= 7;
                }
                outer.push(u8::try_from(length).unwrap());
                outer.push(0x0a);
                outer.extend(&nested);
                nested = outer;
                nested.truncate(60_000);
            }
            let mut body = large(u32::try_from(nested.len()).unwrap(), 0, 0);
            body.extend(nested);
            body
        }),
    ] {
        let url = format!("{}/lf.a2a.v1.A2AService/SendMessage", guarded.server.url);
        let request =
            http.post(url).header("content-type", "application/grpc").header("te", "trailers");
        match request.body(body).send().await {
            Ok(response) => {
                let status = response.headers().get("grpc-status").cloned();
                let status = status.map(|it| it.to_str().unwrap().to_owned());
                assert!(status.as_deref() != Some("0"), "{what}: {response:?}");
                let _ = response.bytes().await;
            }
            // Or the stream is reset.
            Err(error) => assert!(!error.is_connect(), "{what}: {error}"),
        }
    }
    guarded.end("gRPC").await;
}

/// Those whom the server asks answer without end, or with little that becomes much.
#[tokio::test]
async fn answers_without_end() {
    let place = Place::new();
    let flood = Flood::start(gzip_bomb());
    let port = flood.port;
    let config = format!(
        "[tools.http]\nallow_private = true\nallow_plain = true\ntimeout = '20s'\n\
         [models.chat]\nprovider = 'openai-chat'\nmodel = 'm'\nmax_retries = 0\nbase_url = 'http://127.0.0.1:{port}/chat'\n\
         [models.responses]\nprovider = 'openai'\nmodel = 'm'\nmax_retries = 0\nbase_url = 'http://127.0.0.1:{port}/responses'\n\
         [models.claude]\nprovider = 'anthropic'\nmodel = 'm'\nmax_retries = 0\nbase_url = 'http://127.0.0.1:{port}/claude'\n\
         [models.line]\nprovider = 'openai-chat'\nmodel = 'm'\nmax_retries = 0\nbase_url = 'http://127.0.0.1:{port}/line'\n\
         [mcp.notes]\nurl = 'http://127.0.0.1:{port}/notes'\ntimeout = '10s'\n\
         [mcp.event]\nurl = 'http://127.0.0.1:{port}/line'\ntimeout = '10s'\n\
         [a2a.far]\nurl = 'http://127.0.0.1:{port}/body'\n"
    );
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    let mut workflows = Vec::new();
    let mut flow = |id: &str, agent: &str, script: &str| {
        let text = format!(
            "workflow: {id}\npattern: sequential\nsequential: {{ agents: [a] }}\nagents:\n  a: {{ {agent} }}\n"
        );
        std::fs::write(place.path(&format!("flows/{id}.yaml")), text).unwrap();
        if !script.is_empty() {
            std::fs::write(place.path(&format!("flows/{id}.script.yaml")), script).unwrap();
        }
        workflows.push(id.to_owned());
    };
    for model in ["chat", "responses", "claude", "line"] {
        flow(model, &format!("instructions: Go., model: {model}"), "");
    }
    for server in ["notes", "event"] {
        flow(
            server,
            &format!("instructions: Go., tools: ['mcp:{server}/*']"),
            "- { text: done }\n",
        );
    }
    flow("far", "remote: far", "");
    for path in ["body", "packed", "brotli", "head"] {
        let script = format!(
            "- {{ turn: 1, call: [{{ tool: http_get, arguments: {{ url: 'http://127.0.0.1:{port}/{path}' }} }}] }}\n- {{ text: done }}\n"
        );
        flow(path, "instructions: Go., tools: [http_get]", &script);
    }
    let guarded = Guarded::start(&place).await;
    let server = &guarded.server;
    let mut runs = Vec::new();
    for workflow in &workflows {
        runs.push((workflow, server.start(workflow, "hi").await));
    }
    for (workflow, run) in &runs {
        let ended = server.at_rest(run).await;
        let journal = format!("{:?}", server.journal(run).await);
        // An agent whose model or whose place fails asks a person; without a tool, or with its result cut, it goes on.
        let asks = ["chat", "responses", "claude", "line", "far"].contains(&workflow.as_str());
        let wanted = if asks { "waiting" } else { "completed" };
        assert_eq!(ended["status"], wanted, "{workflow}: {ended}");
        assert!(journal.len() < 2 * 1024 * 1024, "{workflow}: {} bytes are kept", journal.len());
    }
    let asked = flood.asked();
    for workflow in
        ["chat", "responses", "claude", "line", "notes", "body", "packed", "brotli", "head"]
    {
        assert!(asked.iter().any(|path| path.contains(workflow)), "{workflow}: {asked:?}");
    }
    guarded.end("answers").await;
}
