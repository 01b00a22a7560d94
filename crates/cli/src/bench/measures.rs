//! What is compared: for each thing that both sides have measured, where it stands in a record.

use serde_json::Value;

/// Something that both sides have measured.
pub(super) struct Measure {
    pub(super) workload: &'static str,
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    /// What tells cases apart.
    at: &'static [&'static str],
    read: fn(&Value) -> Option<f64>,
    pub(super) more_is_better: bool,
}

fn less(
    workload: &'static str,
    title: &'static str,
    unit: &'static str,
    at: &'static [&'static str],
    read: fn(&Value) -> Option<f64>,
) -> Measure {
    Measure { workload, title, unit, at, read, more_is_better: false }
}

/// A figure, or the median of its samples.
pub(super) fn number(record: &Value, key: &str) -> Option<f64> {
    record[key].as_f64().or_else(|| record[key]["median"].as_f64())
}

fn per(record: &Value, what: &str, of: &str) -> Option<f64> {
    Some(number(record, what)? / number(record, of)? * 1e3)
}

/// Servers of others keep runs in memory. Ours is compared with what is durable, on a disk.
fn of_server(record: &Value, key: &str) -> Option<f64> {
    if record["where"] == "shm" { None } else { number(record, key) }
}

/// In the order of the table. Figures of CPU first: those of the clock depend on what else the machine does.
pub(super) fn measures() -> Vec<Measure> {
    vec![
        less("w1", "a step in memory", "µs of CPU", &["n"], |record| {
            per(record, "cpu_ms_per_run", "n")
        }),
        less("w2", "a durable step", "µs of CPU", &["where", "L"], |record| {
            per(record, "cpu_ms_per_run", "steps")
        }),
        less("w2", "a durable step", "bytes", &["where", "L"], |record| {
            number(record, "bytes_per_step")
        }),
        less("w3", "four pauses and resumes", "ms of CPU", &["where"], |record| {
            number(record, "cpu_ms_per_run")
        }),
        less("w3", "a pause and resume", "ms", &["where"], |record| number(record, "ms_per_cycle")),
        less("w4", "a parked run", "bytes on disk", &["where"], |record| {
            number(record, "disk_bytes_per_parked")
        }),
        less("w4", "listing all that waits", "s", &["where", "M"], |record| {
            number(record, "list_s")
        }),
        less("w4", "answering one of them", "ms", &["where", "M"], |record| {
            number(record, "resume_ms")
        }),
        less("w5", "a chat of three turns", "ms", &["where"], |record| {
            number(record, "ms_per_chat").or_else(|| number(record, "ms_per_chat3"))
        }),
        less("w6", "a branch", "µs", &["n"], |record| number(record, "us_per_branch")),
        Measure {
            workload: "w7",
            title: "cycles over HTTP",
            unit: "in a second",
            at: &["clients"],
            read: |record| of_server(record, "cycles_per_s"),
            more_is_better: true,
        },
        less("w7", "a cycle over HTTP", "ms of CPU", &["clients"], |record| {
            of_server(record, "server_cpu_ms_per_cycle")
        }),
    ]
}

impl Measure {
    /// Which case a record is of, and what was measured in it.
    pub(super) fn of(&self, record: &Value) -> Option<(String, f64)> {
        if record["workload"] != self.workload {
            return None;
        }
        let value = (self.read)(record).filter(|value| value.is_finite() && *value > 0.0)?;
        Some((self.case(record)?, value))
    }

    fn case(&self, record: &Value) -> Option<String> {
        let parts: Option<Vec<String>> = self.at.iter().map(|key| part(record, key)).collect();
        Some(parts?.join(" "))
    }

    /// Whether one figure is better than another.
    pub(super) fn is_better(&self, one: f64, other: f64) -> bool {
        if self.more_is_better { one > other } else { one < other }
    }

    /// How many times better.
    pub(super) fn times_better(&self, ours: f64, theirs: f64) -> f64 {
        if self.more_is_better { ours / theirs } else { theirs / ours }
    }
}

/// What a record says of one of the things that tell cases apart.
fn part(record: &Value, key: &str) -> Option<String> {
    let said = match key {
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
    Some(match key {
        "where" => said,
        "clients" if said == "1" => "1 client".to_owned(),
        "clients" => format!("{said} clients"),
        key => format!("{key}={said}"),
    })
}
