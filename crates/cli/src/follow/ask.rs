//! A request at the prompt: what a typed line means.

use serde_json::{Map, Value};
use signoff_core::request::Request;
use signoff_core::{Decision, DecisionKind, answer};

use crate::show;
use crate::style::printable;

/// A request that waits for a line.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) request: Request,
    /// The proposal as changed so far, while it is being edited.
    draft: Option<Value>,
}

/// What a line meant.
#[derive(Debug, PartialEq)]
pub(super) enum Typed {
    /// Nothing; ask again.
    Nothing,
    /// Something to show; then ask again.
    Show(String),
    /// Not an answer, for this reason; ask again.
    Refused(String),
    /// This answer.
    Decision(Decision),
}

impl Prompt {
    pub(super) fn new(request: Request) -> Self {
        Self { request, draft: None }
    }

    /// What stands before the cursor.
    pub(super) fn marker(&self) -> &'static str {
        if self.draft.is_some() { "edit> " } else { "> " }
    }

    /// What `line` means.
    pub(super) fn take(&mut self, line: &str) -> Typed {
        let line = line.trim();
        if let Some(draft) = self.draft.take() {
            return self.edit(draft, line);
        }
        match (line, self.editable()) {
            ("", _) => Typed::Nothing,
            ("?", _) => Typed::Show(self.help()),
            ("e", Some(proposal)) => {
                let proposal = proposal.clone();
                let shown = show::fields(&proposal, "  ");
                self.draft = Some(proposal);
                Typed::Show(format!(
                    "{shown}\n\nChange fields as NAME=VALUE, or type a JSON object; an empty line sends it, `cancel` does not."
                ))
            }
            (_, Some(proposal)) if line.starts_with("e ") => {
                match changed(proposal, proposal, &line[2..]) {
                    Ok(value) => self.checked(Decision::Edit { value, note: None }),
                    Err(problem) => Typed::Refused(problem),
                }
            }
            _ => match answer::from_text(&self.request.body, line) {
                Ok(decision) => Typed::Decision(decision),
                Err(problem) => Typed::Refused(printable(&problem)),
            },
        }
    }

    fn editable(&self) -> Option<&Value> {
        let body = &self.request.body;
        body.proposal().filter(|it| it.is_object() && body.allowed.contains(&DecisionKind::Edit))
    }

    fn edit(&mut self, draft: Value, line: &str) -> Typed {
        match line {
            "" | "done" => {
                let typed = self.checked(Decision::Edit { value: draft.clone(), note: None });
                if matches!(typed, Typed::Refused(_)) {
                    self.draft = Some(draft);
                }
                typed
            }
            "cancel" => Typed::Show("Nothing was sent.".to_owned()),
            _ => match changed(self.editable().unwrap_or(&draft), &draft, line) {
                Ok(value) => {
                    let shown = show::fields(&value, "  ");
                    self.draft = Some(value);
                    Typed::Show(shown)
                }
                Err(problem) => {
                    self.draft = Some(draft);
                    Typed::Refused(problem)
                }
            },
        }
    }

    fn checked(&self, decision: Decision) -> Typed {
        match self.request.body.check(&decision) {
            Ok(()) => Typed::Decision(decision),
            Err(refusal) => Typed::Refused(printable(&refusal.to_string())),
        }
    }

    fn help(&self) -> String {
        let body = &self.request.body;
        let mut help = printable(&answer::accepted(&body.clone()));
        if self.editable().is_some() {
            help.push_str("; `e` to change fields one by one, or `e NAME=VALUE` at once");
        }
        if !body.context.is_null() {
            help.push_str("\n\n");
            let mut context = body.context.clone();
            if let Some(shown) = context.get("shown").cloned() {
                context["proposal"] = shown;
            }
            help.push_str(&printable(&show::plain(&context)));
        }
        help
    }
}

/// `draft` with the fields that `text` names changed: `a=1, b=two`, or a JSON object. What was text in
/// the `proposal` stays text.
fn changed(proposal: &Value, draft: &Value, text: &str) -> Result<Value, String> {
    let mut fields = draft.as_object().cloned().unwrap_or_default();
    let text = text.trim();
    let changes = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(changes)) => changes,
        _ => pairs(proposal, &fields, text)?,
    };
    for (name, new) in changes {
        if !fields.contains_key(&name) {
            return Err(no_field(&fields, &name));
        }
        fields.insert(name, new);
    }
    Ok(Value::Object(fields))
}

/// Reads `a=1 b=two words, c=3`: a value goes up to the next known name.
fn pairs(
    proposal: &Value,
    fields: &Map<String, Value>,
    text: &str,
) -> Result<Map<String, Value>, String> {
    let mut starts: Vec<(usize, &String)> = Vec::new();
    for name in fields.keys() {
        let begins = text.match_indices(&**name).filter(|(at, _)| {
            let before = text[..*at].chars().next_back();
            before.is_none_or(|c| c.is_whitespace() || c == ',')
                && text[at + name.len()..].trim_start().starts_with('=')
        });
        starts.extend(begins.map(|(at, _)| (at, name)));
    }
    starts.sort_unstable();
    let before = starts.first().map_or(text, |(at, _)| &text[..*at]);
    if starts.is_empty() || !before.trim_matches([',', ' ']).is_empty() {
        let name = before.split('=').next().unwrap_or_default();
        return Err(no_field(fields, name.trim()));
    }
    let mut changes = Map::new();
    for (n, (at, name)) in starts.iter().enumerate() {
        let end = starts.get(n + 1).map_or(text.len(), |(next, _)| *next);
        let written = text[at + name.len()..end].trim_start().trim_start_matches('=');
        let written = written.trim().trim_end_matches(',').trim_end();
        let was_text = proposal[name.as_str()].is_string();
        let new = match serde_json::from_str(written) {
            Ok(new) if !was_text => new,
            Ok(Value::String(new)) => new.into(),
            _ => written.into(),
        };
        changes.insert((*name).clone(), new);
    }
    Ok(changes)
}

fn no_field(fields: &Map<String, Value>, name: &str) -> String {
    let known: Vec<&str> = fields.keys().map(String::as_str).collect();
    printable(&format!(
        "there is no field `{name}`; write NAME=VALUE with one of {}",
        known.join(", ")
    ))
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
