//! Who may decide a request, and when enough of them have.
//!
//! | votes so far | what follows |
//! |---|---|
//! | every [`Who`] has `count` people that it names and that say the same | that is the decision |
//! | somebody said no (reject, abort), and who names them gives a veto | that is the decision |
//! | anything else | it waits for more |
//!
//! Each person has one vote and may change it while the request is open. Two votes say the same if they decide the same
//! with the same value; remarks may differ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decision::{Actor, Decision};
use crate::id::Name;

/// The most people who must agree.
pub(crate) const MAX_COUNT: u8 = 20;
/// The role that stands for all: of whoever sits at this machine, where there are no users.
pub const EVERY_ROLE: &str = "*";

/// Who may decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Who {
    /// These users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// Users with one of these roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// How many of them must agree.
    #[serde(default = "one")]
    pub count: u8,
    /// Whether one who denies decides for all.
    #[serde(default = "yes")]
    pub veto: bool,
    /// Whether whoever started the run may not.
    #[serde(default)]
    pub not_initiator: bool,
}

fn one() -> u8 {
    1
}

fn yes() -> bool {
    true
}

impl Default for Who {
    fn default() -> Self {
        Self { users: Vec::new(), roles: Vec::new(), count: 1, veto: true, not_initiator: false }
    }
}

impl Who {
    /// Whether it names this one. Without users and roles it names everybody.
    pub fn names(&self, by: &Actor, roles: &[Name]) -> bool {
        (self.users.is_empty() && self.roles.is_empty())
            || self.users.iter().any(|user| user == by.as_str())
            || (!self.roles.is_empty() && roles.iter().any(|role| &**role == EVERY_ROLE))
            || self.roles.iter().any(|wanted| roles.iter().any(|role| **role == **wanted))
    }

    /// What is wrong with it.
    pub(crate) fn problem(&self) -> Option<String> {
        if !(1..=MAX_COUNT).contains(&self.count) {
            return Some(format!("`count` is a number from 1 to {MAX_COUNT}"));
        }
        let named = self.roles.is_empty() && !self.users.is_empty();
        (named && usize::from(self.count) > self.users.len())
            .then(|| "more must agree than are named".to_owned())
    }
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let roles = self.roles.iter().map(|role| format!("role {role}"));
        let named: Vec<String> = self.users.iter().cloned().chain(roles).collect();
        if self.count > 1 {
            write!(f, "{} of ", self.count)?;
        }
        f.write_str(&if named.is_empty() { "anybody".to_owned() } else { named.join(", ") })?;
        if self.not_initiator {
            f.write_str(", not whoever started the run")?;
        }
        Ok(())
    }
}

/// Who decides a request: all of these together, and none of those.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deciders {
    /// Each of these must be content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub who: Vec<Who>,
    /// These may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barred: Vec<Actor>,
}

/// Why somebody may not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// Others are asked.
    NotNamed,
    /// It is about what they started themselves.
    OwnRun,
}

/// What somebody said.
#[derive(Clone, Debug, PartialEq)]
pub struct Vote {
    /// Who.
    pub by: Actor,
    /// The roles they had then.
    pub roles: Vec<Name>,
    /// What.
    pub decision: Decision,
}

impl Deciders {
    /// Those who are to agree on a run that `initiator` started.
    pub fn new(who: Vec<Who>, initiator: &Actor) -> Self {
        let not_own = who.iter().any(|who| who.not_initiator);
        Self { barred: not_own.then(|| initiator.clone()).into_iter().collect(), who }
    }

    /// Whether anybody may decide, alone.
    pub fn is_anybody(&self) -> bool {
        self.barred.is_empty() && self.who.iter().all(|who| *who == Who::default())
    }

    /// Whether it takes more than one.
    pub fn is_several(&self) -> bool {
        self.who.len() > 1 || self.who.iter().any(|who| who.count > 1)
    }

    /// Whether this one may decide.
    pub fn admit(&self, by: &Actor, roles: &[Name]) -> Result<(), Unasked> {
        if self.barred.contains(by) {
            return Err(Unasked::OwnRun);
        }
        let named = self.who.is_empty() || self.who.iter().any(|who| who.names(by, roles));
        if named { Ok(()) } else { Err(Unasked::NotNamed) }
    }

    /// Whether what the last of `votes` says is the decision. One vote a person.
    pub fn decided(&self, votes: &[Vote]) -> bool {
        let Some(last) = votes.last() else { return false };
        let no = matches!(last.decision, Decision::Reject { .. } | Decision::Abort { .. });
        let veto = |who: &Who| who.veto && who.names(&last.by, &last.roles);
        (no && self.who.iter().any(veto)) || self.missing(votes).is_empty()
    }

    /// How many more must say what the last of `votes` says, for each [`Who`] that is not content.
    pub fn missing(&self, votes: &[Vote]) -> Vec<(usize, &Who)> {
        let Some(last) = votes.last() else { return Vec::new() };
        let same = |vote: &&Vote| says_the_same(&vote.decision, &last.decision);
        let agreed: Vec<&Vote> = votes.iter().filter(same).collect();
        let mut missing = Vec::new();
        for who in &self.who {
            let have = agreed.iter().filter(|vote| who.names(&vote.by, &vote.roles)).count();
            match usize::from(who.count).saturating_sub(have) {
                0 => {}
                more => missing.push((more, who)),
            }
        }
        missing
    }
}

/// Whether two decide the same. Remarks may differ.
fn says_the_same(one: &Decision, other: &Decision) -> bool {
    one.kind() == other.kind() && one.value() == other.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(by: &str, role: &str, decision: Decision) -> Vote {
        Vote { by: Actor::new(by), roles: vec![role.into()], decision }
    }

    fn no() -> Decision {
        Decision::reject(None, crate::decision::Then::Continue)
    }

    #[test]
    fn who_is_asked_may_decide() {
        let owners = Who { roles: vec!["owner".to_owned()], not_initiator: true, ..Who::default() };
        let deciders = Deciders::new(vec![owners], &Actor::new("ann"));
        let owner: &[Name] = &["owner".into()];
        assert_eq!(deciders.admit(&Actor::new("bob"), owner), Ok(()));
        assert_eq!(deciders.admit(&Actor::new("ann"), owner), Err(Unasked::OwnRun));
        assert_eq!(deciders.admit(&Actor::new("eve"), &[]), Err(Unasked::NotNamed));
        assert_eq!(deciders.admit(&Actor::new("local"), &[EVERY_ROLE.into()]), Ok(()));
    }

    #[test]
    fn enough_must_say_the_same() {
        let two = Who { roles: vec!["ops".to_owned()], count: 2, ..Who::default() };
        let law = Who { roles: vec!["law".to_owned()], ..Who::default() };
        let deciders = Deciders { who: vec![two, law], barred: Vec::new() };
        let yes = Decision::approve;
        let edit = |n: i32| Decision::Edit { value: n.into(), note: None };
        let mut votes = vec![vote("ann", "ops", yes())];
        assert!(!deciders.decided(&votes));
        votes.push(vote("bob", "ops", edit(1)));
        assert!(!deciders.decided(&votes), "they do not say the same");
        votes.push(vote("cid", "law", yes()));
        assert!(!deciders.decided(&votes));
        votes.remove(1);
        votes.push(vote("bob", "ops", yes()));
        assert!(deciders.decided(&votes));
        assert!(deciders.decided(&[vote("cid", "law", no())]), "one no is enough");
    }

    #[test]
    fn without_a_veto_as_many_must_say_no() {
        let two = Who { count: 2, veto: false, ..Who::default() };
        let deciders = Deciders { who: vec![two], barred: Vec::new() };
        assert!(!deciders.decided(&[vote("ann", "", no())]));
        assert!(deciders.decided(&[vote("ann", "", no()), vote("bob", "", no())]));
    }
}
