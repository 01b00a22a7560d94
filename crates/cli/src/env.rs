//! Every environment variable this program reads, declared once.

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

/// Asks every program for text without colours; see <https://no-color.org>.
pub(crate) const NO_COLOR: Variable =
    Variable { name: "NO_COLOR", doc: "if set to anything, output has no colours" };

/// All of them, in the order in which help shows them.
pub(crate) const ALL: [Variable; 8] =
    [DATA_DIR, STORE, WORKFLOWS, CONFIG, LOG, LOG_FORMAT, BENCH_DIR, NO_COLOR];

/// Whether a variable is set to something.
pub(crate) fn is_set(variable: Variable) -> bool {
    std::env::var_os(variable.name).is_some_and(|value| !value.is_empty())
}
