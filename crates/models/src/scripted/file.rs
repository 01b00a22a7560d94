//! Reading a script.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use signoff_core::Span;
use signoff_core::journal::ErrorInfo;
use signoff_core::workflow::OneOrMany;

use super::rule::{Binding, Reply, Rule};
use super::template::Templates;
use super::{Manner, ScriptError, Scripted};

/// How much memory one pattern may take when compiled.
const MAX_PATTERN_BYTES: usize = 1 << 20;
const MAX_RULES: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default)]
    from: Option<String>,
    #[serde(default, rename = "let")]
    bindings: Map<String, Value>,
    #[serde(default)]
    delay: Option<Span>,
    #[serde(default)]
    chunk: Option<usize>,
    #[serde(default)]
    pace: Option<Span>,
    rules: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindFile {
    find: String,
    #[serde(default, rename = "in")]
    within: Option<String>,
    #[serde(default, rename = "as")]
    kind: Kind,
    #[serde(default)]
    default: Value,
}

#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Text,
    Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default)]
    agent: Option<OneOrMany>,
    #[serde(default)]
    turn: Option<u32>,
    #[serde(default)]
    messages: Option<usize>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    input: Option<String>,
    #[serde(default)]
    last: Option<String>,
    #[serde(default)]
    when: Option<String>,
    #[serde(default)]
    unless: Option<String>,
    #[serde(default, rename = "if")]
    condition: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    json: Option<Value>,
    #[serde(default)]
    call: Vec<CallFile>,
    #[serde(default)]
    fail: Option<FailFile>,
    #[serde(default)]
    delay: Option<Span>,
    #[serde(default)]
    chunk: Option<usize>,
    #[serde(default)]
    pace: Option<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallFile {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailFile {
    code: String,
    message: String,
    #[serde(default)]
    retryable: bool,
}

/// Reads a script: a list of rules, or an object with `rules`.
pub(super) fn read(script: Value) -> Result<Scripted, ScriptError> {
    let script = match script {
        rules @ Value::Array(_) => Value::Object(Map::from_iter([("rules".to_owned(), rules)])),
        other => other,
    };
    let script: ScriptFile = shaped("script", script)?;
    if script.rules.len() > MAX_RULES {
        return Err(ScriptError::new("rules", format!("more than {MAX_RULES} rules")));
    }
    let mut templates = Templates::new()?;
    let from = pattern("from", script.from.as_deref())?;
    let mut bindings = Vec::with_capacity(script.bindings.len());
    for (name, value) in script.bindings {
        let path = format!("let.{name}");
        bindings.push((Arc::from(name), binding(&mut templates, &path, value)?));
    }
    let manner = Manner { delay: script.delay, chunk: script.chunk, pace: script.pace };
    check_chunk("chunk", manner.chunk)?;
    let rules = script.rules.into_iter().enumerate();
    let rules =
        rules.map(|(index, value)| rule(&mut templates, manner, &format!("rules[{index}]"), value));
    let rules = rules.collect::<Result<_, _>>()?;
    Ok(Scripted { templates, from, bindings, rules })
}

fn binding(templates: &mut Templates, path: &str, value: Value) -> Result<Binding, ScriptError> {
    if value.get("find").is_none() {
        return Ok(Binding::Template(templates.add(path, &value)?));
    }
    let file: FindFile = shaped(path, value)?;
    Ok(Binding::Find {
        pattern: compile(&format!("{path}.find"), &file.find)?,
        within: templates
            .add_expression(&format!("{path}.in"), file.within.as_deref().unwrap_or("input"))?,
        number: file.kind == Kind::Number,
        default: templates.add(&format!("{path}.default"), &file.default)?,
    })
}

fn rule(
    templates: &mut Templates,
    manner: Manner,
    path: &str,
    value: Value,
) -> Result<Rule, ScriptError> {
    let file: RuleFile = shaped(path, value)?;
    let at = |field: &str| format!("{path}.{field}");
    if file.turn == Some(0) {
        return Err(ScriptError::new(at("turn"), "turns count from 1"));
    }
    check_chunk(&at("chunk"), file.chunk)?;
    let reply = match (file.fail, file.json, file.text, file.call) {
        (Some(fail), None, None, calls) if calls.is_empty() => {
            Reply::Fail { info: ErrorInfo::new(fail.code, fail.message), retryable: fail.retryable }
        }
        (None, Some(json), None, calls) if calls.is_empty() => {
            Reply::Json(templates.add(&at("json"), &json)?)
        }
        (None, None, text, calls) if text.is_some() || !calls.is_empty() => {
            let text =
                text.map(|text| templates.add(&at("text"), &Value::String(text))).transpose()?;
            let calls = calls.into_iter().enumerate().map(|(index, call)| {
                let path = format!("{path}.call[{index}].arguments");
                Ok((call.tool.into(), templates.add(&path, &Value::Object(call.arguments))?))
            });
            Reply::Say { text, calls: calls.collect::<Result<_, _>>()? }
        }
        _ => {
            return Err(ScriptError::new(
                path,
                "needs one reply: `text`, `json`, `call`, `text` with `call`, or `fail`",
            ));
        }
    };
    let condition =
        file.condition.map(|source| templates.add_expression(&at("if"), &source)).transpose()?;
    Ok(Rule {
        agents: file.agent.map(|agent| agent.names()).unwrap_or_default(),
        turn: file.turn,
        messages: file.messages,
        id: pattern(&at("id"), file.id.as_deref())?,
        input: pattern(&at("input"), file.input.as_deref())?,
        last: pattern(&at("last"), file.last.as_deref())?,
        when: pattern(&at("when"), file.when.as_deref())?,
        unless: pattern(&at("unless"), file.unless.as_deref())?,
        condition,
        reply,
        manner: Manner {
            delay: file.delay.or(manner.delay),
            chunk: file.chunk.or(manner.chunk),
            pace: file.pace.or(manner.pace),
        },
    })
}

fn shaped<T: DeserializeOwned>(path: &str, value: Value) -> Result<T, ScriptError> {
    serde_json::from_value(value).map_err(|error| ScriptError::new(path, error))
}

fn check_chunk(path: &str, chunk: Option<usize>) -> Result<(), ScriptError> {
    if chunk == Some(0) { Err(ScriptError::new(path, "must be at least 1")) } else { Ok(()) }
}

fn pattern(path: &str, source: Option<&str>) -> Result<Option<Regex>, ScriptError> {
    source.map(|source| compile(path, source)).transpose()
}

fn compile(path: &str, source: &str) -> Result<Regex, ScriptError> {
    RegexBuilder::new(source)
        .case_insensitive(true)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| ScriptError::new(path, error))
}
