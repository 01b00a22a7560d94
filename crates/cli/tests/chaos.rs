//! Faults under load, for as long as every change can wait for: `./test chaos` does it for longer.

use std::path::Path;
use std::time::Duration;

use signoff_chaos::{Plan, full_disk, run};
use signoff_testkit::Chance;

fn plan(name: &str) -> Plan {
    Plan {
        program: env!("CARGO_BIN_EXE_signoff").into(),
        seed: Chance::seed_for_test(name),
        nodes: 3,
        conversations: 60,
        at_once: 16,
        kills: 0,
        stops: 0,
        restarts: 0,
        cuts: 0,
        rolls: 0,
        skew: 0,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_wrong_or_done_twice() {
    let plan = Plan { kills: 5, restarts: 2, cuts: 1, stops: 1, skew: 3, ..plan("chaos") };
    let report = run(plan).await;
    println!("{report}");
    assert!(report.verdict.is_clean(), "{report}");
    // Who is killed is missed long before its leases run out, who is stopped when they do: after 9 s, by clocks that are 3 s off.
    // The machine may be busy with other tests.
    assert!(report.takeover(1.0) < Duration::from_secs(15), "{report}");
    assert!(report.longest() < Duration::from_secs(20), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_are_rolled_one_after_another() {
    let report = run(Plan { nodes: 2, rolls: 4, ..plan("rolling") }).await;
    println!("{report}");
    assert!(report.verdict.is_clean(), "{report}");
    // What was under way was finished before it was handed over, so nobody had to be asked about it.
    assert_eq!(report.in_doubt, 0, "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_lived_through() {
    let program = Path::new(env!("CARGO_BIN_EXE_signoff"));
    let (verdict, refused) = full_disk(program, Chance::seed_for_test("disk"), 16).await;
    assert!(verdict.is_clean(), "{:?}", verdict.lines().collect::<Vec<_>>());
    assert!(refused > 0, "the disk was never full");
}
