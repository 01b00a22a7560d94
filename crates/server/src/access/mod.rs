//! Who may come in, and as whom. The one place that decides it.
//!
//! Without users, whoever sits at this machine comes in, and only from there. With users, everybody needs a token.
//! What is open to all is listed; everything else is denied unless it is said otherwise here.

mod origin;
mod rate;
mod users;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use signoff_core::deciders::EVERY_ROLE;
use signoff_core::{Actor, Name, Tenant};
use signoff_store::User;

use self::origin::Origins;
use self::rate::Rates;
pub(crate) use self::users::{COOKIE, Users};
use crate::a2a::{CARDS, KEYS};
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::web;

/// What anybody may ask, so that those who watch the server need no key, and people can sign in.
const OPEN: [(Method, &str); 4] = [
    (Method::GET, "/health"),
    (Method::GET, "/ready"),
    (Method::POST, "/v1/session"),
    (Method::DELETE, "/v1/session"),
];
/// Where people decide by a link, which says by itself who they are; `link` looks whether it counts.
pub(crate) const LINKS: &str = "/decide/";
/// What may be done there.
const LINKED: [Method; 3] = [Method::GET, Method::HEAD, Method::POST];
/// Where pages are: files that are no secret, and nothing else.
const PAGES: &str = "/devui";
/// What is sent in a body and changes nothing, so that who may only look may ask it.
const LOOKS: [&str; 1] = ["/v1/markdown"];
/// The role that may only look.
const VIEWER: &str = "viewer";

/// Who makes a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// In whose name decisions are taken and runs started.
    pub(crate) actor: Actor,
    /// Whose runs these are. Keys of one tenant mean nothing to another.
    pub(crate) tenant: Tenant,
    /// What this caller may do and may be asked for.
    pub(crate) roles: Arc<[Name]>,
}

impl From<User> for Caller {
    fn from(user: User) -> Self {
        Self { actor: user.name, tenant: user.tenant, roles: user.roles.into() }
    }
}

impl Caller {
    /// Whoever sits at this machine.
    pub(crate) fn local() -> Self {
        Self {
            actor: Actor::local(),
            tenant: Tenant::local(),
            roles: Arc::new([EVERY_ROLE.into()]),
        }
    }

    /// Whether this caller may change anything.
    pub(crate) fn may_work(&self) -> Result<(), ApiError> {
        if self.roles.iter().any(|role| &**role == VIEWER) {
            let message = format!("`{}` may only look", self.actor);
            return Err(ApiError::new(Problem::NotPermitted, message)
                .hint("it has the role `viewer`; see `signoff user`"));
        }
        Ok(())
    }
}

impl Caller {
    /// Whether this caller has a role.
    pub(crate) fn must_be(&self, wanted: &str) -> Result<(), ApiError> {
        if self.roles.iter().any(|role| &**role == wanted || &**role == EVERY_ROLE) {
            return Ok(());
        }
        let message = format!("`{}` does not have the role `{wanted}`", self.actor);
        Err(ApiError::new(Problem::NotPermitted, message)
            .hint(format!("`signoff user add NAME --role {wanted}` makes one who has")))
    }
}

/// Decides who comes in.
#[derive(Debug)]
pub(crate) struct Access {
    loopback: bool,
    origins: Origins,
    pub(crate) users: Arc<Users>,
    rates: Rates,
}

impl Access {
    /// For a server at `address`, open to pages from `origins` besides its own.
    pub(crate) fn new(
        address: SocketAddr,
        origins: &[String],
        users: Arc<Users>,
        rate: u32,
    ) -> Self {
        let loopback = address.ip().is_loopback();
        let origins = Origins::new(loopback.then(|| address.port()), origins);
        Self { loopback, origins, users, rates: Rates::new(rate) }
    }

    /// Who makes this request, or why it is refused. Nobody, if a link is to say who it is.
    fn admit(&self, request: &Parts) -> Result<Option<Caller>, ApiError> {
        self.origins.check(request)?;
        let path = request.uri.path();
        if path.starts_with(LINKS) && LINKED.contains(&request.method) {
            return Ok(None);
        }
        // A page is there before anybody has signed in; what it then asks for is not open.
        let looks = request.method == Method::GET || request.method == Method::HEAD;
        if looks && (path.starts_with(PAGES) || web::is_page(path)) {
            return Ok(Some(Caller::local()));
        }
        // An agent's card says how to come in.
        let of = CARDS.iter().find_map(|place| path.strip_suffix(place));
        let is_card = path == KEYS || of.is_some_and(|of| of.is_empty() || of.starts_with("/a2a/"));
        if is_card && request.method == Method::GET {
            return Ok(Some(self.known(&request.headers).unwrap_or_else(|_| Caller::local())));
        }
        if OPEN.iter().any(|(method, open)| request.method == *method && path == *open) {
            return Ok(Some(self.known(&request.headers).unwrap_or_else(|_| Caller::local())));
        }
        let caller = self.known(&request.headers)?;
        if !looks && !LOOKS.contains(&path) {
            caller.may_work()?;
        }
        Ok(Some(caller))
    }

    /// Whether everybody who comes in is whoever sits at this machine.
    pub(crate) fn is_one_persons(&self) -> bool {
        self.loopback && !self.users.any()
    }

    /// The user of this name among `users`; or whoever sits at this machine, if there are no users.
    pub(crate) fn person(&self, users: &[User], name: &str) -> Option<Caller> {
        if let Some(user) = users.iter().find(|user| user.name.as_str() == name) {
            return Some(user.clone().into());
        }
        let alone = self.loopback && users.is_empty() && !self.users.any();
        Some(Caller::local()).filter(|local| alone && local.actor.as_str() == name)
    }

    /// Counts a request of somebody whom a link has named.
    pub(crate) fn count(&self, person: &Actor) -> Result<(), ApiError> {
        self.rates.take(person)
    }

    /// What somebody is told whom nobody knows; or, if there are too many of those, that.
    pub(crate) fn refusal(&self, error: ApiError) -> ApiError {
        self.rates.refusal(error)
    }

    /// What somebody who signs in with a wrong token is told.
    pub(crate) fn wrong_token(&self) -> ApiError {
        self.refusal(users::unknown())
    }

    /// Whether somebody who came in with these headers would still come in, as the same one. For connections
    /// that last.
    pub(crate) fn is_still(&self, caller: &Caller, headers: &HeaderMap) -> Result<(), ApiError> {
        let now = match self.users.find(headers)? {
            Some(now) => now,
            None if self.loopback => Caller::local(),
            None => return Err(users::unknown()),
        };
        if now.actor == caller.actor && now.tenant == caller.tenant && now.roles == caller.roles {
            return Ok(());
        }
        Err(users::unknown())
    }

    fn known(&self, headers: &HeaderMap) -> Result<Caller, ApiError> {
        match self.users.find(headers) {
            Ok(Some(caller)) => self.rates.take(&caller.actor).map(|()| caller),
            Ok(None) if self.loopback => Ok(Caller::local()),
            Ok(None) => Err(ApiError::new(Problem::MissingToken, "there are no users any more")
                .hint("`signoff user add NAME` makes one, and prints a token")),
            Err(error) => Err(self.rates.refusal(error)),
        }
    }
}

/// Lets a request in, with its caller, or answers it.
pub(crate) async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let foreign = app.access.origins.foreign(&parts);
    if parts.method == Method::OPTIONS
        && let Some(origin) = &foreign
    {
        return with_origin(StatusCode::NO_CONTENT.into_response(), origin);
    }
    let response = match app.access.admit(&parts) {
        Ok(caller) => {
            if let Some(caller) = &caller {
                parts.extensions.insert(caller.clone());
            }
            let mut response = next.run(Request::from_parts(parts, body)).await;
            // Who it was, for the log.
            if let Some(caller) = caller {
                response.extensions_mut().insert(caller);
            }
            response
        }
        Err(error) => error.into_response(),
    };
    match foreign {
        Some(origin) => with_origin(response, &origin),
        None => response,
    }
}

/// Lets a page of another origin, which is allowed to ask, read the answer.
fn with_origin(mut response: Response, origin: &HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, idempotency-key, last-event-id, a2a-version, a2a-extensions, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
        ),
        (
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            "location, mcp-session-id, retry-after, x-response-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| ApiError::internal(&"a route is outside of the access check"))
    }
}
