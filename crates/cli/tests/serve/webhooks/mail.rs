//! Mails, as a mail server and its readers get them.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use signoff_testkit::peers;
use signoff_testkit::process::{Ended, PATIENCE, Process};

use crate::access::{add, get, post};
use crate::deciders::pending;
use crate::support::{Place, Server, text};

const ENV: &str = "MAIL_PASSWORD";
const PASSWORD: (&str, &str) = (ENV, "hunter2");
/// Not a real one; it only looks like it.
const KEY: &str = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";

/// A mail server on a port of its own.
pub(super) struct Smtp {
    process: Process,
}

impl Smtp {
    pub(super) fn start(place: &Place, port: u16, tls: &str) -> Self {
        let folder = peers::cache("smtp-python");
        let (venv, packages) = (folder.join("venv/bin/python"), folder.join("packages"));
        peers::install(&folder, &venv, &["python3", "-m", "venv", "venv"]);
        let pip =
            "venv/bin/python -m pip install -q --target packages aiosmtpd==1.4.6 trustme==1.2.1";
        let pip: Vec<&str> = pip.split(' ').collect();
        peers::install(&folder, &packages.join("aiosmtpd"), &pip);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/webhooks/smtp.py");
        let mut command = Command::new(venv);
        command.env("PYTHONPATH", packages).arg("-B").arg(script);
        command.args([&port.to_string(), tls]).arg(place.path(""));
        let mut process = Process::start(&mut command);
        let Some(line) = process.line() else { panic!("it ended: {:?}", process.wait()) };
        assert_eq!(line, "listens");
        Self { process }
    }

    /// The next mail that it took. What Python's own library finds wrong with one fails the test.
    pub(super) fn mail(&mut self) -> Value {
        let mail = self.process.json();
        assert_eq!(mail["defects"], json!([]), "{mail}");
        assert_eq!(mail["from"], "signoff@example.com");
        mail
    }
}

pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Sets up a channel; `more` is added to its settings.
fn configure(place: &Place, port: u16, tls: &str, more: &str) {
    let config = format!(
        "[channels.post]\nkind = \"email\"\nhost = \"localhost\"\nport = {port}\ntls = \"{tls}\"\n\
         user = \"signoff\"\npassword_env = \"{ENV}\"\nfrom = \"Signoff <signoff@example.com>\"\n\
         link = \"https://signoff.example.com/requests/{{id}}\"\n{more}"
    );
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    let flow = format!(
        "workflow: loud\npattern: graph\nstart: ask\nexecutors:\n  ask: {{ ask: {{ prompt: \"Pay?\\r\\nBcc: eve@example.com\\nnow \
         \\u202E {KEY} <b>\", kind: approval, risk: high, within: 1h }} }}\n"
    );
    std::fs::write(place.path("flows/loud.yaml"), flow).unwrap();
}

fn serve(place: &Place) -> Server {
    place.serve_in(&[PASSWORD], &[])
}

/// Whether the mail server is reached with this password.
fn tried(place: &Place, password: &str) -> Ended {
    let mut command = place.command(&["webhook", "test", "channel:post"]);
    Process::start(command.env(ENV, password)).wait()
}

/// The mails so far, by whom they went to.
fn addressed<'a>(mails: &'a [Value], address: &str) -> &'a Value {
    let found: Vec<&Value> = mails.iter().filter(|mail| mail["to"] == json!([address])).collect();
    assert_eq!(found.len(), 1, "one mail to {address}: {mails:#?}");
    found[0]
}

fn said(mail: &Value) -> &str {
    mail["plain"].as_str().unwrap()
}

#[tokio::test]
async fn a_mail_asks_and_its_answer_says_what_was_decided() {
    let (place, port) = (Place::new(), free_port());
    let mut smtp = Smtp::start(&place, port, "none");
    configure(
        &place,
        port,
        "none",
        "to = [\"Ops <ops@example.com>\"]\npeople = { ann = \"ann@example.com\", eve = \"eve@example.com\", nobody = \"x@example.com\" }\n",
    );
    let ann = add(&place, &["ann"]);
    add(&place, &["eve", "--role", "viewer"]);
    let server = serve(&place);
    let body = json!({ "workflow": "loud", "input": "x" });
    let run = text(&post(&server, &ann, "/v1/runs", body).await.1["id"]);
    let request = text(&pending(&server, &ann, &run, "").await["id"]);
    let mails = [smtp.mail(), smtp.mail()];
    let (ops, own) = (addressed(&mails, "ops@example.com"), addressed(&mails, "ann@example.com"));
    for mail in [ops, own] {
        let subject = text(&mail["headers"]["subject"]);
        assert!(subject.starts_with("loud: Pay?␍ Bcc: eve@example.com now ⟨U+202E⟩"), "{subject}");
        let names = mail["names"].as_array().unwrap();
        assert!(!names.contains(&json!("bcc")), "no header was slipped in: {names:?}");
        assert_eq!(mail["headers"]["auto-submitted"], "auto-generated");
        assert_eq!(mail["user"], "signoff");
        for body in [said(mail), mail["html"].as_str().unwrap()] {
            assert!(body.contains("in the words of ask"), "{body}");
            assert!(body.contains("risk: high") && body.contains("answer until: 20"), "{body}");
            assert!(body.contains(&request) && body.contains("⟨U+202E⟩"), "{body}");
            assert!(!body.contains(KEY) && body.contains("⟨secret …6789⟩"), "{body}");
            assert!(body.contains(&format!("https://signoff.example.com/requests/{request}")));
        }
        assert!(mail["html"].as_str().unwrap().contains("&lt;b&gt;"), "{mail}");
    }
    assert!(!said(ops).contains("/decide/"), "who is not named gets no link to decide by");
    let link =
        said(own).lines().find_map(|line| line.strip_prefix("https://signoff.example.com/decide/"));
    let link = format!("/decide/{}", link.unwrap());
    assert_eq!(server.request(Method::GET, &link).send().await.unwrap().status(), 200);
    let path = format!("/v1/requests/{request}");
    assert_eq!(get(&server, &ann, &path).await.1["status"], "pending", "looking decides nothing");
    let form = server.request(Method::POST, &link).body("decision=approve&text=");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(form.send().await.unwrap().status(), 200);
    let settled = [smtp.mail(), smtp.mail()];
    for address in ["ops@example.com", "ann@example.com"] {
        let (first, then) = (addressed(&mails, address), addressed(&settled, address));
        let (first, headers) = (&first["headers"], &then["headers"]);
        assert!(said(then).starts_with("Decided by ann: approve"), "{then}");
        assert!(!said(then).contains("/decide/"), "{then}");
        assert_eq!(headers["in-reply-to"], first["message-id"]);
        assert_eq!(headers["references"], first["message-id"]);
        assert_ne!(headers["message-id"], first["message-id"]);
        assert_eq!(text(&headers["subject"]), format!("Re: {}", text(&first["subject"])));
    }
    let audit = get(&server, &ann, "/v1/audit?limit=100").await.1.to_string();
    assert!(audit.contains("channel:post"), "who made the link is on record: {audit}");
    let log = server.stop().stderr;
    assert!(!log.contains("example.com") && !log.contains("hunter2"), "{log}");
}

#[tokio::test]
async fn it_is_sent_encrypted_and_signed_in() {
    for tls in ["starttls", "wrapper"] {
        let (place, port) = (Place::new(), free_port());
        let mut smtp = Smtp::start(&place, port, tls);
        let people = "people = { local = \"me@example.com\" }\n";
        configure(&place, port, tls, &format!("{people}ca_file = \"trusted.pem\"\n"));
        let server = serve(&place);
        let request = server.pending(&server.start("ask", "x").await).await;
        let mail = smtp.mail();
        assert_eq!((&mail["user"], &mail["tls"]), (&json!("signoff"), &json!(true)), "{mail}");
        assert!(said(&mail).contains(&request) && said(&mail).contains("/decide/"), "{mail}");
        drop(server);
        assert_eq!(tried(&place, "hunter2").exits(0).stdout, ["channel:post can be reached"]);
        let wrong = tried(&place, "hunter3").exits(1).stderr;
        assert!(wrong.contains("it answers 535") && !wrong.contains("hunter3"), "{wrong}");
        // Whom nobody vouches for gets nothing; it comes once somebody does.
        configure(&place, port, tls, people);
        let _ = tried(&place, "hunter2").exits(1);
        let server = serve(&place);
        server.pending(&server.start("ask", "x").await).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let log = server.stop().stderr;
        assert!(log.contains("it is sent again") && !log.contains("hunter2"), "{log}");
        configure(&place, port, tls, &format!("{people}ca_file = \"trusted.pem\"\n"));
        let _server = serve(&place);
        assert!(said(&smtp.mail()).starts_with("ask asks"));
    }
}

#[tokio::test]
async fn a_mail_server_that_is_down_misses_nothing_and_gets_nothing_twice() {
    let (place, port) = (Place::new(), free_port());
    configure(&place, port, "none", "to = [\"ops@example.com\"]\n");
    let server = serve(&place);
    let first = server.pending(&server.start("ask", "x").await).await;
    delivered(&server, "failed", 1).await;
    server.process.kill();
    let mut smtp = Smtp::start(&place, port, "none");
    let server = serve(&place);
    let mail = smtp.mail();
    assert!(said(&mail).contains(&first), "{mail}");
    delivered(&server, "delivered", 1).await;
    // Down again, while the server goes on. What was settled before anybody could be told that it waits is told once.
    smtp.process.kill();
    server.decide(&first, &json!({ "decision": "approve" })).await;
    let second = server.pending(&server.start("ask", "x").await).await;
    server.decide(&second, &json!({ "decision": "reject" })).await;
    delivered(&server, "failed", 1).await;
    let mut smtp = Smtp::start(&place, port, "none");
    for (request, how) in [(&first, "approve"), (&second, "reject")] {
        let mail = smtp.mail();
        assert!(said(&mail).starts_with(&format!("Decided by local: {how}")), "{mail}");
        assert!(said(&mail).contains(request.as_str()), "{mail}");
    }
    delivered(&server, "delivered", 4).await;
    server.process.kill();
    let server = serve(&place);
    let third = server.pending(&server.start("ask", "x").await).await;
    let mail = smtp.mail();
    assert!(said(&mail).contains(&third), "nothing came twice: {mail}");
}

/// Waits until so many attempts had this outcome.
async fn delivered(server: &Server, outcome: &str, count: u64) {
    let name = format!(
        "signoff_webhook_deliveries_total{{webhook=\"channel:post\",outcome=\"{outcome}\"}} "
    );
    let since = Instant::now();
    loop {
        let metrics = text(&server.read("/metrics").await);
        let found = metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok());
        if found.is_some_and(|found| found >= count) {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{metrics}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn who_cannot_be_reached_harms_nobody() {
    let (place, port) = (Place::new(), free_port());
    let mut smtp = Smtp::start(&place, port, "none");
    let to = "to = [\"gone@example.com\", \"busy@example.com\", \"ops@example.com\"]\n";
    configure(&place, port, "none", to);
    let server = serve(&place);
    let request = server.pending(&server.start("ask", "x").await).await;
    let mails = [smtp.mail(), smtp.mail()];
    let ids = ["ops@example.com", "busy@example.com"]
        .map(|address| text(&addressed(&mails, address)["headers"]["message-id"]));
    assert_eq!(ids[0], ids[1], "it is one mail to all of them");
    server.decide(&request, &json!({ "decision": "approve" })).await;
    let settled = [smtp.mail(), smtp.mail()];
    addressed(&settled, "ops@example.com");
    addressed(&settled, "busy@example.com");
    let log = server.stop().stderr;
    assert!(log.contains("a mail was refused for good") && log.contains("550"), "{log}");
    assert!(log.contains("to[0]") && !log.contains("gone@"), "{log}");
    // If all refuse it, that is the end of it, and the next event is told.
    configure(&place, port, "none", "to = [\"gone@example.com\"]\n");
    let server = serve(&place);
    server.pending(&server.start("ask", "x").await).await;
    delivered(&server, "refused", 1).await;
    assert!(server.stop().stderr.contains("it was refused for good, and is given up"));
}

#[test]
fn what_is_wrong_with_a_mailbox_is_named() {
    let place = Place::new();
    let fine = "host = \"localhost\"\nfrom = \"a@example.com\"\n";
    for (settings, problem) in [
        (format!("{fine}tls = \"none\"\n"), "it has `to`, `people`, or both"),
        (format!("{fine}to = [\"nobody\"]\n"), "to: `nobody` is not a mail address"),
        (format!("{fine}people = {{ ann = \"a b\" }}\n"), "people.ann: `a b` is not a mail address"),
        (format!("{fine}to = [\"a@example.com\"]\nuser = \"x\"\n"), "go together"),
        (
            format!("{fine}to = [\"a@example.com\"]\nuser = \"x\"\npassword_env = \"NOT_THERE\"\n"),
            "password_env: the environment variable NOT_THERE is not set",
        ),
        (
            "host = \"mail.example.com\"\nfrom = \"a@example.com\"\nto = [\"a@example.com\"]\ntls = \"none\"\n".to_owned(),
            "allow_plain",
        ),
        (format!("{fine}to = [\"a@example.com\"]\nlink = \"x\"\n"), "with `{id}` in it"),
        (format!("{fine}to = [\"a@example.com\"]\nca_file = \"none.pem\"\n"), "ca_file: "),
        (format!("{fine}to = [\"a@example.com\"]\ntoo = 1\n"), "too"),
        ("from = \"a@example.com\"\nto = [\"a@example.com\"]\n".to_owned(), "host"),
    ] {
        let config = format!("[channels.post]\nkind = \"email\"\n{settings}");
        std::fs::write(place.path("signoff.toml"), config).unwrap();
        let out = place.command(&["serve", "--addr", "127.0.0.1:0"]).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{settings}: {said}");
        assert!(said.contains(problem), "{problem}: {said}");
    }
}
