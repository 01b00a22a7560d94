//! A server, and what can be asked of it.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use signoff_core::journal::Entry;
use signoff_core::{Decision, RunId, Seq};
use signoff_net::{Client, Method, Policy};

use crate::address::{Address, segment};
use crate::entry;
use crate::error::{ClientError, Refused};
use crate::inbox::InboxEvents;
use crate::run_events::RunEvents;
use crate::shapes::{Run, RunFilter, Session, Start, Workflow, WorkflowSummary};
use crate::stream::{Opened, SILENCE, streaming};

/// The largest answer that is read.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

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
        Ok(Self { address, http: Client::new(policy)?, streams: streaming(SILENCE)? })
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

    /// The last entries of a run's journal, at most so many. Those that this client does not know are left out.
    pub async fn last_entries(&self, id: &RunId, most: u32) -> Result<Vec<Entry>, ClientError> {
        let head = self.run(id).await?.head;
        let after = head.saturating_sub(u64::from(most));
        let run = segment(id.as_str());
        let path = format!("/v1/runs/{run}/journal?after={after}&limit={}", most.clamp(1, 500));
        let mut list: Value = self.get(&path).await?;
        let Value::Array(entries) = list["data"].take() else {
            return Err(ClientError::strange("a list has no `data`"));
        };
        Ok(entries.into_iter().filter_map(|it| Some(entry::read(it).ok()?.0)).collect())
    }

    /// Follows a run from after an entry.
    pub fn follow(&self, run: &RunId, after: Seq) -> RunEvents {
        RunEvents::new(self.clone(), run.clone(), after)
    }

    /// Hears what happens in the inbox.
    pub fn inbox(&self) -> InboxEvents {
        InboxEvents::new(self.clone())
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, ClientError> {
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

pub(crate) fn typed<T: DeserializeOwned>(json: Value) -> Result<T, ClientError> {
    serde_json::from_value(json).map_err(ClientError::strange)
}

pub(crate) fn typed_json(value: &impl serde::Serialize) -> Result<Value, ClientError> {
    serde_json::to_value(value).map_err(ClientError::strange)
}
