//! What comes back, as an agent sees it: text as text, JSON as JSON, everything else by type and size.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use signoff_net::{Response, Url};

use super::told;
use crate::builtin::head;
use crate::tool::ToolError;

/// How much of a body is given back, in bytes of JSON.
const ROOM: usize = 200 * 1024;
/// How much of one header is given back, in bytes of JSON.
const HEADER_ROOM: usize = 2 * 1024;
/// The headers an agent may want to know.
const SHOWN: [&str; 9] = [
    "allow",
    "content-length",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "www-authenticate",
];

/// Reads a response, `most` bytes of it, and takes `secrets` out.
pub(super) async fn read(
    mut response: Response,
    url: &Url,
    is_head: bool,
    most: u64,
    secrets: &[String],
) -> Result<Value, ToolError> {
    let mut headers = Map::new();
    for name in SHOWN {
        if let Some(value) = response.header(name) {
            headers.insert(name.to_owned(), clean(head(value, HEADER_ROOM), secrets).into());
        }
    }
    let kind = Kind::of(response.header("content-type"));
    let mut result = json!({
        "status": response.status().as_u16(), "url": head(url.as_str(), HEADER_ROOM * 4), "headers": headers
    });
    if is_head {
        return Ok(result);
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut body = Vec::new();
    let mut whole = true;
    while let Some(piece) = response.chunk().await.map_err(|error| told(&error))? {
        let room = most - body.len();
        if piece.len() > room {
            body.extend_from_slice(&piece[..room]);
            whole = false;
            break;
        }
        body.extend_from_slice(&piece);
    }
    // It is closed here if it was not read to its end.
    drop(response);
    result["bytes"] = body.len().into();
    if !whole {
        result["cut"] = format!("only the first {most} bytes were read").into();
    }
    show(&body, whole, kind, secrets, &mut result);
    Ok(result)
}

fn show(body: &[u8], whole: bool, kind: Kind, secrets: &[String], result: &mut Value) {
    if body.is_empty() {
        return;
    }
    let text = match std::str::from_utf8(body) {
        Ok(text) => Some(text),
        // The last character may have been cut in two.
        Err(error) if !whole && error.error_len().is_none() => {
            std::str::from_utf8(&body[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let binary =
        kind == Kind::Other || (kind == Kind::Unknown && (text.is_none() || body.contains(&0)));
    if binary {
        result["note"] = "the content is not text and is not shown".into();
        return;
    }
    if text.is_none() {
        result["note"] = "it was not all UTF-8; \u{fffd} stands for what was not".into();
    }
    let text = text.map_or_else(|| String::from_utf8_lossy(body), Cow::Borrowed);
    let text = clean(&text, secrets);
    if kind == Kind::Json
        && text.len() <= ROOM
        && let Ok(value) = serde_json::from_str::<Value>(&text)
    {
        result["json"] = value;
        return;
    }
    let kept = head(&text, ROOM);
    if kept.len() < text.len() {
        result["cut"] = format!("only the first {} bytes are shown", kept.len()).into();
    }
    result["text"] = kept.into();
}

fn clean(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        if text.contains(secret) {
            text = text.replace(secret, "[removed]");
        }
    }
    text
}

/// What a content type says about how to show it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Json,
    Text,
    Other,
    Unknown,
}

impl Kind {
    fn of(content_type: Option<&str>) -> Self {
        let Some(content_type) = content_type else { return Self::Unknown };
        let essence =
            content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "" => Self::Unknown,
            "application/json" | "text/json" => Self::Json,
            "application/xml"
            | "application/javascript"
            | "application/x-www-form-urlencoded"
            | "application/yaml"
            | "application/x-yaml"
            | "application/toml"
            | "application/x-ndjson"
            | "application/jsonl"
            | "application/graphql"
            | "application/sql" => Self::Text,
            other if other.starts_with("text/") || other.ends_with("+xml") => Self::Text,
            other if other.ends_with("+json") => Self::Json,
            _ => Self::Other,
        }
    }
}
