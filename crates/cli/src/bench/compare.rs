//! One table and a few plots of what was measured, here and of others.
//!
//! Records of others come from a harness in a folder (`--peers`): `run_all.py` and `w7_run.py` write `WORKLOAD.jsonl` to the
//! folder that `BENCH_RESULTS` names, with the same keys as ours.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use super::plot::{self, Line};

/// The others' part of a name, as the harness has it.
const PEERS: [&str; 5] = ["af", "lg", "ag2", "oai", "pyd"];
const OURS: &str = "signoff";

/// Something that both sides have measured.
struct Measure {
    workload: &'static str,
    title: &'static str,
    unit: &'static str,
    /// What tells cases apart.
    at: &'static [&'static str],
    value: fn(&Value) -> Option<f64>,
    more_is_better: bool,
}

fn number(record: &Value, key: &str) -> Option<f64> {
    record[key].as_f64().or_else(|| record[key]["median"].as_f64())
}

fn per(record: &Value, what: &str, of: &str) -> Option<f64> {
    Some(number(record, what)? / number(record, of)? * 1e3)
}

const MEASURES: &[Measure] = &[
    Measure {
        workload: "w1",
        title: "a step in memory",
        unit: "µs of CPU",
        at: &["n"],
        value: |record| per(record, "cpu_ms_per_run", "n"),
        more_is_better: false,
    },
    Measure {
        workload: "w2",
        title: "a durable step",
        unit: "µs of CPU",
        at: &["where", "L"],
        value: |record| per(record, "cpu_ms_per_run", "steps"),
        more_is_better: false,
    },
    Measure {
        workload: "w2",
        title: "a durable step",
        unit: "bytes",
        at: &["where", "L"],
        value: |record| number(record, "bytes_per_step"),
        more_is_better: false,
    },
    Measure {
        workload: "w3",
        title: "a pause and resume",
        unit: "ms",
        at: &["where"],
        value: |record| number(record, "ms_per_cycle"),
        more_is_better: false,
    },
    Measure {
        workload: "w4",
        title: "a parked run",
        unit: "bytes on disk",
        at: &["where", "M"],
        value: |record| number(record, "disk_bytes_per_parked"),
        more_is_better: false,
    },
    Measure {
        workload: "w5",
        title: "a chat of three turns",
        unit: "ms",
        at: &["where"],
        value: |record| number(record, "ms_per_chat").or_else(|| number(record, "ms_per_chat3")),
        more_is_better: false,
    },
    Measure {
        workload: "w6",
        title: "a branch",
        unit: "µs",
        at: &["n"],
        value: |record| number(record, "us_per_branch"),
        more_is_better: false,
    },
    Measure {
        workload: "w7",
        title: "cycles over HTTP",
        unit: "in a second",
        at: &["clients"],
        value: |record| number(record, "cycles_per_s"),
        more_is_better: true,
    },
];

/// Which case a record is of: the values of these keys.
fn case(record: &Value, at: &[&str]) -> Option<String> {
    let one = |key: &&str| {
        let said = match *key {
            // Others call it so; and say where in the name of the case.
            "clients" => record.get("clients").or_else(|| record.get("concurrency"))?,
            "where" if record["where"].is_null() => {
                let case = record["case"].as_str().unwrap_or_default();
                let place = ["disk", "shm"].into_iter().find(|place| case.contains(place));
                return Some(place.unwrap_or("memory").to_owned());
            }
            key => record.get(key)?,
        };
        let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
        Some(if *key == "where" { said } else { format!("{key}={said}") })
    };
    let parts: Option<Vec<String>> = at.iter().map(one).collect();
    Some(parts?.join(" "))
}

/// A row of the table.
struct Row {
    what: String,
    unit: &'static str,
    ours: f64,
    best: Option<(String, f64)>,
    /// How many times better ours is.
    ratio: Option<f64>,
}

fn rows(records: &[Value]) -> Vec<Row> {
    let mut rows = Vec::new();
    for measure in MEASURES {
        let mut cases: Vec<(String, f64)> = Vec::new();
        let mut others: BTreeMap<String, (String, f64)> = BTreeMap::new();
        let better = |a: f64, b: f64| if measure.more_is_better { a > b } else { a < b };
        for record in records.iter().filter(|record| record["workload"] == measure.workload) {
            let (Some(case), Some(value)) = (case(record, measure.at), (measure.value)(record))
            else {
                continue;
            };
            let peer = record["peer"].as_str().unwrap_or_default();
            if peer == OURS {
                match cases.iter_mut().find(|(known, _)| *known == case) {
                    // What was measured last counts.
                    Some(known) => known.1 = value,
                    None => cases.push((case, value)),
                }
            } else if others.get(&case).is_none_or(|(_, best)| better(value, *best)) {
                others.insert(case, (peer.to_owned(), value));
            }
        }
        for (case, ours) in cases {
            let best = others.get(&case).cloned();
            let ratio = best
                .as_ref()
                .map(|(_, best)| if measure.more_is_better { ours / best } else { best / ours });
            let what = format!("{} {}, {case}", measure.workload, measure.title);
            rows.push(Row { what, unit: measure.unit, ours, best, ratio });
        }
    }
    rows
}

/// Runs the others' side, as far as it is installed, and keeps its records in `to`.
pub(super) fn run_peers(
    harness: &Path,
    home: &Path,
    names: &[&str],
    to: &Path,
) -> anyhow::Result<()> {
    let installed: Vec<&str> = PEERS
        .into_iter()
        .filter(|peer| home.join(format!("bench-{peer}/bin/python")).exists())
        .collect();
    if installed.is_empty() {
        anyhow::bail!(
            "no peer is installed in {}; {} installs them",
            home.display(),
            harness.join("setup.sh").display()
        );
    }
    std::fs::create_dir_all(to)?;
    let to = to.canonicalize()?;
    let run = |script: &str, arguments: &[String]| {
        let status = Command::new("python3")
            .arg(script)
            .args(arguments)
            .current_dir(harness)
            .env("PEERS", home)
            .env("BENCH_RESULTS", &to)
            .stdout(std::process::Stdio::null())
            .status()
            .with_context(|| format!("cannot run python3 {script}"))?;
        anyhow::ensure!(status.success(), "{script} failed: {status}");
        Ok(())
    };
    let mut workloads: Vec<String> = names
        .iter()
        .filter(|name| ["w1", "w2", "w3", "w4", "w5", "w6"].contains(name))
        .map(|name| (*name).to_owned())
        .collect();
    if !workloads.is_empty() {
        workloads.extend(["--peers".to_owned(), installed.join(",")]);
        run("run_all.py", &workloads)?;
    }
    let server = home.join("bench-afdev/bin/python").exists();
    if names.contains(&"w7") && server {
        run("w7_run.py", &[])?;
    }
    Ok(())
}

/// All records in the files of a folder and of its folder `peers`.
fn records(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let mut records = Vec::new();
    for folder in [folder.to_owned(), folder.join("peers")] {
        let Ok(files) = std::fs::read_dir(&folder) else { continue };
        let mut files: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "jsonl")) {
            let text = std::fs::read_to_string(file)?;
            for line in text.lines() {
                let Ok(mut record) = serde_json::from_str::<Value>(line) else { continue };
                // Others have one file for each workload, and do not say it again in each line.
                if record["workload"].is_null() {
                    record["workload"] =
                        file.file_stem().unwrap_or_default().to_string_lossy().into();
                }
                records.push(record);
            }
        }
    }
    Ok(records)
}

/// The lines of a plot of growth: these figures over that one.
fn lines(records: &[Value], over: &str, figures: &[(&str, &str)]) -> Vec<Line> {
    let scale = |record: &&Value| record["workload"] == "scale" && record["peer"] == OURS;
    let lines = figures.iter().map(|(key, name)| {
        let mut points: BTreeMap<u64, f64> = BTreeMap::new();
        for record in records.iter().filter(scale) {
            if let (Some(x), Some(y)) = (record[over].as_u64(), number(record, key)) {
                points.insert(x, y);
            }
        }
        #[allow(clippy::cast_precision_loss)]
        let points = points.into_iter().map(|(x, y)| (x as f64, y)).collect();
        Line { name: (*name).to_owned(), points }
    });
    lines.filter(|line| !line.points.is_empty()).collect()
}

/// Writes the table and the plots of what stands in `folder`. Returns the table.
pub(super) fn report(folder: &Path) -> anyhow::Result<String> {
    let records = records(folder)?;
    let rows = rows(&records);
    let mut table =
        String::from("| what | here | best of the others | times better |\n|---|---|---|---|\n");
    for Row { what, unit, ours, best, ratio } in &rows {
        let best = best.as_ref().map_or("–".to_owned(), |(peer, best)| {
            format!("{} {unit} ({peer})", plot::short(*best))
        });
        let ratio = ratio.map_or("–".to_owned(), plot::short);
        let _ = writeln!(table, "| {what} | {} {unit} | {best} | {ratio} |", plot::short(*ours));
    }
    let runs = lines(
        &records,
        "M",
        &[
            ("open_ms", "start-up, ms"),
            ("first_page_ms", "inbox page, ms"),
            ("rss_mb", "memory, MB"),
            ("count_ms", "count, ms"),
        ],
    );
    let journal = lines(
        &records,
        "entries",
        &[("load_ms", "load, ms"), ("answer_to_end_ms", "answer to end, ms")],
    );
    for (over, lines) in [("parked runs", &runs), ("entries", &journal)] {
        for line in lines {
            let points: Vec<String> = line
                .points
                .iter()
                .map(|(x, y)| format!("{} at {}", plot::short(*y), plot::short(*x)))
                .collect();
            let _ = writeln!(
                table,
                "| scale: {} by {over} | {} | – | – |",
                line.name,
                points.join(", ")
            );
        }
    }
    std::fs::write(folder.join("report.md"), &table)?;
    let bars: Vec<(String, f64)> = rows
        .iter()
        .filter_map(|row| Some((format!("{} ({})", row.what, row.unit), row.ratio?)))
        .collect();
    let plots = [
        ("ratios.svg", plot::ratios("How many times better than the best of the others", &bars)),
        ("runs.svg", plot::growth("With parked runs", "parked runs", &runs)),
        ("journal.svg", plot::growth("With the length of a journal", "entries", &journal)),
    ];
    for (name, svg) in plots {
        std::fs::write(folder.join(name), svg)?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests;
