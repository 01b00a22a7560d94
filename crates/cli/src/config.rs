//! `signoff.toml`: which models, tools, tool servers and remote agents there are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use signoff_a2a::{A2aAgent, A2aConfig};
use signoff_core::Name;
use signoff_mcp::{McpServerConfig, McpSource};
use signoff_models::{Deps, Fallbacks, Provider, ProviderConfig, ProviderKind, ScriptReader};
use signoff_runtime::{Clock, SystemClock};
use signoff_server::{Webhook, WebhookConfig};
use signoff_tools::{Builtin, CommandSettings, FileSettings, Remote, Tool, ToolSource};

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
    /// A file with gates that hold for all workflows; see `signoff schema policy`.
    #[serde(default)]
    policy: Option<PathBuf>,
    /// What this place is called in conditions of gates: `production`, `staging` … `local`, if nothing is said.
    #[serde(default)]
    environment: Option<String>,
    /// Where it was read; paths in it are relative to this.
    #[serde(skip)]
    folder: PathBuf,
    /// Where agents work, if nobody says otherwise.
    #[serde(skip)]
    workspace: PathBuf,
}

/// The tools without a `[tools]` section. They reach nothing but the workspace; `expr` reads and writes no file.
const DEFAULT_TOOLS: [&str; 6] =
    ["read_file", "list_files", "write_file", "edit_file", "delete_file", "run_command"];

/// A model, or several under one name.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
enum Model {
    /// A model.
    One(Box<ProviderConfig>),
    /// Other models by their aliases, best first: the next is asked where one fails.
    Several(Vec<String>),
}

// By hand, so that an error is about the setting that is wrong and not about "any variant".
impl<'de> Deserialize<'de> for Model {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Model;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a model's settings, or a list of other models")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Model, A::Error> {
                ProviderConfig::deserialize(MapAccessDeserializer::new(map))
                    .map(|config| Model::One(Box::new(config)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> std::result::Result<Model, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Model::Several)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

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
        config.folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(config)
    }

    /// The file with gates that hold for all workflows.
    pub(crate) fn policy(&self) -> Option<PathBuf> {
        self.policy.as_ref().map(|path| self.folder.join(path))
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

    /// Those who are told what happens to requests.
    pub(crate) fn webhooks(&self) -> Result<Vec<Webhook>> {
        self.webhooks.iter().map(|(name, config)| webhook(name, config)).collect()
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

/// A model as it is configured.
fn provider(
    alias: &str,
    config: &ProviderConfig,
    script: &ScriptReader,
) -> Result<Arc<dyn Provider>> {
    let deps = Deps {
        env: &|name| std::env::var(name).ok(),
        now: Arc::new(|| SystemClock.now()),
        chance: Arc::new(chance),
        script,
    };
    let built = signoff_models::build(alias, config, &deps);
    Ok(built.map_err(|error| Failure::usage(error.to_string()))?)
}

/// Models in the order in which they are asked.
fn several(
    alias: &str,
    names: &[String],
    models: &BTreeMap<&str, Arc<dyn Provider>>,
) -> Result<Arc<dyn Provider>> {
    let mut candidates = Vec::new();
    for name in names {
        let Some(model) = models.get(name.as_str()) else {
            let problem = format!("models.{alias}: there is no model `{name}`");
            return Err(Failure::usage(problem)
                .hint("a list names models that have settings of their own")
                .into());
        };
        candidates.push((name.as_str().into(), Arc::clone(model)));
    }
    match Fallbacks::new(candidates) {
        Some(fallbacks) => Ok(Arc::new(fallbacks)),
        None => Err(Failure::usage(format!("models.{alias}: the list is empty")).into()),
    }
}

/// A number from 0 to 1, to spread the retries of many processes. Nothing secret depends on it.
fn chance() -> f64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
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
