//! One table and a few plots of what was measured, here and of others.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::measures::{measures, number};
use super::plot::{self, Bar, Line};

const OURS: &str = "signoff";

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
    for measure in measures() {
        // What was measured last counts, of ours and of each way in which another does it.
        let mut cases: Vec<(String, f64)> = Vec::new();
        let mut others: BTreeMap<String, BTreeMap<(&str, &str), f64>> = BTreeMap::new();
        for record in records {
            let Some((case, value)) = measure.of(record) else { continue };
            let said = |key: &str| record[key].as_str().unwrap_or_default();
            if said("peer") == OURS {
                match cases.iter_mut().find(|(known, _)| *known == case) {
                    Some(known) => known.1 = value,
                    None => cases.push((case, value)),
                }
            } else {
                others.entry(case).or_default().insert((said("peer"), said("case")), value);
            }
        }
        for (case, ours) in cases {
            let ways = others.get(&case).into_iter().flatten();
            let best = ways
                .map(|((peer, _), value)| ((*peer).to_owned(), *value))
                .reduce(|a, b| if measure.is_better(b.1, a.1) { b } else { a });
            let ratio = best.as_ref().map(|(_, best)| measure.times_better(ours, *best));
            let what = format!("{} {}, {case}", measure.workload, measure.title);
            rows.push(Row { what, unit: measure.unit, ours, best, ratio });
        }
    }
    rows
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

/// Something that grows: over what, and what was seen of it.
struct Growth {
    title: &'static str,
    file: &'static str,
    over: &'static str,
    key: &'static str,
    figures: &'static [(&'static str, &'static str)],
}

const GROWTHS: [Growth; 2] = [
    Growth {
        title: "What grows with parked runs",
        file: "runs.svg",
        over: "parked runs",
        key: "M",
        figures: &[
            ("open_ms", "to open the store, ms"),
            ("first_page_ms", "a page of the inbox, ms"),
            ("count_ms", "to count what waits, ms"),
            ("resume_ms", "answer to end, ms"),
            ("rss_mb", "memory, MB"),
        ],
    },
    Growth {
        title: "What grows with a journal",
        file: "journal.svg",
        over: "entries",
        key: "entries",
        figures: &[("load_ms", "to load it, ms"), ("answer_to_end_ms", "answer to end, ms")],
    },
];

impl Growth {
    fn lines(&self, records: &[Value]) -> Vec<Line> {
        let scale = |record: &&Value| record["workload"] == "scale" && record["peer"] == OURS;
        let lines = self.figures.iter().map(|(key, name)| {
            let mut points: BTreeMap<u64, f64> = BTreeMap::new();
            for record in records.iter().filter(scale) {
                if let (Some(x), Some(y)) = (record[self.key].as_u64(), number(record, key)) {
                    points.insert(x, y);
                }
            }
            #[allow(clippy::cast_precision_loss)]
            let points = points.into_iter().map(|(x, y)| (x as f64, y)).collect();
            Line { name: (*name).to_owned(), points }
        });
        lines.filter(|line| !line.points.is_empty()).collect()
    }

    /// A table with a column for each size.
    fn table(&self, lines: &[Line]) -> String {
        let mut sizes: Vec<f64> =
            lines.iter().flat_map(|line| &line.points).map(|it| it.0).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let heads: Vec<String> = sizes.iter().map(|size| plot::short(*size)).collect();
        let mut table = format!(
            "| {} | {} |\n|---|{}\n",
            self.over,
            heads.join(" | "),
            "---|".repeat(sizes.len())
        );
        for line in lines {
            let at = |size: &f64| {
                let found = line.points.iter().find(|(x, _)| x.total_cmp(size).is_eq());
                found.map_or("–".to_owned(), |(_, y)| plot::short(*y))
            };
            let cells: Vec<String> = sizes.iter().map(at).collect();
            let _ = writeln!(table, "| {} | {} |", line.name, cells.join(" | "));
        }
        table
    }
}

/// Writes the tables and the plots of what stands in `folder`. Returns the tables.
pub(super) fn report(folder: &Path) -> anyhow::Result<String> {
    let records = records(folder)?;
    let rows = rows(&records);
    let mut text =
        String::from("| what | here | best of the others | times better |\n|---|---|---|---|\n");
    for Row { what, unit, ours, best, ratio } in &rows {
        let best = best.as_ref().map_or("–".to_owned(), |(peer, best)| {
            format!("{} {unit} ({peer})", plot::short(*best))
        });
        let ratio = ratio.map_or("–".to_owned(), plot::short);
        let _ = writeln!(text, "| {what} | {} {unit} | {best} | {ratio} |", plot::short(*ours));
    }
    let bars: Vec<Bar> = rows
        .iter()
        .filter_map(|row| {
            let name = format!("{}: {}", row.what, row.unit);
            Some(Bar { name, ratio: row.ratio? })
        })
        .collect();
    if !bars.is_empty() {
        let svg = plot::ratios("How many times better than the best of the others", &bars);
        std::fs::write(folder.join("ratios.svg"), svg)?;
        text.push_str("\n![times better](ratios.svg)\n");
    }
    for growth in &GROWTHS {
        let lines = growth.lines(&records);
        if lines.is_empty() {
            continue;
        }
        let Growth { title, file, over, .. } = growth;
        std::fs::write(folder.join(file), plot::growth(title, over, &lines))?;
        let _ = write!(text, "\n{}\n![{title}]({file})\n", growth.table(&lines));
    }
    std::fs::write(folder.join("report.md"), &text)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
