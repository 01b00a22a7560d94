//! Cards of a bot in a chat, which change when they are settled; held against the library of Slack.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::slack::library;
use crate::receiver::{Receiver, Sent};
use crate::support::{Place, Server, text};

const ENV: &str = "TEAM_BOT";
const TOKEN: &str = "xoxb-1-hidden";
/// Reads calls, one a line, and lets the library say what is wrong with them.
const CHECK: &str = "
import inspect, json, sys
from slack_sdk import WebClient
from slack_sdk.models.blocks import Block
from slack_sdk.models.metadata import Metadata
for line in sys.stdin:
    call = json.loads(line)
    method, body = call['method'], call['body']
    known = inspect.signature(getattr(WebClient, method.replace('.', '_'))).parameters
    assert set(body) <= set(known), set(body) - set(known)
    needed = {name for name, it in known.items() if it.default is it.empty and it.kind is it.KEYWORD_ONLY}
    assert needed <= set(body), needed - set(body)
    assert body['text'] and 1 <= len(body['blocks']) <= 50
    for given, block in zip(body['blocks'], Block.parse_all(body['blocks'])):
        block.validate_json()
        assert block.to_dict() == given, (block.to_dict(), given)
    if 'metadata' in body:
        assert Metadata(**body['metadata']).to_dict() == body['metadata']
    print(method)
";

/// A bot's API that answers each call with the next of `errors`, or else as Slack does.
pub(super) fn api(errors: &'static [&'static str]) -> Receiver {
    let calls = AtomicUsize::new(0);
    Receiver::answering(move |sent: &Sent| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        let error = errors.get(call).filter(|error| !error.is_empty());
        let answer = match error {
            Some(error) => json!({ "ok": false, "error": error }),
            None if sent.path.ends_with("chat.update") => {
                json!({ "ok": true, "channel": sent.event()["channel"], "ts": sent.event()["ts"] })
            }
            None => json!({ "ok": true, "channel": "C0ID", "ts": format!("1700000000.{call:06}") }),
        };
        (200, answer.to_string())
    })
}

fn serve(place: &Place, port: u16, more: &str) -> Server {
    let config = format!(
        "[channels.team]\nkind = \"slack\"\ntoken_env = \"{ENV}\"\nchannel = \"C024BE91L\"\nallow_private = true\n\
         api = \"http://127.0.0.1:{port}/api\"\nlink = \"https://signoff.example.com/look/{{id}}\"\n{more}"
    );
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    place.serve_in(&[(ENV, TOKEN)], &[])
}

/// What was called, by its name.
fn calls(receiver: &Receiver) -> Vec<(String, Value)> {
    let named = |sent: Sent| {
        assert_eq!(sent.headers["authorization"], format!("Bearer {TOKEN}"));
        assert_eq!(sent.headers["content-type"], "application/json; charset=utf-8");
        (sent.path.strip_prefix("/api/").unwrap().to_owned(), sent.event())
    };
    receiver.sent().into_iter().map(named).collect()
}

/// What the library says of all calls.
fn checked(receiver: &Receiver) -> Vec<String> {
    let calls = calls(receiver).into_iter();
    library(CHECK, calls.map(|(method, body)| json!({ "method": method, "body": body })))
}

#[tokio::test]
async fn a_card_changes_when_it_is_settled_elsewhere() {
    let (place, receiver) = (Place::new(), api(&[]));
    let gate = "workflow: nag\npattern: graph\nstart: ask\nexecutors:\n  ask: { ask: { prompt: 'Tell <!channel>?', kind: approval } }\n";
    std::fs::write(place.path("flows/nag.yaml"), gate).unwrap();
    // It changes its cards whatever it wants to hear besides.
    let server =
        serve(&place, receiver.port, "events = [\"request.requested\", \"request.deferred\"]\n");
    let request = server.pending(&server.start("nag", "x").await).await;
    receiver.until(|receiver| receiver.sent().len() == 1).await;
    let (method, card) = calls(&receiver)[0].clone();
    assert_eq!((method.as_str(), &card["channel"]), ("chat.postMessage", &json!("C024BE91L")));
    assert!(card.to_string().contains("Tell &lt;!channel&gt;?"), "{card}");
    assert!(card["metadata"].to_string().contains(&request), "{card}");
    let path = format!("/v1/requests/{request}/defer");
    assert_eq!(server.post(&path, &json!({ "for": "2h" })).await.0, 200);
    receiver.until(|receiver| receiver.sent().len() == 2).await;
    let below = calls(&receiver)[1].1.clone();
    assert_eq!(
        (&below["channel"], &below["thread_ts"]),
        (&json!("C0ID"), &json!("1700000000.000000"))
    );
    // It is settled while nobody serves; whoever comes next knows which card it is.
    server.process.kill();
    let args = ["inbox", "answer", request.as_str(), "yes", "--as", "ada"];
    let decided = place.command(&args).env(ENV, TOKEN).output().unwrap();
    assert!(decided.status.success(), "{decided:?}");
    let server = serve(&place, receiver.port, "events = [\"request.requested\"]\n");
    receiver.until(|receiver| receiver.sent().len() == 3).await;
    let (method, settled) = calls(&receiver)[2].clone();
    assert_eq!(method, "chat.update");
    assert_eq!(
        (&settled["channel"], &settled["ts"]),
        (&json!("C0ID"), &json!("1700000000.000000"))
    );
    assert!(text(&settled["text"]).starts_with("Decided by ada: approve"), "{settled}");
    assert!(
        !settled["blocks"].to_string().contains("button"),
        "nothing is left to press: {settled}"
    );
    // Another card is another message; time that runs out changes it too.
    server.start("late", "x").await;
    receiver.until(|receiver| receiver.sent().len() == 5).await;
    let (method, over) = calls(&receiver)[4].clone();
    assert_eq!((method.as_str(), &over["ts"]), ("chat.update", &json!("1700000000.000003")));
    assert!(text(&over["text"]).starts_with("Nobody answered in time"), "{over}");
    let expected = ["postMessage", "postMessage", "update", "postMessage", "update"];
    assert_eq!(checked(&receiver), expected.map(|name| format!("chat.{name}")));
    let log = server.stop().stderr;
    assert!(!log.contains("hidden"), "{log}");
}

#[tokio::test]
async fn what_slack_refuses_comes_again_or_another_way_or_never() {
    let errors = &["ratelimited", "", "message_not_found", "", "invalid_blocks"];
    let (place, receiver) = (Place::new(), api(errors));
    let server = serve(&place, receiver.port, "");
    let test =
        || place.command(&["webhook", "test", "channel:team"]).env(ENV, TOKEN).output().unwrap();
    let first = server.pending(&server.start("ask", "x").await).await;
    // Refused for now, then taken.
    receiver.until(|receiver| receiver.sent().len() == 2).await;
    assert_eq!(receiver.sent()[0].body, receiver.sent()[1].body);
    // The card is gone: a message says what became of it.
    server.decide(&first, &json!({ "decision": "reject" })).await;
    receiver.until(|receiver| receiver.sent().len() == 4).await;
    let calls_so_far = calls(&receiver);
    assert_eq!(calls_so_far[2].0, "chat.update");
    assert_eq!(calls_so_far[3].0, "chat.postMessage");
    assert!(text(&calls_so_far[3].1["text"]).starts_with("Decided by local: reject"));
    // One that is never taken holds up nobody.
    server.pending(&server.start("ask", "x").await).await;
    let third = server.pending(&server.start("ask", "x").await).await;
    receiver.until(|receiver| receiver.sent().len() == 6).await;
    assert!(receiver.sent()[5].body.contains(&third));
    let metrics = server.read("/metrics").await;
    let refused = r#"webhook="channel:team",outcome="refused"} 1"#;
    assert!(metrics.as_str().unwrap().contains(refused), "{metrics}");
    assert!(server.stop().stderr.contains("it answers `invalid_blocks`"));
    let tried = test();
    assert_eq!(String::from_utf8(tried.stdout).unwrap(), "channel:team can be reached\n");
    assert_eq!(receiver.sent()[6].path, "/api/auth.test");
    receiver.down();
    assert_eq!(test().status.code(), Some(1));
}

#[test]
fn what_is_wrong_with_a_bot_is_named() {
    let place = Place::new();
    for (settings, problem) in [
        ("", "it has either `url_env`, or `token_env` and `channel`"),
        ("token_env = \"TEAM_BOT\"\nurl_env = \"TEAM_BOT\"\n", "it has either"),
        ("token_env = \"TEAM_BOT\"\n", "channel: a bot must be told where it posts"),
        ("token_env = \"TEAM_BOT\"\nchannel = \"a/b\"\n", "channel: it is the id of a channel"),
        ("token_env = \"NOT_THERE\"\nchannel = \"C1\"\n", "NOT_THERE is not set"),
        (
            "token_env = \"TEAM_BOT\"\nchannel = \"C1\"\napi = \"http://x\"\n",
            "api: it must begin with https://",
        ),
        ("url_env = \"TEAM_BOT\"\nchannel = \"C1\"\n", "go with `token_env`"),
    ] {
        let config = format!("[channels.team]\nkind = \"slack\"\n{settings}");
        std::fs::write(place.path("signoff.toml"), config).unwrap();
        let out =
            place.command(&["serve", "--addr", "127.0.0.1:0"]).env(ENV, TOKEN).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{settings}: {said}");
        assert!(said.contains(problem) && !said.contains(TOKEN), "{said}");
    }
}
