//! Errors as clients of this dialect expect them: ours, with a type and the parameter that is wrong.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use signoff_runtime::{DecideError, EngineError};
use signoff_store::StoreError;

use crate::error::{ApiError, Problem, no_more};
use crate::extract;

/// An error of this dialect.
#[derive(Debug)]
pub(super) struct Fault {
    error: ApiError,
    param: Option<&'static str>,
}

impl Fault {
    /// Something in the body has the wrong type.
    pub(super) fn invalid(param: &'static str, message: impl Into<String>) -> Self {
        ApiError::new(Problem::InvalidBody, message).in_param(param)
    }

    /// The stable code.
    pub(super) fn code(&self) -> &str {
        self.error.code()
    }

    /// There is no such response.
    pub(super) fn unknown_response(id: &str) -> Self {
        ApiError::new(Problem::UnknownResponse, format!("there is no response `{id}`")).into()
    }
}

/// Says which parameter an error is about.
pub(super) trait InParam {
    fn in_param(self, param: &'static str) -> Fault;
}

impl<E: Into<ApiError>> InParam for E {
    fn in_param(self, param: &'static str) -> Fault {
        Fault { error: self.into(), param: Some(param) }
    }
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        Self { error, param: None }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        ApiError::from(error).into()
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        let param = match &error {
            EngineError::UnknownWorkflow { .. } => Some("model"),
            EngineError::InvalidInput { .. } => Some("input"),
            EngineError::ConversationBusy { .. } => Some("conversation"),
            _ => None,
        };
        Self { error: error.into(), param }
    }
}

impl From<DecideError> for Fault {
    fn from(error: DecideError) -> Self {
        error.in_param("input")
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let (status, mut fields) = self.error.into_fields();
        let kind = if status.is_server_error() { "server_error" } else { "invalid_request_error" };
        fields["type"] = kind.into();
        fields["param"] = self.param.into();
        let mut response = extract::json(status, &json!({ "error": fields }));
        no_more(&mut response);
        // The libraries would send it again, and text may then mean something else.
        let again = if status.is_server_error() { "true" } else { "false" };
        let name = HeaderName::from_static("x-should-retry");
        response.headers_mut().insert(name, HeaderValue::from_static(again));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
