//! The server in a process of its own, and what it uses.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

/// A server that is killed when nobody needs it any more.
pub(super) struct Served {
    child: Child,
    pub(super) url: String,
}

impl Served {
    pub(super) fn start(data: &Path, flows: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", "--addr", "127.0.0.1:0", "--data-dir"])
            .arg(data.join("data"))
            .arg("--workflows")
            .arg(flows)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let url = line.trim().rsplit(' ').next().context("the server says nothing")?.to_owned();
        Ok(Self { child, url })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process uses, as Linux tells; zero elsewhere.
pub(super) struct Usage(u32);

impl Usage {
    pub(super) fn of(pid: u32) -> Self {
        Self(pid)
    }

    /// Processor time so far.
    pub(super) fn cpu_ms(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks = fields.split_whitespace().skip(11).take(2);
        // A tick is a hundredth of a second for everybody who asks.
        ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10.0
    }

    pub(super) fn resident_mb(&self) -> f64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.unwrap_or(0.0) / 1024.0
    }
}
