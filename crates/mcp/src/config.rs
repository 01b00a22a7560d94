//! `[mcp.NAME]` in the operator's configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::Span;
use signoff_net::Url;
use signoff_net::header::{HeaderName, HeaderValue};

/// An MCP server: a program with `command`, or an address with `url`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServerConfig {
    /// The program and its arguments. It speaks MCP over its standard input and output.
    pub command: Option<Vec<String>>,
    /// Which environment variables the program gets besides `PATH`. It gets no other.
    #[serde(default)]
    pub env: Vec<String>,
    /// Where the program runs; beside the configuration file, if not given.
    pub cwd: Option<PathBuf>,
    /// The address of a server that speaks streamable HTTP.
    pub url: Option<String>,
    /// Headers of every request to it, each with the name of the environment variable that holds its value.
    #[serde(default)]
    pub headers_env: BTreeMap<String, String>,
    /// Whether what the server says of its tools (read-only, idempotent, not destructive) is believed.
    /// If not, every tool may do anything, and no call is repeated without asking.
    #[serde(default)]
    pub trust_annotations: bool,
    /// Whether its tools may ask people. A server of the older protocol then gets one call at a time.
    #[serde(default = "yes")]
    pub asks: bool,
    /// How long one call may take.
    #[serde(default = "ten_minutes")]
    pub timeout: Span,
    /// How long a call may go without a sign of progress.
    #[serde(default = "five_minutes")]
    pub idle_timeout: Span,
}

fn yes() -> bool {
    true
}

fn ten_minutes() -> Span {
    Span::seconds(600)
}

fn five_minutes() -> Span {
    Span::seconds(300)
}

/// How to reach a server.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Program(Program),
    Address { url: Url, headers_env: Vec<(HeaderName, String)> },
}

/// A program to start.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) file: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) env: Vec<String>,
    pub(crate) cwd: PathBuf,
}

impl McpServerConfig {
    /// How to reach the server; paths are relative to `folder`.
    pub(crate) fn place(&self, folder: &Path) -> Result<Place, String> {
        match (&self.command, &self.url) {
            (Some(command), None) if self.headers_env.is_empty() => self.program(command, folder),
            (None, Some(url)) if self.env.is_empty() && self.cwd.is_none() => self.address(url),
            (Some(_), None) => Err("`headers_env` goes with `url`".to_owned()),
            (None, Some(_)) => Err("`env` and `cwd` go with `command`".to_owned()),
            _ => Err("give either `command` or `url`".to_owned()),
        }
    }

    fn program(&self, command: &[String], folder: &Path) -> Result<Place, String> {
        let Some((program, arguments)) = command.split_first() else {
            return Err("`command` is empty".to_owned());
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let file = if program.contains('/') && !program.starts_with('/') {
            folder.join(program).display().to_string()
        } else {
            program.clone()
        };
        let cwd = self.cwd.as_ref().map_or_else(|| folder.to_owned(), |cwd| folder.join(cwd));
        let (arguments, env) = (arguments.to_vec(), self.env.clone());
        Ok(Place::Program(Program { file, arguments, env, cwd }))
    }

    fn address(&self, url: &str) -> Result<Place, String> {
        let url: Url = url.parse().map_err(|problem| format!("`url`: {problem}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("`url` must begin with http or https".to_owned());
        }
        let mut headers_env = Vec::new();
        for (name, variable) in &self.headers_env {
            let name: HeaderName =
                name.parse().map_err(|_| format!("`{name}` is not the name of a header"))?;
            let ours = ["accept", "content-type", "content-length", "host", "last-event-id"];
            if name.as_str().starts_with("mcp-") || ours.contains(&name.as_str()) {
                return Err(format!("the header `{name}` is set by the protocol"));
            }
            headers_env.push((name, variable.clone()));
        }
        Ok(Place::Address { url, headers_env })
    }
}

/// The value of a header, out of the environment. Its `Debug` does not show it.
pub(crate) fn header_value(variable: &str) -> Result<HeaderValue, String> {
    let value = std::env::var(variable)
        .map_err(|_| format!("the environment variable {variable} is not set"))?;
    let mut value = HeaderValue::from_str(value.trim())
        .map_err(|_| format!("the environment variable {variable} does not fit into a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Place, String> {
        let config: McpServerConfig = toml::from_str(text).map_err(|error| error.to_string())?;
        config.place(Path::new("conf"))
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let Ok(Place::Program(program)) = read("command = [\"./serve\", \"-x\"]\ncwd = \"data\"")
        else {
            panic!("a program")
        };
        assert_eq!(program.file, "conf/./serve");
        assert_eq!(program.cwd, Path::new("conf/data"));
        assert!(matches!(read("url = \"https://tools.example/mcp\""), Ok(Place::Address { .. })));
        for (wrong, problem) in [
            ("", "either"),
            ("command = []", "empty"),
            ("command = [\"x\"]\nurl = \"http://x\"", "either"),
            ("command = [\"x\"]\nheaders_env = { A = \"B\" }", "goes with `url`"),
            ("url = \"http://x\"\nenv = [\"HOME\"]", "go with `command`"),
            ("url = \"file:///etc/passwd\"", "http"),
            ("url = \"http://x\"\nheaders_env = { Mcp-Session-Id = \"B\" }", "protocol"),
            ("url = \"http://x\"\nshell = true", "unknown field"),
        ] {
            let found = read(wrong).unwrap_err();
            assert!(found.contains(problem), "{wrong}: {found}");
        }
    }
}
