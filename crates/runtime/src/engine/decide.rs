//! The one way a request is decided.

use serde_json::Value;
use signoff_core::deciders::EVERY_ROLE;
use signoff_core::policy::{Grant, Place, Shown};
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{
    Actor, Decision, Name, Refusal, RequestId, RequestKind, RunId, Sent, Timestamp, visible,
};
use signoff_store::{Decide, Decided, DecidedAll, Lease, StoreError};

use super::{AtHand, Engine, Origin};
use crate::driver::DriveEnd;

/// A decision somebody wants to take.
#[derive(Clone, Debug)]
pub struct DecideRequest {
    /// On which request.
    pub request: RequestId,
    /// What.
    pub decision: Decision,
    /// Who.
    pub by: Actor,
    /// The roles they have.
    pub roles: Vec<Name>,
    /// The version of the request they saw, if that matters.
    pub version: Option<u32>,
    /// The run the decider believes to answer, if they said so. It may be the one at the top.
    pub run: Option<RunId>,
    /// The link they came by, for the audit.
    pub link: Option<Name>,
    /// The message that says so, where the dialect has messages.
    pub sent: Option<Box<Sent>>,
}

impl DecideRequest {
    /// A decision by whoever sits at this machine, who has every role.
    pub fn new(request: RequestId, decision: Decision) -> Self {
        let roles = vec![EVERY_ROLE.into()];
        let (by, version) = (Actor::local(), None);
        Self { request, decision, by, roles, version, run: None, link: None, sent: None }
    }

    /// The same in somebody else's name.
    #[must_use]
    pub fn by(mut self, by: Actor) -> Self {
        self.by = by;
        self
    }

    /// The same by somebody who has these roles only.
    #[must_use]
    pub fn with_roles(mut self, roles: &[Name]) -> Self {
        self.roles = roles.to_vec();
        self
    }

    /// The same on what was seen at this version.
    #[must_use]
    pub fn seen_at(mut self, version: Option<u32>) -> Self {
        self.version = version;
        self
    }

    /// The same, said by a message.
    #[must_use]
    pub fn sent(mut self, sent: Sent) -> Self {
        self.sent = Some(Box::new(sent));
        self
    }

    /// The same by a link that is known by this name.
    #[must_use]
    pub fn by_link(mut self, link: Name) -> Self {
        self.link = Some(link);
        self
    }
}

/// A decision that stands.
#[derive(Clone, Debug)]
pub struct DecideOutcome {
    /// Whether this call changed anything; not, if it repeated what had been decided.
    pub changed: bool,
    /// It counts, and others must agree before the request is decided.
    pub open: bool,
    /// The lease on the run, if it is ours to drive.
    pub lease: Option<Lease>,
    /// The run as it stood when the lease was taken, if it was read meanwhile.
    at_hand: Option<Box<AtHand>>,
}

/// Why a decision was not taken. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// There is no such request.
    #[error("there is no request {0}")]
    Unknown(RequestId),
    /// It belongs to another run than the one named.
    #[error("request {request} does not belong to run {run}")]
    Foreign {
        /// The request.
        request: RequestId,
        /// The run that was named.
        run: RunId,
    },
    /// Its time was over.
    #[error("request {} expired", .0.id)]
    Expired(Box<Request>),
    /// It was taken back: its run is over, or went on without it.
    #[error("request {} was taken back because {}", .0.id, .0.withdrawn.as_deref().unwrap_or("its run is over"))]
    Cancelled(Box<Request>),
    /// Somebody has decided otherwise, or somebody else has decided.
    #[error("{}", already(.0))]
    AlreadyDecided(Box<Request>),
    /// It was changed since it was seen.
    #[error("request {} was changed since it was seen; it is at version {}", .0.id, .0.version)]
    Stale(Box<Request>),
    /// It does not offer this decision, or the value does not fit.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DecideError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown_request",
            Self::Foreign { .. } => "foreign_request",
            Self::Expired(_) => "expired",
            Self::Cancelled(_) => "cancelled",
            Self::AlreadyDecided(_) => "already_decided",
            Self::Refused(Refusal::NotAllowed { .. }) => "decision_not_allowed",
            Self::Stale(_) => "version_conflict",
            Self::Refused(Refusal::Invalid { .. }) => "invalid_answer",
            Self::Refused(Refusal::NotAsked { .. }) => "not_asked",
            Self::Refused(Refusal::OwnRun { .. }) => "own_run",
            Self::Store(_) => "store",
        }
    }
}

fn already(request: &Request) -> String {
    match &request.decision {
        Some(taken) => {
            let what = serde_json::to_string(&taken.decision).unwrap_or_default();
            format!("already decided by {} at {}: {what}", taken.by, taken.at)
        }
        None => "already decided".to_owned(),
    }
}

impl Engine {
    /// Takes a decision; if the run can then move, this process drives it in the background.
    pub async fn decide(&self, decide: DecideRequest) -> Result<DecideOutcome, DecideError> {
        let run = decide.request.split().map(|(run, _)| run);
        let mut outcome = self.take_decision(decide).await?;
        match (&outcome.lease, run) {
            (Some(lease), _) => self.inner.spawn_with(lease.clone(), outcome.at_hand.take()),
            (None, Some(run)) if outcome.changed && !outcome.open => self.inner.nudge(&run).await,
            _ => {}
        }
        Ok(outcome)
    }

    /// Drives the run of a decision that was taken, until it rests. `None` if it is not ours to drive.
    pub async fn go_on(&self, outcome: DecideOutcome) -> Option<DriveEnd> {
        let lease = outcome.lease?;
        Some(match outcome.at_hand {
            Some(at_hand) => self.inner.drive_at_hand(lease, *at_hand).await,
            None => self.inner.drive(lease).await,
        })
    }

    /// Takes several decisions, all or none; the runs that can then move are driven. If one cannot be taken, nothing
    /// changes, and each of those that cannot is told with its place.
    pub async fn decide_all(
        &self,
        decides: Vec<DecideRequest>,
    ) -> Result<(), Vec<(usize, DecideError)>> {
        let (mut ready, mut refused) = (Vec::new(), Vec::new());
        let mut seen = std::collections::BTreeSet::new();
        for (n, decide) in decides.iter().enumerate() {
            let (decision, by) = (&decide.decision, &decide.by);
            let found = self.store().request(&decide.request);
            let checked = found.map_err(DecideError::from).and_then(|found| {
                let request = found.ok_or_else(|| DecideError::Unknown(decide.request.clone()))?;
                if request.status != RequestStatus::Pending || !seen.insert(request.id.clone()) {
                    stands(request.clone(), decision, by)?;
                    return Err(DecideError::AlreadyDecided(Box::new(request)));
                }
                self.checked(&request, decide.clone())
            });
            match checked {
                Ok(decide) => ready.push(decide),
                Err(error) => refused.push((n, error)),
            }
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        let runs: Vec<RunId> =
            ready.iter().filter_map(|decide| decide.request.split().map(|(run, _)| run)).collect();
        let taken = self.inner.store.decide_all(ready).await;
        match taken.map_err(|error| vec![(0, error.into())])? {
            DecidedAll::Taken(all) => {
                for (taken, run) in all.into_iter().zip(runs) {
                    match taken {
                        Decided::Taken { lease: Some(lease), .. } => {
                            self.inner.spawn_with(lease, None);
                        }
                        Decided::Taken { .. } => self.inner.nudge(&run).await,
                        _ => {}
                    }
                }
                Ok(())
            }
            DecidedAll::Refused(why) => Err(why
                .into_iter()
                .filter_map(|(n, why)| match why {
                    Decided::Stale(request) => Some((n, DecideError::Stale(request))),
                    Decided::TooLate(request) => {
                        let decide = decides.get(n)?;
                        let late = stands(*request.clone(), &decide.decision, &decide.by);
                        Some((n, late.err().unwrap_or(DecideError::AlreadyDecided(request))))
                    }
                    Decided::Taken { .. } | Decided::Voted(_) => None,
                })
                .collect()),
        }
    }

    /// A decision as the store takes it; or why this one may not take it, or not so.
    fn checked(&self, request: &Request, decide: DecideRequest) -> Result<Decide, DecideError> {
        let DecideRequest { request: id, decision, by, roles, version, link, sent, .. } = decide;
        request.body.admit(&by, &roles)?;
        request.body.check_with(&decision, &self.inner.schemas)?;
        let grant = self.remembered(request, &decision, &by)?;
        let at = self.inner.clock.now();
        Ok(Decide {
            request: id,
            recorded: self.recorded(request, &decision, at),
            by,
            roles,
            at,
            version,
            deciders: request.body.deciders.clone().filter(|deciders| deciders.is_several()),
            grant,
            withdraw: request.body.withdraws(&decision).cloned(),
            link,
            sent,
            claim: Some(self.inner.roster.claim()),
            decision,
        })
    }

    /// A decision as the audit has it: without secrets, by which way it came, and how long it was waited for.
    fn recorded(&self, request: &Request, decision: &Decision, at: Timestamp) -> Value {
        let said = serde_json::to_value(decision).unwrap_or_default();
        let mut said = visible::masked(&said, &self.inner.secrets);
        said["waited_ms"] = at.0.saturating_sub(request.created_at.0).into();
        if let Some(Origin { channel, address }) = self.origin {
            said["channel"] = channel.into();
            if let Some(address) = address {
                said["address"] = address.to_string().into();
            }
        }
        said
    }

    /// Takes a decision and leaves it to the caller to drive the run.
    pub async fn take_decision(&self, decide: DecideRequest) -> Result<DecideOutcome, DecideError> {
        let (id, run) = (decide.request.clone(), decide.run.clone());
        let (decision, by) = (decide.decision.clone(), decide.by.clone());
        let request = self.store().request(&id)?.ok_or_else(|| DecideError::Unknown(id.clone()))?;
        if let Some(run) = run
            && request.run != run
            && request.root != run
        {
            return Err(DecideError::Foreign { request: id, run });
        }
        if request.status != RequestStatus::Pending {
            return stands(request, &decision, &by);
        }
        let taking = self.inner.store.decide(self.checked(&request, decide)?);
        // While the disk is busy with the decision, the run is read that will go on with it.
        let read = self.inner.read_ahead(&request.run);
        match taking.await? {
            Decided::Taken { lease, head } => {
                let at_hand = read.filter(|read| lease.is_some() && read.head() == head);
                let at_hand = at_hand.map(Box::new);
                Ok(DecideOutcome { changed: true, open: false, lease, at_hand })
            }
            Decided::Voted(_) => {
                Ok(DecideOutcome { changed: true, open: true, lease: None, at_hand: None })
            }
            Decided::Stale(request) => Err(DecideError::Stale(request)),
            Decided::TooLate(request) => stands(*request, &decision, &by),
        }
    }
}

impl Engine {
    /// What is to be remembered of a decision. Only what people were shown counts, not what a client says of it.
    fn remembered(
        &self,
        request: &Request,
        decision: &Decision,
        by: &Actor,
    ) -> Result<Option<Box<Grant>>, Refusal> {
        let Some((what, wish)) = decision.remember() else { return Ok(None) };
        let refuse = |problem: String| Refusal::Invalid { problems: vec![problem] };
        let shown = match request.body.kind {
            RequestKind::ToolCall => &request.body.context,
            RequestKind::StepBefore | RequestKind::StepAfter => &request.body.context["action"],
            RequestKind::PlanReview => {
                return Err(refuse(
                    "/remember: a plan is approved as it is; the next one is another".to_owned(),
                ));
            }
            _ => &Value::Null,
        };
        let word = |name: &str| shown[name].as_str().unwrap_or_default();
        if word("digest").is_empty() {
            return Err(refuse(
                "/remember: only calls and steps of a plan can be remembered".to_owned(),
            ));
        }
        let place = Place {
            run: request.root.clone(),
            conversation: request.conversation.clone(),
            workflow: request.workflow.clone(),
        };
        let shown = Shown {
            place: &place,
            tenant: &request.tenant,
            digest: word("digest"),
            tool: word("tool"),
            implementation: word("implementation"),
        };
        let id = format!("grant_{}", super::new_id()).into();
        let at = self.inner.clock.now();
        Grant::remembered(id, what, wish, &shown, (by, at, &request.id))
            .map(|grant| Some(Box::new(grant)))
            .map_err(|problem| refuse(format!("/remember: {problem}")))
    }
}

/// A request that is no longer pending: the same decision by the same person again is a success.
fn stands(request: Request, decision: &Decision, by: &Actor) -> Result<DecideOutcome, DecideError> {
    let same = request
        .decision
        .as_ref()
        .is_some_and(|taken| taken.decision == *decision && taken.by == *by);
    match request.status {
        RequestStatus::Decided if same => {
            Ok(DecideOutcome { changed: false, open: false, lease: None, at_hand: None })
        }
        RequestStatus::Expired => Err(DecideError::Expired(Box::new(request))),
        RequestStatus::Cancelled => Err(DecideError::Cancelled(Box::new(request))),
        RequestStatus::Decided | RequestStatus::Pending => {
            Err(DecideError::AlreadyDecided(Box::new(request)))
        }
    }
}
