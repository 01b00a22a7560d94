//! `signoff serve`, and `signoff` alone: the server.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use signoff_core::RunStatus;
use signoff_core::request::RequestStatus;
use signoff_server::{Page, PageError, ServeError, Server, Settings};
use signoff_store::{RequestFilter, RunFilter, Store};
use tokio::sync::watch;

use super::beacon::Beacon;
use crate::app::App;
use crate::args::{LogFormat, ServeArgs};
use crate::failure::{Exit, Failure, Result};
use crate::style::{Style, printable_line};
use crate::traces::Tracing;
use crate::{log, out};

const ADDRESS: &str = "127.0.0.1:8484";
const LOG: &str = "warn";

impl ServeArgs {
    /// These, and where they say nothing, those.
    pub(crate) fn or(self, other: Self) -> Self {
        let origin = if self.origin.is_empty() { other.origin } else { self.origin };
        Self {
            addr: self.addr.or(other.addr),
            origin,
            max_rate: self.max_rate.or(other.max_rate),
            log: self.log.or(other.log),
            log_format: self.log_format.or(other.log_format),
            devui: self.devui.or(other.devui),
        }
    }
}

pub(crate) async fn perform(app: &App, args: ServeArgs) -> Result<Exit> {
    let format = args.log_format.unwrap_or_default();
    log::begin(args.log.as_deref().unwrap_or(LOG), format)?;
    let address = address(args.addr.as_deref().unwrap_or(ADDRESS))?;
    let collector = Tracing::host()?;
    let channels = app.channels()?;
    let library = app.library(&[])?;
    let store = app.store_read_by(Some(signoff_server::CONNECTIONS))?;
    let engine = app.engine(store.clone(), &library, library.all())?;
    app.watch_policy(&engine)?;
    if let Some(finished) = app.retention()? {
        super::prune::keep_removing(&engine, finished);
    }
    let page = args.devui.as_deref().map(page).transpose()?;
    let devui = page.is_some();
    let traces = app.traces();
    let mut settings = Settings {
        origins: args.origin,
        page,
        channels,
        receivers: Some(app.receivers()?),
        card_key: app.card_key()?,
        mcp: app.mcp_server()?,
        traces: Arc::clone(traces.counts()),
        ..Settings::new(address)
    };
    settings.max_rate = args.max_rate.unwrap_or(settings.max_rate);
    let server = Server::bind(engine, settings).await.map_err(|error| refused(&error))?;
    let signals = signals(format)?;
    // Terminals on the same data find it by this.
    let _beacon = Beacon::light(&app.beacon()?, server.address()).await;
    greet(app, &*store, server.address(), devui)?;
    if let Some(host) = collector {
        out::line(&format!("Traces are sent to {}.", printable_line(&host)))?;
    }
    let again = signals.clone();
    let serving = async {
        server.run(come(signals, 1)).await;
        traces.finish().await;
    };
    tokio::select! {
        () = serving => Ok(Exit::Done),
        () = come(again, 2) => {
            traces.abandon();
            Ok(Exit::Interrupted)
        }
    }
}

fn address(text: &str) -> Result<SocketAddr> {
    let written = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    written.parse().map_err(|_| {
        Failure::usage(format!("--addr: `{}` is not an address and a port", printable_line(text)))
            .hint(format!("for example {ADDRESS}, or 127.0.0.1:0 for any port that is free"))
            .into()
    })
}

fn page(folder: &Path) -> Result<Arc<Page>> {
    let page = Page::read(folder).map_err(|error| {
        let failure = Failure::usage(format!("--devui: {}", printable_line(&error.to_string())));
        match error {
            PageError::NoIndex(_) => {
                failure.hint("give the folder `ui` of the package agent-framework-devui")
            }
            PageError::Read { .. } | PageError::TooLarge(_) => failure,
        }
    })?;
    Ok(Arc::new(page))
}

fn refused(error: &ServeError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        ServeError::NotLoopback(address) => failure.hint(format!(
            "add one with `signoff user add NAME`; or take 127.0.0.1:{}, and a tunnel (ssh -L)",
            address.port()
        )),
        ServeError::InUse(_) => {
            failure.hint("stop that, or take another port: signoff serve --addr 127.0.0.1:0")
        }
        ServeError::Listen { .. } | ServeError::Users(_) | ServeError::Secret(_) => failure,
    }
}

fn greet(app: &App, store: &dyn Store, address: SocketAddr, devui: bool) -> Result<()> {
    let style = Style::stdout();
    let url = format!("http://{address}");
    out::line(&format!("signoff listens on {}", style.bold(&url)))?;
    out::line(&format!("The web page is there: {}", style.bold(&format!("{url}/"))))?;
    out::line(&here(app, store)?)?;
    if devui {
        out::line(&format!("DevUI is at {}", style.bold(&format!("{url}/devui/"))))?;
    }
    out::line("\nThings to try:")?;
    let body = r#"{"workflow":"event_planner","input":"Plan a party for 30 people"}"#;
    for (command, what) in [
        (
            format!("{url}/workflows/event_planner"),
            "in a browser: start four agents, and answer what three of them ask you",
        ),
        (
            format!("curl {url}/v1/runs -H 'content-type: application/json' -d '{body}'"),
            "the same from a program",
        ),
        (format!("curl -N {url}/v1/runs/RUN/events"), "everything that happens in that run"),
        (app.command_line("chat support_handoff"), "a conversation, from a second terminal"),
        (app.command_line("inbox"), "all that waits for people, from another one"),
    ] {
        out::line(&format!("  {}\n    {}", style.accent(&command), style.dim(what)))?;
    }
    out::line("\nCtrl-C stops it; runs go on when it is started again.")?;
    Ok(())
}

/// What waits in this data directory.
fn here(app: &App, store: &dyn Store) -> Result<String> {
    let waiting = RunFilter { status: Some(RunStatus::Waiting), ..RunFilter::default() };
    let page = store.runs(&waiting, None, 100)?;
    let runs = page.items.iter().filter(|run| !crate::find::is_part(run)).count();
    let pending =
        RequestFilter { status: Some(RequestStatus::Pending), ..RequestFilter::default() };
    let requests = store.count_requests(&pending)?;
    let more = if page.next.is_some() { "more than " } else { "" };
    let inbox = app.command_line("inbox");
    Ok(match (runs, requests) {
        (0, 0) => "Nothing waits here.".to_owned(),
        (1, 1) => format!("1 run waits here, with 1 question: {inbox}"),
        (runs, requests) => {
            format!("{more}{runs} runs wait here, with {requests} questions: {inbox}")
        }
    })
}

/// How often this process was told to stop.
fn signals(format: LogFormat) -> Result<watch::Receiver<u32>> {
    let (count, counted) = watch::channel(0);
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::spawn(async move {
        loop {
            #[cfg(unix)]
            let terminated = terminate.recv();
            #[cfg(not(unix))]
            let terminated = std::future::pending::<Option<()>>();
            tokio::select! {
                told = tokio::signal::ctrl_c() => if told.is_err() { return },
                _ = terminated => {}
            }
            // Before it is counted: a server with nothing under way is gone a moment later.
            // Among lines of JSON there is nothing else; there the server's own line says it.
            if format == LogFormat::Text {
                out::note("stopping; once more stops at once");
            }
            count.send_modify(|count| *count += 1);
        }
    });
    Ok(counted)
}

async fn come(mut signals: watch::Receiver<u32>, times: u32) {
    if signals.wait_for(|count| *count >= times).await.is_err() {
        std::future::pending::<()>().await;
    }
}
