//! What is done to the nodes and the database, in an order that a seed gives.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use signoff_test_postgres::Server as Postgres;
use signoff_testkit::Chance;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::nodes::{Nodes, Place};
use crate::takeover::Database;

/// Longer than a lease, which lasts 9 s, by clocks that are wrong, until somebody has taken what the node held.
const PAST_THE_LEASE: Duration = Duration::from_secs(17);
/// How often a node is started until it is there: the database may be down.
const STARTS: u32 = 20;

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The `signoff` to start.
    pub program: PathBuf,
    /// Where chance begins.
    pub seed: u64,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many conversations are led.
    pub conversations: usize,
    /// How many of them at once.
    pub at_once: usize,
    /// How often a node is killed.
    pub kills: usize,
    /// How often one is stopped past its leases.
    pub stops: usize,
    /// How often the database is restarted.
    pub restarts: usize,
    /// How often connections to it are cut.
    pub cuts: usize,
    /// How often one is told to end, as for an upgrade, and started again.
    pub rolls: usize,
    /// How far off the clock of one node in three is, in seconds. Zero for right clocks.
    pub skew: u32,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Nodes that were killed.
    pub kills: usize,
    /// Nodes that were stopped for longer than their leases.
    pub stops: usize,
    /// Nodes that were told to end.
    pub rolls: usize,
    /// Restarts of the database.
    pub restarts: usize,
    /// Connections that were cut.
    pub cuts: usize,
    /// Nodes that were started with a wrong clock.
    pub skewed: usize,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Kill,
    Stop,
    Restart,
    Cut,
    Roll,
}

/// Who does it.
pub(crate) struct Faults {
    pub(crate) plan: Plan,
    pub(crate) chance: Chance,
    pub(crate) place: Arc<Place>,
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) postgres: Postgres,
    pub(crate) address: String,
    /// How many conversations are over.
    pub(crate) over: Arc<AtomicUsize>,
    pub(crate) runtime: Handle,
    pub(crate) done: Done,
    /// The name of each node's process in the database.
    pub(crate) names: Vec<String>,
}

/// What was done, and what is being waited for because of it.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) counts: Counts,
    pub(crate) killed: Vec<JoinHandle<Vec<Duration>>>,
    pub(crate) stopped: Vec<JoinHandle<Vec<Duration>>>,
}

impl Faults {
    /// Starts all nodes.
    pub(crate) fn begin(&mut self) {
        for n in 0..self.nodes.count() {
            self.names.push(String::new());
            self.start(n);
        }
    }

    /// Does everything that is planned, spread over the conversations.
    pub(crate) fn inflict(&mut self) {
        let faults = self.order();
        let count = faults.len();
        for (n, fault) in faults.into_iter().enumerate() {
            let due = self.plan.conversations * (n + 1) / (count + 1);
            while self.over.load(Ordering::SeqCst) < due {
                std::thread::sleep(Duration::from_millis(20));
            }
            self.pause(0..400);
            match fault {
                Fault::Kill => self.kill(),
                Fault::Stop => self.stop(),
                Fault::Restart => self.restart(),
                Fault::Cut => self.cut(),
                Fault::Roll => self.roll(),
            }
        }
    }

    fn order(&mut self) -> Vec<Fault> {
        let plan = &self.plan;
        let mut faults = [
            vec![Fault::Kill; plan.kills],
            vec![Fault::Stop; plan.stops],
            vec![Fault::Restart; plan.restarts],
            vec![Fault::Cut; plan.cuts],
            vec![Fault::Roll; plan.rolls],
        ]
        .concat();
        for n in (1..faults.len()).rev() {
            let other = usize::try_from(self.chance.within(0..n as u64 + 1)).unwrap();
            faults.swap(n, other);
        }
        faults
    }

    fn pause(&mut self, millis: std::ops::Range<u64>) {
        std::thread::sleep(Duration::from_millis(self.chance.within(millis)));
    }

    fn any(&mut self) -> usize {
        usize::try_from(self.chance.within(0..self.nodes.count() as u64)).unwrap()
    }

    fn database(&self) -> Database {
        Database(self.address.clone())
    }

    fn start(&mut self, n: usize) {
        let mut skew = None;
        if self.plan.skew > 0 && self.chance.one_in(3) {
            let sign = if self.chance.one_in(2) { '+' } else { '-' };
            skew = Some(format!("{sign}{}s", self.plan.skew));
            self.done.counts.skewed += 1;
        }
        let before = self.runtime.block_on(self.database().nodes());
        for _ in 0..STARTS {
            let mut command = self.place.command(&[], &["--store", &self.address]);
            if let Some(skew) = &skew {
                command.env("LD_PRELOAD", faketime()).env("FAKETIME", skew);
                // Spans are measured as they are; only what time it is differs.
                command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
            }
            match self.nodes.start(n, &mut command) {
                Ok(()) => {
                    let after = self.runtime.block_on(self.database().nodes());
                    let new = after.into_iter().find(|name| !before.contains(name));
                    self.names[n] = new.expect("a node that has started is in the database");
                    return;
                }
                Err(why) => println!("node {n} does not start, and is started again: {why}"),
            }
            self.pause(200..1000);
        }
        panic!("node {n} does not start");
    }

    /// Watches how long the runs that a node holds take to go on.
    fn watch(&self, n: usize) -> JoinHandle<Vec<Duration>> {
        let since = Instant::now();
        let (database, name) = (self.database(), self.names[n].clone());
        self.runtime.spawn(async move {
            let held = database.held(&name).await;
            database.went_on(since, held).await
        })
    }

    /// Kills a node and starts another in its place.
    fn kill(&mut self) {
        let n = self.any();
        self.nodes.kill(n);
        self.done.killed.push(self.watch(n));
        self.done.counts.kills += 1;
        self.pause(0..1500);
        self.start(n);
    }

    /// Stops one for longer than its leases last.
    fn stop(&mut self) {
        let n = self.any();
        self.nodes.freeze(n);
        self.done.stopped.push(self.watch(n));
        self.done.counts.stops += 1;
        std::thread::sleep(PAST_THE_LEASE);
        self.nodes.thaw(n);
    }

    /// Tells one to end, and starts another in its place, as an upgrade would: one after the other.
    fn roll(&mut self) {
        let n = self.done.counts.rolls % self.nodes.count();
        let said = self.nodes.end(n);
        assert!(!said.contains("panicked"), "{said}");
        self.done.counts.rolls += 1;
        self.start(n);
    }

    fn restart(&mut self) {
        if self.done.counts.restarts.is_multiple_of(2) {
            self.postgres.crash();
        } else {
            self.postgres.stop();
        }
        self.pause(0..1000);
        self.postgres.begin();
        self.done.counts.restarts += 1;
    }

    fn cut(&mut self) {
        let cut = self.postgres.sql(
            "postgres",
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE application_name = 'signoff' AND random() < 0.6",
        );
        self.done.counts.cuts += cut.parse::<usize>().unwrap_or_default();
    }
}

/// The library that lets a process believe in another time.
fn faketime() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut found = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    let elsewhere = Path::new("/usr/local/lib/faketime/libfaketimeMT.so.1").to_owned();
    found
        .find(|path| path.is_file())
        .or_else(|| Some(elsewhere).filter(|path| path.is_file()))
        .expect("`libfaketime` is needed for nodes with wrong clocks; install the package faketime")
}
