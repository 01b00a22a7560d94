//! `signoff.toml`: which models there are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use signoff_models::Provider;

use crate::failure::{Failure, Result};
use crate::library::{self, Report};

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
    /// Where it was read; paths in it are relative to this.
    #[serde(skip)]
    folder: PathBuf,
}

/// A model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Model {
    /// Where its replies come from.
    provider: ProviderKind,
    /// For `scripted`: the file with the replies, beside this one.
    script: PathBuf,
}

/// Where replies come from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ProviderKind {
    /// Replies that are written down in a YAML file.
    Scripted,
}

impl Config {
    /// Reads the named file, or `signoff.toml` if there is one here.
    pub(crate) fn load(named: Option<&Path>) -> Result<Self> {
        let path = named.unwrap_or(Path::new(DEFAULT));
        if named.is_none() && !path.exists() {
            return Ok(Self::default());
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
                .hint("this version has the provider `scripted`; `signoff schema config` says all")
        })?;
        config.folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(config)
    }

    /// The models, by alias.
    pub(crate) fn models(&self) -> Result<Vec<(String, Arc<dyn Provider>)>> {
        let mut report = Report::default();
        let mut models: Vec<(String, Arc<dyn Provider>)> = Vec::new();
        for (alias, Model { provider: ProviderKind::Scripted, script }) in &self.models {
            let path = self.folder.join(script);
            let name = path.display().to_string();
            let script = library::read_text(&path, &name, &mut report)
                .and_then(|text| library::read_script(&name, &text, &mut report));
            if let Some(script) = script {
                models.push((alias.clone(), script));
            }
        }
        if report.is_empty() { Ok(models) } else { Err(report.into_failure().into()) }
    }
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
