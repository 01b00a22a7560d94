//! `signoff mcp`: people to ask, for one MCP client on standard input and output.

use signoff_core::Actor;
use signoff_server::{Settings, Stdio};

use crate::app::{App, lacks};
use crate::args::{LogFormat, McpArgs};
use crate::failure::{Exit, Failure, Result};
use crate::style::printable_line;
use crate::{env, log};

/// What is written to standard error, if nothing is said: clients show it to people.
const LOG: &str = "error";

pub(crate) async fn perform(app: &App, args: McpArgs) -> Result<Exit> {
    log::begin(args.log.as_deref().unwrap_or(LOG), LogFormat::Text)?;
    let (read, write) = (tokio::io::stdin(), tokio::io::stdout());
    if let Some(server) = &args.server {
        let url = address(server)?;
        let token = std::env::var(env::TOKEN.name).ok().filter(|token| !token.is_empty());
        signoff_mcp::pipe(&url, token, read, write).await.map_err(lacks)?;
        return Ok(Exit::Done);
    }
    let library = app.library(&[])?;
    let store = app.store_read_by(Some(signoff_server::CONNECTIONS))?;
    let engine = app.engine(store, &library, library.all())?;
    app.watch_policy(&engine)?;
    // The address is only the one it would have: nobody listens there.
    let nowhere = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let settings = Settings { mcp: app.mcp_server()?, ..Settings::new(nowhere) };
    let serving = Stdio::new(engine, Actor::new(args.by), settings);
    let serving = serving.await.map_err(|error| Failure::usage(error.to_string()))?;
    serving.run(read, write).await;
    Ok(Exit::Done)
}

/// The address of a server's MCP, of what was typed: `http://host:port`, perhaps with `/mcp`.
fn address(server: &str) -> Result<String> {
    let whole = server.trim_end_matches('/');
    if !whole.starts_with("http://") && !whole.starts_with("https://") {
        let shown = printable_line(server);
        return Err(Failure::usage(format!("--server: `{shown}` is not the address of a server"))
            .hint("for example http://127.0.0.1:8484")
            .into());
    }
    Ok(if whole.ends_with("/mcp") { whole.to_owned() } else { format!("{whole}/mcp") })
}
