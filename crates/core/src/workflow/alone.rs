//! An agent of a workflow by itself.

use std::collections::BTreeMap;

use super::{Pattern, Sequential, Workflow};

/// What stands between a workflow and its agent. No workflow of a file can be called so.
pub(super) const OF: char = '/';

impl Workflow {
    /// One of its agents by itself, with its tools and its model: a workflow called `WORKFLOW/AGENT` that takes text.
    pub fn alone(&self, agent: &str) -> Option<Self> {
        let found = self.agents.get(agent)?;
        let title = found.name.as_deref().unwrap_or(agent);
        Some(Self {
            id: format!("{}{OF}{agent}", self.id),
            description: format!("{title}, of {}", self.id),
            input: None,
            samples: Vec::new(),
            agents: BTreeMap::from([(agent.to_owned(), found.clone())]),
            pattern: Pattern::Sequential,
            sequential: Some(Sequential { agents: vec![agent.to_owned()] }),
            coordinator: None,
            concurrent: None,
            handoff: None,
            group_chat: None,
            phases: None,
            executors: BTreeMap::new(),
            edges: Vec::new(),
            start: None,
            uses: BTreeMap::new(),
            ..self.clone()
        })
    }

    /// The workflow of the file that an agent by itself belongs to; its own, if it is none.
    pub fn family(id: &str) -> &str {
        id.split(OF).next().unwrap_or(id)
    }
}
