//! Webhooks, as whoever is told gets them.

#[path = "webhooks/audited.rs"]
mod audited;
#[path = "webhooks/bot.rs"]
mod bot;
#[path = "webhooks/mail.rs"]
mod mail;
#[path = "webhooks/slack.rs"]
mod slack;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use signoff_testkit::peers;
use signoff_testkit::process::Process;

use crate::access::{add, asked, post};
use crate::receiver::Receiver;
use crate::support::{Place, Server};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ENV: &str = "OPS_WEBHOOK_SECRET";

/// A server that tells `receiver`; `more` is added to the webhook's settings.
fn serve(place: &Place, port: u16, more: &str) -> Server {
    configure(place, port, more);
    place.serve_in(&[(ENV, SECRET)], &[])
}

fn configure(place: &Place, port: u16, more: &str) {
    let config = format!(
        "[webhooks.ops]\nurl = \"http://127.0.0.1:{port}/hook?key=hidden\"\nsecret_env = \"{ENV}\"\nallow_private = true\n{more}"
    );
    std::fs::write(place.path("signoff.toml"), config).unwrap();
}

fn told(what: &str, request: &str) -> (String, String) {
    (format!("request.{what}"), request.to_owned())
}

/// What the library of Standard Webhooks says of all that was sent.
fn verified(receiver: &Receiver, secret: &str) -> Vec<String> {
    let folder = peers::cache("webhook-python");
    let (venv, packages) = (folder.join("venv/bin/python"), folder.join("packages"));
    peers::install(&folder, &venv, &["python3", "-m", "venv", "venv"]);
    let pip = "venv/bin/python -m pip install -q --target packages standardwebhooks==1.1.0";
    let pip: Vec<&str> = pip.split(' ').collect();
    peers::install(&folder, &packages.join("standardwebhooks"), &pip);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/webhooks/verify.py");
    let mut verify = Command::new(venv)
        .env("PYTHONPATH", packages)
        .args(["-B".as_ref(), script.as_os_str(), secret.as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = verify.stdin.take().unwrap();
    for sent in receiver.sent() {
        let sent = json!({ "headers": sent.headers, "body": sent.body });
        writeln!(lines, "{sent}").unwrap();
    }
    drop(lines);
    let output = verify.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn what_happens_is_told_signed_and_in_order() {
    let (place, receiver) = (Place::new(), Receiver::start(&[]));
    let server = serve(&place, receiver.port, "");
    let run = server.start("ask", "x").await;
    let first = server.pending(&run).await;
    assert_eq!(receiver.has(1).await, [told("requested", &first)]);
    server.decide(&first, &json!({ "decision": "approve" })).await;
    receiver.has(2).await;
    let late = server.start("late", "x").await;
    receiver.has(4).await;
    let second = format!("req_{}_1", late.trim_start_matches("run_"));
    let run = server.start("ask", "x").await;
    let third = server.pending(&run).await;
    receiver.has(5).await;
    assert_eq!(server.post(&format!("/v1/runs/{run}/cancel"), &json!({})).await.0, 200);
    let expected = [
        told("requested", &first),
        told("decided", &first),
        told("requested", &second),
        told("expired", &second),
        told("requested", &third),
        told("cancelled", &third),
    ];
    assert_eq!(receiver.has(6).await, expected);
    let sent = receiver.sent();
    let decided = sent[1].event();
    assert_eq!(decided["data"]["request"], server.read(&format!("/v1/requests/{first}")).await);
    assert_eq!(decided["data"]["request"]["decision"]["decision"], "approve");
    assert!(decided["id"].as_str().unwrap().starts_with("evt_"), "{decided}");
    assert_eq!(sent[1].headers["content-type"], "application/json");
    let types: Vec<String> = expected.into_iter().map(|(what, _)| what).collect();
    assert_eq!(verified(&receiver, SECRET), types);
    let metrics = server.read("/metrics").await;
    let line = r#"signoff_webhook_deliveries_total{webhook="ops",outcome="delivered"} 6"#;
    assert!(metrics.as_str().unwrap().contains(line), "{metrics}");
}

#[tokio::test]
async fn a_receiver_that_is_down_misses_nothing() {
    let (place, receiver) = (Place::new(), Receiver::start(&[]));
    let server = serve(&place, receiver.port, "");
    let run = server.start("ask", "x").await;
    let first = server.pending(&run).await;
    receiver.has(1).await;
    receiver.down();
    server.decide(&first, &json!({ "decision": "approve" })).await;
    let run = server.start("ask", "x").await;
    let second = server.pending(&run).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    receiver.up();
    let expected = [told("requested", &first), told("decided", &first), told("requested", &second)];
    assert_eq!(receiver.has(3).await, expected);
}

#[tokio::test]
async fn wrong_answers_are_sent_again_under_the_same_id() {
    let (place, receiver) = (Place::new(), Receiver::start(&[500, 302]));
    let server = serve(&place, receiver.port, "");
    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    assert_eq!(receiver.has(1).await, [told("requested", &request)]);
    let sent = receiver.sent();
    assert_eq!(sent.iter().map(|sent| sent.status).collect::<Vec<_>>(), [500, 302, 204]);
    for again in &sent[1..] {
        assert_eq!(again.headers["webhook-id"], sent[0].headers["webhook-id"]);
    }
    let ended = server.stop();
    let log = ended.stderr;
    assert!(log.contains("it answers 500"), "{log}");
    assert!(!log.contains("hidden") && !log.contains("MfKQ9r8"), "a secret in the log: {log}");
}

#[tokio::test]
async fn nothing_is_lost_when_the_server_is_killed() {
    let (place, receiver) = (Place::new(), Receiver::start(&[503; 1]));
    let server = serve(&place, receiver.port, "");
    let run = server.start("ask", "x").await;
    let first = server.pending(&run).await;
    // Sent, and not taken; then the server dies before it sends it again.
    receiver.until(|receiver| receiver.sent().len() == 1).await;
    server.process.kill();
    // Another process goes on without a server.
    let args = ["inbox", "answer", first.as_str(), "yes"];
    assert!(place.command(&args).env(ENV, SECRET).output().unwrap().status.success());
    let server = place.serve_in(&[(ENV, SECRET)], &[]);
    assert_eq!(receiver.has(2).await, [told("requested", &first), told("decided", &first)]);
    let sent = receiver.sent();
    assert_eq!(sent[0].headers["webhook-id"], sent[1].headers["webhook-id"]);
    // What was taken does not come again.
    server.process.kill();
    let server = place.serve_in(&[(ENV, SECRET)], &[]);
    let run = server.start("ask", "x").await;
    let second = server.pending(&run).await;
    assert_eq!(receiver.has(3).await[2..], [told("requested", &second)]);
}

#[tokio::test]
async fn two_servers_tell_it_once() {
    let (place, receiver) = (Place::new(), Receiver::start(&[]));
    let one = serve(&place, receiver.port, "");
    let other = place.serve_in(&[(ENV, SECRET)], &[]);
    let mut asked = Vec::new();
    for server in [&one, &other, &one, &other] {
        let run = server.start("ask", "x").await;
        asked.push(told("requested", &server.pending(&run).await));
    }
    assert_eq!(receiver.has(4).await, asked);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(receiver.taken().len(), 4, "each once: {:#?}", receiver.sent());
    // The one that is left goes on.
    one.process.kill();
    let run = other.start("ask", "x").await;
    asked.push(told("requested", &other.pending(&run).await));
    assert_eq!(receiver.has(5).await, asked);
}

#[tokio::test]
async fn only_what_is_wanted_is_told() {
    let (place, receiver) = (Place::new(), Receiver::start(&[]));
    let (ours, theirs) = (add(&place, &["ann"]), add(&place, &["bob", "--tenant", "acme"]));
    let server =
        serve(&place, receiver.port, "events = [\"request.decided\"]\ntenants = [\"acme\"]\n");
    let mut last = String::new();
    for token in [&ours, &theirs] {
        let (_, request) = asked(&server, token).await;
        let path = format!("/v1/requests/{request}/decision");
        let (status, decided) = post(&server, token, &path, json!({ "decision": "approve" })).await;
        assert_eq!(status, 200, "{decided}");
        last = request;
    }
    assert_eq!(receiver.has(1).await, [told("decided", &last)]);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(receiver.sent().len(), 1);
}

#[tokio::test]
async fn who_is_gone_is_told_nothing_until_a_restart() {
    let (place, receiver) = (Place::new(), Receiver::start(&[410]));
    let server = serve(&place, receiver.port, "");
    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    receiver.until(|receiver| receiver.sent().len() == 1).await;
    server.decide(&request, &json!({ "decision": "approve" })).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(receiver.sent().len(), 1, "nothing more is sent");
    assert!(server.stop().stderr.contains("410 Gone"));
    let _server = place.serve_in(&[(ENV, SECRET)], &[]);
    assert_eq!(receiver.has(2).await, [told("requested", &request), told("decided", &request)]);
}

#[test]
fn what_is_wrong_is_said_at_the_start() {
    let place = Place::new();
    configure(&place, 1, "");
    for args in [&["serve"][..], &["webhook", "test", "ops"]] {
        let ended = Process::start(place.command(args).env_remove(ENV)).wait().exits(2);
        let problem =
            format!("[webhooks.ops]: secret_env: the environment variable {ENV} is not set");
        assert!(ended.stderr.contains(&problem), "{}", ended.stderr);
    }
    let schema = Process::start(&mut place.command(&["schema", "config"])).wait();
    assert!(schema.stdout.concat().contains("secret_env"), "editors know the keys");
    // Commands that tell nobody do not need it.
    let ended = Process::start(place.command(&["runs"]).env_remove(ENV)).wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for (more, problem) in [("events = [\"request.made\"]", "request.made"), ("evnts = 1", "evnts")]
    {
        configure(&place, 1, more);
        let ended = Process::start(place.command(&["serve"]).env(ENV, SECRET)).wait().exits(2);
        assert!(ended.stderr.contains(problem), "{}", ended.stderr);
    }
}

#[test]
fn a_webhook_can_be_tried_out() {
    let (place, receiver) = (Place::new(), Receiver::start(&[204, 500]));
    configure(&place, receiver.port, "");
    let test = |name: &str| {
        Process::start(place.command(&["webhook", "test", name]).env(ENV, SECRET)).wait()
    };
    assert_eq!(test("ops").exits(0).stdout, ["ops answers 204"]);
    assert_eq!(test("ops").exits(1).stdout, ["ops answers 500"]);
    assert_eq!(verified(&receiver, SECRET), ["ping", "ping"]);
    receiver.down();
    let ended = test("ops").exits(1);
    assert!(
        ended.stderr.contains("127.0.0.1") && !ended.stderr.contains("hidden"),
        "{}",
        ended.stderr
    );
    assert!(test("nope").exits(2).stderr.contains("there is no webhook `nope`"));
    // A private address must be allowed.
    let config =
        format!("[webhooks.ops]\nurl = \"https://127.0.0.1:1/\"\nsecret_env = \"{ENV}\"\n");
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    assert!(test("ops").exits(1).stderr.contains("was not contacted"));
}

/// The receiver that the documentation shows.
#[tokio::test]
async fn the_receiver_of_the_documentation_takes_it() {
    for secret in [SECRET, "a secret in plain words"] {
        let place = Place::new();
        let script = peers::example("webhook-python").join("receiver.py");
        let mut command = Command::new("python3");
        command.args(["-B".as_ref(), script.as_os_str(), "0".as_ref()]).env(ENV, secret);
        let mut receiver = Process::start(&mut command);
        let line = receiver.line().unwrap();
        let port: u16 = line.strip_prefix("listens on ").unwrap().parse().unwrap();
        configure(&place, port, "");
        let server = place.serve_in(&[(ENV, secret)], &[]);
        let run = server.start("ask", "x").await;
        let request = server.pending(&run).await;
        assert_eq!(receiver.line().unwrap(), format!("request.requested {request} pending"));
        // What anybody could send is not taken; nor is what is old.
        let old: Value = json!({ "type": "request.decided", "id": "evt_1", "data": {} });
        let forged = reqwest::Client::builder().no_proxy().build().unwrap();
        let forged = forged
            .post(format!("http://127.0.0.1:{port}/"))
            .header("webhook-id", "evt_1")
            .header("webhook-timestamp", "1614265330")
            .header("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
            .json(&old);
        assert_eq!(forged.send().await.unwrap().status(), 401);
    }
}
