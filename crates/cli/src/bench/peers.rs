//! Runs the others' side: a harness in a folder, whose `run_all.py` and `w7_run.py` write `WORKLOAD.jsonl` to the folder that
//! `BENCH_RESULTS` names, with the same keys as ours.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::BenchArgs;
use crate::out;

/// The others' part of a name, as the harness has it.
const PEERS: [&str; 5] = ["af", "lg", "ag2", "oai", "pyd"];
/// Those of them that have a server, what it is installed as, and the ways in which it is started.
const SERVERS: [(&str, &[&str]); 2] =
    [("afdev", &["af64", "af64n", "af1"]), ("lgdev", &["lg", "lg10"])];
/// What loads the servers.
const LOAD: &str = "load";
const IN_PROCESS: [&str; 6] = ["w1", "w2", "w3", "w4", "w5", "w6"];

/// Where the others are.
pub(super) struct Peers {
    /// The harness.
    pub(super) harness: PathBuf,
    /// Where they are installed.
    pub(super) home: PathBuf,
    /// Where their records go.
    pub(super) to: PathBuf,
}

impl Peers {
    fn has(&self, name: &str) -> bool {
        self.home.join(format!("bench-{name}/bin/python")).exists()
    }

    /// Runs what is installed of these benchmarks. What fails is said, and the rest goes on.
    pub(super) fn run(&self, args: &BenchArgs, names: &[&str]) -> anyhow::Result<()> {
        let installed: Vec<&str> = PEERS.into_iter().filter(|peer| self.has(peer)).collect();
        if installed.is_empty() {
            anyhow::bail!(
                "no peer is installed in {}; {} installs them",
                self.home.display(),
                self.harness.join("setup.sh").display()
            );
        }
        std::fs::create_dir_all(&self.to)?;
        for name in IN_PROCESS.iter().filter(|name| names.contains(*name)) {
            out::note(&format!("{name} of {}", installed.join(", ")));
            self.script(args, "run_all.py", &[name, "--peers", &installed.join(",")])?;
        }
        if names.contains(&"w7") && self.has(LOAD) {
            for way in SERVERS.iter().filter(|(name, _)| self.has(name)).flat_map(|it| it.1) {
                out::note(&format!("w7 of {way}"));
                self.script(args, "w7_run.py", &[way])?;
            }
        }
        Ok(())
    }

    fn script(&self, args: &BenchArgs, script: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let path = |path: &Path| std::path::absolute(path);
        let output = Command::new("python3")
            .arg(script)
            .args(arguments)
            .current_dir(&self.harness)
            .env("PEERS", path(&self.home)?)
            .env("BENCH_RESULTS", path(&self.to)?)
            .env("BENCH_RUNS", args.runs.to_string())
            .env("W7_REPEAT", args.runs.to_string())
            .env("W7_SECS", args.seconds.to_string())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run python3 {script}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or_default();
            out::note(&format!("{script} {} failed: {last}", arguments.join(" ")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        bench: BenchArgs,
    }

    /// Writes what it was asked for; `w2` fails, as a program does that a newer version of its peer broke.
    const HARNESS: &str = r#"
import json, os, sys
name = sys.argv[1]
if name == "w2":
    sys.exit("the peer has changed")
with open(os.path.join(os.environ["BENCH_RESULTS"], name + ".jsonl"), "a") as file:
    file.write(json.dumps({"peer": "af", "asked": sys.argv[1:], "runs": os.environ["BENCH_RUNS"]}) + "\n")
"#;

    #[test]
    fn what_is_installed_is_measured_and_what_fails_holds_up_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [harness, home, to] = ["harness", "home", "to"].map(|name| folder.path().join(name));
        let peers = Peers { harness: harness.clone(), home: home.clone(), to: to.clone() };
        let args = Typed::parse_from(["bench", "--runs", "3"]).bench;
        let refused = peers.run(&args, &["w1"]).unwrap_err();
        assert!(refused.to_string().contains("setup.sh"), "{refused}");
        for name in ["af", "lg", "afdev"] {
            std::fs::create_dir_all(home.join(format!("bench-{name}/bin"))).unwrap();
            std::fs::write(home.join(format!("bench-{name}/bin/python")), "").unwrap();
        }
        std::fs::create_dir(&harness).unwrap();
        std::fs::write(harness.join("run_all.py"), HARNESS).unwrap();
        // Nothing is there to load servers with, so there is no w7.
        peers.run(&args, &["w1", "w2", "w6", "w7", "scale"]).unwrap();
        let written = |name: &str| std::fs::read_to_string(to.join(name)).unwrap_or_default();
        let record: serde_json::Value = serde_json::from_str(&written("w1.jsonl")).unwrap();
        assert_eq!(record["asked"], serde_json::json!(["w1", "--peers", "af,lg"]));
        assert_eq!(record["runs"], "3");
        assert!(written("w2.jsonl").is_empty() && !written("w6.jsonl").is_empty());
    }
}
