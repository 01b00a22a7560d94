//! `./test chaos`: the long run. Prints what came of it; ends with 1 if something was lost, wrong, done twice or too late.

#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use signoff_chaos::{Plan, run};

/// Nodes that are killed, stopped and cut off under load
#[derive(Debug, Parser)]
struct Args {
    /// The `signoff` to start
    #[arg(long)]
    program: PathBuf,
    /// Repeats what was done before
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, default_value_t = 3)]
    nodes: usize,
    #[arg(long, default_value_t = 3000)]
    conversations: usize,
    #[arg(long, default_value_t = 32)]
    at_once: usize,
    #[arg(long, default_value_t = 32)]
    kills: usize,
    #[arg(long, default_value_t = 3)]
    stops: usize,
    #[arg(long, default_value_t = 6)]
    restarts: usize,
    #[arg(long, default_value_t = 6)]
    cuts: usize,
    /// Nodes that are told to end and started again
    #[arg(long, default_value_t = 3)]
    rolls: usize,
    /// How far off the clock of one node in three is, in seconds
    #[arg(long, default_value_t = 3)]
    skew: u32,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let plan = Plan {
        program: args.program,
        seed: args.seed,
        nodes: args.nodes,
        conversations: args.conversations,
        at_once: args.at_once,
        kills: args.kills,
        stops: args.stops,
        restarts: args.restarts,
        cuts: args.cuts,
        rolls: args.rolls,
        skew: args.skew,
    };
    let report = run(plan).await;
    println!("{report}");
    let in_time = report.takeover(0.99) <= Duration::from_secs(5)
        && report.longest() <= Duration::from_secs(15);
    if !in_time {
        println!(
            "takeover took too long: at most 5 s after 99 of 100 kills, and never more than 15 s, after a stop neither"
        );
    }
    if report.verdict.is_clean() && in_time { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
