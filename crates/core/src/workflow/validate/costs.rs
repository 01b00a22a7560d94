//! What tools cost.

use super::Check;
use crate::workflow::diagnostic::Problem;
use crate::workflow::tree::join;

impl Check<'_> {
    pub(super) fn costs(&mut self) {
        let workflow = self.workflow;
        let canned = workflow.tools.keys().map(String::as_str);
        let tools: Vec<&str> = canned.chain(self.known.tools.iter().copied()).collect();
        // What a tool server offers is not known before it is asked.
        let mut listed = workflow.agents.values().flat_map(|agent| &agent.tools);
        let all_known = !listed.any(|tool| tool.starts_with("mcp:"));
        for (name, cost) in &workflow.costs {
            let path = join("/costs", name);
            if all_known {
                self.must_know("tool", name, &path, tools.iter().copied());
            }
            if let Some((key, message)) = cost.problem() {
                self.report(Problem::value(join(&path, key), message));
            }
        }
    }
}
