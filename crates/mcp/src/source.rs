//! A server as a source of tools.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use signoff_core::Span;
use signoff_core::journal::ErrorInfo;
use signoff_tools::{BoxFuture, Tool, ToolError, ToolSource};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use crate::config::{McpServerConfig, Place};
use crate::http::Web;
use crate::link::Link;
use crate::listing::{Standing, fetch, usable};
use crate::name::check_server;
use crate::session::{Connector, Session};
use crate::stdio::LastWords;
use crate::tool::RemoteTool;

/// How long a list is good for, if neither the server nor a change of it says otherwise.
const GOOD_FOR: Duration = Duration::from_mins(5);
/// How long a server of the older protocol may take, once connected, to add the tools that depend on
/// what we can do. They are missing from a list that is asked for at once.
const SETTLED: Duration = Duration::from_millis(250);

/// The tools of one MCP server, which is started or connected to when they are first wanted.
#[derive(Debug)]
pub struct McpSource {
    name: Arc<str>,
    link: Arc<Link>,
    trusted: bool,
    network: bool,
    total: Span,
    idle: Span,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    /// The session that listed them, and how often it had changed its tools.
    session: Weak<Session>,
    changes: u64,
    until: Instant,
    tools: Vec<Arc<dyn Tool>>,
}

impl McpSource {
    /// The server that `[mcp.NAME]` describes; paths in it are relative to `folder`. Nothing is started.
    pub fn new(name: &str, config: &McpServerConfig, folder: &Path) -> Result<Self, ErrorInfo> {
        let wrong =
            |problem: String| ErrorInfo::new("mcp_config", format!("[mcp.{name}]: {problem}"));
        check_server(name).map_err(wrong)?;
        let place = config.place(folder).map_err(wrong)?;
        let network = matches!(place, Place::Address { .. });
        let web = network.then(|| Web::new(config.timeout)).transpose();
        let web = web.map_err(|error| wrong(error.to_string()))?;
        let within = config.timeout.to_std();
        let words = LastWords::default();
        let connector = Connector { place, asks: config.asks, web, within, words };
        Ok(Self {
            name: name.into(),
            link: Arc::new(Link::new(connector)),
            trusted: config.trust_annotations,
            network,
            total: config.timeout,
            idle: config.idle_timeout,
            known: Mutex::new(None),
        })
    }

    /// The last that the server's program wrote to its standard error. For the operator alone: nobody
    /// knows what a program writes there, so it goes into no journal and to no model.
    pub fn last_words(&self) -> String {
        self.link.connector.words.text()
    }

    async fn list(&self) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
        let mut known = self.known.lock().await;
        let session = self.link.session().await?;
        let mut changed = session.desk.changes();
        let seen = *changed.borrow_and_update();
        if let Some(known) = &*known
            && std::ptr::eq(known.session.as_ptr(), Arc::as_ptr(&session))
            && known.changes == seen
            && Instant::now() < known.until
        {
            return Ok(known.tools.clone());
        }
        let fresh = known
            .as_ref()
            .is_none_or(|it| !std::ptr::eq(it.session.as_ptr(), Arc::as_ptr(&session)));
        let mut count = seen;
        if fresh && session.is_older() && session.tells_of_changes() {
            let _ = timeout(SETTLED, changed.changed()).await;
            // One change is often followed by others.
            while timeout(SETTLED / 5, changed.changed()).await.is_ok_and(|it| it.is_ok()) {
                sleep(Duration::from_millis(1)).await;
                if session.began.elapsed() > SETTLED * 8 {
                    break;
                }
            }
            count = *changed.borrow_and_update();
        }
        let (listed, good_for) = fetch(&session).await.inspect_err(|_| session.give_up())?;
        let standing =
            Standing { server: &self.name, trusted: self.trusted, network: self.network };
        let tools: Vec<Arc<dyn Tool>> = usable(&listed, standing)
            .into_iter()
            .map(|listed| -> Arc<dyn Tool> {
                Arc::new(RemoteTool {
                    server: Arc::clone(&self.name),
                    listed,
                    link: Arc::clone(&self.link),
                    total: self.total,
                    idle: self.idle,
                })
            })
            .collect();
        let good_for = good_for.map_or(GOOD_FOR, |ms| Duration::from_millis(ms).min(GOOD_FOR));
        *known = Some(Known {
            session: Arc::downgrade(&session),
            changes: count,
            until: Instant::now() + good_for,
            tools: tools.clone(),
        });
        Ok(tools)
    }
}

impl ToolSource for McpSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn tools(&self) -> BoxFuture<'_, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(self.list())
    }
}
