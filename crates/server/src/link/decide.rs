//! Opening a link, and deciding with it. People see pages, also where something is refused.

use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use signoff_core::decision::Then;
use signoff_core::{Decision, DecisionKind, Refusal, Request, RequestBody, RequestStatus};
use signoff_runtime::{DecideError, DecideRequest};

use super::make::waits;
use super::page::{self, Page};
use super::token::Link;
use crate::access::Caller;
use crate::api::{Answer, Api, Operation, Verb, of, take_decision};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Id, form};

static OPEN: Operation = Operation {
    verb: Verb::Get,
    path: "/decide/{token}",
    id: "open_link",
    summary: "A page that shows a request to whom a link is for; it decides nothing",
    query: None,
    body: None,
    answers: &[Answer::other(200, "The page.", page::MEDIA)],
    problems: &[Problem::InvalidLink, Problem::LinkExpired, Problem::NotAsked, Problem::OwnRun],
};

static DECIDE: Operation = Operation {
    verb: Verb::Post,
    path: "/decide/{token}",
    id: "decide_by_link",
    summary: "Decides a request in the name of whom a link is for, once",
    query: None,
    body: Some(of::<Answered>),
    answers: &[
        Answer::other(200, "A page that says what was decided.", page::MEDIA),
        Answer::other(202, "It counts, and others must agree.", page::MEDIA),
    ],
    problems: &[
        Problem::InvalidLink,
        Problem::LinkExpired,
        Problem::AlreadyDecided,
        Problem::VersionConflict,
        Problem::Expired,
        Problem::Cancelled,
        Problem::DecisionNotAllowed,
        Problem::NotAsked,
        Problem::OwnRun,
        Problem::InvalidAnswer,
        Problem::ShuttingDown,
    ],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&OPEN, open).add(&DECIDE, decide)
}

/// What a person filled in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LinkAnswer")]
struct Answered {
    /// The decision.
    decision: DecisionKind,
    /// The answer, the reason or the remark.
    text: Option<String>,
    /// Which of the options, counted from 1.
    option: Option<usize>,
}

/// A link with what it leads to.
struct Opened {
    /// As the person's tenant sees it.
    app: App,
    person: Caller,
    link: Link,
    request: Request,
}

async fn open(State(whole): State<App>, Id(token): Id) -> Response {
    match opened(&whole, &token).await {
        Ok(opened) => {
            let page = shown(&opened);
            let Opened { app, person, link, request } = opened;
            if page.is_ok() {
                let (id, version) = (request.id, request.version);
                app.viewed(id, version, person.actor.clone(), Some(link.id)).await;
            }
            logged(page.unwrap_or_else(page::refused).into(), person)
        }
        Err(error) => page::refused(error).into(),
    }
}

async fn decide(State(whole): State<App>, Id(token): Id, request: HttpRequest) -> Response {
    match opened(&whole, &token).await {
        Ok(opened) => {
            let person = opened.person.clone();
            let app = opened.app.spoken_to_by("link", request.extensions());
            let opened = Opened { app, ..opened };
            let page = decided(&whole, opened, request).await.unwrap_or_else(page::refused);
            logged(page.into(), person)
        }
        Err(error) => page::refused(error).into(),
    }
}

/// The answer, with who it was for the log.
fn logged(mut response: Response, person: Caller) -> Response {
    response.extensions_mut().insert(person);
    response
}

/// The request of a link and the person it is for, as both are now; or why the link does not count.
async fn opened(whole: &App, token: &str) -> Result<Opened, ApiError> {
    let invalid =
        |message: String| ApiError::new(Problem::InvalidLink, message).hint("ask for another link");
    let Some(link) = whole.links.open::<Link>(token) else {
        return Err(whole.access.refusal(invalid("this link was not made here".to_owned())));
    };
    if whole.engine.clock().now() >= link.until {
        let message = format!("this link counted until {}", link.until.rfc3339());
        let error = ApiError::new(Problem::LinkExpired, message).hint("ask for another link");
        return Err(whole.access.refusal(error));
    }
    whole.access.count(&link.person)?;
    let id = link.request.clone();
    let (found, users) = whole
        .read(move |engine| Ok((engine.store().request(&id)?, engine.store().users()?)))
        .await?;
    let Some(person) = whole.access.person(&users, link.person.as_str()) else {
        return Err(invalid(format!("`{}` is not known here any more", link.person)));
    };
    person.may_work()?;
    let own = found.filter(|found| found.tenant == person.tenant);
    let request = own.ok_or_else(|| invalid("there is no such request any more".to_owned()))?;
    Ok(Opened { app: whole.for_tenant(person.tenant.clone()), person, link, request })
}

/// What a person sees who opens a link.
fn shown(opened: &Opened) -> Result<Page, ApiError> {
    let Opened { person, link, request, .. } = opened;
    if request.status != RequestStatus::Pending {
        return Ok(page::standing(request));
    }
    request.body.admit(&person.actor, &person.roles).map_err(DecideError::from)?;
    if request.version != link.version {
        return Ok(page::changed());
    }
    Ok(page::question(request, link))
}

/// Decides as the person has said.
async fn decided(whole: &App, opened: Opened, http: HttpRequest) -> Result<Page, ApiError> {
    let Opened { app, person, link, request } = opened;
    let answered: Answered = form(http, whole).await?;
    waits(&request).map_err(ApiError::from)?;
    let decision = decision(&request.body, &link, answered)?;
    let decide = DecideRequest::new(link.request, decision)
        .by(person.actor)
        .with_roles(&person.roles)
        .seen_at(Some(link.version))
        .by_link(link.id);
    let (request, changed) = take_decision(&app, decide).await?;
    if !changed {
        return Err(DecideError::AlreadyDecided(Box::new(request)).into());
    }
    Ok(match request.status {
        RequestStatus::Pending => page::voted(),
        _ => page::standing(&request),
    })
}

/// The decision that was filled in.
fn decision(body: &RequestBody, link: &Link, answered: Answered) -> Result<Decision, DecideError> {
    let Answered { decision, text, option } = answered;
    let text = text.map(|text| text.replace("\r\n", "\n").trim().to_owned());
    let text = text.filter(|text| !text.is_empty());
    let refused = || Refusal::NotAllowed { decision, allowed: link.decisions.clone() };
    if !link.decisions.contains(&decision) {
        return Err(refused().into());
    }
    Ok(match decision {
        DecisionKind::Respond => Decision::respond(content(body, text, option)?),
        DecisionKind::Approve => Decision::Approve { note: text, remember: None },
        DecisionKind::Reject => Decision::reject(text, Then::Continue),
        DecisionKind::Revise => Decision::Revise { feedback: text },
        DecisionKind::Redo => Decision::Redo { feedback: text },
        DecisionKind::Retry => Decision::Retry { feedback: text },
        DecisionKind::Skip => Decision::Skip { reason: text },
        DecisionKind::Rollback => Decision::Rollback { feedback: text },
        DecisionKind::Abort => Decision::Abort { reason: text },
        DecisionKind::Edit => return Err(refused().into()),
    })
}

/// The answer: one of the options, text, or, where that is asked for, what the text says as JSON.
fn content(
    body: &RequestBody,
    text: Option<String>,
    option: Option<usize>,
) -> Result<Value, Refusal> {
    let missing = |what: &str| Refusal::Invalid { problems: vec![what.to_owned()] };
    if !body.options.is_empty() {
        let chosen = option.and_then(|n| body.options.get(n.checked_sub(1)?));
        return Ok(chosen.ok_or_else(|| missing("choose one of the options"))?.value.clone());
    }
    let text = text.ok_or_else(|| missing("write an answer"))?;
    if page::takes_text(body) {
        return Ok(Value::String(text));
    }
    serde_json::from_str(&text).map_err(|error| missing(&format!("it is not JSON: {error}")))
}
