//! What an agent is asked to do, in each of the ways there are to say it.

use serde_json::{Value, json};
use signoff_net::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use signoff_net::{Method, Request, Url};

use crate::card::{Interface, Tongue};
use crate::wire::{Message, old};

const VERSION: HeaderName = HeaderName::from_static("a2a-version");
/// What a stream of events is called.
pub(crate) const EVENTS: &str = "text/event-stream";

/// What an agent is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wish<'a> {
    Send(&'a Message),
    Get { task: &'a str, history: Option<u32> },
    Subscribe { task: &'a str },
    Cancel { task: &'a str },
}

/// A wish in the agent's words.
pub(crate) fn request(at: &Interface, wish: Wish<'_>) -> Request {
    let mut request = match at.tongue {
        Tongue::Http => over_http(at, wish),
        tongue => {
            let (method, params) = rpc(tongue, at.tenant.as_deref(), wish);
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            with_body(Request::new(Method::POST, at.url.clone()), &body)
        }
    };
    if at.tongue != Tongue::OldJsonRpc {
        request.headers.insert(VERSION, HeaderValue::from_static("1.0"));
    }
    let streams = matches!(wish, Wish::Subscribe { .. });
    let accept = if streams { EVENTS } else { "application/json, application/a2a+json" };
    request.headers.insert(ACCEPT, HeaderValue::from_static(accept));
    request
}

fn rpc(tongue: Tongue, tenant: Option<&str>, wish: Wish<'_>) -> (&'static str, Value) {
    let older = tongue == Tongue::OldJsonRpc;
    let (new_name, old_name, mut params) = match wish {
        Wish::Send(message) if older => {
            let configuration = json!({ "blocking": false });
            let message = old::message(message);
            ("", "message/send", json!({ "message": message, "configuration": configuration }))
        }
        Wish::Send(message) => ("SendMessage", "", sending(message)),
        Wish::Get { task, history } => {
            let mut params = json!({ "id": task });
            if let Some(history) = history {
                params["historyLength"] = history.into();
            }
            ("GetTask", "tasks/get", params)
        }
        Wish::Subscribe { task } => ("SubscribeToTask", "tasks/resubscribe", json!({ "id": task })),
        Wish::Cancel { task } => ("CancelTask", "tasks/cancel", json!({ "id": task })),
    };
    if let Some(tenant) = tenant.filter(|_| !older) {
        params["tenant"] = tenant.into();
    }
    (if older { old_name } else { new_name }, params)
}

fn sending(message: &Message) -> Value {
    json!({ "message": message, "configuration": { "returnImmediately": true } })
}

fn over_http(at: &Interface, wish: Wish<'_>) -> Request {
    let (method, last, action) = match wish {
        Wish::Send(_) => (Method::POST, None, "message:send"),
        Wish::Get { task, .. } => (Method::GET, Some(task), ""),
        Wish::Subscribe { task } => (Method::GET, Some(task), ":subscribe"),
        Wish::Cancel { task } => (Method::POST, Some(task), ":cancel"),
    };
    let url = below(at, last, action);
    let mut request = Request::new(method, url);
    match wish {
        Wish::Get { history: Some(history), .. } => {
            request.url.query_pairs_mut().append_pair("historyLength", &history.to_string());
            request
        }
        Wish::Send(message) => with_body(request, &sending(message)),
        Wish::Cancel { .. } => with_body(request, &json!({})),
        _ => request,
    }
}

/// An address below that of the interface. The task's id is the agent's word, and stays one segment.
fn below(at: &Interface, task: Option<&str>, action: &str) -> Url {
    let mut url = at.url.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty();
        if let Some(tenant) = &at.tenant {
            path.push(tenant);
        }
        match task {
            Some(task) => path.push("tasks").push(&format!("{task}{action}")),
            None => path.push(action),
        };
    }
    url
}

fn with_body(mut request: Request, body: &Value) -> Request {
    request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request.body = body.to_string().into_bytes().into();
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(tongue: Tongue) -> Interface {
        let url = "https://a.example/v/".parse().unwrap();
        Interface { url, tongue, tenant: Some("acme".into()), streams: true }
    }

    #[test]
    fn wishes_in_each_tongue() {
        let body = |tongue, wish| -> Value {
            serde_json::from_slice(&request(&at(tongue), wish).body).unwrap()
        };
        let get = Wish::Get { task: "T", history: Some(1) };
        let new = body(Tongue::JsonRpc, get);
        assert_eq!(new["method"], "GetTask");
        assert_eq!(new["params"], json!({ "id": "T", "historyLength": 1, "tenant": "acme" }));
        let older = body(Tongue::OldJsonRpc, get);
        assert_eq!(older["method"], "tasks/get");
        assert_eq!(older["params"], json!({ "id": "T", "historyLength": 1 }));
        let over = |wish| request(&at(Tongue::Http), wish).url.to_string();
        assert_eq!(over(get), "https://a.example/v/acme/tasks/T?historyLength=1");
        let cancel = Wish::Cancel { task: "../../x?y#z" };
        assert_eq!(over(cancel), "https://a.example/v/acme/tasks/..%2F..%2Fx%3Fy%23z:cancel");
        let message = Message::default();
        assert_eq!(over(Wish::Send(&message)), "https://a.example/v/acme/message:send");
        let sent = body(Tongue::OldJsonRpc, Wish::Send(&message));
        assert_eq!(sent["params"]["configuration"]["blocking"], false);
        let sent = body(Tongue::JsonRpc, Wish::Send(&message));
        assert_eq!(sent["params"]["configuration"]["returnImmediately"], true);
    }
}
