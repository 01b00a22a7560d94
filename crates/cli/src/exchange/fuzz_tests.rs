//! Files from elsewhere may say anything: they are read or refused, and what is read is written again as the same.

use std::time::Duration;

use signoff_core::Timestamp;
use signoff_fuzz::{Target, drive};
use signoff_store::hex_sha256;

use super::{read, write};

const SEEDS: &[&str] = &[
    r#"{"signoff":{"version":1,"run":"run_a","by":"0.1.0","at":5}}
{"definition":{"hash":"h","id":"w","body":"workflow: w"}}
{"run":{"id":"run_a","status":"waiting","requests":[{"number":1,"version":1,"status":"pending","created_at":6,"body":{"kind":"input","agent_path":["a"],"prompt":"?","response_schema":{},"allowed":["respond"]}}],"inputs":[],"timers":[]}}
{"entries":[[5,{"started":{"workflow":"w","version":"h","conversation":"c","input":"x","by":"local"}}]]}
"#,
    r#"{"signoff":{"version":1,"run":"run_a","by":"0.1.0","at":5}}
{"run":{"id":"run_a","status":"completed","requests":[],"inputs":[[1,{"out_of_time":{}}]],"timers":[[{"run":null},9]]}}
{"entries":[[5,{"started":{"workflow":"w","version":"h","conversation":"c","input":{"a":[1]},"by":"local"}}],[6,{"run_completed":{}}]]}
"#,
];

/// The lines and the last one that belongs to them.
fn ended(text: &str) -> String {
    let mut file = String::new();
    let mut sha256 = String::new();
    for line in text.lines() {
        sha256 = hex_sha256(format!("{sha256}\n{line}").as_bytes());
        file.push_str(line);
        file.push('\n');
    }
    format!("{file}{{\"end\":{{\"sha256\":\"{sha256}\"}}}}\n")
}

/// The file as it is, and with the end that belongs to it.
fn import(bytes: &[u8]) {
    let _ = read(bytes);
    let Ok(found) = read(ended(&String::from_utf8_lossy(bytes)).as_bytes()) else { return };
    let mut again = Vec::new();
    write(found.clone(), Timestamp(7), &mut again).unwrap();
    assert_eq!(read(&*again).as_ref(), Ok(&found), "a run changes when it is written");
}

#[test]
fn no_file_breaks_the_reader() {
    for seed in SEEDS {
        let found = read(ended(seed).as_bytes());
        assert_eq!(found.map(|found| found.runs.len()), Ok(1), "{seed}");
    }
    let target = Target { name: "export", run: import, seeds: SEEDS };
    let driven = drive(&target, u64::from(std::process::id()), Duration::from_secs(1)).unwrap();
    assert!(driven.inputs > 100, "{driven:?}");
}
