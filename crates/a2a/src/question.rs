//! What a task waits for, as a request to people.

use serde_json::{Map, Value, json};
use signoff_core::request::{Choice, RequestBody};
use signoff_core::text::{clean, digest};
use signoff_core::{DecisionKind, RequestKind, schema};
use signoff_tools::RemoteQuestion;

use crate::several;
use crate::wire::{Message, Part, Role, Task, TaskState};

/// The longest question, in bytes.
const MAX_PROMPT: usize = 4 * 1024;
/// How much of the data beside a question is shown, in bytes of JSON.
const MAX_DATA: usize = 16 * 1024;
/// How many answers can be offered, and how long each may be.
const MAX_OPTIONS: usize = 100;
const MAX_OPTION: usize = 512;

/// The same for the same question, whether it comes with an event or is read again a week later.
pub(crate) fn id(task: &Task) -> String {
    let status = &task.status;
    let message = status.message.as_ref();
    let known = message.map(|message| message.message_id.as_str()).filter(|id| !id.is_empty());
    known.map_or_else(
        || {
            let parts = message.map(|message| &message.parts);
            digest(&json!([status.state, parts, status.timestamp]).to_string(), 32)
        },
        |id| digest(id, 32),
    )
}

/// Whether somebody has answered the question: it is in the history, and a message to the agent after it.
pub(crate) fn was_answered(task: &Task, question: &str) -> bool {
    let mut said = task.history.iter();
    said.any(|message| digest(&message.message_id, 32) == question)
        && said.any(|message| message.role == Role::User)
}

/// An answer as the task wants it: where it asks several things at once, each part says which it answers.
pub(crate) fn addressed(task: &Task, answer: &Message) -> Message {
    let asked = task.status.message.as_ref();
    let several = asked.and_then(|asked| several::of_parts(&asked.parts));
    let parts = several.and_then(|several| several.answers(&answer.parts));
    Message { parts: parts.unwrap_or_else(|| answer.parts.clone()), ..answer.clone() }
}

/// The question of a task that waits for something.
pub(crate) fn of_task(agent: &str, task: &Task) -> RemoteQuestion {
    let nothing = Message::default();
    let message = task.status.message.as_ref().unwrap_or(&nothing);
    let words = words(&message.parts);
    let mut request = if task.status.state == TaskState::AuthRequired {
        let wants =
            if words.is_empty() { format!("{agent} needs an authorization.") } else { words };
        RequestBody::input(format!(
            "{wants}\n\nThe remote agent `{agent}` waits for an authorization, which is given to it and not \
             here. Answer when that is done. Write no password and no key."
        ))
    } else {
        asked(agent, words, &message.parts)
    };
    request.context = context(agent, task, &message.parts);
    request.reasons = vec![format!("the remote agent `{agent}` asks")];
    RemoteQuestion { id: id(task), request }
}

fn asked(agent: &str, words: String, parts: &[Part]) -> RequestBody {
    if let Some(several) = several::of_parts(parts) {
        let words = if words.is_empty() { titled(None, agent) } else { words };
        return RequestBody { response_schema: several.schema(), ..RequestBody::input(words) };
    }
    let data: Vec<&Map<String, Value>> =
        parts.iter().filter_map(|part| part.data.as_ref()?.as_object()).collect();
    let decided = data.iter().find_map(|data| decisions(data.get("allowed")?));
    let mut request = plainly_asked(agent, words, &data);
    if let Some(allowed) = decided {
        request.allowed = allowed;
        request.kind = RequestKind::Approval;
    }
    request
}

/// The decisions that an agent takes, where it has such: those of Signoff elsewhere. Stopping is not among them: that
/// is about our own run.
fn decisions(allowed: &Value) -> Option<Vec<DecisionKind>> {
    let mut allowed: Vec<DecisionKind> = serde_json::from_value(allowed.clone()).ok()?;
    allowed.retain(|kind| *kind != DecisionKind::Abort);
    allowed.dedup();
    (!allowed.is_empty() && allowed != [DecisionKind::Respond]).then_some(allowed)
}

fn plainly_asked(agent: &str, words: String, data: &[&Map<String, Value>]) -> RequestBody {
    let schema = data.iter().find_map(|data| usable(data.get("schema")?));
    let words = if words.is_empty() { titled(schema.as_ref(), agent) } else { words };
    let options = data.iter().find_map(|data| options(data.get("options")?));
    let listed = schema.as_ref().and_then(|schema| options_of(schema.get("enum")?, true));
    match (options.or(listed), schema) {
        (Some(options), _) => RequestBody::selection(words, options),
        (None, Some(schema)) => {
            RequestBody { response_schema: schema, ..RequestBody::input(words) }
        }
        (None, None) => RequestBody::input(words),
    }
}

fn words(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.text.as_deref()).collect();
    clean(texts.join("\n").trim(), MAX_PROMPT)
}

/// What a question without words is called.
fn titled(schema: Option<&Value>, agent: &str) -> String {
    let said = ["description", "title"].iter().find_map(|key| schema?.get(key)?.as_str());
    match said.map(|said| clean(said.trim(), MAX_PROMPT)).filter(|said| !said.is_empty()) {
        Some(said) => said,
        None => format!("The remote agent `{agent}` needs an answer to go on."),
    }
}

/// A schema that answers can be held against.
pub(crate) fn usable(schema: &Value) -> Option<Value> {
    let mut schema = schema.clone();
    schema.as_object_mut()?.remove("$schema");
    schema::compile(&schema).ok().map(|_| schema)
}

pub(crate) fn options(list: &Value) -> Option<Vec<Choice>> {
    options_of(list, false)
}

/// The answers that are offered: text, or objects with `value`, and `label` and `description` for people.
fn options_of(list: &Value, only_text: bool) -> Option<Vec<Choice>> {
    let list = list.as_array().filter(|list| (1..=MAX_OPTIONS).contains(&list.len()))?;
    let choice = |option: &Value| {
        let fits = |text: &str| text.len() <= MAX_OPTION && !text.trim().is_empty();
        if let Some(text) = option.as_str() {
            let label = clean(text, MAX_OPTION);
            return fits(text).then(|| Choice { value: text.into(), label, description: None });
        }
        let fields = option.as_object().filter(|_| !only_text)?;
        let said = |key: &str| Some(clean(fields.get(key)?.as_str()?, MAX_OPTION));
        let value = fields.get("value").or(fields.get("id")).cloned();
        let label = said("label").or_else(|| said("value")).filter(|label| fits(label))?;
        let value = value.unwrap_or_else(|| label.as_str().into());
        let small = value.to_string().len() <= MAX_OPTION;
        small.then(|| Choice { value, label, description: said("description") })
    };
    list.iter().map(choice).collect()
}

/// Who asks, and what else came with the question.
fn context(agent: &str, task: &Task, parts: &[Part]) -> Value {
    let mut context = json!({ "remote": agent, "task": clean(&task.id, 200) });
    let data: Vec<&Value> = parts.iter().filter_map(|part| part.data.as_ref()).collect();
    if !data.is_empty() && json!(data).to_string().len() <= MAX_DATA {
        context["data"] = json!(data);
    }
    let proposed = data.iter().find_map(|data| data.get("proposal"));
    if let Some(proposal) = proposed.filter(|it| it.to_string().len() <= MAX_DATA) {
        context["proposal"] = proposal.clone();
    }
    let urls: Vec<String> =
        parts.iter().filter_map(|part| Some(clean(part.url.as_deref()?, MAX_PROMPT))).collect();
    if !urls.is_empty() {
        context["urls"] = json!(urls);
    }
    context
}

#[cfg(test)]
mod tests {
    use signoff_core::Decision;

    use super::*;

    fn ask(parts: &Value) -> RequestBody {
        let status = json!({ "state": "TASK_STATE_INPUT_REQUIRED", "message": { "messageId": "q", "parts": parts } });
        of_task("desk", &serde_json::from_value(json!({ "id": "T", "status": status })).unwrap())
            .request
    }

    #[test]
    fn text_is_the_question_and_a_schema_says_what_answers_it() {
        let plain = ask(&json!([{ "text": "Who?" }, { "text": "And why?\u{1b}[2J" }]));
        assert_eq!((plain.kind, plain.prompt.as_str()), (RequestKind::Input, "Who?\nAnd why?[2J"));
        assert!(plain.check(&Decision::respond("me")).is_ok());
        assert_eq!(plain.context, json!({ "remote": "desk", "task": "T" }));
        let form = ask(&json!([{ "data": { "schema": {
            "$schema": "x", "type": "object", "title": "Where to?", "required": ["city"],
        } } }]));
        assert_eq!(form.prompt, "Where to?");
        assert!(form.check(&Decision::respond(json!({ "city": "Rome" }))).is_ok());
        assert!(form.check(&Decision::respond("Rome")).is_err());
    }

    #[test]
    fn answers_that_are_listed_are_a_selection() {
        let listed = ask(&json!([
            { "text": "Approve?" }, { "data": { "schema": { "type": "string", "enum": ["yes", "no"] } } },
        ]));
        assert_eq!(listed.kind, RequestKind::Selection);
        assert_eq!(listed.options.len(), 2);
        let offered = ask(&json!([{ "data": { "options": [
            "a", { "value": 2, "label": "two", "description": "more than one" },
        ] } }]));
        assert_eq!(offered.options[1].value, 2);
        assert!(offered.check(&Decision::respond(2)).is_ok());
        assert!(offered.check(&Decision::respond("b")).is_err());
        let numbers = ask(&json!([{ "data": { "schema": { "enum": [1, 2] } } }]));
        assert_eq!(numbers.kind, RequestKind::Input);
    }

    #[test]
    fn decisions_of_another_signoff_are_taken() {
        let facts = json!({
            "requestId": "req_1", "schema": { "type": "object" }, "allowed": ["approve", "edit", "reject", "abort"],
            "proposal": { "total": 5 },
        });
        let asked = ask(&json!([{ "text": "Well?" }, { "data": facts }]));
        assert_eq!(asked.kind, RequestKind::Approval);
        assert!(asked.check(&Decision::approve()).is_ok());
        assert!(asked.check(&Decision::Abort { reason: None }).is_err());
        assert_eq!(asked.proposal(), Some(&json!({ "total": 5 })));
        let odd =
            ask(&json!([{ "text": "Well?" }, { "data": { "allowed": ["approve", "explode"] } }]));
        assert_eq!(odd.allowed, [DecisionKind::Respond]);
    }

    #[test]
    fn what_cannot_be_used_leaves_a_free_question() {
        let bomb = "y".repeat(100_000);
        for data in [
            json!({ "schema": { "type": "strig" } }),
            json!({ "schema": 1 }),
            json!([1]),
            json!({ "schema": { "enum": [bomb] } }),
            json!({ "options": [[]] }),
            json!({ "options": [] }),
        ] {
            let free = ask(&json!([{ "text": "Well?" }, { "data": data }]));
            assert_eq!(free.kind, RequestKind::Input, "{data}");
            assert!(free.check(&Decision::respond("so")).is_ok(), "{data}");
        }
        assert!(ask(&json!([])).prompt.contains("needs an answer"));
    }

    #[test]
    fn an_authorization_is_not_given_here() {
        let status =
            json!({ "state": "auth-required", "message": { "parts": [{ "text": "Log in." }] } });
        let task: Task = serde_json::from_value(json!({ "id": "T", "status": status })).unwrap();
        let prompt = of_task("desk", &task).request.prompt;
        assert!(prompt.starts_with("Log in.") && prompt.contains("no password"), "{prompt}");
    }

    #[test]
    fn a_question_is_known_by_its_message() {
        let task = |message: &str, text: &str, at: &str| -> Task {
            let message = json!({ "messageId": message, "parts": [{ "text": text }] });
            let status = json!({ "state": "input-required", "message": message, "timestamp": at });
            serde_json::from_value(json!({ "id": "T", "status": status })).unwrap()
        };
        assert_eq!(id(&task("q", "a", "1")), id(&task("q", "a", "1.0")));
        assert_ne!(id(&task("q", "a", "1")), id(&task("r", "a", "1")));
        assert_ne!(id(&task("", "a", "1")), id(&task("", "a", "2")));
    }
}
