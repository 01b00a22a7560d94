//! What can be typed after `signoff`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{env, help};

/// Runs multi-agent workflows that stop for people.
///
/// Agents hand work to each other; where a person must answer, choose or approve, the run parks,
/// durably, until somebody answers from any terminal. Then it goes on exactly where it stood.
#[derive(Debug, Parser)]
#[command(name = "signoff", version, max_term_width = 100, after_help = help::overview(), disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options for every command")]
pub(crate) struct Global {
    /// The folder that holds runs and calendars; made when it is first needed
    #[arg(long, global = true, value_name = "DIR", default_value = ".signoff", env = env::DATA_DIR.name, hide_env = true)]
    pub(crate) data_dir: PathBuf,
    /// Where runs are kept: sqlite:PATH or postgres://… [default: signoff.db in the data directory]
    #[arg(long, global = true, value_name = "STORE", env = env::STORE.name, hide_env = true)]
    pub(crate) store: Option<String>,
    /// A folder with workflows (*.yaml or */workflow.yaml) or a single file; can be given again
    #[arg(long, global = true, value_name = "DIR", env = env::WORKFLOWS.name, hide_env = true, value_delimiter = ':')]
    pub(crate) workflows: Vec<PathBuf>,
    /// The configuration file [default: signoff.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE", env = env::CONFIG.name, hide_env = true)]
    pub(crate) config: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server; also what `signoff` alone does
    #[command(after_help = help::SERVE)]
    Serve(ServeArgs),
    /// Start a run here and follow it; asks on this terminal
    #[command(after_help = help::RUN)]
    Run(RunArgs),
    /// Go on with a run that this data directory holds
    #[command(
        after_help = "Examples:\n  signoff resume last\n  signoff resume 3f9a --no-prompt queue"
    )]
    Resume(ResumeArgs),
    /// List runs
    Runs(RunsArgs),
    /// Talk with a workflow on this terminal
    #[command(after_help = help::CHAT)]
    Chat(ChatArgs),
    /// See and answer what waits for people; on a terminal, as a screen
    #[command(after_help = help::INBOX)]
    Inbox(InboxArgs),
    /// Show the journal of a run: everything that happened, in order
    Journal(JournalArgs),
    /// Make a new run from a place in another's journal, with another answer
    #[command(after_help = help::FORK)]
    Fork(ForkArgs),
    /// Check workflow files: every problem, with line and column
    #[command(
        after_help = "Examples:\n  signoff check my/workflow.yaml\n  signoff check examples/workflows --json"
    )]
    Check(CheckArgs),
    /// Print the JSON Schema of workflow files or of signoff.toml
    Schema(SchemaArgs),
    /// Look at the record of decisions
    Audit(AuditArgs),
    /// Check gates that hold for all workflows, and try them out
    #[command(after_help = help::POLICY)]
    Policy(PolicyArgs),
    /// Say who may come in to the server
    #[command(after_help = help::USER)]
    User(UserArgs),
    /// Try out who is told what happens to requests
    Webhook(WebhookArgs),
    /// Give an MCP client people to ask, on standard input and output
    #[command(after_help = help::MCP)]
    Mcp(McpArgs),
    /// Look at the store and the files, and say what is wrong
    #[command(after_help = help::DOCTOR)]
    Doctor {
        /// Print everything as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove conversations that are long over
    #[command(after_help = help::PRUNE)]
    Prune(PruneArgs),
    /// Write a run to a file, to go on with it elsewhere
    #[command(after_help = help::EXPORT)]
    Export(ExportArgs),
    /// Take in a run that was exported elsewhere
    Import(ImportArgs),
    /// Carry everything over from SQLite to PostgreSQL
    #[command(after_help = help::MIGRATE)]
    Migrate(MigrateArgs),
    /// Measure this machine
    Bench(crate::bench::BenchArgs),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// Of this command
        command: Option<String>,
    },
}

/// How the server is started.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of serve")]
pub(crate) struct ServeArgs {
    /// An address and a port to listen on; other machines can come in once there is a user [default: 127.0.0.1:8484]
    #[arg(long, value_name = "ADDR")]
    pub(crate) addr: Option<String>,
    /// Pages from this origin may use the server too; can be given again
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Vec<String>,
    /// How many requests a user may make in a second [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rate: Option<u32>,
    /// What to log on standard error: error, warn, info, debug or trace [default: warn]
    #[arg(long, value_name = "LEVEL", env = env::LOG.name, hide_env = true)]
    pub(crate) log: Option<String>,
    /// How it is written: as text, or as one JSON object a line [default: text]
    #[arg(long, value_name = "FORMAT", env = env::LOG_FORMAT.name, hide_env = true, hide_possible_values = true)]
    pub(crate) log_format: Option<LogFormat>,
    /// Serve the page in this folder at /devui/: the folder `ui` of the package agent-framework-devui
    #[arg(long, value_name = "DIR")]
    pub(crate) devui: Option<PathBuf>,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// How a run is followed.
#[derive(Clone, Debug, Args)]
pub(crate) struct FollowArgs {
    /// Answers written down before, as YAML or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// Print one event a line as JSON, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not ask; instead deny, leave it in the queue (exit code 3), or fail the run
    #[arg(long, value_name = "HOW", value_enum)]
    pub(crate) no_prompt: Option<NoPrompt>,
}

/// What to do instead of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoPrompt {
    /// Reject, where that is allowed; else abort the run
    Deny,
    /// Leave the run waiting
    Queue,
    /// Stop the run
    Fail,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The id of a workflow, or a path to a file
    pub(crate) workflow: String,
    /// What the workflow is given: text, or JSON if it wants that; `-` reads standard input
    pub(crate) input: Option<String>,
    /// Go on with a conversation: the new run knows what was said before
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    #[command(flatten)]
    pub(crate) follow: FollowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run: its id, the beginning or end of it, or `last` for the latest that is not over
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) follow: FollowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Only those that stand there: running, waiting, paused, completed, failed or cancelled
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only those of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Print one run a line as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which server is talked to.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServerArgs {
    /// The server to talk to [default: the one that runs on this data directory, or one of its own; lists and answers work on the data itself]
    #[arg(long, global = true, value_name = "URL", env = env::SERVER.name, hide_env = true)]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The id of a workflow; chosen from a list, if not given
    pub(crate) workflow: Option<String>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Go on with this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// Go on with the session that was left last
    #[arg(long, conflicts_with = "conversation")]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    pub(crate) command: Option<InboxCommand>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// List what waits, oldest first
    List(InboxListArgs),
    /// Show one request
    Show {
        /// The request: its id, or the beginning or end of it
        request: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer a request, and drive its run until it rests
    Answer(AnswerArgs),
    /// Put a request off: it is out of sight until then, and can still be answered
    Defer(DeferArgs),
    /// Tell what happens to requests, one change a line, until Ctrl-C
    Watch {
        /// Print one change a line as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DeferArgs {
    /// The request: its id, or the beginning or end of it
    pub(crate) request: String,
    /// How long (30m, 2h, 1d), or until when (2026-11-16T09:00:00Z)
    pub(crate) until: String,
    /// Why, for others who look at it
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Who puts it off
    #[arg(long = "as", value_name = "NAME", default_value = "local")]
    pub(crate) by: String,
    /// Print the request as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Default, Args)]
pub(crate) struct InboxListArgs {
    /// Only of this kind: input, selection, approval …
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Only of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// Only asked by this agent
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Only those whose question contains these words
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Only those that somebody has put off; they are not listed otherwise
    #[arg(long)]
    pub(crate) deferred: bool,
    /// Print one request a line as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The request: its id, or the beginning or end of it
    pub(crate) request: String,
    /// The answer as it would be typed: an option, its number, yes/no, text
    #[arg(required_unless_present = "decision", conflicts_with = "decision")]
    pub(crate) text: Option<String>,
    /// The decision as JSON, for example {"decision":"approve","note":"fine"}
    #[arg(long, value_name = "JSON")]
    pub(crate) decision: Option<String>,
    /// Who answers [default: local]; a server knows who it is
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Only take the decision; somebody else drives the run
    #[arg(long)]
    pub(crate) no_drive: bool,
    /// Print the decided request as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JournalArgs {
    /// The run: its id, the beginning or end of it, or `last`
    pub(crate) run: String,
    /// Print one entry a line as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Only entries after this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// The run: its id, the beginning or end of it, or `last`
    pub(crate) run: String,
    /// The last journal entry that both runs share
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: u64,
    /// The answer to the request that waits there, as it would be typed
    #[arg(long, value_name = "TEXT", conflicts_with = "decision")]
    pub(crate) answer: Option<String>,
    /// The same as a decision in JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) decision: Option<String>,
    /// Why; the new run's journal begins with it
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) follow: FollowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Workflow files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the problems as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Of which file
    #[arg(value_enum, default_value = "workflow")]
    pub(crate) of: SchemaOf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A workflow file
    Workflow,
    /// signoff.toml
    Config,
    /// A policy file
    Policy,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check policy files: every problem, with line and column
    Check {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Say what a policy would have said of what was done before; nothing is changed
    Test {
        /// The policy file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// How many runs are looked at, the newest first
        #[arg(long, value_name = "N", default_value = "100")]
        runs: usize,
        /// Print one action that would go otherwise a line as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct UserArgs {
    #[command(subcommand)]
    pub(crate) command: UserCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add a user and print the token
    Add(UserAddArgs),
    /// List the users: name, tenant, roles
    List {
        /// Print one user a line as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a user; the token no longer works
    Remove {
        /// The name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct UserAddArgs {
    /// The name in which decisions are taken
    pub(crate) name: String,
    /// Whose runs the user sees and starts [default: local]
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<String>,
    /// A role, for example `viewer`, who may only look; can be given again
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Vec<String>,
    /// Give a user who is there another token
    #[arg(long)]
    pub(crate) new_token: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WebhookArgs {
    #[command(subcommand)]
    pub(crate) command: WebhookCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Send an event that says nothing (`ping`), once, and print what is answered
    Test {
        /// The webhook: NAME of [webhooks.NAME] in signoff.toml, or channel:NAME of [channels.NAME]
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Ask through this server instead of the data directory; a token comes from `SIGNOFF_TOKEN`
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// In whose name it is asked
    #[arg(long = "as", value_name = "NAME", default_value = "local", conflicts_with = "server")]
    pub(crate) by: String,
    /// What to log on standard error: error, warn, info, debug or trace [default: error]
    #[arg(long, value_name = "LEVEL", env = env::LOG.name, hide_env = true)]
    pub(crate) log: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that no line of the record was changed or taken out
    Verify,
    /// Print the record, one line of JSON for each decision
    Export {
        /// As a table that spreadsheets read
        #[arg(long)]
        csv: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Only what has not changed for so long: 30d, 12h
    #[arg(long, value_name = "TIME")]
    pub(crate) older_than: String,
    /// Only conversations whose runs are all of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Give the room back to the disk afterwards; nobody can write while that lasts
    #[arg(long)]
    pub(crate) compact: bool,
    /// Print one run a line as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run: its id, the beginning or end of it, or `last`
    pub(crate) run: String,
    /// The file to write; standard output, if not given
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// End the run here once the file is written, so that it goes on in one place only
    #[arg(long = "move")]
    pub(crate) moves: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A file that `signoff export` has written; `-` reads standard input
    pub(crate) file: PathBuf,
    /// Print what came of it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// From where: sqlite:PATH [default: signoff.db in the data directory]
    #[arg(long, value_name = "STORE")]
    pub(crate) from: Option<String>,
    /// To where: postgres://… of an empty database
    #[arg(long, value_name = "STORE")]
    pub(crate) to: String,
    /// Print the tables as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
