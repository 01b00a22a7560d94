//! What people set for all runs: the operator's policy, a tenant's, and decisions that are remembered.

use signoff_core::policy::{Grant, PolicyFile};
use signoff_core::{Actor, Name, Span, Tenant};
use signoff_store::{EndGrant, PolicyPut, PolicyRecord, PutPolicy, StoreError};

use super::{Engine, new_id};

/// Why something was not set. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// It is not a policy.
    #[error("{}", shown(.0))]
    Invalid(Vec<(String, String)>),
    /// Another one was set meanwhile.
    #[error("the policy is at version {}", .0.as_ref().map_or(0, |now| now.version))]
    Stale(Option<PolicyRecord>),
    /// It asks for more than can be granted.
    #[error("{0}")]
    TooMuch(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn shown(problems: &[(String, String)]) -> String {
    let shown: Vec<String> = problems.iter().map(|(at, what)| format!("{at}: {what}")).collect();
    shown.join("; ")
}

impl Engine {
    /// Sets the operator's policy; none takes it back. If anything is wrong, the one before stays.
    pub fn set_operator_policy(&self, file: Option<PolicyFile>) -> Result<(), RuleError> {
        self.inner.rules.set_operator(file).map_err(RuleError::Invalid)
    }

    /// The operator's policy, and its version.
    pub fn operator_policy(&self) -> Option<(PolicyFile, Name)> {
        self.inner.rules.operator().map(|operator| (operator.file, operator.version))
    }

    /// What the operator calls this place.
    pub fn environment(&self) -> Option<&Name> {
        self.inner.rules.environment.as_ref()
    }

    /// Whose rules these are.
    fn own(&self) -> Tenant {
        self.tenant.clone().unwrap_or_else(Tenant::local)
    }

    /// The policy that the tenant has set, and how it stands.
    pub fn policy(&self) -> Result<Option<PolicyRecord>, StoreError> {
        self.store.policy(&self.own())
    }

    /// Sets the tenant's policy, or takes it back. The same again changes nothing.
    pub async fn put_policy(
        &self,
        file: Option<&PolicyFile>,
        replaces: Option<u64>,
        by: Actor,
    ) -> Result<PolicyRecord, RuleError> {
        let problems = file.map(PolicyFile::problems).unwrap_or_default();
        if !problems.is_empty() {
            return Err(RuleError::Invalid(problems));
        }
        let body = file.map(|file| serde_json::to_string(file).unwrap_or_default());
        let at = self.inner.clock.now();
        let put = PutPolicy { tenant: self.own(), body, replaces, by, at };
        match self.store.put_policy(put).await? {
            PolicyPut::Done(record) => Ok(record),
            PolicyPut::Stale(now) => Err(RuleError::Stale(now)),
        }
    }

    /// What the tenant's people want remembered and what still holds.
    pub fn grants(&self) -> Result<Vec<Grant>, StoreError> {
        let now = self.inner.clock.now();
        let mut grants = self.store.grants(&self.own())?;
        grants.retain(|grant| grant.until.is_none_or(|until| now < until));
        Ok(grants)
    }

    /// Lets nobody be asked for a while.
    pub async fn bypass(&self, within: Option<Span>, by: Actor) -> Result<Grant, RuleError> {
        let (id, at) = (format!("grant_{}", new_id()), self.inner.clock.now());
        let grant = Grant::bypass(id.into(), self.own(), within, by, at);
        let grant = grant.map_err(RuleError::TooMuch)?;
        self.store.add_grant(grant.clone()).await?;
        Ok(grant)
    }

    /// Forgets something that is remembered. `false` if there is no such thing.
    pub async fn end_grant(&self, id: &str, by: Actor) -> Result<bool, StoreError> {
        let end = EndGrant { tenant: self.own(), id: id.into(), by, at: self.inner.clock.now() };
        self.store.end_grant(end).await
    }
}
