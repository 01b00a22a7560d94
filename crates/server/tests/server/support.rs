//! A server in this process, and connections to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use signoff_core::RequestBody;
use signoff_runtime::{Context, Effect, Engine, WorkflowBuilder};
use signoff_server::{Server, Settings};
use signoff_store::{MemoryStore, Store};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Many entries, large enough together that no buffer of the system takes them all, in many commits.
const ENTRIES: usize = 8_000;
const PATIENCE: Duration = Duration::from_mins(2);

/// A server that runs.
pub(crate) struct Running {
    pub(crate) engine: Engine,
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn start(change: impl FnOnce(&mut Settings)) -> Self {
        Self::around(engine(Arc::new(MemoryStore::new())), change).await
    }

    /// A server around an engine.
    pub(crate) async fn around(engine: Engine, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::new(([127, 0, 0, 1], 0).into());
        change(&mut settings);
        let server = Server::bind(engine.clone(), settings).await.unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { engine, address, stop, serving }
    }

    /// Another engine on the same store, as another process would have it.
    pub(crate) fn elsewhere(&self) -> Engine {
        engine(Arc::clone(self.engine.store()))
    }

    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
    }

    /// Opens a connection and sends this, with the right host for `HOST`.
    pub(crate) async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let text = text.replace("HOST", &format!("Host: {}", self.address));
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }
}

fn engine(store: Arc<dyn Store>) -> Engine {
    Engine::builder(store).built(chatter()).built(asking()).built(lengthy()).build().unwrap()
}

/// All that comes until the connection is closed.
pub(crate) async fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    let reading = stream.read_to_end(&mut text);
    tokio::time::timeout(PATIENCE, reading).await.unwrap().unwrap();
    String::from_utf8(text).unwrap()
}

fn chatter() -> WorkflowBuilder {
    WorkflowBuilder::new("chatter").function("talk", |ctx: Context, _| async move {
        for n in 0..ENTRIES {
            let text = "x".repeat(1000);
            ctx.effect(&format!("e{n}"), Effect::repeatable(), |_| async move { Ok(json!(text)) })
                .await?;
            if n % 16 == 0 {
                ctx.durable().await?;
            }
        }
        Ok(json!("done"))
    })
}

/// Asks in so many words that no buffer of the system takes many of them.
fn lengthy() -> WorkflowBuilder {
    WorkflowBuilder::new("lengthy").function("ask", |ctx: Context, _| async move {
        ctx.ask("it", RequestBody::input("why ".repeat(25_000))).await?;
        Ok(json!("done"))
    })
}

pub(crate) fn asking() -> WorkflowBuilder {
    WorkflowBuilder::new("asking").function("ask", |ctx: Context, _| async move {
        ctx.ask("it", RequestBody::input("Well?")).await?;
        Ok(json!("done"))
    })
}
