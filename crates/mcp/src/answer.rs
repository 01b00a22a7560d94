//! What is remembered with a question, and what a server is told once there is an answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use signoff_core::Decision;
use signoff_tools::Round;

use crate::question::Form;

/// What is remembered with a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kept {
    /// It was asked in the middle of a call: which of the call's questions it was, and what it said.
    Elicited { ordinal: usize, digest: String },
    /// The call ended with it, to be made again with the answers and what the server wants to see again.
    InputRequired {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_state: Option<String>,
        asked: BTreeMap<String, Form>,
        /// Answers that need no person.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        given: BTreeMap<String, Value>,
    },
    /// The call failed until something is done at an address; it is made again as it was.
    Visited,
}

impl Kept {
    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn read(round: &Round) -> Option<Self> {
        serde_json::from_value(round.state.clone()).ok()
    }
}

/// What was asked before in this call, and answered.
#[derive(Debug)]
pub(crate) struct Answers<'a> {
    rounds: &'a [Round],
}

impl<'a> Answers<'a> {
    pub(crate) fn new(rounds: &'a [Round]) -> Self {
        Self { rounds }
    }

    /// The answer to the question asked in the middle of a call as the `ordinal`th, if it is the one
    /// that people have seen.
    pub(crate) fn elicited(&self, ordinal: usize, digest: &str, form: &Form) -> Option<Value> {
        let same = |round: &&Round| {
            matches!(Kept::read(round), Some(Kept::Elicited { ordinal: o, digest: d })
                if o == ordinal && d == digest)
        };
        let round = self.rounds.iter().rev().find(same)?;
        Some(result(form, round.decision.as_ref()))
    }

    /// How to go on after the last question, if a call ended with it.
    pub(crate) fn input_required(&self) -> Option<(Option<String>, BTreeMap<String, Value>)> {
        let round = self.rounds.last()?;
        let Some(Kept::InputRequired { request_state, asked, given }) = Kept::read(round) else {
            return None;
        };
        let mut responses = given;
        let alone = asked.len() == 1;
        for (key, form) in asked {
            let answer = if alone {
                result(&form, round.decision.as_ref())
            } else {
                part(&form, &key, round.decision.as_ref())
            };
            responses.insert(key, answer);
        }
        Some((request_state, responses))
    }

    /// Whether people would not go where the last call sent them.
    pub(crate) fn stayed_away(&self) -> bool {
        let last = self.rounds.last();
        last.is_some_and(|round| {
            Kept::read(round) == Some(Kept::Visited)
                && !matches!(round.decision, Some(Decision::Respond { .. }))
        })
    }
}

/// The answer to a question asked alone.
fn result(form: &Form, decision: Option<&Decision>) -> Value {
    match (decision, form) {
        (None, _) => json!({ "action": "cancel" }),
        (Some(Decision::Respond { .. }), Form::Link) => json!({ "action": "accept" }),
        (Some(Decision::Respond { content }), _) => accept(content),
        (Some(Decision::Approve { .. }), Form::Confirm(field)) => {
            let yes: Map<String, Value> =
                field.iter().map(|name| (name.clone(), true.into())).collect();
            accept(&yes.into())
        }
        (Some(_), _) => json!({ "action": "decline" }),
    }
}

/// The answer to one of several questions.
fn part(form: &Form, key: &str, decision: Option<&Decision>) -> Value {
    match (decision, form) {
        (None, _) => json!({ "action": "cancel" }),
        (Some(Decision::Respond { .. }), Form::Link) => json!({ "action": "accept" }),
        (Some(Decision::Respond { content }), _) => accept(&content[key]),
        (Some(_), _) => json!({ "action": "decline" }),
    }
}

fn accept(content: &Value) -> Value {
    json!({ "action": "accept", "content": content })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(kept: &Kept, decision: Option<Decision>) -> Round {
        Round { state: kept.to_value(), decision }
    }

    fn reject() -> Decision {
        Decision::reject(None, signoff_core::decision::Then::Continue)
    }

    #[test]
    fn an_answer_belongs_to_the_question_that_was_seen() {
        let kept = |ordinal, digest: &str| Kept::Elicited { ordinal, digest: digest.to_owned() };
        let rounds = [
            round(&kept(0, "a"), Some(Decision::respond(json!({ "x": 1 })))),
            round(&kept(1, "b"), Some(reject())),
            round(&kept(2, "c"), None),
        ];
        let answers = Answers::new(&rounds);
        let said = |ordinal, digest| answers.elicited(ordinal, digest, &Form::Fields);
        assert_eq!(said(0, "a"), Some(json!({ "action": "accept", "content": { "x": 1 } })));
        assert_eq!(said(1, "b"), Some(json!({ "action": "decline" })));
        assert_eq!(said(2, "c"), Some(json!({ "action": "cancel" })));
        assert_eq!(said(0, "b"), None);
        assert_eq!(said(3, "a"), None);
    }

    #[test]
    fn yes_is_the_field_being_true() {
        let form = Form::Confirm(Some("ok".to_owned()));
        let yes = result(&form, Some(&Decision::approve()));
        assert_eq!(yes, json!({ "action": "accept", "content": { "ok": true } }));
        assert_eq!(result(&form, Some(&reject())), json!({ "action": "decline" }));
    }

    #[test]
    fn several_answers_go_to_their_keys() {
        let asked = [("a".to_owned(), Form::Fields), ("b".to_owned(), Form::Link)].into();
        let given = [("r".to_owned(), json!({ "roots": [] }))].into();
        let kept = Kept::InputRequired { request_state: Some("s".to_owned()), asked, given };
        let content = json!({ "a": { "n": 2 }, "b": "done" });
        let rounds = [round(&kept, Some(Decision::respond(content)))];
        let (state, responses) = Answers::new(&rounds).input_required().unwrap();
        assert_eq!(state.as_deref(), Some("s"));
        assert_eq!(responses["a"], json!({ "action": "accept", "content": { "n": 2 } }));
        assert_eq!(responses["b"], json!({ "action": "accept" }));
        assert_eq!(responses["r"], json!({ "roots": [] }));
    }
}
