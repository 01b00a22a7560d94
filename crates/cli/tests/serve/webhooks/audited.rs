//! Actions that a gate notes: nobody is asked, and all who are told of requests are told of them.

use serde_json::{Value, json};

use super::bot::api;
use super::mail::{Smtp, free_port};
use super::slack::library;
use super::{ENV, SECRET, verified};
use crate::gates::describe;
use crate::receiver::{Receiver, Sent};
use crate::support::{Place, Server};

const NOTED: &str = "  - { name: edits, when: action.tool == 'write_file', ask: audit }\n";
/// Not a real key; it only looks like one.
const KEY: &str = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";

/// A clerk who writes a file with a key in it, and then reads one; those in `settings` are told.
fn serve(place: &Place, gates: &str, settings: &str, env: &[(&str, &str)]) -> Server {
    let write =
        format!("{{ tool: write_file, arguments: {{ path: a.txt, content: '<b>&{KEY}' }} }}");
    let read = "{ tool: read_file, arguments: { path: a.txt } }";
    let script = format!(
        "- {{ turn: 1, call: [{write}] }}\n- {{ turn: 2, call: [{read}] }}\n- {{ turn: 3, text: done }}\n"
    );
    describe(place, gates, &script);
    let tools = std::fs::read_to_string(place.path("signoff.toml")).unwrap();
    std::fs::write(place.path("signoff.toml"), format!("{tools}{settings}")).unwrap();
    place.serve_in(env, &[])
}

fn webhook(port: u16, more: &str) -> String {
    format!(
        "[webhooks.ops]\nurl = \"http://127.0.0.1:{port}/hook\"\nsecret_env = \"{ENV}\"\nallow_private = true\n{more}"
    )
}

fn types(receiver: &Receiver) -> Vec<Value> {
    receiver.sent().iter().map(|sent| sent.event()["type"].clone()).collect()
}

#[tokio::test]
async fn what_a_gate_notes_is_told_once_signed_and_without_secrets() {
    let (place, receiver) = (Place::new(), Receiver::start(&[]));
    receiver.down();
    let settings = webhook(receiver.port, "");
    let server = serve(&place, NOTED, &settings, &[(ENV, SECRET)]);
    let run = server.start("clerk", "go").await;
    assert_eq!(server.at_rest(&run).await["status"], "completed", "nobody is asked");
    // It is told by whoever comes after the one that noted it.
    server.process.kill();
    receiver.up();
    let server = place.serve_in(&[(ENV, SECRET)], &[]);
    receiver.until(|receiver| !receiver.sent().is_empty()).await;
    let told = receiver.sent()[0].event();
    assert_eq!(told["type"], "action.audited");
    let action = &told["data"]["action"];
    assert_eq!(
        (&action["run"], &action["tool"], &action["outcome"], &action["workflow"]),
        (&json!(run), &json!("write_file"), &json!("allow"), &json!("clerk")),
        "{told}"
    );
    assert_eq!(action["reasons"][0]["gate"], "edits");
    assert_eq!(action["action"]["arguments"]["path"], "a.txt");
    assert!(
        !told.to_string().contains(KEY) && told.to_string().contains("⟨secret …6789⟩"),
        "{told}"
    );
    let entry = action["entry"].as_u64().unwrap();
    let journal = server.journal(&run).await;
    let noted = journal.iter().find(|it| it["seq"] == entry).unwrap();
    assert_eq!((&noted["type"], &noted["tool"]), (&json!("gated"), &json!("write_file")));
    // A fork brings what was done along, and tells it to nobody.
    let fork = json!({ "at": journal.len() - 1 });
    let (status, forked) = server.post(&format!("/v1/runs/{run}/fork"), &fork).await;
    assert!(status < 300, "{forked}");
    let again = server.start("clerk", "go").await;
    server.at_rest(&again).await;
    receiver.until(|receiver| receiver.sent().len() >= 2).await;
    assert_eq!(receiver.sent()[1].event()["data"]["action"]["run"], json!(again));
    // The one that only reads is not told.
    assert_eq!(verified(&receiver, SECRET), ["action.audited", "action.audited"]);
}

#[tokio::test]
async fn what_is_asked_or_denied_besides_is_told_when_that_is_settled() {
    let (place, receiver) = (Place::new(), Receiver::start(&[]));
    let both = format!("{NOTED}  - {{ name: before_file_edit }}\n");
    let server = serve(&place, &both, &webhook(receiver.port, ""), &[(ENV, SECRET)]);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    receiver.until(|receiver| !receiver.sent().is_empty()).await;
    assert_eq!(types(&receiver), ["request.requested"], "nothing is done yet");
    server.decide(&request, &json!({ "decision": "approve" })).await;
    receiver.until(|receiver| receiver.sent().len() >= 3).await;
    assert_eq!(types(&receiver), ["request.requested", "request.decided", "action.audited"]);
    assert_eq!(receiver.sent()[2].event()["data"]["action"]["approved"], json!([1]));
    server.process.kill();

    let (place, receiver) = (Place::new(), Receiver::start(&[]));
    let both = format!("{NOTED}  - {{ name: before_file_edit, ask: deny }}\n");
    let only = webhook(receiver.port, "events = [\"action.audited\"]\n");
    let server = serve(&place, &both, &only, &[(ENV, SECRET)]);
    let run = server.start("clerk", "go").await;
    server.at_rest(&run).await;
    receiver.until(|receiver| !receiver.sent().is_empty()).await;
    assert_eq!(receiver.sent()[0].event()["data"]["action"]["outcome"], "deny");
}

#[tokio::test]
async fn chats_and_mailboxes_are_told_too() {
    let (place, port) = (Place::new(), free_port());
    let mut smtp = Smtp::start(&place, port, "none");
    let (chat, bot) = (Receiver::start(&[]), api(&["ratelimited"]));
    let settings = format!(
        "[channels.team]\nkind = \"slack\"\nurl_env = \"TEAM_CHAT\"\nallow_private = true\n\
         [channels.bot]\nkind = \"slack\"\ntoken_env = \"TEAM_BOT\"\nchannel = \"C024BE91L\"\nallow_private = true\n\
         api = \"http://127.0.0.1:{}/api\"\n\
         [channels.post]\nkind = \"email\"\nhost = \"localhost\"\nport = {port}\ntls = \"none\"\nuser = \"signoff\"\n\
         password_env = \"MAIL_PASSWORD\"\nfrom = \"Signoff <signoff@example.com>\"\n\
         to = [\"ops@example.com\", \"audit@example.com\"]\npeople = {{ local = \"me@example.com\" }}\n",
        bot.port
    );
    let url = format!("http://127.0.0.1:{}/services/T0/B0/hidden", chat.port);
    let env = [("TEAM_CHAT", url.as_str()), ("TEAM_BOT", "xoxb-1"), ("MAIL_PASSWORD", "hunter2")];
    let server = serve(&place, NOTED, &settings, &env);
    let run = server.start("clerk", "go").await;
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    chat.until(|chat| !chat.sent().is_empty()).await;
    bot.until(|bot| bot.sent().len() >= 2).await;
    let line = format!("clerk: clerk calls write_file · noted by edits (`{run}`)");
    assert_eq!(chat.sent()[0].event()["text"], line);
    let posted = bot.sent();
    for sent in &posted[..2] {
        assert_eq!(sent.path, "/api/chat.postMessage");
        let body = sent.event();
        assert_eq!((&body["text"], &body["channel"]), (&json!(line), &json!("C024BE91L")));
        assert_eq!(body["metadata"]["event_payload"]["run"], json!(run));
    }
    let parsed = "import json, sys\nfrom slack_sdk.models.blocks import Block\n\
                  for line in sys.stdin:\n    [block.validate_json() for block in Block.parse_all(json.loads(line)['blocks'])]\n    print('fine')\n";
    let said = chat.sent().into_iter().chain(posted);
    assert!(library(parsed, said.map(|sent: Sent| sent.event())).iter().all(|it| it == "fine"));
    let mails = [smtp.mail(), smtp.mail()];
    for mail in &mails {
        assert_eq!(mail["headers"]["subject"], "clerk: clerk calls write_file");
        assert!(mail["headers"].get("in-reply-to").is_none_or(Value::is_null), "{mail}");
        for body in ["plain", "html"] {
            let body = mail[body].as_str().unwrap();
            assert!(
                body.contains("edits") && body.contains(&run) && body.contains("a.txt"),
                "{body}"
            );
            assert!(!body.contains(KEY), "{body}");
        }
        let html = mail["html"].as_str().unwrap();
        assert!(html.contains("&lt;b&gt;") && !html.contains("<b>"), "{html}");
    }
    let to: Vec<_> = mails.iter().map(|mail| mail["to"].clone()).collect();
    assert_ne!(to[0], to[1], "one for each address");
    assert!(
        !json!(to).to_string().contains("me@example.com"),
        "there is nothing for people to decide"
    );
}
