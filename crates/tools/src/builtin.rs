//! The built-in tools that reach outside, and the operator's settings for them.
//!
//! Nothing is offered that is not in the settings: without a workspace root there are no file
//! tools, without programs no `run_command`, without `[tools.http]` no way to the network.

mod clip;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use signoff_core::journal::ErrorInfo;
use signoff_core::{Effects, ToolSpec};

use crate::tool::{Tool, ToolError};
pub(crate) use clip::{head, tail};
pub use settings::{CommandSettings, FileSettings, HeaderValue, HttpSettings};

/// `[tools]` of `signoff.toml`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Builtin {
    /// Files of one folder: `read_file`, `list_files`, `write_file`, `edit_file`, `delete_file`.
    #[serde(default)]
    pub files: Option<FileSettings>,
    /// Programs: `run_command`.
    #[serde(default)]
    pub command: Option<CommandSettings>,
    /// The web: `http_get`, `http_request`.
    #[serde(default)]
    pub http: Option<HttpSettings>,
}

impl Builtin {
    /// The environment variables that hold what only servers may see.
    pub fn secret_variables(&self) -> impl Iterator<Item = &String> {
        let headers = self.http.iter().flat_map(|http| http.headers.values());
        headers.flat_map(BTreeMap::values).filter_map(|value| match value {
            HeaderValue::Env { env } => Some(env),
            HeaderValue::Text(_) => None,
        })
    }

    /// The tools that are configured, or which setting is wrong and why. Paths in the settings are
    /// relative to `folder`, where the configuration was read.
    pub fn tools(&self, folder: &Path) -> Result<Vec<Arc<dyn Tool>>, String> {
        let mut tools = self.local(folder)?;
        if let Some(settings) = &self.http {
            tools.extend(crate::http::tools(settings)?);
        }
        Ok(tools)
    }

    #[cfg(unix)]
    fn local(&self, folder: &Path) -> Result<Vec<Arc<dyn Tool>>, String> {
        let mut tools = Vec::new();
        if let Some(settings) = &self.files {
            tools.extend(crate::files::tools(settings, folder)?);
        }
        if let Some(settings) = &self.command {
            let beside = self.files.as_ref().map(|files| &files.root);
            let root = settings.root.as_ref().or(beside).ok_or(
                "tools.command.root: it says in which folder commands run; name it here or as tools.files.root",
            )?;
            tools.push(crate::command::tool(settings, &folder.join(root))?);
        }
        Ok(tools)
    }

    #[cfg(not(unix))]
    fn local(&self, _: &Path) -> Result<Vec<Arc<dyn Tool>>, String> {
        if self.files.is_some() || self.command.is_some() {
            return Err("tools.files and tools.command are not there on this system yet".to_owned());
        }
        Ok(Vec::new())
    }
}

/// How a tool presents itself.
pub(crate) fn spec(
    name: &str,
    description: &str,
    properties: &Value,
    required: &[&str],
    effects: Effects,
) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        }),
        effects,
    }
}

/// A call's arguments as the tool's own type.
pub(crate) fn arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T, ToolError> {
    T::deserialize(arguments).map_err(|error| ToolError::new("bad_arguments", error.to_string()))
}

/// An error that says what to do about it.
pub(crate) fn hinted(code: &str, message: String, hint: impl Into<String>) -> ToolError {
    ToolError(ErrorInfo::new(code, message).hint(hint))
}
