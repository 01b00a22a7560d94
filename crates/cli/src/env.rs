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

/// What the server logs.
pub(crate) const LOG: Variable =
    Variable { name: "SIGNOFF_LOG", doc: "what `signoff serve` logs, as --log" };

/// How the server logs.
pub(crate) const LOG_FORMAT: Variable =
    Variable { name: "SIGNOFF_LOG_FORMAT", doc: "how it is written, as --log-format" };

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
pub(crate) const ALL: [Variable; 16] = [
    DATA_DIR,
    STORE,
    PGPASSWORD,
    WORKFLOWS,
    CONFIG,
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
];

/// Whether a variable is set to something.
pub(crate) fn is_set(variable: Variable) -> bool {
    std::env::var_os(variable.name).is_some_and(|value| !value.is_empty())
}

/// What a variable is set to, if it is to something.
pub(crate) fn value(variable: Variable) -> Option<String> {
    std::env::var(variable.name).ok().filter(|value| !value.is_empty())
}
