//! Requests by what they have in common: counted, and decided together.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signoff_core::request::RequestStatus;
use signoff_core::{Request, Risk, Timestamp};
use signoff_runtime::Engine;
use signoff_store::RequestFilter;

use super::operation::of;
use super::{Answer, Api, Operation, Verb};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Query, json};

/// How many of those that wait are looked at, the oldest first.
const MAX_LOOKED_AT: usize = 2_000;
/// How many are read at once.
const PAGE: usize = 500;
/// How many groups are given, the largest first.
const MAX_GROUPS: usize = 200;

static GROUPS: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/requests/groups",
    id: "group_requests",
    summary: "How many questions wait, by what they have in common",
    query: Some(of::<GroupQuery>),
    body: None,
    answers: &[Answer::json(200, "The groups, the largest first.", of::<Groups>)],
    problems: &[Problem::InvalidQuery],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&GROUPS, groups)
}

/// What requests can have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum By {
    /// A gate that asks.
    Gate,
    /// The tool that would be called.
    #[default]
    Tool,
    /// A file, host or person it is about.
    Target,
    /// The workflow.
    Workflow,
}

/// By what to group.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GroupQuery {
    /// By what; `tool`, if not given.
    #[serde(default)]
    by: By,
}

/// Groups of requests that wait. One that has several gates or targets is in several.
#[derive(Debug, Serialize, JsonSchema)]
struct Groups {
    /// The groups, the largest first, at most 200.
    data: Vec<Counted>,
    /// Whether more wait than were looked at: 2000, the oldest first.
    more: bool,
}

/// A group.
#[derive(Debug, Serialize, JsonSchema)]
struct Counted {
    /// What they have in common.
    group: String,
    /// How many there are.
    count: usize,
    /// How many of them are of high or critical risk. A decision for the group leaves those out.
    high_risk: usize,
}

async fn groups(app: App, Query(query): Query<GroupQuery>) -> Result<Response, ApiError> {
    let found = app.search(move |engine| {
        let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        let more = each_pending(engine, None, |request| {
            for name in common(&request, query.by) {
                let (count, high) = groups.entry(name).or_default();
                *count += 1;
                *high += usize::from(is_risky(&request));
            }
            true
        })?;
        let mut data: Vec<Counted> = groups
            .into_iter()
            .map(|(group, (count, high_risk))| Counted { group, count, high_risk })
            .collect();
        data.sort_by_key(|group| std::cmp::Reverse(group.count));
        data.truncate(MAX_GROUPS);
        Ok(Groups { data, more })
    });
    Ok(json(StatusCode::OK, &found.await?))
}

/// Requests that are decided together: all that wait and fit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    /// Only those that this gate asks for.
    #[schemars(length(max = 256))]
    gate: Option<String>,
    /// Only those about this tool.
    #[schemars(length(max = 256))]
    tool: Option<String>,
    /// Only those about this file, host or person.
    #[schemars(length(max = 4096))]
    target: Option<String>,
    /// Only those of this workflow.
    #[schemars(length(max = 256))]
    workflow: Option<String>,
    /// Only those that were asked by then: when you looked. What nobody has seen is not decided by it.
    #[schemars(length(max = 64))]
    until: String,
}

/// What fits a group.
#[derive(Debug, Default)]
pub(super) struct Fitting {
    /// Those to decide, at most as many as were wanted.
    pub(super) requests: Vec<Request>,
    /// Those that are left out because much can go wrong.
    pub(super) left_out: Vec<Request>,
    /// Whether there may be more of them.
    pub(super) more: bool,
}

impl Group {
    /// What fits, at most `most` of it, the oldest first.
    pub(super) async fn gather(
        self,
        app: &App,
        include_high_risk: bool,
        most: usize,
    ) -> Result<Fitting, ApiError> {
        let until: Timestamp = self.until.parse().map_err(|_| {
            ApiError::new(Problem::InvalidBody, "/group/until: it is not a time")
                .hint("write it as 2026-11-16T09:00:00Z: when you looked at what waits")
        })?;
        if [&self.gate, &self.tool, &self.target, &self.workflow].iter().all(|it| it.is_none()) {
            return Err(ApiError::new(
                Problem::InvalidBody,
                "/group: one of `gate`, `tool`, `target` and `workflow` is needed",
            ));
        }
        app.search(move |engine| {
            let mut fitting = Fitting::default();
            let more = each_pending(engine, Some(until), |request| {
                if self.fits(&request) {
                    let left = is_risky(&request) && !include_high_risk;
                    let to = if left { &mut fitting.left_out } else { &mut fitting.requests };
                    to.push(request);
                }
                fitting.requests.len().max(fitting.left_out.len()) < most
            })?;
            fitting.more = more;
            Ok(fitting)
        })
        .await
    }

    fn fits(&self, request: &Request) -> bool {
        let has = |wanted: &Option<String>, by: By| {
            wanted.as_ref().is_none_or(|wanted| common(request, by).contains(wanted))
        };
        has(&self.gate, By::Gate)
            && has(&self.tool, By::Tool)
            && has(&self.target, By::Target)
            && has(&self.workflow, By::Workflow)
    }
}

/// Goes through what waits and is not put off, the oldest first, until `look` has seen enough. Whether there is more.
fn each_pending(
    engine: &Engine,
    until: Option<Timestamp>,
    mut look: impl FnMut(Request) -> bool,
) -> Result<bool, ApiError> {
    let filter = RequestFilter {
        status: Some(RequestStatus::Pending),
        deferred: Some(false),
        asked_until: until,
        ..RequestFilter::default()
    };
    let (mut cursor, mut seen) = (None, 0);
    loop {
        let page = engine.store().requests(&filter, cursor.as_deref(), PAGE)?;
        for request in page.items {
            seen += 1;
            if !look(request) {
                return Ok(true);
            }
        }
        cursor = page.next;
        if cursor.is_none() || seen >= MAX_LOOKED_AT {
            return Ok(cursor.is_some());
        }
    }
}

/// Whether so much can go wrong that it is decided by itself.
fn is_risky(request: &Request) -> bool {
    request.body.risk >= Some(Risk::High)
}

/// What a request has of this, each once.
fn common(request: &Request, by: By) -> Vec<String> {
    let context = &request.body.context;
    let words = |values: &Value, name: Option<&str>| {
        let values = values.as_array().into_iter().flatten();
        let word =
            |value: &Value| name.map_or(value, |name| &value[name]).as_str().map(str::to_owned);
        values.filter_map(word).collect::<Vec<_>>()
    };
    let mut found = match by {
        By::Gate => words(&context["reasons"], Some("gate")),
        By::Tool => context["tool"].as_str().map(str::to_owned).into_iter().collect(),
        By::Target => words(&context["targets"], None),
        By::Workflow => vec![request.workflow.to_string()],
    };
    found.sort_unstable();
    found.dedup();
    found
}
