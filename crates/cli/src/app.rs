//! What every command works on: the data directory, the store in it, and an engine around it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use signoff_core::journal::ErrorInfo;
use signoff_core::{Span, Workflow};
use signoff_runtime::{Engine, Origin, new_id};
use signoff_server::{CardKey, Channel, McpSettings, Receivers, Webhook};
use signoff_store::{
    NodeId, Peek, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store, StoreError,
};
use signoff_tools::Calendar;

use crate::args::Global;
use crate::config::Config;
use crate::env;
use crate::failure::{Failure, Result};
use crate::library::{Library, Report};
use crate::place::{Place, without_password};
use crate::policy;
use crate::style::printable;
use crate::traces::Tracing;

/// The options of every command, and what follows from them.
#[derive(Clone, Debug)]
pub(crate) struct App {
    global: Global,
    node: NodeId,
    traces: Tracing,
}

impl App {
    pub(crate) fn new(global: Global) -> Self {
        Self { global, node: new_id().into(), traces: Tracing::default() }
    }

    /// Where runs are kept.
    pub(crate) fn kept(&self) -> Result<Place> {
        Place::new(self.global.store.as_deref(), &self.global.data_dir)
    }

    /// Where a server of this database says that it is there.
    pub(crate) fn beacon(&self) -> Result<PathBuf> {
        let mut path = match self.kept()? {
            Place::Sqlite(path) => path.into_os_string(),
            // A server on this machine, among those that share the database.
            Place::Postgres(_) => self.global.data_dir.join("postgres").into_os_string(),
        };
        path.push(".server");
        Ok(path.into())
    }

    /// What the store is known by.
    pub(crate) fn place(&self) -> Result<String> {
        Ok(match self.kept()? {
            Place::Sqlite(path) => std::path::absolute(&path).unwrap_or(path).display().to_string(),
            postgres @ Place::Postgres(_) => postgres.shown(),
        })
    }

    /// The store. Made, if it is not there.
    pub(crate) fn store(&self) -> Result<Arc<dyn Store>> {
        self.store_read_by(None)
    }

    /// The same with so many connections for reading.
    pub(crate) fn store_read_by(&self, readers: Option<usize>) -> Result<Arc<dyn Store>> {
        make_private_folder(&self.global.data_dir)?;
        let place = self.kept()?;
        let opened: std::result::Result<Arc<dyn Store>, StoreError> = match &place {
            Place::Sqlite(path) => {
                let mut options = SqliteOptions::new(path, Arc::clone(&self.node));
                options.readers = readers.unwrap_or(options.readers);
                SqliteStore::open(options).map(|store| Arc::new(store) as _)
            }
            Place::Postgres(address) => PostgresOptions::new(address, Arc::clone(&self.node))
                .map(|options| options.read_by(readers).or_password(env::text(env::PGPASSWORD)))
                .and_then(PostgresStore::open)
                .map(|store| Arc::new(store) as _),
        };
        Ok(opened.map_err(|error| Failure::usage(format!("{}: {error}", place.shown())))?)
    }

    /// How the store is, without making or changing it.
    pub(crate) fn peek(&self) -> Result<Peek> {
        let place = self.kept()?;
        let peek = match &place {
            Place::Sqlite(path) => SqliteStore::peek(path),
            Place::Postgres(address) => PostgresOptions::new(address, Arc::clone(&self.node))
                .map(|options| options.or_password(env::text(env::PGPASSWORD)))
                .and_then(PostgresStore::peek),
        };
        Ok(peek.map_err(|error| Failure::usage(format!("{}: {error}", place.shown())))?)
    }

    /// The name of this process.
    pub(crate) fn node(&self) -> NodeId {
        Arc::clone(&self.node)
    }

    /// How long what is over is kept, if not for ever.
    pub(crate) fn retention(&self) -> Result<Option<Span>> {
        self.config()?.retention()
    }

    /// The store, if there is one.
    pub(crate) fn existing_store(&self) -> Result<Option<Arc<dyn Store>>> {
        match self.kept()? {
            Place::Sqlite(path) if !path.exists() => Ok(None),
            _ => self.store().map(Some),
        }
    }

    /// The store, or that there is none.
    pub(crate) fn needed_store(&self) -> Result<Arc<dyn Store>> {
        let place = self.global.data_dir.display();
        self.existing_store()?.ok_or_else(|| {
            Failure::usage(format!("there are no runs in {place}"))
                .hint("start one with `signoff run`, or say where they are with --data-dir")
                .into()
        })
    }

    pub(crate) fn config(&self) -> Result<Config> {
        Config::load(self.global.config.as_deref(), &self.global.data_dir)
    }

    /// The workflows: the examples, those of --workflows, and `extra` ones.
    pub(crate) fn library(&self, extra: &[PathBuf]) -> Result<Library> {
        let offers = self.config()?.offers()?;
        Library::load(&[&self.global.workflows, extra].concat(), &offers)
    }

    /// The workflows in `files`, among those of --workflows and the examples, and all that is wrong.
    pub(crate) fn check(&self, files: &[PathBuf]) -> (Library, Report) {
        // Files can be checked where the configuration is not whole: what it offers is then not known.
        let offers = self.config().and_then(|config| config.offers()).unwrap_or_default();
        Library::load_reporting(&[&self.global.workflows, files].concat(), &offers)
    }

    /// An engine that can start `workflows` and go on with any run.
    pub(crate) fn engine(
        &self,
        store: Arc<dyn Store>,
        library: &Library,
        workflows: Vec<Workflow>,
    ) -> Result<Engine> {
        let config = self.config()?;
        let calendar = Calendar::new(self.global.data_dir.join("calendars"));
        let mut builder =
            Engine::builder(store).node(Arc::clone(&self.node)).tools(calendar.tools());
        builder = builder.tools(config.tools()?);
        for source in config.sources()? {
            builder = builder.source(source);
        }
        for remote in config.remotes()? {
            builder = builder.remote(remote);
        }
        for (alias, model) in config.models()? {
            builder = builder.model(&alias, model);
        }
        for (workflow, script) in library.scripts() {
            builder = builder.script(workflow, script);
        }
        for workflow in workflows {
            builder = builder.workflow(workflow);
        }
        let builder = builder.environment(config.environment()).secrets(config.secrets());
        let engine = builder.build().map_err(lacks)?;
        if let Some(path) = config.policy() {
            engine.set_operator_policy(Some(policy::read(&path)?))?;
        }
        self.traces.start(&engine);
        Ok(engine)
    }

    /// The same for whoever sits at this terminal and decides without a server.
    pub(crate) fn engine_at_hand(
        &self,
        store: Arc<dyn Store>,
        library: &Library,
        workflows: Vec<Workflow>,
    ) -> Result<Engine> {
        let engine = self.engine(store, library, workflows)?;
        Ok(engine.spoken_to_by(Origin { channel: "cli", address: None }))
    }

    /// Reads the operator's policy again whenever its file changes.
    pub(crate) fn watch_policy(&self, engine: &Engine) -> Result<()> {
        if let Some(path) = self.config()?.policy() {
            policy::watch(engine.clone(), path);
        }
        Ok(())
    }

    /// What signs the cards of agents.
    pub(crate) fn card_key(&self) -> Result<Option<Arc<CardKey>>> {
        self.config()?.card_key()
    }

    /// Where clients of A2A may be told how their tasks go on.
    pub(crate) fn receivers(&self) -> Result<Receivers> {
        self.config()?.receivers()
    }

    /// Those who are told what happens to requests.
    pub(crate) fn channels(&self) -> Result<Vec<Arc<dyn Channel>>> {
        self.config()?.channels()
    }

    /// The chat or the mailboxes of this name.
    pub(crate) fn channel(&self, name: &str) -> Result<Arc<dyn Channel>> {
        self.config()?.channel(name)
    }

    /// How MCP clients are answered.
    pub(crate) fn mcp_server(&self) -> Result<McpSettings> {
        self.config()?.mcp_server()
    }

    /// The one of this name.
    pub(crate) fn webhook(&self, name: &str) -> Result<Webhook> {
        self.config()?.webhook(name)
    }

    /// The traces of what its engine drives.
    pub(crate) fn traces(&self) -> &Tracing {
        &self.traces
    }

    /// How to type a command with the same options.
    pub(crate) fn command_line(&self, command: &str) -> String {
        let global = &self.global;
        let mut options: Vec<(&str, String)> = Vec::new();
        if global.data_dir != Path::new(".signoff") {
            options.push(("--data-dir", global.data_dir.display().to_string()));
        }
        options.extend(global.store.as_deref().map(|it| ("--store", without_password(it))));
        let folders = global.workflows.iter().map(|it| ("--workflows", it.display().to_string()));
        options.extend(folders);
        options.extend(global.config.iter().map(|it| ("--config", it.display().to_string())));
        let options = options.iter().map(|(name, value)| format!(" {name} {}", quoted(value)));
        format!("signoff {command}{}", options.collect::<String>())
    }

    /// The same app with one more place to look for workflows.
    pub(crate) fn also_in(mut self, path: &Path) -> Self {
        if !self.global.workflows.iter().any(|known| known == path) {
            self.global.workflows.push(path.to_owned());
        }
        self
    }
}

/// The error for something this process lacks.
pub(crate) fn lacks(error: ErrorInfo) -> Failure {
    let hint = match (error.code.as_str(), error.hint) {
        // Written replies stand beside a file that may not have been named this time.
        ("unknown_model", Some(hint)) => Some(format!("{hint}, and name that with --workflows")),
        (_, hint) => hint,
    };
    Failure { hint, ..Failure::usage(printable(&error.message)) }
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-:=+,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

pub(crate) fn make_private_folder(path: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    Ok(builder
        .create(path)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?)
}
