//! People: who may come in, and what they note on requests besides deciding them.

use serde::{Deserialize, Serialize};
use signoff_core::deciders::Vote;
use signoff_core::id::{Name, RequestId, Tenant};
use signoff_core::request::{Request, RequestStatus};
use signoff_core::time::Timestamp;
use signoff_core::{Actor, Decision};

/// Somebody who may come in with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name decisions are taken in. Unique over all tenants.
    pub name: Actor,
    /// Whose runs this user sees.
    pub tenant: Tenant,
    /// What this user may do and may be asked for.
    pub roles: Vec<Name>,
    /// Hex SHA-256 of the token. The token itself is nowhere.
    pub token: String,
    /// When the user was added.
    pub created_at: Timestamp,
}

/// Something to note on a request.
#[derive(Clone, Debug)]
pub struct Mark {
    /// On which request.
    pub request: RequestId,
    /// By whom.
    pub by: Actor,
    /// Now.
    pub at: Timestamp,
    /// What.
    pub what: Noted,
}

/// What can be noted on a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Noted {
    /// I look after it. Refused while somebody else does.
    Claimed,
    /// I do not look after it any more. Refused for what somebody else looks after.
    Released,
    /// This one looks after it from now on; nobody, if none is named.
    Assigned {
        /// Who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Actor>,
    },
    /// I would decide so; others must agree. Noted by deciding.
    Voted {
        /// How.
        #[serde(flatten)]
        decision: Decision,
        /// The roles that counted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        roles: Vec<Name>,
    },
    /// It has waited for long. Noted by the clock.
    Reminded,
    /// Not now: it is out of sight until then.
    Deferred {
        /// Until when.
        until: Timestamp,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// That time has come. Noted by the clock.
    Reopened,
    /// Something to know about it.
    Commented {
        /// The comment.
        text: String,
    },
}

/// What came of a mark.
#[derive(Clone, Debug)]
pub enum Marked {
    /// It is noted, or was so before.
    Done(Box<Request>),
    /// Somebody else looks after it. Nothing changed.
    Held(Box<Request>),
    /// It is not pending any more. Nothing changed.
    Closed(Box<Request>),
}

/// Something that was noted on a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: Actor,
    /// What.
    #[serde(flatten)]
    pub what: Noted,
}

/// A note among those on all requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteLine {
    /// Its number; they grow, perhaps with gaps.
    pub no: u64,
    /// On which request.
    pub request: RequestId,
    /// The note.
    pub note: Note,
}

/// The votes among what was noted, one a person, with `vote` as the last. `None` if that was said before.
pub(crate) fn votes_with(notes: &[Note], vote: &Vote) -> Option<Vec<Vote>> {
    let mut votes: Vec<Vote> = Vec::new();
    for note in notes {
        if let Noted::Voted { decision, roles } = &note.what {
            votes.retain(|before| before.by != note.by);
            votes.push(Vote {
                by: note.by.clone(),
                roles: roles.clone(),
                decision: decision.clone(),
            });
        }
    }
    if votes.iter().any(|before| before.by == vote.by && before.decision == vote.decision) {
        return None;
    }
    votes.retain(|before| before.by != vote.by);
    votes.push(vote.clone());
    Some(votes)
}

/// Who looks after a request once it is marked; or what came of it, where there is nothing to note.
pub(crate) fn assignee_after(request: &Request, mark: &Mark) -> Result<Option<Actor>, Marked> {
    let now = &request.assignee;
    let stands = |how: fn(Box<Request>) -> Marked| Err(how(Box::new(request.clone())));
    let after = match &mark.what {
        Noted::Commented { .. } | Noted::Voted { .. } | Noted::Reminded | Noted::Reopened => {
            return Ok(now.clone());
        }
        _ if request.status != RequestStatus::Pending => return stands(Marked::Closed),
        Noted::Deferred { until, .. } if request.deferred_until == Some(*until) => {
            return stands(Marked::Done);
        }
        Noted::Deferred { .. } => return Ok(now.clone()),
        Noted::Claimed | Noted::Released if now.as_ref().is_some_and(|it| *it != mark.by) => {
            return stands(Marked::Held);
        }
        Noted::Claimed => Some(mark.by.clone()),
        Noted::Released => None,
        Noted::Assigned { to } => to.clone(),
    };
    if after == *now { stands(Marked::Done) } else { Ok(after) }
}
