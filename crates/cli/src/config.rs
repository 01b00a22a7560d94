//! `signoff.toml`: which models, tools, tool servers and remote agents there are.

mod models;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_a2a::{A2aAgent, A2aConfig};
use signoff_core::visible::Secrets;
use signoff_core::{Name, Span};
use signoff_mcp::{McpServerConfig, McpSource};
use signoff_models::{Provider, ProviderKind};
use signoff_server::{
    CardKey, Channel, ChannelConfig, McpSettings, Receivers, Webhook, WebhookConfig,
};
use signoff_tools::{Builtin, CommandSettings, FileSettings, Remote, Tool, ToolSource};

use self::models::{Model, provider, several};
use crate::failure::{Failure, Result};
use crate::library::{self, Offers, Report};
use crate::style::{printable, printable_line};

/// The file that is read if none is named.
const DEFAULT: &str = "signoff.toml";
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The content of `signoff.toml`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Models, by the alias that workflows call them.
    #[serde(default)]
    models: BTreeMap<String, Model>,
    /// Tools of this program that agents may be given. What is not in this section is not offered. Without the section:
    /// files of the folder `workspace` in the data directory, and the program `expr`.
    #[serde(default)]
    #[schemars(with = "Builtin")]
    tools: Option<Builtin>,
    /// Tool servers that speak MCP, by the name workflows know them by: `mcp:NAME/TOOL`.
    #[serde(default)]
    mcp: BTreeMap<String, McpServerConfig>,
    /// Agents that run elsewhere and speak A2A, by the name workflows know them by: `remote: NAME`.
    #[serde(default)]
    a2a: BTreeMap<String, A2aConfig>,
    /// Who is told what happens to requests, by a name of their own. `signoff serve` tells them.
    #[serde(default)]
    webhooks: BTreeMap<String, WebhookConfig>,
    /// Where clients of A2A may have `signoff serve` send how their tasks go on.
    #[serde(default)]
    push: PushSection,
    /// The file that holds the private key with which `signoff serve` signs the cards of its agents.
    #[serde(default)]
    card_key: Option<PathBuf>,
    /// Chats and mailboxes that are told of them too.
    #[serde(default)]
    channels: BTreeMap<String, ChannelConfig>,
    /// How MCP clients that ask people here are answered.
    #[serde(default)]
    mcp_server: McpServer,
    /// A file with gates that hold for all workflows; see `signoff schema policy`.
    #[serde(default)]
    policy: Option<PathBuf>,
    /// How long `signoff serve` keeps what is over.
    #[serde(default)]
    retention: Retention,
    /// What this place is called in conditions of gates: `production`, `staging` … `local`, if nothing is said.
    #[serde(default)]
    environment: Option<String>,
    /// Where it was read; paths in it are relative to this.
    #[serde(skip)]
    folder: PathBuf,
    #[serde(skip)]
    read_from: Option<PathBuf>,
    /// Where agents work, if nobody says otherwise.
    #[serde(skip)]
    workspace: PathBuf,
}

/// `[push]`: clients name these addresses, not the operator.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PushSection {
    /// Whether they may be on this machine or in this network, and be reached without TLS.
    #[serde(default)]
    allow_private: bool,
}

/// How long something is kept.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Retention {
    /// Conversations whose runs are all over are removed after this: `30d`. At least 1s; for ever, if not given.
    finished: Option<Span>,
}

/// How MCP clients are answered.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct McpServer {
    /// How long a call waits for a person before it says that the question waits: 1s to 10m; 50s, if not given.
    wait: Option<Span>,
    /// Whether a client may put a question to its own user, whose answer then counts as the caller's. If not given: only
    /// without users, where everybody is whoever sits at this machine.
    client_answers: Option<bool>,
}

/// The longest that a call may wait.
const LONGEST_WAIT: Span = Span::seconds(10 * 60);

/// The tools without a `[tools]` section. They reach nothing but the workspace; `expr` reads and writes no file.
const DEFAULT_TOOLS: [&str; 6] =
    ["read_file", "list_files", "write_file", "edit_file", "delete_file", "run_command"];

impl Config {
    /// Reads the named file, or `signoff.toml` if there is one here. `data` is the data directory.
    pub(crate) fn load(named: Option<&Path>, data: &Path) -> Result<Self> {
        let workspace = data.join("workspace");
        let workspace = std::path::absolute(&workspace).unwrap_or(workspace);
        let path = named.unwrap_or(Path::new(DEFAULT));
        if named.is_none() && !path.exists() {
            return Ok(Self { workspace, ..Self::default() });
        }
        let shown = path.display();
        let wrong = |problem: &dyn std::fmt::Display| Failure::usage(format!("{shown}: {problem}"));
        let found = std::fs::metadata(path).map_err(|error| wrong(&error))?;
        if !found.is_file() {
            return Err(wrong(&"it is not a file").into());
        }
        if found.len() > MAX_BYTES {
            return Err(wrong(&format!("it has more than {MAX_BYTES} bytes")).into());
        }
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        let mut config: Self = toml::from_str(&text).map_err(|error| {
            wrong(&error.to_string().trim_end())
                .hint("`signoff schema config` says all that can be written there")
        })?;
        config.workspace = workspace;
        config.read_from = Some(path.to_owned());
        config.folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(config)
    }

    /// The file with gates that hold for all workflows.
    pub(crate) fn policy(&self) -> Option<PathBuf> {
        self.policy.as_ref().map(|path| self.folder.join(path))
    }

    /// How long what is over is kept, if not for ever.
    pub(crate) fn retention(&self) -> Result<Option<Span>> {
        let finished = self.retention.finished;
        if finished.is_some_and(|it| it < Span::seconds(1)) {
            return Err(Failure::usage("[retention]: `finished` is at least 1s").into());
        }
        Ok(finished)
    }

    /// The file it was read from, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.read_from.as_deref()
    }

    /// The variables that it names, each with what it is for.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut add = |what: String, name: &String| all.push((what, name.clone()));
        for (alias, model) in &self.models {
            if let Model::One(config) = model {
                config.api_key_env.iter().for_each(|name| add(format!("model {alias}"), name));
            }
        }
        for name in self.tools.iter().flat_map(Builtin::secret_variables) {
            add("tool http".to_owned(), name);
        }
        for (server, config) in &self.mcp {
            config.headers_env.values().for_each(|name| add(format!("mcp {server}"), name));
        }
        for (agent, config) in &self.a2a {
            let names = config.token_env.iter().chain(config.headers_env.values());
            names.for_each(|name| add(format!("a2a {agent}"), name));
        }
        for (webhook, config) in &self.webhooks {
            add(format!("webhook {webhook}"), &config.secret_env);
        }
        for (channel, config) in &self.channels {
            config.secret_variables().for_each(|name| add(format!("channel {channel}"), name));
        }
        all
    }

    /// The addresses that it names, each with what it is for.
    pub(crate) fn addresses(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (alias, model) in &self.models {
            if let Model::One(config) = model {
                let url = config.base_url.iter();
                all.extend(url.map(|url| (format!("model {alias}"), url.clone())));
            }
        }
        for (name, config) in &self.webhooks {
            all.push((format!("webhook {name}"), config.url.clone()));
        }
        for (name, config) in &self.a2a {
            all.push((format!("a2a {name}"), config.url.clone()));
        }
        for (name, config) in &self.mcp {
            let url = config.url.iter();
            all.extend(url.map(|url| (format!("mcp {name}"), url.clone())));
        }
        all
    }

    /// What this place is called.
    pub(crate) fn environment(&self) -> Option<Name> {
        self.environment.as_deref().map(Name::from)
    }

    /// The tools of this program that are configured. Makes the workspace, if none is.
    pub(crate) fn tools(&self) -> Result<Vec<Arc<dyn Tool>>> {
        let tools = if let Some(tools) = &self.tools {
            tools.tools(&self.folder)
        } else {
            crate::app::make_private_folder(&self.workspace)?;
            let files = Some(FileSettings::new(&self.workspace));
            let command = Some(CommandSettings::new(["expr"]));
            Builtin { files, command, http: None }.tools(&self.folder)
        };
        Ok(tools.map_err(|problem| Failure::usage(format!("[tools]: {problem}")))?)
    }

    /// The tool servers. None is started before it is used.
    pub(crate) fn sources(&self) -> Result<Vec<Arc<dyn ToolSource>>> {
        let mut sources: Vec<Arc<dyn ToolSource>> = Vec::new();
        for (name, server) in &self.mcp {
            let source = McpSource::new(name, server, &self.folder);
            sources.push(Arc::new(source.map_err(crate::app::lacks)?));
        }
        Ok(sources)
    }

    /// The agents that run elsewhere. None is spoken to before it is used.
    pub(crate) fn remotes(&self) -> Result<Vec<Arc<dyn Remote>>> {
        let mut remotes: Vec<Arc<dyn Remote>> = Vec::new();
        for (name, config) in &self.a2a {
            let agent = A2aAgent::new(name, config);
            remotes.push(Arc::new(agent.map_err(crate::app::lacks)?));
        }
        Ok(remotes)
    }

    /// Where clients of A2A may be told how their tasks go on.
    pub(crate) fn receivers(&self) -> Result<Receivers> {
        Ok(Receivers::new(self.push.allow_private)?)
    }

    /// What signs the cards of agents.
    pub(crate) fn card_key(&self) -> Result<Option<Arc<CardKey>>> {
        let Some(path) = &self.card_key else { return Ok(None) };
        let path = self.folder.join(path);
        let wrong = |problem: &dyn std::fmt::Display| {
            Failure::usage(format!("card_key: {}: {problem}", path.display()))
        };
        let pem = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
        let key = CardKey::read(&pem).map_err(|problem| wrong(&problem))?;
        Ok(Some(Arc::new(key)))
    }

    /// How MCP clients are answered.
    pub(crate) fn mcp_server(&self) -> Result<McpSettings> {
        let McpServer { wait, client_answers } = self.mcp_server;
        let mut settings = McpSettings { client_answers, ..McpSettings::default() };
        if let Some(wait) = wait {
            if !(Span::seconds(1)..=LONGEST_WAIT).contains(&wait) {
                let problem = format!("[mcp_server]: `wait` is 1s to {LONGEST_WAIT}, not {wait}");
                return Err(Failure::usage(problem).into());
            }
            settings.wait = wait.to_std();
        }
        Ok(settings)
    }

    /// Those who are told what happens to requests.
    pub(crate) fn channels(&self) -> Result<Vec<Arc<dyn Channel>>> {
        let mut all: Vec<Arc<dyn Channel>> = Vec::new();
        for (name, config) in &self.webhooks {
            all.push(Arc::new(webhook(name, config)?));
        }
        for name in self.channels.keys() {
            all.push(self.channel(name)?);
        }
        Ok(all)
    }

    /// The chat or the mailboxes of this name.
    pub(crate) fn channel(&self, name: &str) -> Result<Arc<dyn Channel>> {
        let Some(config) = self.channels.get(name) else {
            let shown = printable_line(name);
            return Err(Failure::usage(format!("there is no channel `{shown}`"))
                .hint("[channels.NAME] in signoff.toml names one")
                .into());
        };
        let made = config.channel(name, &self.folder, |variable| std::env::var(variable).ok());
        Ok(made.map_err(|problem| Failure::usage(printable(&problem)))?)
    }

    /// The one of this name.
    pub(crate) fn webhook(&self, name: &str) -> Result<Webhook> {
        let Some(config) = self.webhooks.get(name) else {
            let shown = printable_line(name);
            return Err(Failure::usage(format!("there is no webhook `{shown}`"))
                .hint("[webhooks.NAME] in signoff.toml names one")
                .into());
        };
        webhook(name, config)
    }

    /// What is in the environment variables that hold keys.
    pub(crate) fn secrets(&self) -> Secrets {
        let models = self.models.values().filter_map(|model| match model {
            Model::One(config) => config.api_key_env.as_ref(),
            Model::Several(_) => None,
        });
        let tools = self.tools.iter().flat_map(Builtin::secret_variables);
        let servers = self.mcp.values().flat_map(|server| server.headers_env.values());
        let agents = self.a2a.values();
        let agents = agents.flat_map(|it| it.token_env.iter().chain(it.headers_env.values()));
        let webhooks = self.webhooks.values().map(|webhook| &webhook.secret_env);
        let chats = self.channels.values().flat_map(ChannelConfig::secret_variables);
        let named = models.chain(tools).chain(servers).chain(agents).chain(webhooks).chain(chats);
        let usual = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"];
        let variables = named.map(String::as_str).chain(usual);
        Secrets::new(variables.filter_map(|name| std::env::var(name).ok()))
    }

    /// What workflows may name.
    pub(crate) fn offers(&self) -> Result<Offers> {
        let tools = match &self.tools {
            Some(_) => self.tools()?.iter().map(|tool| tool.spec().name.to_string()).collect(),
            None => DEFAULT_TOOLS.map(str::to_owned).to_vec(),
        };
        let sources = self.mcp.keys().cloned().collect();
        Ok(Offers { tools, sources, remotes: self.a2a.keys().cloned().collect() })
    }

    /// The models, by alias.
    pub(crate) fn models(&self) -> Result<Vec<(String, Arc<dyn Provider>)>> {
        let mut report = Report::default();
        let mut models: BTreeMap<&str, Arc<dyn Provider>> = BTreeMap::new();
        for (alias, model) in &self.models {
            let Model::One(config) = model else { continue };
            let provider = match (config.provider, &config.script) {
                (ProviderKind::Scripted, Some(script)) => {
                    let Some(model) = self.script(script, &mut report) else { continue };
                    provider(alias, config, &move |_| Ok(Arc::clone(&model)))?
                }
                _ => provider(alias, config, &|_| Err("it is read elsewhere".to_owned()))?,
            };
            models.insert(alias.as_str(), provider);
        }
        if !report.is_empty() {
            return Err(report.into_failure().into());
        }
        let mut all: Vec<(String, Arc<dyn Provider>)> = Vec::new();
        for (alias, model) in &self.models {
            let provider = match model {
                Model::One(_) => models.get(alias.as_str()).cloned(),
                Model::Several(names) => Some(several(alias, names, &models)?),
            };
            all.extend(provider.map(|provider| (alias.clone(), provider)));
        }
        Ok(all)
    }

    fn script(&self, script: &str, report: &mut Report) -> Option<Arc<dyn Provider>> {
        let path = self.folder.join(script);
        let name = path.display().to_string();
        let text = library::read_text(&path, &name, report)?;
        Some(library::read_script(&name, &text, report)?)
    }
}

fn webhook(name: &str, config: &WebhookConfig) -> Result<Webhook> {
    let made = Webhook::new(name, config, |variable| std::env::var(variable).ok());
    Ok(made.map_err(|problem| Failure::usage(printable(&problem)))?)
}

/// The JSON Schema of `signoff.toml`.
pub(crate) fn json_schema() -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://signoff.dev/schema/config.json",
        "title": "Signoff configuration",
    });
    let generated = serde_json::to_value(schemars::schema_for!(Config)).unwrap_or_default();
    if let (Value::Object(schema), Value::Object(generated)) = (&mut schema, generated) {
        for (name, value) in generated {
            schema.entry(name).or_insert(value);
        }
    }
    schema
}
