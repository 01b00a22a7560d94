//! The store: whether it can be reached, is whole, has room, and whether something in it is stuck.

use std::path::Path;

use signoff_runtime::{Clock as _, SystemClock};
use signoff_store::{Examined, Peek, Store};

use super::Finding;
use crate::app::App;
use crate::place::Place;

/// Less room than this is no room.
const NO_ROOM: u64 = 100 * 1024 * 1024;
const LITTLE_ROOM: u64 = 1024 * 1024 * 1024;
/// So far apart may clocks be, in milliseconds.
const CLOCKS_APART: u64 = 1_000;
const CLOCKS_WRONG: u64 = 5_000;
/// A webhook that so many events wait for is behind.
const BEHIND: u64 = 100;

pub(super) fn look(app: &App) -> Vec<Finding> {
    let mut findings = Vec::new();
    let place = match app.kept() {
        Ok(place) => place,
        Err(error) => return vec![Finding::error("store", &error, "see --store")],
    };
    if let Place::Sqlite(path) = &place {
        if !path.exists() {
            let found = format!("{}: not there yet; made at the first run", path.display());
            findings.push(Finding::ok("store", found));
            findings.extend(room(path));
            return findings;
        }
        findings.extend(private(path));
        findings.extend(room(path));
    }
    let peek = match app.peek() {
        Ok(peek) => peek,
        Err(error) => {
            findings.push(Finding::error("store", &error, unreachable(&place)));
            return findings;
        }
    };
    findings.push(schema(peek));
    if peek.schema != peek.known {
        return findings;
    }
    let examined = app.store().and_then(|store| {
        let now = SystemClock.now();
        Ok((store.examine(now)?, audit(&*store)?, store.users()?.len()))
    });
    let (examined, audit, users) = match examined {
        Ok(examined) => examined,
        Err(error) => {
            findings.push(Finding::error("store", &error, unreachable(&place)));
            return findings;
        }
    };
    findings.push(Finding::ok("store", contents(&place, &examined)));
    findings.push(if examined.problems.is_empty() {
        Finding::ok("integrity", "everything fits together")
    } else {
        let hint = "stop the server, keep a copy of the database as it is, and restore a backup";
        Finding::fail("integrity", examined.problems.join("; "), hint)
    });
    findings.push(audit);
    findings.extend(examined.clock.map(|there| clock(there.0)));
    findings.push(match users {
        0 => Finding::ok("users", "none: open to programs of this machine, to no other"),
        users => Finding::ok("users", format!("{users}, each with a token")),
    });
    findings.extend(stuck(&examined));
    findings
}

fn unreachable(place: &Place) -> &'static str {
    match place {
        Place::Sqlite(_) => "look who owns the file, and whether the disk is there and has room",
        Place::Postgres(_) => {
            "look whether PostgreSQL runs, and at host, user and password (SIGNOFF_STORE, PGPASSWORD)"
        }
    }
}

fn contents(place: &Place, examined: &Examined) -> String {
    let Examined { runs, over, pending, bytes, free_bytes, .. } = examined;
    let free = match free_bytes {
        0 => String::new(),
        free => format!(", {} of it free", size(*free)),
    };
    format!(
        "{}: runs {runs}, over {over}, requests that wait {pending}; {}{free}",
        place.shown(),
        size(*bytes)
    )
}

fn schema(peek: Peek) -> Finding {
    let Peek { schema, known } = peek;
    match schema.cmp(&known) {
        std::cmp::Ordering::Equal => Finding::ok("schema", format!("version {schema}")),
        std::cmp::Ordering::Less => Finding::warn(
            "schema",
            format!("version {schema}; this program brings it to {known} when it next opens it"),
            "make a backup first: older versions will not open it any more",
        ),
        std::cmp::Ordering::Greater => Finding::fail(
            "schema",
            format!("version {schema}, this program knows up to {known}"),
            "take the version of signoff that wrote it, or a newer one; or it was carried over elsewhere",
        ),
    }
}

/// Whether every line of the audit follows the one before it.
fn audit(store: &dyn Store) -> crate::failure::Result<Finding> {
    let (mut no, mut hash) = (0, String::new());
    loop {
        let lines = store.audit(None, no, 1000)?;
        if lines.is_empty() {
            return Ok(Finding::ok("audit", format!("{no} lines, none changed")));
        }
        for line in lines {
            if line.no != no + 1 || !line.follows(&hash) {
                let found = format!("changed at or before line {}", line.no);
                let hint = "somebody has written into the database; compare with a backup";
                return Ok(Finding::fail("audit", found, hint));
            }
            (no, hash) = (line.no, line.hash);
        }
    }
}

fn clock(there: i64) -> Finding {
    let apart = SystemClock.now().0.abs_diff(there);
    let found = format!("{apart} ms from the database's");
    let hint = "leases and deadlines go by the clocks of the nodes: keep them by NTP";
    match apart {
        0..CLOCKS_APART => Finding::ok("clock", found),
        CLOCKS_APART..CLOCKS_WRONG => Finding::warn("clock", found, hint),
        _ => Finding::fail("clock", found, hint),
    }
}

fn stuck(examined: &Examined) -> Vec<Finding> {
    let mut findings = Vec::new();
    let names: Vec<String> = examined.stuck.iter().map(ToString::to_string).collect();
    findings.push(match examined.stuck_count {
        0 => Finding::ok("runs", "none is stuck"),
        count => Finding::warn(
            "runs",
            format!("{count} could go on, and nobody works on them: {}", names.join(", ")),
            "start `signoff serve`, or `signoff resume RUN`",
        ),
    });
    findings.push(match examined.overdue {
        0 => Finding::ok("timers", "none is overdue"),
        count => Finding::warn(
            "timers",
            format!("{count} should have come for more than a minute"),
            "they come as soon as a server runs; if one does, look at its log",
        ),
    });
    let mut late: Vec<String> = examined
        .failing_pushes
        .iter()
        .map(|(run, name, failed)| format!("{name} of {run} failed {failed} times"))
        .collect();
    let behind = examined.webhooks.iter().filter(|(_, waiting, _)| *waiting >= BEHIND);
    late.extend(behind.map(|(name, waiting, _)| format!("webhook {name}: {waiting} events wait")));
    findings.push(if late.is_empty() {
        Finding::ok("deliveries", "none fails")
    } else {
        let hint = "look whether those addresses answer: `signoff webhook test NAME`";
        Finding::warn("deliveries", late.join("; "), hint)
    });
    findings
}

/// Whether others on this machine could read the file.
#[cfg(unix)]
fn private(path: &Path) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let found = format!("{} has mode {mode:o}", path.display());
    Some(if mode.trailing_zeros() >= 6 {
        Finding::ok("permissions", found)
    } else {
        Finding::warn("permissions", found, format!("chmod 600 {}", path.display()))
    })
}

#[cfg(not(unix))]
fn private(_: &Path) -> Option<Finding> {
    None
}

/// How much room the disk has.
#[cfg(unix)]
fn room(path: &Path) -> Option<Finding> {
    let there = path.ancestors().skip(1).find(|it| it.is_dir());
    let folder = there.unwrap_or_else(|| Path::new("."));
    let disk = rustix::fs::statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let found = format!("{} free", size(free));
    Some(if free < NO_ROOM {
        Finding::fail("disk", found, "make room: nothing can be written when it is full")
    } else if free < LITTLE_ROOM {
        Finding::warn("disk", found, "make room, or remove what is over: `signoff prune`")
    } else {
        Finding::ok("disk", found)
    })
}

#[cfg(not(unix))]
fn room(_: &Path) -> Option<Finding> {
    None
}

/// A size as people read it.
fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(unit, name)| format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
    )
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_read_by_people() {
        assert_eq!(size(512), "512 bytes");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 << 30), "5.0 GiB");
    }
}
