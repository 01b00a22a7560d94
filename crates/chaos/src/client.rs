//! Somebody who talks to any of the nodes, and tries again until a node gives a clear word.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;
use signoff_testkit::Chance;

use crate::nodes::Nodes;

/// How long one try may take: a node that is stopped does not answer.
const ONE_TRY: Duration = Duration::from_secs(8);
/// How long it is tried.
const PATIENCE: Duration = Duration::from_mins(4);

/// A client.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    nodes: Arc<Nodes>,
}

/// A clear word of a node.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: Value,
}

impl Client {
    /// A client of these nodes.
    pub(crate) fn new(nodes: Arc<Nodes>) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(ONE_TRY).build().unwrap();
        Self { http, nodes }
    }

    /// Reads something, from any node.
    pub(crate) async fn get(&self, chance: &mut Chance, path: &str) -> Result<Reply, String> {
        let first = usize::try_from(chance.within(0..1000)).unwrap_or_default();
        self.ask(chance, first, Method::GET, path, None).await
    }

    /// Sends something: to the node of this number first, and if that does not say what became of it, to the others.
    pub(crate) async fn post(
        &self,
        chance: &mut Chance,
        first: usize,
        path: &str,
        body: &Value,
    ) -> Result<Reply, String> {
        self.ask(chance, first, Method::POST, path, Some(body)).await
    }

    async fn ask(
        &self,
        chance: &mut Chance,
        first: usize,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, String> {
        let since = Instant::now();
        let mut last = String::new();
        for node in first.. {
            let url = format!("{}{path}", self.nodes.url(node));
            let mut request = self.http.request(method.clone(), url);
            if let Some(body) = body {
                let body = serde_json::to_vec(body).unwrap();
                request = request.header("content-type", "application/json").body(body);
            }
            match request.send().await {
                Ok(response) => {
                    let status = response.status().as_u16();
                    match response.bytes().await {
                        // What a node could not do or does not know for sure is no clear word.
                        Ok(body) if status < 500 && status != 429 => {
                            let body = serde_json::from_slice(&body).unwrap_or_default();
                            return Ok(Reply { status, body });
                        }
                        Ok(body) => last = format!("{status} {}", String::from_utf8_lossy(&body)),
                        Err(error) => last = error.to_string(),
                    }
                }
                Err(error) => last = error.to_string(),
            }
            if since.elapsed() > PATIENCE {
                break;
            }
            tokio::time::sleep(chance.span(Duration::from_millis(20)..Duration::from_millis(300)))
                .await;
        }
        Err(format!("{method} {path}: {last}"))
    }
}
