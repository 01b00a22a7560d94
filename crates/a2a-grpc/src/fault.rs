//! What went wrong, as gRPC says it.

use bytes::Bytes;
use prost::Message;
use serde_json::Value;
use tonic::{Code, Status};

/// A fault as the protocol has it over HTTP: the name of its status, what is wrong, and details, each with its
/// `@type`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The name of the status, such as `NOT_FOUND`.
    pub status: String,
    /// What is wrong.
    pub message: String,
    /// `google.rpc.ErrorInfo` and `google.rpc.BadRequest`; others are left out.
    pub details: Vec<Value>,
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        let code = code(&fault.status);
        let details: Vec<Packed> = fault.details.iter().filter_map(packed).collect();
        if details.is_empty() {
            return Self::new(code, fault.message);
        }
        let whole = RpcStatus { code: code as i32, message: fault.message.clone(), details };
        Self::with_details(code, fault.message, Bytes::from(whole.encode_to_vec()))
    }
}

fn code(name: &str) -> Code {
    match name {
        "CANCELLED" => Code::Cancelled,
        "INVALID_ARGUMENT" => Code::InvalidArgument,
        "DEADLINE_EXCEEDED" => Code::DeadlineExceeded,
        "NOT_FOUND" => Code::NotFound,
        "ALREADY_EXISTS" => Code::AlreadyExists,
        "PERMISSION_DENIED" => Code::PermissionDenied,
        "RESOURCE_EXHAUSTED" => Code::ResourceExhausted,
        "FAILED_PRECONDITION" => Code::FailedPrecondition,
        "ABORTED" => Code::Aborted,
        "OUT_OF_RANGE" => Code::OutOfRange,
        "UNIMPLEMENTED" => Code::Unimplemented,
        "INTERNAL" => Code::Internal,
        "UNAVAILABLE" => Code::Unavailable,
        "UNAUTHENTICATED" => Code::Unauthenticated,
        _ => Code::Unknown,
    }
}

fn packed(detail: &Value) -> Option<Packed> {
    let type_url = text(detail, "@type");
    let value = match type_url.rsplit('/').next()? {
        "google.rpc.ErrorInfo" => ErrorInfo {
            reason: text(detail, "reason"),
            domain: text(detail, "domain"),
            metadata: pairs(detail.get("metadata")),
        }
        .encode_to_vec(),
        "google.rpc.BadRequest" => BadRequest {
            field_violations: detail
                .get("fieldViolations")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|one| Violation {
                    field: text(one, "field"),
                    description: text(one, "description"),
                })
                .collect(),
        }
        .encode_to_vec(),
        _ => return None,
    };
    Some(Packed { type_url, value })
}

fn text(of: &Value, name: &str) -> String {
    of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn pairs(of: Option<&Value>) -> Vec<Pair> {
    let object = of.and_then(Value::as_object);
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    object
        .into_iter()
        .flatten()
        .map(|(key, value)| Pair { key: key.clone(), value: written(value) })
        .collect()
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Packed>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Packed {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.ErrorInfo`.
#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    /// A map, which on the wire is a list of pairs.
    #[prost(message, repeated, tag = "3")]
    metadata: Vec<Pair>,
}

#[derive(Clone, PartialEq, Message)]
struct Pair {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// `google.rpc.BadRequest`.
#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<Violation>,
}

#[derive(Clone, PartialEq, Message)]
struct Violation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
}
