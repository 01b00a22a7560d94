//! The one way a request is decided.

use signoff_core::request::{Request, RequestStatus};
use signoff_core::{Actor, Decision, Refusal, RequestId, RunId};
use signoff_store::{Decide, Decided, Lease, StoreError};

use super::{AtHand, Engine};
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
    /// The run the decider believes to answer, if they said so. It may be the one at the top.
    pub run: Option<RunId>,
}

impl DecideRequest {
    /// A decision by whoever sits at this machine.
    pub fn new(request: RequestId, decision: Decision) -> Self {
        Self { request, decision, by: Actor::local(), run: None }
    }

    /// The same by somebody else.
    #[must_use]
    pub fn by(mut self, by: Actor) -> Self {
        self.by = by;
        self
    }
}

/// A decision that stands.
#[derive(Clone, Debug)]
pub struct DecideOutcome {
    /// Whether this call changed anything; not, if it repeated what had been decided.
    pub changed: bool,
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
    /// It was taken back: its run is over.
    #[error("request {} was taken back because its run is over", .0.id)]
    Cancelled(Box<Request>),
    /// Somebody has decided otherwise, or somebody else has decided.
    #[error("{}", already(.0))]
    AlreadyDecided(Box<Request>),
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
            Self::Refused(Refusal::Invalid { .. }) => "invalid_answer",
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
            (None, Some(run)) if outcome.changed => self.inner.nudge(&run).await,
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

    /// Takes a decision and leaves it to the caller to drive the run.
    pub async fn take_decision(&self, decide: DecideRequest) -> Result<DecideOutcome, DecideError> {
        let DecideRequest { request: id, decision, by, run } = decide;
        let request = self.store().request(&id)?.ok_or_else(|| DecideError::Unknown(id.clone()))?;
        if let Some(run) = run
            && request.run != run
            && request.root != run
        {
            return Err(DecideError::Foreign { request: id, run });
        }
        let now = self.inner.clock.now();
        if request.status != RequestStatus::Pending {
            return stands(request, &decision, &by);
        }
        request.body.check_with(&decision, &self.inner.schemas)?;
        let taking = self.inner.store.decide(Decide {
            request: id,
            decision: decision.clone(),
            by: by.clone(),
            at: now,
            claim: Some(self.inner.claim()),
        });
        // While the disk is busy with the decision, the run is read that will go on with it.
        let read = self.inner.read_ahead(&request.run);
        match taking.await? {
            Decided::Taken { lease, head } => {
                let at_hand = read.filter(|read| lease.is_some() && read.head() == head);
                Ok(DecideOutcome { changed: true, lease, at_hand: at_hand.map(Box::new) })
            }
            Decided::TooLate(request) => stands(*request, &decision, &by),
        }
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
            Ok(DecideOutcome { changed: false, lease: None, at_hand: None })
        }
        RequestStatus::Expired => Err(DecideError::Expired(Box::new(request))),
        RequestStatus::Cancelled => Err(DecideError::Cancelled(Box::new(request))),
        RequestStatus::Decided | RequestStatus::Pending => {
            Err(DecideError::AlreadyDecided(Box::new(request)))
        }
    }
}
