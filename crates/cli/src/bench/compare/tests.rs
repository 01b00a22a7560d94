//! Records of both sides, made to one table.

use super::*;

fn write(folder: &Path, name: &str, lines: &[Value]) {
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(name), text.join("\n")).unwrap();
}

#[test]
fn the_best_of_the_others_is_what_counts() {
    let folder = tempfile::tempdir().unwrap();
    let w1 = |peer: &str, ms: f64| serde_json::json!({ "peer": peer, "workload": "w1", "case": "n=10", "n": 10, "cpu_ms_per_run": { "median": ms } });
    let w7 = |peer: &str, key: &str, rate: f64| serde_json::json!({ "peer": peer, "workload": "w7", "case": "c=64", key: 64, "cycles_per_s": rate });
    let scale = |m: u64, ms: f64| serde_json::json!({ "peer": "signoff", "workload": "scale", "M": m, "open_ms": ms });
    let mut in_memory = w7("signoff", "clients", 9000.0);
    in_memory["where"] = "shm".into();
    let ours = [
        w1("signoff", 9.0),
        w1("signoff", 0.01),
        w7("signoff", "clients", 2000.0),
        // Where nothing is durable it is quicker, and does not count.
        in_memory,
        scale(1000, 2.0),
        scale(1_000_000, 3.0),
    ];
    write(folder.path(), "signoff.jsonl", &ours);
    // Theirs does not say its workload in each line.
    let theirs: Vec<Value> = [w1("slow", 0.5), w1("slow", 5.0), w1("quick", 1.0)]
        .into_iter()
        .map(|mut record| {
            record.as_object_mut().unwrap().remove("workload");
            record
        })
        .collect();
    write(&folder.path().join("peers"), "w1.jsonl", &theirs);
    write(&folder.path().join("peers"), "w7.jsonl", &[w7("slow", "concurrency", 20.0)]);
    let table = report(folder.path()).unwrap();
    let row = |begin: &str| table.lines().find(|line| line.starts_with(begin)).unwrap().to_owned();
    // The last of ours, against the quickest of what was the last of theirs.
    assert_eq!(
        row("| w1"),
        "| w1 a step in memory, n=10 | 1.0 µs of CPU | 100 µs of CPU (quick) | 100 |"
    );
    assert_eq!(
        row("| w7"),
        "| w7 cycles over HTTP, 64 clients | 2000 in a second | 20.0 in a second (slow) | 100 |"
    );
    assert_eq!(row("| parked runs"), "| parked runs | 1000 | 1.0M |");
    assert_eq!(row("| to open"), "| to open the store, ms | 2.0 | 3.0 |");
    assert!(!folder.path().join("journal.svg").exists(), "nothing was measured of it");
    for plot in ["ratios.svg", "runs.svg"] {
        assert!(table.contains(&format!("]({plot})")), "{table}");
        let svg = std::fs::read_to_string(folder.path().join(plot)).unwrap();
        assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{plot}: {svg}");
    }
}
