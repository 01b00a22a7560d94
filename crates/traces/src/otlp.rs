//! Spans as OTLP has them in JSON: ids in hex, numbers of 64 bits as text.

use serde_json::{Map, Value, json};
use signoff_core::Timestamp;

use crate::span::{Attribute, Span};

const FAILED: u32 = 2;

/// The body of a request that sends `spans`.
pub(crate) fn body(resource: &[(String, String)], spans: &[Span]) -> Vec<u8> {
    let resource: Vec<Value> = resource
        .iter()
        .map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } }))
        .collect();
    let spans: Vec<Value> = spans.iter().map(of_span).collect();
    let scope = json!({ "name": "signoff", "version": env!("CARGO_PKG_VERSION") });
    let request = json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] });
    request.to_string().into_bytes()
}

fn of_span(span: &Span) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("traceId", span.trace.as_str().into());
    put("spanId", span.id.as_str().into());
    if let Some(parent) = &span.parent {
        put("parentSpanId", parent.as_str().into());
    }
    put("name", span.name.as_str().into());
    put("kind", (span.kind as u32).into());
    put("startTimeUnixNano", nanoseconds(span.start));
    put("endTimeUnixNano", nanoseconds(span.end));
    put("attributes", span.attributes.iter().map(of_attribute).collect());
    if !span.links.is_empty() {
        let link = |(trace, id): &(String, String)| json!({ "traceId": trace, "spanId": id });
        put("links", span.links.iter().map(link).collect());
    }
    if span.failed {
        put("status", json!({ "code": FAILED }));
    }
    Value::Object(fields)
}

fn of_attribute((key, value): &(&'static str, Attribute)) -> Value {
    let value = match value {
        Attribute::Text(text) => json!({ "stringValue": text }),
        Attribute::Number(number) => json!({ "intValue": number.to_string() }),
        Attribute::Amount(amount) => json!({ "doubleValue": amount }),
        Attribute::Flag(flag) => json!({ "boolValue": flag }),
    };
    json!({ "key": key, "value": value })
}

fn nanoseconds(at: Timestamp) -> Value {
    (u128::from(at.0.max(0).unsigned_abs()) * 1_000_000)
        .min(u128::from(u64::MAX))
        .to_string()
        .into()
}
