//! Signing in with a page. A program sends its token with each request and needs none of this.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::of;
use super::workflows::Nothing;
use super::{Answer, Api, Operation, Verb};
use crate::access::{COOKIE, Caller};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::extract::{Body, Query, json};
use axum::extract::State;

/// How long a page stays signed in, in seconds.
const MAX_AGE: u32 = 30 * 24 * 3600;

static WHO: Operation = Operation {
    verb: Verb::Get,
    path: "/v1/session",
    id: "get_session",
    summary: "Who the caller is",
    query: None,
    body: None,
    answers: &[Answer::json(200, "The caller.", of::<Session>)],
    problems: &[Problem::InvalidQuery],
};

static SIGN_IN: Operation = Operation {
    verb: Verb::Post,
    path: "/v1/session",
    id: "sign_in",
    summary: "Sets a cookie with which pages of this server come in",
    query: None,
    body: Some(of::<SignIn>),
    answers: &[Answer::json(200, "The caller from now on.", of::<Session>)],
    problems: &[Problem::InvalidToken],
};

static SIGN_OUT: Operation = Operation {
    verb: Verb::Delete,
    path: "/v1/session",
    id: "sign_out",
    summary: "Takes that cookie back",
    query: None,
    body: None,
    answers: &[Answer::other(204, "It is gone.", "")],
    problems: &[],
};

pub(super) fn routes(api: Api) -> Api {
    api.add(&WHO, who).add(&SIGN_IN, sign_in).add(&SIGN_OUT, sign_out)
}

/// Who the caller is.
#[derive(Debug, Serialize, JsonSchema)]
struct Session {
    /// The name in which the caller decides.
    actor: String,
    /// Whose runs the caller sees.
    tenant: String,
    /// What the caller may do and may be asked for.
    roles: Vec<String>,
    /// Whether there are users, so that a token is needed.
    users: bool,
}

/// Something that opens the door.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// The token that `signoff user add` printed.
    token: String,
}

fn session(app: &App, caller: &Caller) -> Session {
    Session {
        actor: caller.actor.to_string(),
        tenant: caller.tenant.to_string(),
        roles: caller.roles.iter().map(ToString::to_string).collect(),
        users: app.access.users.any(),
    }
}

async fn who(app: App, caller: Caller, _: Query<Nothing>) -> Response {
    json(StatusCode::OK, &session(&app, &caller))
}

async fn sign_in(
    State(app): State<App>,
    headers: HeaderMap,
    Body(body): Body<SignIn>,
) -> Result<Response, ApiError> {
    let Some(caller) = app.access.users.with_token(body.token.trim()) else {
        return Err(app.access.wrong_token());
    };
    let mut response = json(StatusCode::OK, &session(&app, &caller));
    set_cookie(&mut response, body.token.trim(), MAX_AGE, over_tls(&headers));
    Ok(response)
}

async fn sign_out(headers: HeaderMap) -> Response {
    let mut response = Response::new(axum::body::Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    set_cookie(&mut response, "", 0, over_tls(&headers));
    response
}

/// Whether the page came over TLS, which others speak for this server. The browser says so itself, and whoever gets
/// here has an origin that is this server's or the operator's; what a proxy adds could have been added by anybody.
fn over_tls(headers: &HeaderMap) -> bool {
    headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"))
}

fn set_cookie(response: &mut Response, token: &str, age: u32, secure: bool) {
    let secure = if secure { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    // A token that is known has only characters that may stand there.
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}
