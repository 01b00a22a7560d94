//! What workflows are made of besides their definition: functions, tools and models of this process.

use std::collections::BTreeMap;
use std::sync::Arc;

use signoff_core::Workflow;
use signoff_core::journal::ErrorInfo;
use signoff_core::workflow::CannedTool;
use signoff_models::Provider;
use signoff_tools::{Canned, Remote, Tool, ToolSource};

use crate::executor::Executor;

/// Which tools of a source an agent gets: all (`*`), those that begin so (`search_*`), or one.
pub(crate) struct ToolPattern {
    beginning: String,
    open: bool,
}

impl ToolPattern {
    fn new(source: &str, pattern: &str) -> Self {
        let (pattern, open) = match pattern.strip_suffix('*') {
            Some(beginning) => (beginning, true),
            None => (pattern, false),
        };
        Self { beginning: format!("{source}_{pattern}"), open }
    }

    /// Whether the tool that models know as `SOURCE_TOOL` is one of them.
    pub(crate) fn fits(&self, name: &str) -> bool {
        if self.open { name.starts_with(&self.beginning) } else { name == self.beginning }
    }
}

/// A source, and which of its tools are meant.
pub(crate) type SourcedTools = (Arc<dyn ToolSource>, ToolPattern);

#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) functions: BTreeMap<String, Arc<dyn Executor>>,
    pub(crate) tools: BTreeMap<String, Arc<dyn Tool>>,
    pub(crate) sources: BTreeMap<String, Arc<dyn ToolSource>>,
    pub(crate) remotes: BTreeMap<String, Arc<dyn Remote>>,
    pub(crate) models: BTreeMap<String, Arc<dyn Provider>>,
    /// Replies written for one workflow, used where its model alias is not configured.
    pub(crate) scripts: BTreeMap<String, Arc<dyn Provider>>,
}

impl Parts {
    pub(crate) fn function(&self, name: &str) -> Result<Arc<dyn Executor>, ErrorInfo> {
        self.functions.get(name).cloned().ok_or_else(|| {
            ErrorInfo::new(
                "unknown_function",
                format!("there is no function `{name}` in this program"),
            )
            .hint("functions are registered by the program that embeds the engine")
        })
    }

    /// A tool of the workflow itself, or one of this process.
    pub(crate) fn tool(&self, workflow: &Workflow, name: &str) -> Result<Arc<dyn Tool>, ErrorInfo> {
        if let Some(canned) = workflow.tools.get(name) {
            let parameters = workflow.tool_schema(name);
            let tool = Canned::new(name, &CannedTool { parameters, ..canned.clone() })
                .map_err(|problem| ErrorInfo::new("invalid_workflow", problem))?;
            return Ok(Arc::new(tool));
        }
        self.tools
            .get(name)
            .cloned()
            .ok_or_else(|| ErrorInfo::new("unknown_tool", format!("there is no tool `{name}`")))
    }

    /// The source that `mcp:SOURCE/PATTERN` names; none if `name` is not of that form.
    pub(crate) fn source(&self, name: &str) -> Result<Option<SourcedTools>, ErrorInfo> {
        let Some((source, pattern)) =
            name.strip_prefix("mcp:").and_then(|rest| rest.split_once('/'))
        else {
            return Ok(None);
        };
        let found = self.sources.get(source).cloned().ok_or_else(|| {
            ErrorInfo::new("unknown_source", format!("there is no tool server `{source}`"))
                .hint("name it in signoff.toml under [mcp]")
        })?;
        Ok(Some((found, ToolPattern::new(source, pattern))))
    }

    /// The agent elsewhere that is known by `name`.
    pub(crate) fn remote(&self, name: &str) -> Result<Arc<dyn Remote>, ErrorInfo> {
        self.remotes.get(name).cloned().ok_or_else(|| {
            ErrorInfo::new("unknown_remote", format!("there is no remote agent `{name}`"))
                .hint("name it in signoff.toml under [a2a]")
        })
    }

    pub(crate) fn provider(
        &self,
        workflow: &str,
        alias: &str,
    ) -> Result<Arc<dyn Provider>, ErrorInfo> {
        self.models.get(alias).or_else(|| self.scripts.get(Workflow::family(workflow))).cloned().ok_or_else(|| {
            ErrorInfo::new("unknown_model", format!("there is no model `{alias}` for `{workflow}`"))
                .hint("name it in signoff.toml under [models], or put a script.yaml beside the workflow")
        })
    }
}
