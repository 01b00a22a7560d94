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

/// The file as it is, and with the last line that belongs to it.
fn import(bytes: &[u8]) {
    let _ = read(bytes);
    let text = String::from_utf8_lossy(bytes);
    let digest = |before: String, line: &str| hex_sha256(format!("{before}\n{line}").as_bytes());
    let sha256 = text.lines().fold(String::new(), digest);
    let lines: String = text.lines().map(|line| format!("{line}\n")).collect();
    let whole = format!("{lines}{{\"end\":{{\"sha256\":\"{sha256}\"}}}}\n");
    let Ok(found) = read(whole.as_bytes()) else { return };
    let mut again = Vec::new();
    write(found.clone(), Timestamp(7), &mut again).unwrap();
    assert_eq!(read(&*again).as_ref(), Ok(&found), "a run changes when it is written");
}

#[test]
fn no_file_breaks_the_reader() {
    for seed in SEEDS {
        let lines = seed
            .lines()
            .fold(String::new(), |before, line| hex_sha256(format!("{before}\n{line}").as_bytes()));
        let whole = format!("{seed}{{\"end\":{{\"sha256\":\"{lines}\"}}}}\n");
        assert_eq!(read(whole.as_bytes()).map(|found| found.runs.len()), Ok(1), "{seed}");
    }
    let target = Target { name: "export", run: import, seeds: SEEDS };
    let driven = drive(&target, u64::from(std::process::id()), Duration::from_secs(1)).unwrap();
    assert!(driven.inputs > 100, "{driven:?}");
}
