//! A request as a letter: the same in plain text and in HTML. What the system says and what others say are kept apart, and
//! neither can hide anything.

use std::fmt::Write as _;

use serde_json::Value;
use signoff_core::visible::{self, Secrets};
use signoff_core::workflow::cost_in_words;

use crate::webhooks::audited::Audited;
use crate::webhooks::channel::News;
use crate::webhooks::words::{cut, head, settled, unanswered};

/// The longest subject, in characters.
const SUBJECT: usize = 150;
/// The longest part, in characters.
const PART: usize = 6_000;
/// What is in the context of a tool's call by the system's hand, and said elsewhere or only of use to programs.
const SYSTEMS: [&str; 9] =
    ["proposal", "shown", "warnings", "tool", "effects", "targets", "commands", "digest", "policy"];

/// A letter.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) subject: String,
    head: String,
    parts: Vec<Part>,
    /// Where to go, and what for.
    links: Vec<(&'static str, String)>,
}

/// A part of a letter, under a title.
#[derive(Debug)]
struct Part {
    title: String,
    text: String,
}

/// Where a letter leads.
#[derive(Debug, Default)]
pub(super) struct Leads {
    /// To the request's page.
    pub(super) page: Option<String>,
    /// To where the reader decides it.
    pub(super) decide: Option<String>,
}

impl Letter {
    /// What is said of `news`.
    pub(super) fn new(news: &News, leads: Leads, secrets: &Secrets) -> Self {
        let request = &news.request;
        let seen = |text: &str| cut(&visible::text(text, secrets), PART);
        let word = |name: &str| request[name].as_str().unwrap_or_default();
        let mut letter = Self {
            subject: subject(word("workflow"), word("prompt"), secrets),
            head: String::new(),
            parts: Vec::new(),
            links: Vec::new(),
        };
        let over = settled(request);
        letter.head = seen(&over.clone().unwrap_or_else(|| head(news.what, word("workflow"))));
        let tool = word("kind") == "tool_call";
        if over.is_some() {
            letter.add("What was asked", &seen(word("prompt")));
        } else {
            if tool {
                letter.add("What is asked", &seen(word("prompt")));
            }
            letter.add("What would happen", &seen(&preview(&request["preview"])));
            letter.add("Why it is asked", &seen(&lines(&request["reasons"])));
            letter.add("Be careful", &seen(&lines(&request["context"]["warnings"])));
            letter.others(request, tool, &seen);
        }
        letter.add("Facts", &seen(&facts(request)));
        letter.links.extend(leads.page.map(|page| ("Look at it", page)));
        letter.links.extend(
            leads
                .decide
                .map(|link| ("Decide it; this link is yours alone, so pass it on to nobody", link)),
        );
        letter
    }

    /// What is said of an action that nobody is asked about.
    pub(super) fn audited(audited: &Audited, secrets: &Secrets) -> Self {
        let seen = |text: &str| cut(&visible::text(text, secrets), PART);
        let action = &audited.action;
        let line = audited.line();
        let mut letter = Self {
            subject: one_line(&line, secrets),
            head: seen(&line),
            parts: Vec::new(),
            links: Vec::new(),
        };
        letter.add("Gates that note it", &seen(&audited.gates()));
        let who = seen(action["action"]["agent"].as_str().unwrap_or_default());
        let given = written(&action["action"]["arguments"]);
        letter.add(&format!("What it is given, in the words of {who}"), &seen(&given));
        let fact = |name: &str| action[name].as_str().unwrap_or_default();
        let facts = format!(
            "run: {}\noutcome: {}\nat: {}",
            fact("run"),
            fact("outcome"),
            audited.at.rfc3339()
        );
        letter.add("Facts", &seen(&facts));
        letter
    }

    /// What whoever asks says: nothing of it was checked.
    fn others(&mut self, request: &Value, tool: bool, seen: &impl Fn(&str) -> String) {
        let path: Vec<&str> = request["agent_path"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let who = path.last().map_or_else(|| "whoever asks".to_owned(), |name| seen(name));
        let says = |what: &str| format!("{what}, in the words of {who}");
        if !tool {
            self.add(&says("The question"), &seen(request["prompt"].as_str().unwrap_or_default()));
        }
        let options = request["options"].as_array().into_iter().flatten();
        let options: Vec<&str> = options.filter_map(|option| option["label"].as_str()).collect();
        self.add(&says("The answers"), &seen(&options.join("\n")));
        let context = &request["context"];
        let proposal = context.get("shown").or(context.get("proposal"));
        self.add(&says("The proposal"), &seen(&proposal.map(written).unwrap_or_default()));
        if let Some(fields) = context.as_object().filter(|_| !tool) {
            let said = |value: &Value| {
                !value.is_null() && value.as_array().is_none_or(|it| !it.is_empty())
            };
            let more =
                fields.iter().filter(|(name, it)| !SYSTEMS.contains(&name.as_str()) && said(it));
            let more: Vec<String> =
                more.map(|(name, value)| format!("{name}: {}", written(value))).collect();
            self.add(&says("To know"), &seen(&more.join("\n")));
        }
    }

    fn add(&mut self, title: &str, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            self.parts.push(Part { title: title.to_owned(), text: text.to_owned() });
        }
    }

    /// As plain text.
    pub(super) fn plain(&self) -> String {
        let mut text = format!("{}\n", self.head);
        for Part { title, text: said } in &self.parts {
            let _ = write!(text, "\n{title}\n");
            for line in said.lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        for (what, link) in &self.links {
            let _ = write!(text, "\n{what}:\n{link}\n");
        }
        text
    }

    /// As HTML, in which everything that was said is text.
    pub(super) fn html(&self) -> String {
        let mut html = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><h1>{}</h1>",
            escaped(&self.head)
        );
        for Part { title, text } in &self.parts {
            let (title, text) = (escaped(title), escaped(text));
            let _ = write!(html, "<h2>{title}</h2><pre dir=\"auto\">{text}</pre>");
        }
        for (what, link) in &self.links {
            let (what, link) = (escaped(what), escaped(link));
            let _ = write!(html, "<p>{what}:<br><a href=\"{link}\">{link}</a></p>");
        }
        html.push_str("</html>\n");
        html
    }
}

/// One line, whatever was asked. The same for all that is sent of a request, so that it is one thread.
fn subject(workflow: &str, prompt: &str, secrets: &Secrets) -> String {
    one_line(&format!("{workflow}: {prompt}"), secrets)
}

/// A text as the subject of a mail.
fn one_line(text: &str, secrets: &Secrets) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = visible::text(&words.join(" "), secrets);
    // What is left of line ends and the like is named by now; a header must have none in any case.
    cut(&line.replace(|c: char| c.is_control(), " "), SUBJECT)
}

/// What the system says would happen.
fn preview(preview: &Value) -> String {
    let mut text = String::new();
    for name in ["summary", "detail", "diff"] {
        if let Some(part) = preview.get(name).filter(|part| !part.is_null()) {
            let _ = writeln!(text, "{}", written(part));
        }
    }
    if let Some(cost) = cost_in_words(&preview["cost"]) {
        let _ = writeln!(text, "cost: {cost}");
    }
    if let Some(words) = preview["argv"].as_array() {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "{}", words.join(" "));
    }
    if let Some(count) = preview["files"]["count"].as_u64() {
        let _ = writeln!(text, "{count} files: {}", lines(&preview["files"]["sample"]));
    }
    text
}

fn facts(request: &Value) -> String {
    let mut text = String::new();
    for (name, label) in [
        ("id", "request"),
        ("run", "run"),
        ("kind", "kind"),
        ("risk", "risk"),
        ("who", "for"),
        ("created_at", "asked at"),
        ("expires_at", "answer until"),
        ("deferred_until", "put off until"),
    ] {
        if let Some(fact) = request[name].as_str() {
            let _ = writeln!(text, "{label}: {fact}");
        }
    }
    if let Some(then) = unanswered(request) {
        let _ = writeln!(text, "if nobody answers by then: {then}");
    }
    if let Some(at) = request["decision"]["at"].as_str() {
        let _ = writeln!(text, "decided at: {at}");
    } else if request["status"] == "pending" {
        let allowed = request["allowed"].as_array().into_iter().flatten();
        let allowed: Vec<&str> = allowed.filter_map(Value::as_str).collect();
        let _ = writeln!(text, "can be decided: {}", allowed.join(", "));
    }
    text
}

/// Texts, one a line.
fn lines(value: &Value) -> String {
    let texts: Vec<&str> =
        value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    texts.join("\n")
}

/// A value as people read it.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}
