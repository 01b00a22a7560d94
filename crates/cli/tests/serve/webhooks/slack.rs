//! Cards in a chat, held against the library of Slack.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;
use signoff_testkit::peers;

use crate::receiver::{Receiver, Sent};
use crate::support::{Place, Server, text};

const ENV: &str = "TEAM_CHAT";
/// Reads messages, one a line, and lets the library say of their blocks what is wrong with them.
const CHECK: &str = "
import json, sys
from slack_sdk.models.blocks import Block
from slack_sdk.webhook import WebhookClient
for line in sys.stdin:
    message = json.loads(line)
    assert isinstance(message['text'], str) and message['text'], message
    assert set(message) <= {'text', 'blocks'}, message
    blocks = Block.parse_all(message['blocks'])
    assert 1 <= len(blocks) <= 50
    for given, block in zip(message['blocks'], blocks):
        block.validate_json()
        assert type(block).type == given['type'], given
        assert block.to_dict() == given, (block.to_dict(), given)
    print(' '.join(given['type'] for given in message['blocks']))
";

fn serve(place: &Place, port: u16, more: &str) -> Server {
    let config = format!(
        "[channels.team]\nkind = \"slack\"\nurl_env = \"{ENV}\"\nallow_private = true\n\
         link = \"https://signoff.example.com/look/{{id}}\"\n{more}"
    );
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    let flow = "workflow: loud\npattern: graph\nstart: ask\nexecutors:\n  \
                ask: { ask: { prompt: 'Tell <!channel> & all?', kind: approval, risk: high, within: 1h } }\n";
    std::fs::write(place.path("flows/loud.yaml"), flow).unwrap();
    place.serve_in(&[(ENV, &format!("http://127.0.0.1:{port}/services/T0/B0/hidden"))], &[])
}

/// What the library says of all that was posted.
fn checked(receiver: &Receiver) -> Vec<String> {
    library(CHECK, receiver.sent().iter().map(Sent::event))
}

/// What a script with the library says of values, one a line.
pub(super) fn library(script: &str, values: impl Iterator<Item = Value>) -> Vec<String> {
    let folder = peers::cache("slack-python");
    let (venv, packages) = (folder.join("venv/bin/python"), folder.join("packages"));
    peers::install(&folder, &venv, &["python3", "-m", "venv", "venv"]);
    let pip = "venv/bin/python -m pip install -q --target packages slack_sdk==3.37.0";
    let pip: Vec<&str> = pip.split(' ').collect();
    peers::install(&folder, &packages.join("slack_sdk"), &pip);
    let mut check = Command::new(venv)
        .env("PYTHONPATH", packages)
        .args(["-B", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = check.stdin.take().unwrap();
    for value in values {
        writeln!(lines, "{value}").unwrap();
    }
    drop(lines);
    let output = check.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_card_is_posted_and_a_word_when_it_is_settled() {
    let (place, receiver) = (Place::new(), Receiver::start(&[]));
    let server = serve(&place, receiver.port, "");
    let run = server.start("loud", "x").await;
    let request = server.pending(&run).await;
    receiver.until(|receiver| receiver.sent().len() == 1).await;
    let card = receiver.sent()[0].event();
    let shown = card.to_string();
    assert!(shown.contains("Tell &lt;!channel&gt; &amp; all?"), "nobody is called: {shown}");
    assert!(shown.contains(&format!("https://signoff.example.com/look/{request}")), "{shown}");
    assert!(shown.contains("risk high") && shown.contains("until 20"), "{shown}");
    // It is settled while nobody serves; whoever comes next tells it.
    server.process.kill();
    let decided = place
        .command(&["inbox", "answer", &request, "yes", "--as", "ada"])
        .env(ENV, "https://example.com")
        .output()
        .unwrap();
    assert!(decided.status.success(), "{decided:?}");
    let server = serve(&place, receiver.port, "");
    receiver.until(|receiver| receiver.sent().len() == 2).await;
    let settled = receiver.sent()[1].event();
    assert!(text(&settled["text"]).starts_with("Decided by ada: approve"), "{settled}");
    assert_eq!(checked(&receiver), ["header section context actions", "section"]);
    let metrics = server.request(reqwest::Method::GET, "/metrics").send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.contains(r#"webhook="channel:team",outcome="delivered""#), "{metrics}");
}

#[tokio::test]
async fn what_is_not_taken_comes_again_and_only_what_is_wanted() {
    let (place, receiver) = (Place::new(), Receiver::start(&[500]));
    let server = serve(&place, receiver.port, "events = [\"request.requested\"]\n");
    let run = server.start("loud", "x").await;
    let request = server.pending(&run).await;
    receiver.until(|receiver| receiver.sent().len() == 2).await;
    let sent = receiver.sent();
    assert_eq!(sent[0].body, sent[1].body, "the same card once more");
    server.decide(&request, &serde_json::json!({ "decision": "approve" })).await;
    let next = server.start("loud", "x").await;
    let next = server.pending(&next).await;
    receiver.until(|receiver| receiver.sent().len() == 3).await;
    let third: Value = receiver.sent()[2].event();
    assert!(third.to_string().contains(&next), "the decision is not told: {third}");
}

#[test]
fn what_is_wrong_with_a_channel_is_named() {
    let place = Place::new();
    for (more, env, problem) in [
        ("link = \"x\"\n", "https://example.com", "link: it is an address with `{id}` in it"),
        ("", "", "url_env: the environment variable TEAM_CHAT is not set"),
        ("", "http://example.com/secret", "url_env: it must begin with https://"),
        ("events = []\n", "https://example.com", "events: the list is empty"),
        ("kind = \"pigeon\"\n", "https://example.com", "pigeon"),
    ] {
        let kind = if more.starts_with("kind") { "" } else { "kind = \"slack\"\n" };
        let config = format!("[channels.team]\n{kind}url_env = \"{ENV}\"\n{more}");
        std::fs::write(place.path("signoff.toml"), config).unwrap();
        let out =
            place.command(&["serve", "--addr", "127.0.0.1:0"]).env(ENV, env).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(problem) && !said.contains("secret\""), "{said}");
    }
}
