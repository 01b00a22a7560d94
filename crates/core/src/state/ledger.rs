//! What a run has done with tools so far, as far as gates need to know.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::{ActivationId, Key, Name};
use crate::journal::{Gated, Outcome};
use crate::policy::{self, Counts};

/// How often in a row a tool is denied before it is withdrawn.
const MAX_DENIALS: u32 = 5;
/// How many of the last answers are looked at, a bit for each.
const RECENT: u64 = (1 << 50) - 1;

/// What a run has done with tools, counted. Kept only by runs whose workflow has gates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    calls: u32,
    writes: u32,
    /// What was last done, and how often in a row.
    last: Option<(String, u32)>,
    /// How often what was done failed, by digest.
    failures: BTreeMap<String, u32>,
    /// What people denied, by digest. It is not asked again.
    denied: BTreeSet<String>,
    /// How often in a row people denied something.
    denials: u32,
    /// The last answers, one bit each, the newest last: whether it was a denial.
    recent: u64,
    /// How often in a row they denied a call of a tool, by tool.
    tool_denials: BTreeMap<Name, u32>,
    /// What is under way, by digest.
    open: BTreeMap<ActivationId, BTreeMap<Key, String>>,
}

impl Ledger {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What an action of this digest is judged by.
    pub fn counts(&self, digest: &str) -> Counts {
        let repeats =
            self.last.as_ref().filter(|(last, _)| last == digest).map_or(0, |last| last.1);
        Counts {
            calls: self.calls,
            writes: self.writes,
            failures: self.failures.get(digest).copied().unwrap_or(0),
            repeats,
            denials: self.denials,
            recent_denials: self.recent.count_ones(),
            ..Counts::default()
        }
    }

    /// Whether people denied exactly this before.
    pub fn is_denied(&self, digest: &str) -> bool {
        self.denied.contains(digest)
    }

    /// How often in a row people denied something.
    pub fn denials(&self) -> u32 {
        self.denials
    }

    /// Whether exactly this was judged under this key, and has not ended.
    pub fn is_under_way(&self, activation: ActivationId, key: &str, digest: &str) -> bool {
        let open = self.open.get(&activation).and_then(|open| open.get(key));
        open.is_some_and(|open| open == digest)
    }

    pub(super) fn gated(&mut self, activation: ActivationId, gated: &Gated) {
        let open = self.open.entry(activation).or_default();
        open.insert(gated.key.clone(), gated.digest.clone());
        if gated.outcome != policy::Outcome::Allow {
            return;
        }
        self.calls += 1;
        self.writes += u32::from(!gated.read_only);
        self.last = Some(match self.last.take() {
            Some((last, times)) if last == gated.digest => (last, times + 1),
            _ => (gated.digest.clone(), 1),
        });
    }

    pub(super) fn effect(&mut self, activation: ActivationId, key: &Key, outcome: &Outcome) {
        let Some(open) = self.open.get_mut(&activation) else { return };
        if let Some(digest) = open.remove(key)
            && matches!(outcome, Outcome::Err(_))
        {
            *self.failures.entry(digest).or_default() += 1;
        }
        if open.is_empty() {
            self.open.remove(&activation);
        }
    }

    /// Whether people denied calls of a tool so often that it is not offered any more.
    pub fn is_withdrawn(&self, tool: &str) -> bool {
        self.tool_denials.get(tool).is_some_and(|times| *times >= MAX_DENIALS)
    }

    /// A person answered a question about an action.
    pub(super) fn answered(&mut self, tool: &str, digest: &str, denied: bool) {
        self.recent = (self.recent << 1 | u64::from(denied)) & RECENT;
        if denied {
            self.denied.insert(digest.to_owned());
            self.denials += 1;
            *self.tool_denials.entry(tool.into()).or_default() += 1;
        } else {
            self.denials = 0;
            self.tool_denials.remove(tool);
        }
    }

    pub(super) fn closed(&mut self, activation: ActivationId) {
        self.open.remove(&activation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recent(ledger: &Ledger) -> u32 {
        ledger.counts("").recent_denials
    }

    #[test]
    fn of_the_last_fifty_answers_the_denials_are_counted() {
        let mut ledger = Ledger::default();
        // Every third is denied: never three in a row, and more and more of late.
        for n in 0..150_u32 {
            ledger.answered("write", &format!("d{n}"), n % 3 == 0);
            let among = (0..=n).rev().take(50).filter(|n| n % 3 == 0).count();
            assert_eq!(recent(&ledger), u32::try_from(among).unwrap(), "after {n}");
            assert!(ledger.denials() <= 1);
        }
        // What came before the last fifty counts no more.
        for n in 0..50 {
            assert_eq!(
                recent(&ledger) > 0,
                n < 48,
                "after {n}: the last denial was the third from the end"
            );
            ledger.answered("write", "same", false);
        }
        assert_eq!(recent(&ledger), 0);
        for _ in 0..60 {
            ledger.answered("write", "same", true);
        }
        assert_eq!((recent(&ledger), ledger.denials()), (50, 60));
    }

    #[test]
    fn what_is_counted_is_kept_with_the_state_and_was_not_always() {
        let mut ledger = Ledger::default();
        for n in 0..7 {
            ledger.answered("write", &format!("d{n}"), n % 2 == 0);
        }
        let kept = serde_json::to_value(&ledger).unwrap();
        let back: Ledger = serde_json::from_value(kept.clone()).unwrap();
        assert_eq!((recent(&back), &back), (4, &ledger));
        let mut old = kept;
        old.as_object_mut().unwrap().remove("recent");
        assert_eq!(recent(&serde_json::from_value(old).unwrap()), 0);
    }
}
