//! The pattern in which a plan is made and carried out.

use std::collections::BTreeSet;

use super::Check;
use crate::workflow::diagnostic::{Problem, quote};
use crate::workflow::tree::join;
use crate::workflow::{Approval, END};

/// The most steps that a plan may have.
const MAX_STEPS: u32 = 100;

impl Check<'_> {
    pub(super) fn phases(&mut self) {
        let Some(settings) = &self.workflow.phases else {
            return;
        };
        let (planning, control) = (&settings.planning, &settings.control);
        let mut used: BTreeSet<String> =
            self.agent_list(&control.workers, "/phases/control/workers");
        for (key, name) in settings.parts() {
            let path = format!("/phases/{key}");
            self.must_know_agent(name, &path);
            if !used.insert(name.clone()) {
                let message = format!("{} has a part in these phases already", quote(name));
                self.report(Problem::value(path, message));
            }
            let agent = self.workflow.agents.get(name);
            if settings.output(name).is_some() && agent.is_some_and(|it| it.output.is_some()) {
                let path = join(&join("/agents", name), "output");
                let message = format!("what {} answers is given by its part", quote(name));
                self.report(Problem::key(path, message).hint("drop `output`"));
            }
        }
        if let Some(n) = control.workers.iter().position(|name| name == END) {
            let message = format!("`{END}` is what a controller says when a step is done");
            let path = format!("/phases/control/workers/{n}");
            self.report(Problem::value(path, message).hint("call the agent otherwise"));
        }
        if !(1..=MAX_STEPS).contains(&planning.max_steps) {
            let message = format!("`max_steps` is a number from 1 to {MAX_STEPS}");
            self.report(Problem::value("/phases/planning/max_steps", message));
        }
        self.more_than_nothing(
            "/phases/control/max_attempts",
            "max_attempts",
            control.max_attempts,
        );
        self.more_than_nothing("/phases/control/max_turns", "max_turns", control.max_turns);
        if control.approval == Some(Approval::OnError) && control.ask_on_error == Some(false) {
            let message = "`approval: on_error` and `ask_on_error: false` do not go together";
            self.report(Problem::value("/phases/control/ask_on_error", message));
        }
        self.name_is_free("phases");
        self.all_used(&used);
    }
}
