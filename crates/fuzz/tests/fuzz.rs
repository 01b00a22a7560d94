//! Every target for a moment. `FUZZ_SECONDS` and `FUZZ_SEED` make it longer, and other.

use std::time::Duration;

use signoff_fuzz::{TARGETS, drive};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_decoder_panics_or_hangs_whatever_it_is_given() {
    let time = Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(1));
    let seed = number("FUZZ_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let mut failed = Vec::new();
    for target in TARGETS {
        match drive(target, seed, time) {
            Ok(driven) => println!("{}: {} inputs", target.name, driven.inputs),
            Err(problem) => failed.push(problem),
        }
    }
    assert!(failed.is_empty(), "FUZZ_SEED={seed}\n{}", failed.join("\n"));
}

/// The driver finds what is there to be found.
#[test]
fn a_planted_bug_is_found() {
    fn breaks(bytes: &[u8]) {
        assert!(!bytes.windows(2).any(|it| it == b"\xff{"), "planted");
    }
    let target = signoff_fuzz::Target { name: "planted", run: breaks, seeds: &["{}"] };
    let found = drive(&target, 7, Duration::from_mins(1));
    assert!(found.is_err_and(|problem| problem.starts_with("planted panics")));
}
