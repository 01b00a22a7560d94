//! Gates that are set while the server runs, and trying out others on what was done before.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use signoff_core::policy::PolicyFile;
use signoff_runtime::{RuleError, Trial};
use signoff_store::PolicyRecord;

use super::operation::of;
use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, Query, json};

/// The role that may change the rules.
const ADMIN: &str = "admin";
/// How many runs are looked at, if nothing is said, and at most.
const RUNS: usize = 100;
const MAX_RUNS: usize = 1000;

const SHOWN: Answer = Answer::json(200, "The policy as it is now.", of::<Rules>);

static GET: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/policy",
    id: "get_policy",
    summary: "The gates that hold besides those of workflows",
    query: None,
    body: None,
    answers: &[SHOWN],
    problems: &[Problem::InvalidQuery],
};

static PUT: Operation = Operation {
    verb: Verb::Put,
    path: "/v1/policy",
    id: "set_policy",
    summary: "Sets the gates of the caller's tenant; the same again changes nothing",
    query: None,
    body: Some(of::<Set>),
    answers: &[SHOWN],
    problems: &[Problem::InvalidPolicy, Problem::VersionConflict],
};

static DELETE: Operation = Operation {
    verb: Verb::Delete,
    path: "/v1/policy",
    id: "clear_policy",
    summary: "Takes them back; everything is as if they had never been set",
    query: None,
    body: None,
    answers: &[SHOWN],
    problems: &[],
};

static TEST: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/policy/test",
    id: "test_policy",
    summary: "Says what gates would have said of what was done before; nothing is changed",
    query: None,
    body: Some(of::<Test>),
    answers: &[Answer::json(200, "What would have changed.", of::<Report>)],
    problems: &[Problem::InvalidPolicy],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&GET, get).add(&PUT, put).add(&DELETE, delete).add(&TEST, test)
}

/// The gates that hold besides those of workflows.
#[derive(Debug, Serialize, JsonSchema)]
struct Rules {
    /// Grows with each change; 0 if there never was one.
    version: u64,
    /// What is set; null if nothing is.
    policy: Option<Value>,
    /// Who set it, or took it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// What the operator has set for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<Operator>,
    /// What the operator calls this place.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<String>,
}

/// What the operator has set for all.
#[derive(Debug, Serialize, JsonSchema)]
struct Operator {
    /// Changes with its content.
    version: String,
    /// The gates.
    policy: Value,
}

/// Gates to set.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Set {
    /// The gates, as in a policy file.
    policy: PolicyFile,
    /// The version they are meant to replace.
    version: Option<u64>,
}

/// Gates to try out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Test {
    /// The gates, as in a policy file.
    policy: PolicyFile,
    /// How many runs are looked at, the newest first: 1 to 1000; 100, if not given.
    #[schemars(range(min = 1, max = 1000))]
    runs: Option<u16>,
}

/// What would have changed.
#[derive(Debug, Serialize, JsonSchema)]
struct Report {
    /// How many runs were looked at.
    runs: usize,
    /// How many actions.
    actions: usize,
    /// How many people would have been asked about.
    ask: usize,
    /// How many would not have been done.
    deny: usize,
    /// Those that would have gone otherwise, at most 1000.
    changes: Vec<Value>,
}

fn shown(app: &App, record: Option<&PolicyRecord>) -> Rules {
    let operator = app
        .engine
        .operator_policy()
        .map(|(file, version)| Operator { version: version.to_string(), policy: json!(file) });
    let environment = app.engine.environment().map(ToString::to_string);
    let version = record.map_or(0, |record| record.version);
    let body = record.and_then(|record| record.body.as_deref());
    Rules {
        version,
        policy: body.and_then(|body| serde_json::from_str(body).ok()),
        by: record.map(|record| record.by.to_string()),
        at: record.map(|record| record.at.rfc3339()),
        operator,
        environment,
    }
}

async fn get(app: App, _: Query<Nothing>) -> Result<Response, ApiError> {
    let record = app.read(|engine| Ok(engine.policy()?)).await?;
    Ok(json(StatusCode::OK, &shown(&app, record.as_ref())))
}

async fn put(app: App, caller: Caller, Body(body): Body<Set>) -> Result<Response, ApiError> {
    caller.must_be(ADMIN)?;
    let set = app.engine.put_policy(Some(&body.policy), body.version, caller.actor).await?;
    Ok(json(StatusCode::OK, &shown(&app, Some(&set))))
}

async fn delete(app: App, caller: Caller) -> Result<Response, ApiError> {
    caller.must_be(ADMIN)?;
    let record = app.read(|engine| Ok(engine.policy()?)).await?;
    let record = match record {
        Some(record) if record.body.is_some() => {
            Some(app.engine.put_policy(None, None, caller.actor).await?)
        }
        nothing => nothing,
    };
    Ok(json(StatusCode::OK, &shown(&app, record.as_ref())))
}

async fn test(app: App, Body(body): Body<Test>) -> Result<Response, ApiError> {
    let problems = body.policy.problems();
    if !problems.is_empty() {
        return Err(RuleError::Invalid(problems).into());
    }
    let runs = body.runs.map_or(RUNS, usize::from);
    if !(1..=MAX_RUNS).contains(&runs) {
        let message = format!("`runs` is a number from 1 to {MAX_RUNS}");
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    let trial = app.search(move |engine| Ok(engine.try_policy(&body.policy, runs)?)).await?;
    let Trial { runs, actions, ask, deny, changes } = trial;
    let changes = changes.iter().map(|change| json!(change)).collect();
    Ok(json(StatusCode::OK, &Report { runs, actions, ask, deny, changes }))
}
