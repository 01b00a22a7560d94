//! A request as a card, in the blocks that Slack knows.

use serde_json::{Value, json};
use signoff_core::workflow::cost_in_words;

use super::News;
use crate::webhooks::audited::Audited;
use crate::webhooks::words::{cut, head, settled, unanswered};

/// The longest header and button, in characters.
const HEADER: usize = 150;
/// The longest text of a section, in characters. Less than Slack takes: what is escaped is longer.
const SECTION: usize = 2_500;
/// The longest fallback text.
const TEXT: usize = 600;

/// What is posted: a card while a request waits, a line when it is settled.
pub(super) fn card(news: &News, link: Option<&str>) -> Value {
    let request = &news.request;
    let said = line(news);
    if request["status"] != "pending" {
        return json!({ "text": said, "blocks": [section(&said)] });
    }
    let word = |name: &str| request[name].as_str().unwrap_or_default();
    let mut blocks = vec![
        json!({ "type": "header", "text": {
            "type": "plain_text", "text": cut(&head(news.what, word("workflow")), HEADER), "emoji": false,
        }}),
        section(&escaped(&cut(word("prompt"), SECTION))),
    ];
    if let Some(summary) = request["preview"]["summary"].as_str() {
        let text = format!("*What would happen:* {}", escaped(&cut(summary, SECTION)));
        blocks.push(section(&text));
    }
    if let Some(cost) = cost_in_words(&request["preview"]["cost"]) {
        blocks.push(section(&format!("*Cost:* {}", escaped(&cut(&cost, SECTION)))));
    }
    let why: Vec<&str> =
        request["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !why.is_empty() {
        blocks.push(section(&format!("*Why:* {}", escaped(&cut(&why.join("; "), SECTION)))));
    }
    let mut facts = vec![format!("`{}`", word("id"))];
    for (name, label) in [("risk", "risk"), ("who", "for"), ("expires_at", "until")] {
        if let Some(fact) = request[name].as_str() {
            facts.push(format!("{label} {}", escaped(&cut(fact, HEADER))));
        }
    }
    if let Some(then) = unanswered(request) {
        facts.push(format!("if nobody answers by then, {then}"));
    }
    let facts = facts.join(" · ");
    blocks.push(json!({ "type": "context", "elements": [{ "type": "mrkdwn", "text": facts }] }));
    if let Some(link) = link {
        blocks.push(json!({ "type": "actions", "elements": [{
            "type": "button", "action_id": "open", "url": link,
            "text": { "type": "plain_text", "text": "Look at it" },
        }]}));
    }
    json!({ "text": said, "blocks": blocks })
}

fn section(text: &str) -> Value {
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
}

/// A line about a request that waits.
pub(super) fn word(news: &News) -> Value {
    let workflow = news.request["workflow"].as_str().unwrap_or_default();
    let said = format!("{} · {}", escaped(&head(news.what, workflow)), line(news));
    json!({ "text": said, "blocks": [section(&said)] })
}

/// A line about an action that nobody is asked about.
pub(super) fn audited(audited: &Audited) -> Value {
    let (line, gates) = (escaped(&audited.line()), escaped(&audited.gates()));
    let run = audited.action["run"].as_str().unwrap_or_default();
    let said = format!("{line} · noted by {gates} (`{run}`)");
    json!({ "text": said, "blocks": [section(&said)] })
}

/// All of it in a line, for notifications and for what is settled.
fn line(news: &News) -> String {
    let request = &news.request;
    let (prompt, id) = (request["prompt"].as_str(), request["id"].as_str());
    let prompt = escaped(&cut(prompt.unwrap_or_default(), TEXT));
    match settled(request) {
        None => prompt,
        Some(how) => format!("{} · {prompt} (`{}`)", escaped(&how), id.unwrap_or_default()),
    }
}

/// The text with what means something to Slack made plain.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
