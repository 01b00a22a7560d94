//! What a server asks (`elicitation/create`), as a request to people.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use signoff_core::request::RequestBody;
use signoff_core::text::{clean, digest};
use signoff_core::{DecisionKind, schema};

/// The longest question, in bytes.
const MAX_MESSAGE: usize = 4 * 1024;
/// The longest address that people are sent to, in bytes.
const MAX_URL: usize = 2 * 1024;
/// How many questions can be asked at once.
const MAX_QUESTIONS: usize = 16;
/// How much of a question's key is shown, in bytes.
const MAX_KEY: usize = 64;

/// How a question is answered. Kept with it, so that the answer can be written out later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// With the fields of the schema.
    Fields,
    /// With yes or no; yes is the field, where there is one, being true.
    Confirm(Option<String>),
    /// Outside of our sight, at an address; we say only whether it was done.
    Link,
}

/// A question of a server.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) form: Form,
    message: String,
    schema: Value,
    url: Option<String>,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    pub(crate) server: &'a str,
    pub(crate) tool: &'a str,
}

impl Question {
    /// Reads the parameters of an `elicitation/create`.
    pub(crate) fn read(params: &Value) -> Result<Self, String> {
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let message = clean(message.trim(), MAX_MESSAGE);
        if message.is_empty() {
            return Err("the question has no words".to_owned());
        }
        if params.get("mode").and_then(Value::as_str) == Some("url") {
            let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
            let web = url.starts_with("https://") || url.starts_with("http://");
            if !web || url.len() > MAX_URL || clean(url, MAX_URL) != url {
                return Err("the question's address cannot be used".to_owned());
            }
            let url = Some(url.to_owned());
            return Ok(Self { form: Form::Link, message, schema: Value::Null, url });
        }
        let mut schema = params.get("requestedSchema").cloned().unwrap_or_default();
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err("the question's schema is not that of an object".to_owned());
        }
        if let Value::Object(fields) = &mut schema {
            fields.remove("$schema");
        }
        schema::compile(&schema).map_err(|problem| format!("the question's schema: {problem}"))?;
        Ok(Self { form: form_of(&schema), message, schema, url: None })
    }

    /// The same for the same question. An address is the same question whatever its query is, for
    /// that is where servers put what is new every time.
    pub(crate) fn digest(&self) -> String {
        let place = self.url.as_deref().and_then(|url| url.split(['?', '#']).next());
        digest(&json!([self.message, self.schema, place]).to_string(), 32)
    }

    /// The request that puts it to people.
    pub(crate) fn request(&self, asker: Asker<'_>) -> RequestBody {
        let mut body = match (&self.form, &self.url) {
            (Form::Confirm(_), _) => RequestBody::approval(&self.message, Value::Null),
            (Form::Link, Some(url)) => RequestBody::input(format!(
                "{}\n\nThis is done at {url}. Answer when you are through, or reject.",
                self.message
            )),
            _ => RequestBody {
                response_schema: self.schema.clone(),
                ..RequestBody::input(&self.message)
            },
        };
        if !matches!(self.form, Form::Confirm(_)) {
            body.allowed = vec![DecisionKind::Respond, DecisionKind::Reject];
        }
        body.context = asker.context();
        if let Some(url) = &self.url {
            body.context["url"] = url.as_str().into();
        }
        body.reasons = vec![asker.reason()];
        body
    }

    /// What answers it where it is one of several.
    fn part(&self) -> Value {
        let mut part = match &self.url {
            Some(_) => json!({ "const": "done" }),
            None => self.schema.clone(),
        };
        if let (Value::Object(fields), None) = (&mut part, &self.url) {
            fields.entry("description").or_insert_with(|| self.message.as_str().into());
        }
        part
    }
}

impl Asker<'_> {
    fn context(self) -> Value {
        json!({ "server": self.server, "tool": self.tool })
    }

    fn reason(self) -> String {
        format!("the tool `{}` of `{}` asks", self.tool, self.server)
    }
}

/// One request for several questions, answered together: an object with an answer for each key.
pub(crate) fn together(
    questions: &[(String, Question)],
    asker: Asker<'_>,
) -> Result<RequestBody, String> {
    if questions.len() > MAX_QUESTIONS {
        return Err(format!("it asks more than {MAX_QUESTIONS} questions at once"));
    }
    let mut prompt = String::new();
    let mut properties = Map::new();
    let mut urls = Map::new();
    for (number, (key, question)) in questions.iter().enumerate() {
        let shown = clean(key, MAX_KEY);
        let _ = writeln!(prompt, "{}. {} ({shown})", number + 1, question.message);
        if let Some(url) = &question.url {
            let _ = writeln!(prompt, "   This is done at {url}; answer `done`.");
            urls.insert(key.clone(), url.as_str().into());
        }
        properties.insert(key.clone(), question.part());
    }
    let keys: Vec<&String> = questions.iter().map(|(key, _)| key).collect();
    let response_schema = json!({
        "type": "object", "properties": properties, "required": keys, "additionalProperties": false,
    });
    schema::compile(&response_schema).map_err(|problem| format!("its questions: {problem}"))?;
    let mut context = asker.context();
    if !urls.is_empty() {
        context["urls"] = urls.into();
    }
    Ok(RequestBody {
        response_schema,
        context,
        allowed: vec![DecisionKind::Respond, DecisionKind::Reject],
        reasons: vec![asker.reason()],
        ..RequestBody::input(prompt.trim_end())
    })
}

/// A schema with nothing in it but one yes or no, or nothing at all, is a confirmation.
fn form_of(schema: &Value) -> Form {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let mut fields = properties.iter();
    match (fields.next(), fields.next()) {
        (None, _) => Form::Confirm(None),
        (Some((name, field)), None) if field["type"] == "boolean" => {
            Form::Confirm(Some(name.clone()))
        }
        _ => Form::Fields,
    }
}

#[cfg(test)]
mod tests {
    use signoff_core::RequestKind;

    use super::*;

    const ASKER: Asker<'static> = Asker { server: "shop", tool: "order" };

    fn form(properties: &Value) -> Value {
        json!({ "message": "Which?", "requestedSchema": { "type": "object", "properties": properties } })
    }

    #[test]
    fn a_form_is_input_and_a_confirmation_is_an_approval() {
        let fields = Question::read(&form(&json!({ "name": { "type": "string" } }))).unwrap();
        let body = fields.request(ASKER);
        assert_eq!(body.kind, RequestKind::Input);
        assert_eq!(body.response_schema["properties"]["name"]["type"], "string");
        assert_eq!(body.allowed, [DecisionKind::Respond, DecisionKind::Reject]);
        assert_eq!(body.context, json!({ "server": "shop", "tool": "order" }));
        let confirm = Question::read(&form(&json!({ "ok": { "type": "boolean" } }))).unwrap();
        assert_eq!(confirm.form, Form::Confirm(Some("ok".to_owned())));
        let body = confirm.request(ASKER);
        assert_eq!(body.kind, RequestKind::Approval);
        assert_eq!(body.allowed, [DecisionKind::Approve, DecisionKind::Reject]);
    }

    #[test]
    fn an_address_is_shown_and_not_opened() {
        let ask =
            |url: &str| Question::read(&json!({ "mode": "url", "message": "Pay", "url": url }));
        let question = ask("https://pay.example/x?id=1").unwrap();
        let body = question.request(ASKER);
        assert_eq!(body.context["url"], "https://pay.example/x?id=1");
        assert!(body.prompt.contains("https://pay.example/x?id=1"));
        assert_eq!(question.digest(), ask("https://pay.example/x?id=2").unwrap().digest());
        assert_ne!(question.digest(), ask("https://pay.example/y?id=1").unwrap().digest());
        assert!(ask("javascript:alert(1)").is_err());
        assert!(ask("https://x/\u{202e}").is_err());
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        assert!(Question::read(&json!({})).is_err());
        assert!(Question::read(&json!({ "message": "x", "requestedSchema": [] })).is_err());
        let bomb = form(&json!({ "x": { "type": "string", "enum": ["y".repeat(100_000)] } }));
        assert!(Question::read(&bomb).is_err());
    }
}
