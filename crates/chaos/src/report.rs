//! What a run of all this came to, for people.

use std::fmt;
use std::time::Duration;

use crate::check::Verdict;
use crate::faults::Counts;

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// To do the same again.
    pub seed: u64,
    /// How many conversations there were.
    pub conversations: usize,
    /// What was done to the nodes and the database.
    pub faults: Counts,
    /// Effects that were in doubt and tried again.
    pub in_doubt: u64,
    /// Calls of the peer, and those that did something.
    pub calls: (u64, u64),
    /// From a kill until a run of that node went on.
    pub killed: Vec<Duration>,
    /// The same for nodes that were stopped, whose leases have to run out.
    pub stopped: Vec<Duration>,
    /// How long all of it took.
    pub took: Duration,
    /// What is wrong.
    pub verdict: Verdict,
}

impl Report {
    /// The span that `part` of all takeovers after a kill were not above.
    pub fn takeover(&self, part: f64) -> Duration {
        percentile(&self.killed, part)
    }

    /// The longest takeover of all, also from nodes that were stopped.
    pub fn longest(&self) -> Duration {
        self.takeover(1.0).max(percentile(&self.stopped, 1.0))
    }
}

fn percentile(of: &[Duration], part: f64) -> Duration {
    let mut sorted = of.to_vec();
    sorted.sort();
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let place = (sorted.len().saturating_sub(1) as f64 * part).ceil() as usize;
    sorted.get(place).copied().unwrap_or_default()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { faults, verdict, .. } = self;
        writeln!(f, "seed                      {}", self.seed)?;
        writeln!(f, "conversations             {}", self.conversations)?;
        writeln!(f, "took                      {:.0?}", self.took)?;
        writeln!(f, "nodes killed              {}", faults.kills)?;
        writeln!(f, "nodes stopped             {}", faults.stops)?;
        writeln!(f, "nodes rolled              {}", faults.rolls)?;
        writeln!(f, "database restarts         {}", faults.restarts)?;
        writeln!(f, "connections cut           {}", faults.cuts)?;
        writeln!(f, "nodes with a wrong clock  {}", faults.skewed)?;
        writeln!(f, "effects in doubt          {}", self.in_doubt)?;
        let (calls, done) = self.calls;
        writeln!(f, "calls of the tool         {calls}, {done} of them did something")?;
        for (what, spans) in [("a kill", &self.killed), ("a stop", &self.stopped)] {
            writeln!(
                f,
                "takeover after {what}     {} runs, p50 {:.2?}, p99 {:.2?}, worst {:.2?}",
                spans.len(),
                percentile(spans, 0.5),
                percentile(spans, 0.99),
                percentile(spans, 1.0),
            )?;
        }
        for (what, of) in [
            ("lost", &verdict.lost),
            ("wrong", &verdict.wrong),
            ("counted twice", &verdict.twice),
            ("effects repeated", &verdict.repeated),
        ] {
            writeln!(f, "{what:<26}{}", of.len())?;
        }
        verdict.lines().try_for_each(|line| writeln!(f, "  {line}"))
    }
}
