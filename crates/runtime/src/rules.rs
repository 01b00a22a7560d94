//! Which rules hold for a run besides those of its own workflow: of the runs it is part of, of the operator, and those
//! that its tenant has set.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use signoff_core::journal::{ErrorInfo, Event};
use signoff_core::policy::{Grant, Place, Policy, PolicyFile};
use signoff_core::{Name, Tenant};
use signoff_store::PolicyRecord;

use crate::cell::RunCell;

/// How deep runs may be part of others before their rules are no longer looked for.
const MAX_DEPTH: usize = 64;

/// What the operator has set, and what tenants have, ready to judge.
#[derive(Debug, Default)]
pub(crate) struct RuleBook {
    /// What the operator calls this place.
    pub(crate) environment: Option<Name>,
    operator: Mutex<Option<Operator>>,
    /// The policies of tenants, by tenant, with the version they were compiled from.
    compiled: Mutex<HashMap<Tenant, (u64, Arc<Policy>)>>,
}

/// The operator's policy.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub(crate) file: PolicyFile,
    pub(crate) version: Name,
    policy: Arc<Policy>,
}

/// The rules that hold for a run now.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Each of them; the most restrictive wins.
    pub(crate) policies: Vec<Arc<Policy>>,
    /// The versions of those that are not part of a workflow.
    pub(crate) version: String,
    /// What is remembered.
    pub(crate) grants: Vec<Grant>,
}

impl RuleBook {
    /// With nothing set.
    pub(crate) fn new(environment: Option<Name>) -> Self {
        Self { environment, ..Self::default() }
    }

    /// Sets the operator's policy. If anything is wrong with it, the one before stays.
    pub(crate) fn set_operator(
        &self,
        file: Option<PolicyFile>,
    ) -> Result<(), Vec<(String, String)>> {
        let operator = match file {
            None => None,
            Some(file) => {
                let policy = Arc::new(file.compile()?);
                let text = serde_json::to_string(&file).unwrap_or_default();
                let version = signoff_core::text::digest(&text, 12).into();
                Some(Operator { file, version, policy })
            }
        };
        *self.operator.lock().unwrap_or_else(PoisonError::into_inner) = operator;
        Ok(())
    }

    /// The operator's policy.
    pub(crate) fn operator(&self) -> Option<Operator> {
        self.operator.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A tenant's policy, ready to judge. What cannot be read is an error: doubt closes.
    fn tenants(
        &self,
        tenant: &Tenant,
        record: &PolicyRecord,
    ) -> Result<Option<Arc<Policy>>, ErrorInfo> {
        let Some(body) = &record.body else { return Ok(None) };
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((version, policy)) = compiled.get(tenant)
            && *version == record.version
        {
            return Ok(Some(Arc::clone(policy)));
        }
        let broken = |problem: String| ErrorInfo::new("could_not_ask", problem);
        let file: PolicyFile = serde_json::from_str(body)
            .map_err(|error| broken(format!("the policy that is set cannot be read: {error}")))?;
        let policy = file.compile().map_err(|problems| {
            let said: Vec<String> = problems.into_iter().map(|(_, problem)| problem).collect();
            broken(format!("the policy that is set cannot be used: {}", said.join("; ")))
        })?;
        let policy = Arc::new(policy);
        compiled.insert(tenant.clone(), (record.version, Arc::clone(&policy)));
        Ok(Some(policy))
    }
}

impl RunCell {
    /// The rules that hold for this run now.
    pub(crate) fn rules(&self) -> Result<Rules, ErrorInfo> {
        let store = &self.engine.store;
        let unread = |error: signoff_store::StoreError| {
            ErrorInfo::new("could_not_ask", format!("the rules cannot be read: {error}"))
        };
        let (tenant, parent) = {
            let inner = self.lock();
            let started = &inner.state.started;
            (started.tenant.clone(), started.parent.as_ref().map(|parent| parent.run.clone()))
        };
        let mut policies = vec![Arc::clone(&self.definition.policy)];
        let mut above = parent;
        for _ in 0..MAX_DEPTH {
            let Some(run) = above.take() else { break };
            let first = store.entries(&run, 0, 1).map_err(unread)?;
            let Some(Event::Started(started)) = first.into_iter().next().map(|it| it.event) else {
                let message = format!("the rules of run {run} cannot be read");
                return Err(ErrorInfo::new("could_not_ask", message));
            };
            policies.push(Arc::clone(&self.engine.definition(&started.version)?.policy));
            above = started.parent.map(|parent| parent.run);
        }
        let mut versions = Vec::new();
        let book = &self.engine.rules;
        if let Some(operator) = book.operator() {
            versions.push(format!("operator:{}", operator.version));
            policies.push(operator.policy);
        }
        if let Some(record) = store.policy(&tenant).map_err(unread)?
            && let Some(policy) = book.tenants(&tenant, &record)?
        {
            versions.push(format!("set:{}", record.version));
            policies.push(policy);
        }
        policies.retain(|policy| !policy.gates.is_empty());
        let grants = if policies.is_empty() { Vec::new() } else { self.grants(&tenant)? };
        Ok(Rules { policies, version: versions.join(" "), grants })
    }

    /// What a tenant's people want remembered.
    fn grants(&self, tenant: &Tenant) -> Result<Vec<Grant>, ErrorInfo> {
        self.engine.store.grants(tenant).map_err(|error| {
            ErrorInfo::new("could_not_ask", format!("what is remembered cannot be read: {error}"))
        })
    }

    /// The same rules, with what is remembered even where no gate is set: a workflow may ask by itself.
    pub(crate) fn rules_and_grants(&self) -> Result<Rules, ErrorInfo> {
        let mut rules = self.rules()?;
        if rules.policies.is_empty() {
            let tenant = self.lock().state.started.tenant.clone();
            rules.grants = self.grants(&tenant)?;
        }
        Ok(rules)
    }

    /// Where this run is, as far as remembered decisions are concerned.
    pub(crate) fn place(&self) -> Place {
        let inner = self.lock();
        Place {
            run: self.root.clone(),
            conversation: inner.state.started.conversation.clone(),
            workflow: inner.state.started.workflow.clone(),
        }
    }
}
