//! Making links.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use signoff_core::{
    Actor, DecisionKind, Refusal, Request, RequestBody, RequestId, RequestKind, RequestStatus,
    Span, Timestamp,
};
use signoff_runtime::{DecideError, new_secret};
use signoff_store::AddLink;

use super::token::Link;
use crate::access::{Caller, LINKS};
use crate::api::{Answer, Api, Operation, Verb, of};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, Id, json};

/// How long a link counts, if nothing is said.
const USUAL: Span = Span::seconds(24 * 3600);
/// How long it counts at most.
pub(crate) const LONGEST: Span = Span::seconds(7 * 24 * 3600);
/// The role that makes links for others: whoever has a link can decide in that person's name.
const ADMIN: &str = "admin";
/// How many letters of a new secret name a link.
const ID: usize = 16;

static MAKE: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/requests/{id}/link",
    id: "link_request",
    summary: "Makes a link by which one person decides a request without signing in",
    query: None,
    body: Some(of::<NewLink>),
    answers: &[Answer::json(201, "The link.", of::<Made>)],
    problems: &[
        Problem::UnknownRequest,
        Problem::AlreadyDecided,
        Problem::Expired,
        Problem::Cancelled,
        Problem::DecisionNotAllowed,
        Problem::NotAsked,
        Problem::OwnRun,
        Problem::ShuttingDown,
    ],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&MAKE, make)
}

/// A link to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewLink {
    /// Who decides with it: the caller, or, if the caller has the role `admin`, another user.
    r#for: String,
    /// How long it counts: `24h`, if not given, and `7d` at most; never longer than the request waits.
    within: Option<Span>,
    /// What can be decided with it; everything that a link can, if not given.
    #[schemars(length(min = 1))]
    decisions: Option<Vec<DecisionKind>>,
}

/// A link.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Link")]
struct Made {
    /// The path of the page, after the address by which the person reaches this server.
    url: String,
    /// When it stops to count.
    expires_at: String,
}

async fn make(
    app: App,
    Id(id): Id,
    caller: Caller,
    Body(new): Body<NewLink>,
) -> Result<Response, ApiError> {
    app.takes_work()?;
    let id = RequestId::new(id);
    let (request, users) = app
        .read(move |engine| {
            let found = engine.store().request(&id)?;
            let request = found.ok_or_else(|| ApiError::unknown_request(id.as_str()))?;
            Ok((request, engine.store().users()?))
        })
        .await?;
    if new.r#for != caller.actor.as_str() {
        caller.must_be(ADMIN)?;
    }
    let Some(person) = app.access.person(&users, &new.r#for) else {
        let message = format!("there is no user `{}`", new.r#for);
        return Err(ApiError::new(Problem::InvalidBody, message).hint("see `signoff user list`"));
    };
    let within = new.within.unwrap_or(USUAL);
    if !(1..=LONGEST.0).contains(&within.0) {
        let message = format!("`within` is longer than nothing, and {LONGEST} at most");
        return Err(ApiError::new(Problem::InvalidBody, message));
    }
    let wanted = Wanted { within, decisions: new.decisions, by: caller.actor };
    let (url, until) = link(&app, request, person, wanted).await?;
    Ok(json(StatusCode::CREATED, &Made { url, expires_at: until.rfc3339() }))
}

/// What a link is to be like.
pub(crate) struct Wanted {
    /// How long it counts at most.
    pub(crate) within: Span,
    /// What can be decided with it; everything that a link can, if not given.
    pub(crate) decisions: Option<Vec<DecisionKind>>,
    /// Who makes it.
    pub(crate) by: Actor,
}

/// Makes a link by which `person` decides `request`: its path, and until when it counts.
pub(crate) async fn link(
    app: &App,
    request: Request,
    person: Caller,
    wanted: Wanted,
) -> Result<(String, Timestamp), ApiError> {
    let Wanted { within, decisions, by } = wanted;
    person.may_work()?;
    waits(&request)?;
    request.body.admit(&person.actor, &person.roles).map_err(DecideError::from)?;
    let decisions = self::decisions(&request.body, decisions)?;
    let at = app.engine.clock().now();
    let until = at.plus(within);
    let until = request.body.expires_at.map_or(until, |end| end.min(until));
    if until <= at {
        return Err(DecideError::Expired(Box::new(request)).into());
    }
    let link = Link {
        request: request.id,
        version: request.version,
        person: person.actor,
        decisions,
        until,
        id: new_secret().get(..ID).unwrap_or_default().into(),
    };
    let token = app.links.sign(&link).map_err(|error| ApiError::internal(&error))?;
    let Link { request, person, id, .. } = link;
    app.engine.store().add_link(AddLink { request, id, person, until, by, at }).await?;
    Ok((format!("{LINKS}{token}"), until))
}

/// Refuses a request that nobody can decide any more.
pub(super) fn waits(request: &Request) -> Result<(), DecideError> {
    let closed = match request.status {
        RequestStatus::Pending => return Ok(()),
        RequestStatus::Decided => DecideError::AlreadyDecided,
        RequestStatus::Expired => DecideError::Expired,
        RequestStatus::Cancelled => DecideError::Cancelled,
    };
    Err(closed(Box::new(request.clone())))
}

/// What can be decided with a link: what is wanted, or everything that a page without scripts can ask for.
fn decisions(
    body: &RequestBody,
    wanted: Option<Vec<DecisionKind>>,
) -> Result<Vec<DecisionKind>, DecideError> {
    let typed = matches!(body.kind, RequestKind::Input | RequestKind::Selection);
    let offered = |kind: &DecisionKind| match kind {
        DecisionKind::Edit => false,
        DecisionKind::Respond => typed,
        _ => true,
    };
    let allowed: Vec<DecisionKind> = body.allowed.iter().copied().filter(offered).collect();
    let mut wanted = wanted.unwrap_or_else(|| allowed.clone());
    wanted.sort();
    wanted.dedup();
    match wanted.iter().find(|kind| !allowed.contains(kind)) {
        None if !wanted.is_empty() => Ok(wanted),
        other => {
            let decision = other.or(body.allowed.first()).copied();
            let decision = decision.unwrap_or(DecisionKind::Respond);
            Err(Refusal::NotAllowed { decision, allowed }.into())
        }
    }
}
