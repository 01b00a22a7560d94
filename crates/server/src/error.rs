//! The one shape of errors, and what every failure below becomes in it.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use signoff_core::Refusal;
use signoff_core::journal::ErrorInfo;
use signoff_core::request::Request;
use signoff_runtime::{DecideError, DeferError, EngineError, RuleError};
use signoff_store::StoreError;

/// What can be wrong, each with a stable code and a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    MalformedJson,
    InvalidBody,
    InvalidQuery,
    InvalidCursor,
    InvalidPath,
    MissingToken,
    InvalidToken,
    InvalidLink,
    LinkExpired,
    NotPermitted,
    TooManyRequests,
    HostRefused,
    OriginRefused,
    UnknownRoute,
    UnknownCode,
    UnknownWorkflow,
    UnknownRun,
    UnknownRequest,
    UnknownResponse,
    UnknownConversation,
    UnknownSession,
    UnknownItem,
    NoCalendar,
    NotFailed,
    UnknownGrant,
    InvalidPolicy,
    NoneDecided,
    UnknownFeedback,
    MethodNotAllowed,
    NotAcceptable,
    BodyTimeout,
    ConversationBusy,
    InterruptsOpen,
    IdempotencyConflict,
    VersionConflict,
    AlreadyDecided,
    AlreadyClaimed,
    NotAsked,
    OwnRun,
    RunOver,
    Expired,
    Cancelled,
    BodyTooLarge,
    UnsupportedMediaType,
    InvalidInput,
    DecisionNotAllowed,
    InvalidAnswer,
    InvalidDeferral,
    AmbiguousAnswer,
    CannotFork,
    FeedbackNotTaken,
    CannotReload,
    Internal,
    NotReady,
    ShuttingDown,
    TooManyStreams,
    UpgradeRequired,
    TooManyMessages,
    TooManyAttached,
    Store,
}

impl Problem {
    /// The stable code.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::MalformedJson => "malformed_json",
            Self::InvalidBody => "invalid_body",
            Self::InvalidQuery => "invalid_query",
            Self::InvalidCursor => "invalid_cursor",
            Self::InvalidPath => "invalid_path",
            Self::MissingToken => "missing_token",
            Self::InvalidToken => "invalid_token",
            Self::InvalidLink => "invalid_link",
            Self::LinkExpired => "link_expired",
            Self::NotPermitted => "not_permitted",
            Self::TooManyRequests => "too_many_requests",
            Self::HostRefused => "host_refused",
            Self::OriginRefused => "origin_refused",
            Self::UnknownRoute => "unknown_route",
            Self::UnknownCode => "unknown_code",
            Self::UnknownWorkflow => "unknown_workflow",
            Self::UnknownRun => "unknown_run",
            Self::UnknownRequest => "unknown_request",
            Self::UnknownResponse => "unknown_response",
            Self::UnknownConversation => "unknown_conversation",
            Self::UnknownSession => "unknown_session",
            Self::UnknownItem => "unknown_item",
            Self::NoCalendar => "no_calendar",
            Self::NotFailed => "not_failed",
            Self::UnknownGrant => "unknown_grant",
            Self::InvalidPolicy => "invalid_policy",
            Self::NoneDecided => "none_decided",
            Self::UnknownFeedback => "unknown_feedback",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NotAcceptable => "not_acceptable",
            Self::BodyTimeout => "body_timeout",
            Self::ConversationBusy => "conversation_busy",
            Self::InterruptsOpen => "interrupts_open",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::VersionConflict => "version_conflict",
            Self::AlreadyDecided => "already_decided",
            Self::AlreadyClaimed => "already_claimed",
            Self::NotAsked => "not_asked",
            Self::OwnRun => "own_run",
            Self::RunOver => "run_over",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::BodyTooLarge => "body_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::InvalidInput => "invalid_input",
            Self::DecisionNotAllowed => "decision_not_allowed",
            Self::InvalidAnswer => "invalid_answer",
            Self::InvalidDeferral => "invalid_deferral",
            Self::AmbiguousAnswer => "ambiguous_answer",
            Self::CannotFork => "cannot_fork",
            Self::FeedbackNotTaken => "feedback_not_taken",
            Self::CannotReload => "cannot_reload",
            Self::Internal => "internal",
            Self::NotReady => "not_ready",
            Self::ShuttingDown => "shutting_down",
            Self::TooManyStreams => "too_many_streams",
            Self::UpgradeRequired => "upgrade_required",
            Self::TooManyMessages => "too_many_messages",
            Self::TooManyAttached => "too_many_attached",
            Self::Store => "store",
        }
    }

    /// The status that goes with it.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::MalformedJson
            | Self::InvalidBody
            | Self::InvalidQuery
            | Self::InvalidCursor
            | Self::InvalidPath
            | Self::CannotReload => StatusCode::BAD_REQUEST,
            Self::MissingToken | Self::InvalidToken => StatusCode::UNAUTHORIZED,
            Self::TooManyRequests | Self::TooManyMessages | Self::TooManyAttached => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::HostRefused
            | Self::OriginRefused
            | Self::InvalidLink
            | Self::NotPermitted
            | Self::NotAsked
            | Self::OwnRun => StatusCode::FORBIDDEN,
            Self::UnknownRoute
            | Self::UnknownCode
            | Self::UnknownWorkflow
            | Self::UnknownRun
            | Self::UnknownRequest
            | Self::UnknownResponse
            | Self::UnknownConversation
            | Self::UnknownSession
            | Self::UnknownItem
            | Self::NoCalendar
            | Self::UnknownGrant
            | Self::UnknownFeedback => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::ConversationBusy
            | Self::InterruptsOpen
            | Self::IdempotencyConflict
            | Self::VersionConflict
            | Self::AlreadyDecided
            | Self::AlreadyClaimed
            | Self::NoneDecided
            | Self::NotFailed
            | Self::RunOver => StatusCode::CONFLICT,
            Self::Expired | Self::Cancelled | Self::LinkExpired => StatusCode::GONE,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::InvalidInput
            | Self::DecisionNotAllowed
            | Self::InvalidAnswer
            | Self::InvalidDeferral
            | Self::AmbiguousAnswer
            | Self::InvalidPolicy
            | Self::CannotFork
            | Self::FeedbackNotTaken => StatusCode::UNPROCESSABLE_ENTITY,
            Self::UpgradeRequired => StatusCode::UPGRADE_REQUIRED,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NotReady | Self::ShuttingDown | Self::TooManyStreams | Self::Store => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }
}

/// An error as a client gets it.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    body: Box<Body>,
}

#[derive(Debug, Serialize)]
struct Body {
    code: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

impl ApiError {
    /// An error without a hint.
    #[allow(clippy::needless_pass_by_value)] // reads better where it is made
    pub(crate) fn new(problem: Problem, message: impl Into<String>) -> Self {
        let body = Body {
            code: problem.code().to_owned(),
            message: message.into(),
            hint: None,
            details: None,
        };
        Self { status: problem.status(), body: Box::new(body) }
    }

    /// The same with what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = Some(hint.into());
        self
    }

    /// The same with what a program may want to know.
    pub(crate) fn details(mut self, details: Value) -> Self {
        self.body.details = Some(details);
        self
    }

    /// The stable code.
    pub(crate) fn code(&self) -> &str {
        &self.body.code
    }

    /// The status and the fields, for a dialect that words its errors otherwise.
    pub(crate) fn into_fields(self) -> (StatusCode, Value) {
        (self.status, serde_json::to_value(&self.body).unwrap_or_default())
    }

    /// Something is wrong with us.
    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a rule inside the server was broken");
        Self::new(Problem::Internal, "something went wrong inside the server")
            .hint("its log says what; please report it")
    }

    /// There is no such run.
    pub(crate) fn unknown_run(id: &str) -> Self {
        Self::new(Problem::UnknownRun, format!("there is no run `{id}`"))
            .hint("GET /v1/runs lists them")
    }

    /// There is no such request.
    pub(crate) fn unknown_request(id: &str) -> Self {
        Self::new(Problem::UnknownRequest, format!("there is no request `{id}`"))
            .hint("GET /v1/requests?status=pending lists what waits")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = crate::extract::json(self.status, &json!({ "error": self.body }));
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"signoff\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        no_more(&mut response);
        let later = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS];
        if later.contains(&self.status) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Says that the connection ends with this answer, where the rest of the body is not read: a client must not
/// send its next request into it.
pub(crate) fn no_more(response: &mut Response) {
    let unread = [StatusCode::PAYLOAD_TOO_LARGE, StatusCode::REQUEST_TIMEOUT];
    if unread.contains(&response.status()) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownRun(id) => Self::unknown_run(id.as_str()),
            StoreError::UnknownRequest(id) => Self::unknown_request(id.as_str()),
            StoreError::BadCursor => {
                Self::new(Problem::InvalidCursor, "this is not a cursor of this list")
                    .hint("take `next_cursor` of the page before, or leave it out")
            }
            other => {
                tracing::error!(error = %other, "the store failed");
                Self::new(Problem::Store, "the store could not be read or written")
                    .hint("try again; the server's log says more")
            }
        }
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::UnknownWorkflow { id, known } => unknown_workflow(&id, &known),
            EngineError::InvalidInput { problems, .. } => Self::new(Problem::InvalidInput, message)
                .hint("GET /v1/workflows/ID has the schema of its input, and samples")
                .details(json!({ "problems": problems })),
            EngineError::ConversationBusy { run } => Self::new(Problem::ConversationBusy, message)
                .hint("wait for it, cancel it, or leave `conversation` out")
                .details(json!({ "run": run })),
            EngineError::CannotFork { .. } => Self::new(Problem::CannotFork, message)
                .hint("GET /v1/runs/ID/journal shows the places there are"),
            EngineError::Decision(error) => error.into(),
            EngineError::Unable(info) => info.into(),
            EngineError::NotFailed(_) => Self::new(Problem::NotFailed, message)
                .hint("POST /v1/runs/ID/fork goes back to any place of a run"),
            EngineError::Over(_) => Self::new(Problem::RunOver, message),
            EngineError::Store(error) => error.into(),
        }
    }
}

impl From<ErrorInfo> for ApiError {
    /// This process lacks something.
    fn from(info: ErrorInfo) -> Self {
        let body = Body { code: info.code, message: info.message, hint: info.hint, details: None };
        Self { status: StatusCode::SERVICE_UNAVAILABLE, body: Box::new(body) }
    }
}

impl From<RuleError> for ApiError {
    fn from(error: RuleError) -> Self {
        let message = error.to_string();
        match error {
            RuleError::Invalid(problems) => {
                let problems: Vec<Value> = problems
                    .into_iter()
                    .map(|(at, what)| json!({ "at": at, "problem": what }))
                    .collect();
                Self::new(Problem::InvalidPolicy, message)
                    .hint("nothing was changed")
                    .details(json!({ "problems": problems }))
            }
            RuleError::Stale(_) => Self::new(Problem::VersionConflict, message)
                .hint("read it again, and change what it says now"),
            RuleError::TooMuch(_) => Self::new(Problem::InvalidBody, message),
            RuleError::Store(error) => error.into(),
        }
    }
}

impl From<DecideError> for ApiError {
    fn from(error: DecideError) -> Self {
        let message = error.to_string();
        match error {
            DecideError::Unknown(id) => Self::unknown_request(id.as_str()),
            DecideError::Foreign { request, .. } => Self::unknown_request(request.as_str()),
            DecideError::Expired(request) => {
                Self::new(Problem::Expired, message).details(standing(&request))
            }
            DecideError::Cancelled(request) => {
                Self::new(Problem::Cancelled, message).details(standing(&request))
            }
            DecideError::AlreadyDecided(request) => Self::new(Problem::AlreadyDecided, message)
                .hint("fork the run from before it to decide otherwise")
                .details(standing(&request)),
            DecideError::Refused(Refusal::NotAllowed { allowed, .. }) => {
                Self::new(Problem::DecisionNotAllowed, message)
                    .details(json!({ "allowed": allowed }))
            }
            DecideError::Refused(Refusal::Invalid { problems }) => {
                Self::new(Problem::InvalidAnswer, message).details(json!({ "problems": problems }))
            }
            DecideError::Refused(Refusal::NotAsked { .. }) => {
                Self::new(Problem::NotAsked, message).hint("reassign it, or ask one of them")
            }
            DecideError::Refused(Refusal::OwnRun { .. }) => Self::new(Problem::OwnRun, message)
                .hint("a gate says `not_initiator`; without users, `signoff user add` makes some"),
            DecideError::Stale(request) => Self::new(Problem::VersionConflict, message)
                .hint("read it again and decide on what it says now")
                .details(standing(&request)),
            DecideError::Store(error) => error.into(),
        }
    }
}

impl From<DeferError> for ApiError {
    fn from(error: DeferError) -> Self {
        match error {
            DeferError::Decide(error) => error.into(),
            DeferError::Invalid { problem, expires_at } => {
                let refused = Self::new(Problem::InvalidDeferral, problem);
                match expires_at {
                    Some(at) => refused.details(json!({ "expires_at": at.rfc3339() })),
                    None => refused,
                }
            }
        }
    }
}

/// How a request stands: who decided what, if somebody did.
pub(crate) fn standing(request: &Request) -> Value {
    let whole = request.to_json();
    let mut short =
        json!({ "request": whole["id"], "status": whole["status"], "version": whole["version"] });
    if !whole["decision"].is_null() {
        short["decision"] = whole["decision"].clone();
    }
    short
}

/// There is no such workflow; perhaps one of a similar name was meant.
pub(crate) fn unknown_workflow(id: &str, known: &[String]) -> ApiError {
    let error = ApiError::new(Problem::UnknownWorkflow, format!("there is no workflow `{id}`"));
    match nearest(id, known.iter().map(String::as_str)) {
        Some(found) => error.hint(format!("did you mean `{found}`?")),
        None => error.hint(format!("known here: {}", known.join(", "))),
    }
}

/// The one of `known` that `wanted` most likely means.
pub(crate) fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .filter(|(distance, name)| *distance <= (wanted.chars().count().max(name.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
