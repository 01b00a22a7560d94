//! What an operator can say about the built-in tools.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use signoff_core::Span;

/// `[tools.files]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSettings {
    /// The folder agents work in. They reach nothing outside it.
    pub root: PathBuf,
    /// Whether agents may only look.
    #[serde(default)]
    pub read_only: bool,
    /// Names of files and folders, anywhere below the root, that agents neither see nor reach:
    /// `*` and `?` stand for any characters; case does not matter.
    #[serde(default = "FileSettings::default_deny")]
    pub deny: Vec<String>,
}

impl FileSettings {
    /// Settings with nothing but a root.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), read_only: false, deny: Self::default_deny() }
    }

    /// What would let an agent change its own rules (our store and configuration, what git runs), and
    /// where people keep secrets.
    pub(crate) fn default_deny() -> Vec<String> {
        [".signoff*", "signoff.toml", ".git", ".env", ".env.*"].map(str::to_owned).to_vec()
    }
}

/// `[tools.command]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSettings {
    /// The programs that may be run: names that are looked up in `PATH`, or absolute paths. `*`: any.
    pub allow: Vec<String>,
    /// The folder commands run in; that of `[tools.files]` if not given.
    #[serde(default)]
    pub root: Option<PathBuf>,
    /// How long a command may run.
    #[serde(default = "CommandSettings::default_timeout")]
    pub timeout: Span,
    /// How much of its output, and how much of its errors, is kept, in bytes: half from the beginning,
    /// half from the end.
    #[serde(default = "CommandSettings::default_max_output")]
    #[schemars(range(min = 1024, max = 98304))]
    pub max_output: usize,
    /// Environment variables that commands get besides PATH, HOME, USER, LANG, `LC_ALL`, `LC_CTYPE`, TERM,
    /// TZ and TMPDIR. They get no others.
    #[serde(default)]
    pub env: Vec<String>,
    /// Environment variables with a value of their own.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

impl CommandSettings {
    /// Settings with nothing but the programs that may be run.
    pub fn new<S: Into<String>>(allow: impl IntoIterator<Item = S>) -> Self {
        Self {
            allow: allow.into_iter().map(Into::into).collect(),
            root: None,
            timeout: Self::default_timeout(),
            max_output: Self::default_max_output(),
            env: Vec::new(),
            set: BTreeMap::new(),
        }
    }

    fn default_timeout() -> Span {
        Span::seconds(60)
    }

    fn default_max_output() -> usize {
        64 * 1024
    }
}

/// `[tools.http]`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpSettings {
    /// Whether only `http_get` is offered.
    pub read_only: bool,
    /// The hosts that may be asked: `api.example.com`, or `*.example.com` for all below it. None named:
    /// any that the other settings allow.
    pub hosts: Vec<String>,
    /// Whether addresses of this machine and its networks may be reached.
    pub allow_private: bool,
    /// Whether plain `http` may be used.
    pub allow_plain: bool,
    /// How long one exchange may take.
    pub timeout: Span,
    /// How much of a response is read, in bytes.
    pub max_bytes: u64,
    /// Headers sent to a host, by the host's name: how credentials are given without an agent seeing them.
    pub headers: BTreeMap<String, BTreeMap<String, HeaderValue>>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            read_only: false,
            hosts: Vec::new(),
            allow_private: false,
            allow_plain: false,
            timeout: Span::seconds(60),
            max_bytes: 2 * 1024 * 1024,
            headers: BTreeMap::new(),
        }
    }
}

/// The value of a header.
#[derive(Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HeaderValue {
    /// As written.
    Text(String),
    /// Taken from the environment when the tools are made.
    Env {
        /// The variable's name.
        env: String,
    },
}

impl std::fmt::Debug for HeaderValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // It may be a credential.
            Self::Text(_) => f.write_str("Text(…)"),
            Self::Env { env } => write!(f, "Env({env})"),
        }
    }
}
