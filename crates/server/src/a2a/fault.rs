//! Why something was not done, in the words of A2A: one kind, and how each binding says it.

use axum::http::StatusCode;
use serde_json::{Value, json};
use signoff_runtime::EngineError;
use signoff_store::StoreError;

use crate::error::{ApiError, Problem};

/// Who the reasons belong to.
const DOMAIN: &str = "a2a-protocol.org";

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    /// The same of the whole body, which HTTP has a status of its own for.
    BodyNotSupported,
    VersionNotSupported,
    /// This process cannot do it now.
    Unavailable,
}

impl Kind {
    /// The code in JSON-RPC.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal | Self::Unavailable => -32603,
            Self::TaskNotFound => -32001,
            Self::TaskNotCancelable => -32002,
            Self::PushNotificationNotSupported => -32003,
            Self::UnsupportedOperation => -32004,
            Self::ContentTypeNotSupported | Self::BodyNotSupported => -32005,
            Self::VersionNotSupported => -32009,
        }
    }

    /// The reason that stands beside it.
    fn reason(self) -> &'static str {
        match self {
            Self::ParseError => "PARSE_ERROR",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::MethodNotFound => "METHOD_NOT_FOUND",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::TaskNotCancelable => "TASK_NOT_CANCELABLE",
            Self::PushNotificationNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::UnsupportedOperation => "UNSUPPORTED_OPERATION",
            Self::ContentTypeNotSupported | Self::BodyNotSupported => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::VersionNotSupported => "VERSION_NOT_SUPPORTED",
        }
    }

    /// The status over HTTP, and its name.
    pub(crate) fn status(self) -> (StatusCode, &'static str) {
        match self {
            Self::TaskNotFound | Self::MethodNotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            Self::BodyNotSupported => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "INVALID_ARGUMENT"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
            Self::ParseError
            | Self::InvalidRequest
            | Self::InvalidParams
            | Self::ContentTypeNotSupported => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
            Self::TaskNotCancelable
            | Self::PushNotificationNotSupported
            | Self::UnsupportedOperation
            | Self::VersionNotSupported => (StatusCode::BAD_REQUEST, "FAILED_PRECONDITION"),
        }
    }
}

/// Why something was not done. Nothing has changed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    /// Our own code of it, where it has one.
    code: Option<String>,
    /// The fields that are wrong, and how.
    wrong: Vec<(String, String)>,
}

impl Fault {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None, wrong: Vec::new() }
    }

    /// A field has a value that cannot be used.
    pub(crate) fn invalid(field: &str, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        let fault = Self::new(Kind::InvalidParams, format!("`{field}`: {problem}"));
        Self { wrong: vec![(field.to_owned(), problem)], ..fault }
    }

    /// There is no such task.
    pub(crate) fn unknown_task(id: &str) -> Self {
        let fault = Self::new(Kind::TaskNotFound, format!("there is no task `{id}`"));
        fault.coded("unknown_run")
    }

    /// The same with a code of ours.
    pub(crate) fn coded(mut self, code: &str) -> Self {
        self.code = Some(code.to_owned());
        self
    }

    /// What stands beside the message, as the messages of Google's error model.
    pub(crate) fn details(&self) -> Value {
        let mut info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.kind.reason(), "domain": DOMAIN, "metadata": {},
        });
        if let Some(code) = &self.code {
            info["metadata"]["code"] = code.as_str().into();
        }
        let mut details = vec![info];
        if !self.wrong.is_empty() {
            let wrong = self.wrong.iter();
            let wrong = wrong.map(|(field, why)| json!({ "field": field, "description": why }));
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": wrong.collect::<Vec<_>>(),
            }));
        }
        details.into()
    }
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        let code = error.code().to_owned();
        let (status, fields) = error.into_fields();
        let kind = match code.as_str() {
            "unknown_run" | "unknown_workflow" => Kind::TaskNotFound,
            "unknown_request" | "invalid_cursor" => Kind::InvalidParams,
            "malformed_json" => Kind::ParseError,
            "unsupported_media_type" => Kind::BodyNotSupported,
            _ => match status {
                StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Kind::InvalidParams,
                StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT => Kind::InvalidRequest,
                StatusCode::SERVICE_UNAVAILABLE => Kind::Unavailable,
                status if status.is_client_error() => Kind::UnsupportedOperation,
                _ => Kind::Internal,
            },
        };
        let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
        let message = match text("hint") {
            hint if hint.is_empty() => text("message"),
            hint => format!("{} ({hint})", text("message")),
        };
        let problems = fields["details"]["problems"].as_array().into_iter().flatten();
        let problems =
            problems.filter_map(|it| Some(("message".to_owned(), it.as_str()?.to_owned())));
        let mut wrong: Vec<_> = problems.collect();
        if wrong.is_empty() && kind == Kind::InvalidParams {
            wrong.push(("message".to_owned(), text("message")));
        }
        Self { kind, message, code: Some(code), wrong }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        ApiError::from(error).into()
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        ApiError::from(error).into()
    }
}

/// A journal that makes no sense.
pub(crate) fn broken(error: &dyn std::fmt::Display) -> Fault {
    ApiError::internal(error).into()
}

/// A client speaks for others.
pub(crate) fn other_tenant(name: &str) -> Fault {
    let error = ApiError::new(Problem::NotPermitted, format!("you do not speak for `{name}`"));
    Fault { wrong: vec![("tenant".into(), "not yours".into())], ..Fault::from(error) }
}
