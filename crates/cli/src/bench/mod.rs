//! `signoff bench`: the same work that other systems were measured with, as JSON, one record a line.
//!
//! Compare as ratios taken in one run on one machine; `cpu_…` figures are the robust ones.

mod agents;
mod bare;
mod compare;
mod inbox;
mod measure;
mod measures;
mod memory;
mod nodes;
mod pause;
mod peers;
mod places;
mod plot;
mod policy;
mod scale;
mod server;
mod steps;
mod storage;
mod terminal;

use std::io::Write;

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// What to measure and where to write it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// One of w1, w2, w3, w4, w5, w6, w7, answers, streams, agents, storage, load, policy, terminal, nodes, scale; all of them, if not given. `report` measures nothing
    pub(crate) name: Option<String>,
    /// Samples of each case, after one that is thrown away
    #[arg(long, default_value_t = 7)]
    pub(crate) runs: usize,
    /// How many runs w4 parks
    #[arg(long, default_value_t = 10_000)]
    pub(crate) parked: usize,
    /// How far scale goes: parked runs up to this many, and a journal of up to this many entries
    #[arg(long, default_value_t = 100_000)]
    pub(crate) scale: usize,
    /// How many seconds w7 and answers load the server, for each case
    #[arg(long, default_value_t = 4)]
    pub(crate) seconds: u64,
    /// How many streams wait
    #[arg(long, default_value_t = 10_000)]
    pub(crate) streams: usize,
    /// Let w7 load this server, which speaks the same words, instead of one of its own
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// The process of that server, to see what it uses
    #[arg(long, requires = "server")]
    pub(crate) pid: Option<u32>,
    /// Write the records to this file as well
    #[arg(long)]
    pub(crate) out: Option<std::path::PathBuf>,
    /// Keep the records in this folder, and write a table (report.md) and plots of all that is there
    #[arg(long, value_name = "FOLDER")]
    pub(crate) report: Option<std::path::PathBuf>,
    /// Measure other systems too, by the programs in this folder
    #[arg(long, value_name = "FOLDER", requires = "report")]
    pub(crate) peers: Option<std::path::PathBuf>,
    /// Where those systems are installed; .cache/signoff-peers in the home folder, if not given
    #[arg(long, value_name = "FOLDER", requires = "peers")]
    pub(crate) peers_home: Option<std::path::PathBuf>,
    /// The database that a process started by w4 looks at
    #[arg(long, hide = true)]
    pub(crate) database: Option<std::path::PathBuf>,
}

const NAMES: &[&str] = &[
    "w1", "w2", "w3", "w4", "w5", "w6", "w7", "answers", "streams", "agents", "storage", "load",
    "policy", "terminal", "nodes", "scale",
];
/// What the benchmarks start in other processes.
const MODEL_SERVER: &str = "model-server";
const LOOK: &str = "look";
const GLANCE: &str = "glance";
/// What measures nothing.
const REPORT: &str = "report";

/// Where the records go.
pub(crate) struct Records {
    file: Option<std::fs::File>,
}

impl Records {
    /// Writes one record: workload and case, then what was measured.
    pub(crate) fn emit(&mut self, workload: &str, case: &str, data: Value) -> anyhow::Result<()> {
        let mut record = json!({
            "peer": "signoff",
            "workload": workload,
            "case": case,
            "versions": { "signoff": env!("CARGO_PKG_VERSION") },
        });
        if let (Value::Object(record), Value::Object(data)) = (&mut record, data) {
            record.extend(data);
        }
        let line = record.to_string();
        if let Some(file) = &mut self.file {
            writeln!(file, "{line}")?;
        }
        writeln!(std::io::stdout(), "{line}")?;
        Ok(())
    }
}

/// Runs the benchmarks; those of PostgreSQL in `store`, if that is one.
pub(crate) fn run(args: &BenchArgs, store: Option<&str>) -> anyhow::Result<()> {
    match (args.name.as_deref(), &args.database) {
        (Some(MODEL_SERVER), _) => return on_two_cores(agents::serve()),
        (Some(LOOK), Some(database)) => return on_two_cores(inbox::look(database)),
        (Some(GLANCE), Some(database)) => return scale::glance(database),
        (Some(REPORT), _) if args.report.is_some() => return write_report(args),
        _ => {}
    }
    if let Some(name) = &args.name
        && !NAMES.contains(&name.as_str())
    {
        bail!("there is no benchmark `{name}`; there are {}", NAMES.join(", "));
    }
    if let Some(folder) = &args.report {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot write {}", folder.display()))?;
    }
    let out = args.out.clone().or_else(|| Some(args.report.as_ref()?.join("signoff.jsonl")));
    let file = match &out {
        Some(path) => Some(
            std::fs::File::options()
                .create(true)
                .append(true)
                .open(path)
                .with_context(|| format!("cannot write {}", path.display()))?,
        ),
        None => None,
    };
    let mut records = Records { file };
    let wanted = |name: &str| args.name.as_deref().is_none_or(|wanted| wanted == name);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if wanted("w1") {
            memory::chain(args, &mut records).await?;
        }
        if wanted("w2") {
            steps::durable_steps(args, &mut records).await?;
        }
        if wanted("w3") {
            pause::cycles(args, &mut records).await?;
        }
        if wanted("w4") {
            inbox::parked(args, &mut records).await?;
        }
        if wanted("w5") {
            agents::alone(args, &mut records).await?;
        }
        if wanted("w6") {
            memory::fan(args, &mut records).await?;
        }
        if wanted("w7") {
            server::cycles(args, &mut records).await?;
        }
        if wanted("answers") {
            server::answers(args, &mut records).await?;
        }
        if wanted("streams") {
            server::idle(args, &mut records).await?;
        }
        if wanted("storage") {
            storage::conversation(&mut records).await?;
        }
        if wanted("policy") {
            policy::judging(args, &mut records)?;
        }
        if wanted("terminal") {
            terminal::frames(args, &mut records)?;
        }
        if wanted("load") {
            storage::long_run(args, &mut records).await?;
        }
        if wanted("scale") {
            scale::parked(args, &mut records).await?;
            scale::journals(args, &mut records).await?;
        }
        anyhow::Ok(())
    })?;
    if wanted("nodes") {
        on_two_cores(nodes::steps(args, store, &mut records))?;
    }
    if wanted("agents") {
        on_two_cores(agents::at_once(&mut records))?;
    }
    if let (Some(harness), Some(folder)) = (&args.peers, &args.report) {
        let names: Vec<&str> = NAMES.iter().copied().filter(|name| wanted(name)).collect();
        let at_home = || std::env::home_dir().map(|home| home.join(".cache/signoff-peers"));
        let installed = args.peers_home.clone().or_else(at_home).unwrap_or_default();
        let (harness, to) = (harness.clone(), folder.join("peers"));
        peers::Peers { harness, home: installed, to }.run(args, &names)?;
    }
    write_report(args)
}

/// The table and the plots, where they are wanted.
fn write_report(args: &BenchArgs) -> anyhow::Result<()> {
    let Some(folder) = &args.report else { return Ok(()) };
    let table = compare::report(folder)?;
    write!(std::io::stdout(), "{table}")?;
    Ok(())
}

/// As the product runs: work of many runs is spread over threads.
fn on_two_cores(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(work)
}
