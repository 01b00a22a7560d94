//! Every environment variable this program reads, declared once.

use signoff_traces::variable;

/// An environment variable and what it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
}

/// The folder that holds runs and calendars.
pub(crate) const DATA_DIR: Variable =
    Variable { name: "SIGNOFF_DATA_DIR", doc: "the data directory, as --data-dir" };

/// Where runs are kept.
pub(crate) const STORE: Variable =
    Variable { name: "SIGNOFF_STORE", doc: "where runs are kept, as --store" };

/// The password of the database, so that it need not be in an address.
pub(crate) const PGPASSWORD: Variable = Variable {
    name: "PGPASSWORD",
    doc: "the password of a PostgreSQL store, if its address has none",
};

/// Folders of workflows.
pub(crate) const WORKFLOWS: Variable = Variable {
    name: "SIGNOFF_WORKFLOWS",
    doc: "folders of workflows, separated by colons, as --workflows",
};

/// The configuration file.
pub(crate) const CONFIG: Variable =
    Variable { name: "SIGNOFF_CONFIG", doc: "the configuration file, as --config" };

/// Who speaks to a server.
pub(crate) const TOKEN: Variable = Variable {
    name: "SIGNOFF_TOKEN",
    doc: "the token with which `chat`, `inbox` and `mcp` come in at a server",
};

/// What the server logs.
pub(crate) const LOG: Variable =
    Variable { name: "SIGNOFF_LOG", doc: "what `signoff serve` logs, as --log" };

/// How the server logs.
pub(crate) const LOG_FORMAT: Variable =
    Variable { name: "SIGNOFF_LOG_FORMAT", doc: "how it is written, as --log-format" };

/// Which server the terminal talks to.
pub(crate) const SERVER: Variable = Variable {
    name: "SIGNOFF_SERVER",
    doc: "the server that `chat` and `inbox` talk to, as --server",
};

/// The settings of the terminal.
pub(crate) const SETTINGS: Variable = Variable {
    name: "SIGNOFF_TERMINAL",
    doc: "the settings file of `chat` and `inbox`; signoff/terminal.toml where settings are kept, if not set",
};

/// Its colours.
pub(crate) const THEME: Variable =
    Variable { name: "SIGNOFF_THEME", doc: "their theme: dark, light or plain" };

/// Whether everything is shown.
pub(crate) const EVENTS: Variable =
    Variable { name: "SIGNOFF_EVENTS", doc: "`on`: chat shows everything that happens in a run" };

/// Whether it calls for attention.
pub(crate) const BELL: Variable =
    Variable { name: "SIGNOFF_BELL", doc: "`off`: they do not call when nobody looks" };

/// An endpoint of Responses to chat with.
pub(crate) const OPENAI_BASE_URL: Variable = Variable {
    name: "OPENAI_BASE_URL",
    doc: "`chat` without a workflow and a server talks to this endpoint of Responses",
};

/// Its key.
pub(crate) const OPENAI_API_KEY: Variable =
    Variable { name: "OPENAI_API_KEY", doc: "the key for it" };

/// Its model.
pub(crate) const OPENAI_MODEL: Variable =
    Variable { name: "OPENAI_MODEL", doc: "the model to talk to there" };

/// A bridge to workflows to chat with.
pub(crate) const AF_BRIDGE_BASE_URL: Variable = Variable {
    name: "AF_BRIDGE_BASE_URL",
    doc: "the same with a bridge to workflows, which is taken first",
};

/// The workflow behind it.
pub(crate) const AF_MODEL: Variable =
    Variable { name: "AF_MODEL", doc: "the workflow to talk to there" };

/// What people write with.
pub(crate) const VISUAL: Variable =
    Variable { name: "VISUAL", doc: "the editor that Ctrl-G in `chat` starts" };

/// The same.
pub(crate) const EDITOR: Variable =
    Variable { name: "EDITOR", doc: "the same, if VISUAL is not set; vi, if neither is" };

/// What colours the terminal has.
pub(crate) const COLORFGBG: Variable = Variable {
    name: "COLORFGBG",
    doc: "what some terminals say of their colours; a light ground makes the theme light",
};

/// Where settings are kept.
pub(crate) const CONFIG_HOME: Variable =
    Variable { name: "XDG_CONFIG_HOME", doc: "where settings are kept; ~/.config, if not set" };

/// Where sessions are kept.
pub(crate) const STATE_HOME: Variable = Variable {
    name: "XDG_STATE_HOME",
    doc: "where sessions of `chat` are kept; ~/.local/state, if not set",
};

/// The home of the person.
pub(crate) const HOME: Variable = Variable { name: "HOME", doc: "the folder that `~` stands for" };

/// Where the benchmarks write.
pub(crate) const BENCH_DIR: Variable = Variable {
    name: "SIGNOFF_BENCH_DIR",
    doc: "a folder on the disk that `signoff bench` should measure; the system's temporary one, if not set",
};

/// Where spans are sent.
pub(crate) const OTLP_ENDPOINT: Variable = Variable {
    name: variable::ENDPOINT,
    doc: "where traces are sent (OTLP over HTTP); `/v1/traces` is added",
};

/// The same, for traces only.
pub(crate) const OTLP_TRACES_ENDPOINT: Variable =
    Variable { name: variable::TRACES_ENDPOINT, doc: "the same as a whole address" };

/// What is sent along.
pub(crate) const OTLP_HEADERS: Variable =
    Variable { name: variable::HEADERS, doc: "headers to send with traces: name=value,…" };

/// The same, for traces only.
pub(crate) const OTLP_TRACES_HEADERS: Variable =
    Variable { name: variable::TRACES_HEADERS, doc: "the same; these come on top" };

/// Whose traces they are.
pub(crate) const OTEL_SERVICE_NAME: Variable = Variable {
    name: variable::SERVICE_NAME,
    doc: "the name of the service in traces; signoff, if not set",
};

/// What else is said of this process.
pub(crate) const OTEL_RESOURCE_ATTRIBUTES: Variable = Variable {
    name: variable::RESOURCE_ATTRIBUTES,
    doc: "what else traces say of this process: name=value,…",
};

/// Turns traces off.
pub(crate) const OTEL_SDK_DISABLED: Variable =
    Variable { name: variable::DISABLED, doc: "if `true`, no traces are sent" };

/// Asks every program for text without colours; see <https://no-color.org>.
pub(crate) const NO_COLOR: Variable =
    Variable { name: "NO_COLOR", doc: "if set to anything, output has no colours" };

/// All of them, in the order in which help shows them.
pub(crate) const ALL: [Variable; 33] = [
    DATA_DIR,
    STORE,
    PGPASSWORD,
    WORKFLOWS,
    CONFIG,
    TOKEN,
    LOG,
    LOG_FORMAT,
    BENCH_DIR,
    OTLP_ENDPOINT,
    OTLP_TRACES_ENDPOINT,
    OTLP_HEADERS,
    OTLP_TRACES_HEADERS,
    OTEL_SERVICE_NAME,
    OTEL_RESOURCE_ATTRIBUTES,
    OTEL_SDK_DISABLED,
    NO_COLOR,
    SERVER,
    SETTINGS,
    THEME,
    EVENTS,
    BELL,
    OPENAI_BASE_URL,
    OPENAI_API_KEY,
    OPENAI_MODEL,
    AF_BRIDGE_BASE_URL,
    AF_MODEL,
    VISUAL,
    EDITOR,
    COLORFGBG,
    CONFIG_HOME,
    STATE_HOME,
    HOME,
];

/// What a variable is set to, if that is something and text.
pub(crate) fn text(variable: Variable) -> Option<String> {
    std::env::var(variable.name).ok().filter(|value| !value.trim().is_empty())
}

/// Whether a variable is set to something.
pub(crate) fn is_set(variable: Variable) -> bool {
    std::env::var_os(variable.name).is_some_and(|value| !value.is_empty())
}
