//! What the operating system says of this process, and what it allows it.

use std::fs;

/// Ticks of processor time in a second, as Linux reports them to everybody.
const TICKS: f64 = 100.0;

/// Memory in use, in bytes.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Processor time taken so far, in seconds.
pub(crate) fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name before the closing bracket may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |n: usize| fields.get(n)?.parse::<u32>().ok();
    Some((f64::from(ticks(11)?) + f64::from(ticks(12)?)) / TICKS)
}

/// Lets this process have as many connections as the system allows it at all.
pub fn allow_connections() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum {
            let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
            tracing::debug!(?current, ?maximum, ok = raised.is_ok(), "open files");
        }
    }
}
