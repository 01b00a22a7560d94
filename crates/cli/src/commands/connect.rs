//! The server that a terminal talks to: the one that was named, the one that runs, or one for as long as it is needed.

use signoff_client::{Address, ClientError, Server, Session};
use signoff_server::Settings;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::beacon;
use crate::app::App;
use crate::env;
use crate::failure::{Failure, Result};
use crate::style::printable;

/// A server that is there.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) server: Server,
    /// Who we are there.
    pub(crate) session: Session,
    /// What it is known by, over restarts.
    pub(crate) place: String,
    own: Option<Own>,
}

/// A server in this process.
#[derive(Debug)]
struct Own {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Connected {
    /// Lets a server of our own come to rest.
    pub(crate) async fn leave(self) {
        if let Some(Own { stop, task }) = self.own {
            // What it was doing is parked, or goes on when the next one starts.
            let _ = stop.send(());
            let _ = task.await;
        }
    }
}

/// Finds a server or starts one, and comes in.
pub(crate) async fn connect(app: &App, named: Option<&str>) -> Result<Connected> {
    let token = env::text(env::TOKEN);
    let reach = |url: &str| -> Result<Server> {
        let address = Address::new(url, token.as_deref()).map_err(|error| refused(&error))?;
        Ok(Server::new(address).map_err(|error| refused(&error))?)
    };
    let (server, place, own) = if let Some(url) = named {
        let server = reach(url)?;
        let place = server.address().shown();
        (server, place, None)
    } else if let Some(url) = beacon::find(&app.beacon()?) {
        (reach(&url)?, app.place()?, None)
    } else {
        let (own, url) = start(app).await?;
        (reach(&url)?, app.place()?, Some(own))
    };
    let session = server.session().await.map_err(|error| refused(&error))?;
    Ok(Connected { server, session, place, own })
}

async fn start(app: &App) -> Result<(Own, String)> {
    let library = app.library(&[])?;
    let store = app.store_read_by(Some(signoff_server::CONNECTIONS))?;
    let engine = app.engine(store, &library, library.all())?;
    app.watch_policy(&engine)?;
    let settings = Settings {
        channels: app.channels()?,
        receivers: Some(app.receivers()?),
        card_key: app.card_key()?,
        mcp: app.mcp_server()?,
        grace: std::time::Duration::from_secs(3),
        ..Settings::new(([127, 0, 0, 1], 0).into())
    };
    let server = signoff_server::Server::bind(engine, settings).await?;
    let url = format!("http://{}", server.address());
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(server.run(async move {
        // Whether told or let go: it stops.
        let _ = stopped.await;
    }));
    Ok((Own { stop, task }, url))
}

/// The failure for what a server, or the way to it, says.
pub(crate) fn refused(error: &ClientError) -> Failure {
    let failure = Failure::usage(printable(&error.to_string()));
    match (error.code(), error.hint()) {
        ("unauthorized" | "invalid_token" | "http_401", _) => failure.hint(format!(
            "put the token in {}; `signoff user add NAME` makes one",
            env::TOKEN.name
        )),
        ("net_connect" | "net_timeout", _) => failure
            .hint("is the server running? `signoff serve` starts one; --server names another"),
        (_, Some(hint)) => failure.hint(printable(hint)),
        _ => failure,
    }
}
