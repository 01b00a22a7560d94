//! What a form says, as a decision that its request accepts.

use serde_json::Value;
use signoff_core::{Decision, DecisionKind, answer};

use super::{Field, Form, Part, Reply, build};
use crate::text::safe;

impl Form {
    pub(super) fn press(&mut self) -> Reply {
        let Some(kind) = self.chosen else {
            self.problem = Some("choose with ← and →, then Enter".to_owned());
            return Reply::Taken;
        };
        self.decide(kind)
    }

    pub(super) fn decide(&mut self, kind: DecisionKind) -> Reply {
        match self.decision(kind) {
            Ok(decision) => Reply::Decide(decision),
            Err(problem) => {
                self.problem = Some(safe(&problem));
                Reply::Taken
            }
        }
    }

    /// The decision of this kind that the form says, if the request accepts it.
    pub fn decision(&self, kind: DecisionKind) -> Result<Decision, String> {
        let note = self.note();
        self.check_extras(kind)?;
        let decision = match kind {
            DecisionKind::Respond => self.respond()?,
            DecisionKind::Approve => {
                if self.is_changed() {
                    let changes = build::label(DecisionKind::Edit);
                    return Err(format!(
                        "something was changed: choose `{changes}`, or undo it with Ctrl-Z"
                    ));
                }
                Decision::Approve { note, remember: self.remember() }
            }
            DecisionKind::Edit => Decision::Edit { value: self.edited()?, note },
            DecisionKind::Reject => Decision::Reject {
                reason: note,
                then: self.then(),
                siblings: None,
                remember: self.remember(),
            },
            DecisionKind::Revise => Decision::Revise { feedback: note },
            DecisionKind::Redo => Decision::Redo { feedback: note },
            DecisionKind::Retry => Decision::Retry { feedback: note },
            DecisionKind::Skip => Decision::Skip { reason: note },
            DecisionKind::Rollback => Decision::Rollback { feedback: note },
            DecisionKind::Abort => Decision::Abort { reason: note },
        };
        self.body.check(&decision).map_err(|refusal| refusal.to_string())?;
        Ok(decision)
    }

    fn note(&self) -> Option<String> {
        self.parts
            .iter()
            .find_map(|part| match part {
                Part::Note(editor) => Some(editor.text().trim()).filter(|it| !it.is_empty()),
                _ => None,
            })
            .map(ToOwned::to_owned)
    }

    fn is_changed(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Field(field) => field.was.is_some() && field.is_changed(),
            Part::Text { editor, was: Some(was), .. } => editor.text() != was,
            _ => false,
        })
    }

    fn respond(&self) -> Result<Decision, String> {
        for part in &self.parts {
            match part {
                Part::Choices { of, at } => {
                    let chosen = at.and_then(|at| of.get(at)).ok_or("choose one with ↑ and ↓")?;
                    return Ok(Decision::respond(chosen.1.clone()));
                }
                Part::Several { of, on, .. } => {
                    let chosen = on.iter().filter_map(|n| of.get(*n)).map(|it| it.1.clone());
                    return Ok(Decision::respond(chosen.collect::<Vec<Value>>()));
                }
                Part::Text { editor, was: None, .. } => {
                    // Only as an answer: a word such as `abort` is text here, since it was typed as the answer.
                    let mut only = self.body.clone();
                    only.allowed = vec![DecisionKind::Respond];
                    return answer::from_text(&only, editor.text());
                }
                _ => {}
            }
        }
        Ok(Decision::respond(self.object()?))
    }

    fn edited(&self) -> Result<Value, String> {
        for part in &self.parts {
            if let Part::Text { editor, was: Some(_), .. } = part {
                let text = editor.text();
                return match self.body.proposal() {
                    Some(Value::String(_)) => Ok(text.into()),
                    _ => serde_json::from_str(text)
                        .map_err(|error| format!("this is not JSON: {error}")),
                };
            }
        }
        self.object()
    }

    fn object(&self) -> Result<Value, String> {
        let mut object = match self.body.proposal() {
            Some(Value::Object(proposal)) => proposal.clone(),
            _ => serde_json::Map::new(),
        };
        for part in &self.parts {
            let Part::Field(field) = part else { continue };
            if let Some(value) = field.value()? {
                object.insert(field.name.clone(), value);
            }
        }
        Ok(Value::Object(object))
    }
}

impl Field {
    pub(super) fn is_changed(&self) -> bool {
        self.editor.text() != self.was.as_ref().map(build::written).unwrap_or_default()
    }

    /// What was typed, or what it was; none, if it is left out.
    fn value(&self) -> Result<Option<Value>, String> {
        let text = self.editor.text();
        if let (Some(was), false) = (&self.was, self.is_changed()) {
            return Ok(Some(was.clone()));
        }
        if text.trim().is_empty() && (self.json || self.was.is_none()) {
            let missing = self.needed || self.was.is_some();
            return if missing { Err(format!("`{}` is missing", self.name)) } else { Ok(None) };
        }
        if !self.json {
            return Ok(Some(text.into()));
        }
        let flag = match text.trim().to_lowercase().as_str() {
            "yes" | "y" => Some(true),
            "no" | "n" => Some(false),
            _ => None,
        };
        match serde_json::from_str(text.trim()) {
            Ok(value) => Ok(Some(value)),
            Err(_) => match flag {
                Some(flag) => Ok(Some(flag.into())),
                None => Err(format!("`{}`: `{text}` is not what is wanted there", self.name)),
            },
        }
    }
}
