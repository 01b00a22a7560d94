//! What can be asked of a server about requests.

use serde_json::{Value, json};
use signoff_core::{Decision, Request, RequestId};

use crate::address::segment;
use crate::error::ClientError;
use crate::request::{self, Noted};
use crate::server::{Server, refused, typed_json};
use crate::shapes::{Filter, Many, Page};

/// How many requests are read at once.
const PAGE: usize = 500;

impl Server {
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

    /// Says who does, whoever did before; nobody, if no name is given.
    pub async fn reassign(&self, id: &RequestId, to: Option<&str>) -> Result<Request, ClientError> {
        self.on(id, "reassign", &json!({ "to": to })).await
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

    async fn on(&self, id: &RequestId, what: &str, body: &Value) -> Result<Request, ClientError> {
        let path = format!("/v1/requests/{}/{what}", segment(id.as_str()));
        Ok(read(self.post(&path, body).await?)?.request)
    }
}

fn read(json: Value) -> Result<Noted, ClientError> {
    request::read(json).map_err(ClientError::Strange)
}
