//! Answers written down before anybody asks: `--answers FILE`.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::from_value;
use crate::decision::Decision;
use crate::request::{Request, RequestKind};
use crate::workflow::{Diagnostic, Tree};

/// A list of answers, each used once, for the first request it fits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq)]
struct Item {
    /// Its place in the list, from 1.
    number: usize,
    fits: Match,
    answer: Answer,
    used: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Answer {
    /// Mapped on what the request allows.
    Plain(Value),
    Decision(Decision),
}

/// Which requests an answer is for: all of what is given must fit.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Match {
    /// The agent that asks.
    agent: Option<String>,
    /// The kind of request.
    kind: Option<RequestKind>,
    /// A part of the question, without regard to case.
    prompt: Option<String>,
}

impl Match {
    fn fits(&self, request: &Request) -> bool {
        let body = &request.body;
        let agent = body.agent_path.last().map_or("", |name| &**name);
        self.agent.as_deref().is_none_or(|wanted| wanted == agent)
            && self.kind.is_none_or(|wanted| wanted == body.kind)
            && self
                .prompt
                .as_ref()
                .is_none_or(|wanted| body.prompt.to_lowercase().contains(&wanted.to_lowercase()))
    }
}

impl Answers {
    /// Reads a YAML list of answers, or gives every problem with its place.
    pub fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let tree = Tree::parse(text)?;
        load(&tree.to_value()).map_err(|problems| {
            let locate = |(path, message): (String, String)| {
                let at = tree.value_position(&path);
                let (line, column) = (at.line, at.column);
                Diagnostic { file: None, line, column, path, message, suggestion: None }
            };
            problems.into_iter().map(locate).collect()
        })
    }

    /// The same from a value that was read already.
    pub fn from_value(value: &Value) -> Result<Self, Vec<String>> {
        load(value).map_err(|problems| problems.into_iter().map(|(_, message)| message).collect())
    }

    /// The answer to `request`: that of the first unused item that is for it. None if there is no
    /// such item; an error if there is one and it cannot be an answer. Either way it is used up.
    pub fn next(&mut self, request: &Request) -> Option<Result<Decision, String>> {
        let item = self.items.iter_mut().find(|item| !item.used && item.fits.fits(request))?;
        item.used = true;
        let decision = match &item.answer {
            Answer::Plain(value) => from_value(&request.body, value),
            Answer::Decision(decision) => request
                .body
                .check(decision)
                .map(|()| decision.clone())
                .map_err(|refusal| format!("{refusal}; {}", super::accepted(&request.body))),
        };
        Some(decision.map_err(|problem| format!("answer {}: {problem}", item.number)))
    }

    /// How many answers were not used yet.
    pub fn left(&self) -> usize {
        self.items.iter().filter(|item| !item.used).count()
    }
}

/// The answers, or every problem with its place.
fn load(value: &Value) -> Result<Answers, Vec<(String, String)>> {
    let list = match value {
        Value::Null => &Vec::new(),
        Value::Array(list) => list,
        _ => {
            return Err(vec![(String::new(), "answers are a list".to_owned())]);
        }
    };
    let mut items = Vec::new();
    let mut problems = Vec::new();
    for (n, value) in list.iter().enumerate() {
        match item(n + 1, value) {
            Ok(item) => items.push(item),
            Err(problem) => {
                problems.push((format!("/{n}"), format!("answer {}: {problem}", n + 1)));
            }
        }
    }
    if problems.is_empty() { Ok(Answers { items }) } else { Err(problems) }
}

fn item(number: usize, value: &Value) -> Result<Item, String> {
    let (fits, answer) = match value {
        Value::Null => return Err("it is empty".to_owned()),
        Value::Array(_) => return Err(format!("a list is not an answer; {SHAPES}")),
        Value::Object(fields) => object(fields)?,
        plain => (Match::default(), Answer::Plain(plain.clone())),
    };
    Ok(Item { number, fits, answer, used: false })
}

const SHAPES: &str = "write text, or `answer: TEXT`, or a decision such as `decision: approve`, \
                      each with `match:` if it is for certain requests";

fn object(fields: &Map<String, Value>) -> Result<(Match, Answer), String> {
    let mut fields = fields.clone();
    let fits = match fields.shift_remove("match") {
        None => Match::default(),
        Some(value) => {
            Match::deserialize(value).map_err(|error| format!("`match` is wrong: {error}"))?
        }
    };
    let answer = match (fields.shift_remove("answer"), fields.contains_key("decision")) {
        (Some(Value::Null), false) => return Err("`answer` is empty".to_owned()),
        (Some(value), false) => match fields.keys().next() {
            Some(key) => return Err(format!("unknown key `{key}`; {SHAPES}")),
            None => Answer::Plain(value),
        },
        (None, true) => Answer::Decision(
            Decision::deserialize(Value::Object(fields))
                .map_err(|error| format!("the decision is wrong: {error}"))?,
        ),
        (Some(_), true) => return Err("it has both `answer` and `decision`".to_owned()),
        (None, false) => return Err(format!("it says nothing; {SHAPES}")),
    };
    Ok((fits, answer))
}
