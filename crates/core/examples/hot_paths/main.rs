//! How many instructions the hot paths take, counted by callgrind: a number that a busy machine does not change.
//!
//! `hot_paths check` compares them with what is recorded beside this file, `hot_paths renew` records them anew, and
//! `hot_paths go NAME TIMES` is what is counted. `./test counts` runs the first. Judging differs by a tenth from process to
//! process, as hashes do; its upper end is recorded.

#![allow(unreachable_pub)] // the paths are used here only
#![allow(clippy::unwrap_used, clippy::expect_used)] // a tool for whoever changes the code
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod paths;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::{Map, Value, json};

/// How much more a path may take than it did.
const TOLERANCE: f64 = 0.05;
/// Each path is gone so many times, and this many times more: the difference is the path without what comes before it, which is not
/// always the same (the seeds of hash maps), so that it takes many.
const FEW: u64 = 2;
const MORE: u64 = 300;

fn recorded_at() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hot_paths/counts.json")
}

/// What counts depend on besides our code.
fn compiler() -> String {
    let rustc = Command::new("rustc").arg("--version").output().expect("rustc is not there");
    String::from_utf8_lossy(&rustc.stdout).trim().to_owned()
}

/// Instructions of a process that goes a path so many times.
fn instructions(name: &str, times: u64) -> f64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["go", name, &times.to_string()])
        .output()
        .expect("valgrind is not there; install it with the system's package manager");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    collected.expect("no count").1.trim().parse().unwrap()
}

#[allow(clippy::cast_precision_loss)]
fn count(name: &str) -> f64 {
    (instructions(name, FEW + MORE) - instructions(name, FEW)) / MORE as f64
}

fn renew() {
    let counts: Map<String, Value> =
        paths::NAMES.iter().map(|name| ((*name).to_owned(), json!(count(name).round()))).collect();
    let record = json!({ "compiler": compiler(), "instructions": counts });
    let text = serde_json::to_string_pretty(&record).unwrap();
    std::fs::write(recorded_at(), format!("{text}\n")).unwrap();
    println!("{text}");
}

fn check() -> ExitCode {
    let text = std::fs::read_to_string(recorded_at()).expect("nothing is recorded");
    let record: Value = serde_json::from_str(&text).unwrap();
    let same_compiler = record["compiler"] == compiler();
    if !same_compiler {
        println!(
            "warning: recorded with {}, this is {}: differences are shown and do not count",
            record["compiler"],
            compiler()
        );
    }
    let mut worse = Vec::new();
    for name in paths::NAMES {
        let before = record["instructions"][name].as_f64().unwrap_or(0.0);
        let now = count(name);
        println!("{name}: {now:.0} instructions, {:+.1} %", (now / before - 1.0) * 100.0);
        if now > before * (1.0 + TOLERANCE) || before == 0.0 {
            worse.push(*name);
        }
    }
    if worse.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "{}: {} now. If it must be so: cargo run --release -p signoff-core --example hot_paths renew",
        if same_compiler { "error" } else { "warning" },
        worse.iter().map(|name| format!("`{name}` takes more")).collect::<Vec<_>>().join(", ")
    );
    if same_compiler { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["check"] => check(),
        ["renew"] => {
            renew();
            ExitCode::SUCCESS
        }
        ["go", name, times] => {
            paths::go(name, times.parse().expect("a number"));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: hot_paths check | renew | go NAME TIMES");
            ExitCode::from(2)
        }
    }
}
