//! What workflows are made of besides their definition: functions, tools and models of this process.

use std::collections::BTreeMap;
use std::sync::Arc;

use signoff_core::Workflow;
use signoff_core::journal::ErrorInfo;
use signoff_core::workflow::CannedTool;
use signoff_models::Provider;
use signoff_tools::{Canned, Tool};

use crate::executor::Executor;

#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) functions: BTreeMap<String, Arc<dyn Executor>>,
    pub(crate) tools: BTreeMap<String, Arc<dyn Tool>>,
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

    pub(crate) fn provider(
        &self,
        workflow: &str,
        alias: &str,
    ) -> Result<Arc<dyn Provider>, ErrorInfo> {
        self.models.get(alias).or_else(|| self.scripts.get(workflow)).cloned().ok_or_else(|| {
            ErrorInfo::new("unknown_model", format!("there is no model `{alias}` for `{workflow}`"))
                .hint("name it in signoff.toml under [models], or put a script.yaml beside the workflow")
        })
    }
}
