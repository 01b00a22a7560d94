//! A server, and what can be asked of it.

use std::fmt::Write as _;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use signoff_core::{Decision, Request, RequestId, RunId, Seq};
use signoff_net::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use signoff_net::{Client, Method, Policy, Secret, Url};

use crate::error::{ClientError, Refused};
use crate::inbox::InboxEvents;
use crate::request::{self, Noted};
use crate::run_events::RunEvents;
use crate::shapes::{
    Filter, Many, Page, Run, RunFilter, Session, Start, Workflow, WorkflowSummary,
};
use crate::stream::{Opened, streaming};

/// How many requests are read at once.
const PAGE: usize = 500;
/// The largest answer that is read.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

/// Where a server is and how to come in. The token is shown by nothing.
#[derive(Clone, Debug)]
pub struct Address {
    pub(crate) base: Url,
    pub(crate) token: Option<Secret>,
}

impl Address {
    /// Reads an address. A password in it is a token: `http://me:TOKEN@host:8484`.
    pub fn new(text: &str, token: Option<&str>) -> Result<Self, ClientError> {
        let wrong = || ClientError::Address(text.to_owned());
        let mut base: Url = text.trim_end_matches('/').parse().map_err(|_| wrong())?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(wrong());
        }
        let inside = base.password().map(ToOwned::to_owned);
        base.set_username("").and_then(|()| base.set_password(None)).map_err(|()| wrong())?;
        base.set_query(None);
        base.set_fragment(None);
        let token = token.map(ToOwned::to_owned).or(inside).filter(|it| !it.trim().is_empty());
        Ok(Self { base, token: token.map(|it| Secret::new(&it)) })
    }

    /// The address without the token.
    pub fn shown(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    pub(crate) fn at(&self, path: &str) -> Result<Url, ClientError> {
        let whole = format!("{}{path}", self.shown());
        whole.parse().map_err(|_| ClientError::Address(whole))
    }

    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<signoff_net::Request, ClientError> {
        let mut request = signoff_net::Request::new(method, self.at(path)?);
        if let Some(token) = &self.token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
                .map_err(|_| ClientError::strange("the token is not text that can be sent"))?;
            value.set_sensitive(true);
            request.headers.insert(AUTHORIZATION, value);
        }
        if let Some(body) = body {
            request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body = body.to_string().into();
        }
        Ok(request)
    }
}

/// A server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Server {
    address: Address,
    http: Client,
    streams: Client,
}

impl Server {
    /// The server there. Nothing is sent yet.
    pub fn new(address: Address) -> Result<Self, ClientError> {
        let policy = Policy { max_response_bytes: MAX_ANSWER, ..Policy::configured() };
        Ok(Self { address, http: Client::new(policy)?, streams: streaming()? })
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Who we are there.
    pub async fn session(&self) -> Result<Session, ClientError> {
        self.get("/v1/session").await
    }

    /// The workflows that can be started.
    pub async fn workflows(&self) -> Result<Vec<WorkflowSummary>, ClientError> {
        let list: Value = self.get("/v1/workflows").await?;
        typed(list["data"].clone())
    }

    /// One of them.
    pub async fn workflow(&self, id: &str) -> Result<Workflow, ClientError> {
        self.get(&format!("/v1/workflows/{}", segment(id))).await
    }

    /// Starts a run.
    pub async fn start(&self, start: &Start) -> Result<Run, ClientError> {
        self.post("/v1/runs", &typed_json(start)?).await
    }

    /// A run.
    pub async fn run(&self, id: &RunId) -> Result<Run, ClientError> {
        self.get(&format!("/v1/runs/{}", segment(id.as_str()))).await
    }

    /// The newest runs of those.
    pub async fn runs(&self, filter: &RunFilter) -> Result<Vec<Run>, ClientError> {
        let query = serde_urlencoded::to_string(filter).map_err(ClientError::strange)?;
        let list: Value = self.get(&format!("/v1/runs?{query}")).await?;
        typed(list["data"].clone())
    }

    /// Stops a run for good.
    pub async fn cancel(&self, id: &RunId, reason: &str) -> Result<Run, ClientError> {
        let path = format!("/v1/runs/{}/cancel", segment(id.as_str()));
        self.post(&path, &json!({ "reason": reason })).await
    }

    /// Makes a new run from a place in another's journal.
    pub async fn fork(
        &self,
        id: &RunId,
        at: Seq,
        decision: Option<&Decision>,
    ) -> Result<Run, ClientError> {
        let mut body = json!({ "at": at });
        if let Some(decision) = decision {
            body["decision"] = typed_json(decision)?;
        }
        self.post(&format!("/v1/runs/{}/fork", segment(id.as_str())), &body).await
    }

    /// Says something that counts for the rest of a run.
    pub async fn feedback(&self, id: &RunId, text: &str) -> Result<Value, ClientError> {
        let path = format!("/v1/runs/{}/feedback", segment(id.as_str()));
        self.post(&path, &json!({ "text": text })).await
    }

    /// One page of requests, oldest first.
    pub async fn requests(
        &self,
        filter: &Filter,
        cursor: Option<&str>,
    ) -> Result<Page<Request>, ClientError> {
        let mut query = serde_urlencoded::to_string(filter).map_err(ClientError::strange)?;
        if let Some(cursor) = cursor {
            let cursor = serde_urlencoded::to_string([("cursor", cursor)]);
            query = format!("{query}&{}", cursor.map_err(ClientError::strange)?);
        }
        let list: Value = self.get(&format!("/v1/requests?{query}&limit={PAGE}")).await?;
        let Value::Object(mut list) = list else { return Err(ClientError::strange("no list")) };
        let Some(Value::Array(items)) = list.remove("data") else {
            return Err(ClientError::strange("a list has no `data`"));
        };
        let data = items.into_iter().map(|item| Ok(read(item)?.request));
        Ok(Page {
            data: data.collect::<Result<_, ClientError>>()?,
            next: list.get("next_cursor").and_then(Value::as_str).map(ToOwned::to_owned),
        })
    }

    /// All requests of those.
    pub async fn all_requests(&self, filter: &Filter) -> Result<Vec<Request>, ClientError> {
        let mut page = self.requests(filter, None).await?;
        let mut all = std::mem::take(&mut page.data);
        while let Some(cursor) = page.next {
            page = self.requests(filter, Some(&cursor)).await?;
            all.append(&mut page.data);
        }
        Ok(all)
    }

    /// One request, with what was noted on it.
    pub async fn request(&self, id: &RequestId) -> Result<Noted, ClientError> {
        read(self.get(&format!("/v1/requests/{}", segment(id.as_str()))).await?)
    }

    /// Decides a request as it was seen.
    pub async fn decide(
        &self,
        id: &RequestId,
        version: u32,
        decision: &Decision,
    ) -> Result<Request, ClientError> {
        let mut body = typed_json(decision)?;
        body["version"] = version.into();
        self.on(id, "decision", &body).await
    }

    /// Decides several, each for itself. What came of each is in their order.
    pub async fn decide_many(
        &self,
        many: &[Many],
    ) -> Result<Vec<Result<Request, ClientError>>, ClientError> {
        let mut items = Vec::new();
        for one in many {
            let mut item = typed_json(&one.decision)?;
            item["request"] = one.request.as_str().into();
            item["version"] = one.version.into();
            items.push(item);
        }
        let body = json!({ "items": items });
        let mut answer: Value = self.post("/v1/requests/decisions", &body).await?;
        let Value::Array(results) = answer["results"].take() else {
            return Err(ClientError::strange("no results"));
        };
        let one = |mut result: Value| match result.get_mut("error").map(Value::take) {
            Some(error) => Err(refused(0, &json!({ "error": error }))),
            None => Ok(read(result["request"].take())?.request),
        };
        Ok(results.into_iter().map(one).collect())
    }

    /// Says that we look after it.
    pub async fn claim(&self, id: &RequestId) -> Result<Request, ClientError> {
        self.on(id, "claim", &json!({})).await
    }

    /// Says that we no longer do.
    pub async fn release(&self, id: &RequestId) -> Result<Request, ClientError> {
        self.on(id, "release", &json!({})).await
    }

    /// Adds a comment.
    pub async fn comment(&self, id: &RequestId, text: &str) -> Result<Request, ClientError> {
        self.on(id, "comment", &json!({ "text": text })).await
    }

    /// Puts it off: for so long (`for`) or until a time (`until`).
    pub async fn defer(
        &self,
        id: &RequestId,
        when: (&str, &str),
        note: Option<&str>,
    ) -> Result<Request, ClientError> {
        self.on(id, "defer", &json!({ when.0: when.1, "note": note })).await
    }

    /// Follows a run from after an entry.
    pub fn follow(&self, run: &RunId, after: Seq) -> RunEvents {
        RunEvents::new(self.clone(), run.clone(), after)
    }

    /// Hears what happens in the inbox.
    pub fn inbox(&self) -> InboxEvents {
        InboxEvents::new(self.clone())
    }

    async fn on(&self, id: &RequestId, what: &str, body: &Value) -> Result<Request, ClientError> {
        let path = format!("/v1/requests/{}/{what}", segment(id.as_str()));
        Ok(read(self.post(&path, body).await?)?.request)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.send(Method::GET, path, None).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, ClientError> {
        self.send(Method::POST, path, Some(body)).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, ClientError> {
        let response = self.http.send(self.address.request(method, path, body)?).await?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await?;
        let answer: Result<Value, _> = serde_json::from_slice(&bytes);
        if (200..300).contains(&status) {
            return typed(answer.map_err(ClientError::strange)?);
        }
        Err(refused(status, &answer.unwrap_or_default()))
    }

    /// Opens a stream; none, if there is nothing more to tell.
    pub(crate) async fn open(&self, path: &str) -> Result<Option<Opened>, ClientError> {
        let request = self.address.request(Method::GET, path, None)?;
        let response = self.streams.send(request).await?;
        match response.status().as_u16() {
            200 => Ok(Some(Opened::new(response))),
            204 => Ok(None),
            status => {
                let body = response.beginning(64 * 1024).await;
                Err(refused(status, &serde_json::from_slice(&body).unwrap_or_default()))
            }
        }
    }
}

/// The error that an answer tells.
pub(crate) fn refused(status: u16, answer: &Value) -> ClientError {
    let error = &answer["error"];
    let text = |name: &str| error[name].as_str().map(ToOwned::to_owned);
    ClientError::Refused(Box::new(Refused {
        status,
        code: text("code").unwrap_or_else(|| format!("http_{status}")),
        message: text("message").unwrap_or_else(|| format!("the server answered with {status}")),
        hint: text("hint"),
    }))
}

fn read(json: Value) -> Result<Noted, ClientError> {
    request::read(json).map_err(ClientError::Strange)
}

fn typed<T: DeserializeOwned>(json: Value) -> Result<T, ClientError> {
    serde_json::from_value(json).map_err(ClientError::strange)
}

fn typed_json(value: &impl serde::Serialize) -> Result<Value, ClientError> {
    serde_json::to_value(value).map_err(ClientError::strange)
}

/// Text as one part of a path.
pub(crate) fn segment(text: &str) -> String {
    let mut written = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            written.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_token_to_itself() {
        let address = Address::new("http://me:sgn_secret@host:8484/", None).unwrap();
        assert_eq!(address.shown(), "http://host:8484");
        assert!(!format!("{address:?}").contains("sgn_secret"));
        let request = address.request(Method::GET, "/v1/session", None).unwrap();
        assert_eq!(request.headers[AUTHORIZATION], "Bearer sgn_secret");
        assert_eq!(request.url.as_str(), "http://host:8484/v1/session");
        let other = Address::new("https://host/base", Some("t")).unwrap();
        assert_eq!(other.at("/x").unwrap().as_str(), "https://host/base/x");
        for wrong in ["", "host:8484", "ftp://host", "nonsense"] {
            assert!(matches!(Address::new(wrong, None), Err(ClientError::Address(_))), "{wrong}");
        }
    }

    #[test]
    fn text_is_one_part_of_a_path() {
        assert_eq!(segment("req_1-2.x"), "req_1-2.x");
        assert_eq!(segment("a/../b?c é"), "a%2F..%2Fb%3Fc%20%C3%A9");
    }
}
