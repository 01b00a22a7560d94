//! Gates: which actions need a person, and whom.
//!
//! An [`Action`] is what is about to be done, in a form that every gate can judge: a tool call, a part of a shell
//! command, a handoff, a plan, a step. A [`Policy`] is data; [`Policy::judge`] says whether the action may be done, must be
//! asked for, or may not be done at all, with every reason. It is pure: what it needs to know of a run is in the action.
//!
//! | order | rule | gives |
//! |---:|---|---|
//! | 1 | a gate that denies | denied, whatever else holds |
//! | 2 | a mandatory checkpoint, a gate that always asks | ask |
//! | 3 | a remembered denial | denied |
//! | 4 | a gate that asks if something speaks for it (`smart`) | ask, if a criterion is met or a condition cannot be judged |
//! | 5 | a remembered approval | allowed, unless 2 asks |
//! | 6 | nothing of these | allowed |
//!
//! The most restrictive wins. A condition that fails to evaluate counts as one that holds: doubt closes. A gate that
//! only audits never changes the outcome and is kept among the reasons.

mod action;
mod checkpoint;
mod file;
mod gate;
mod grant;
mod judge;
mod like;
mod quick;
mod remind;
mod scope;
mod shell;
mod smart;

pub(crate) use action::FIELDS;
pub use action::{Action, ActionKind, Counts};
pub use checkpoint::Checkpoint;
pub use file::PolicyFile;
pub(crate) use file::gate_problems;
pub use gate::{Clock, Gate, GateFile, GateProblem, How, OnTimeout, Stage};
pub use grant::{About, Alike, Grant, Granted, Place, Reach, Remember, Shown};
pub use judge::{Judgement, Outcome, Policy, Reason, Remembered};
pub(crate) use quick::Quick;
pub use remind::{Remind, share_of};
pub(crate) use scope::Needs;
pub use shell::{Part, see_through, split};
pub use smart::{Judge, Smart};
