//! When people are asked in phases: what a file says, what a preset stands for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Approval, Phases};
use crate::policy::GateFile;

/// When people are asked, by a common name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Never.
    Autonomous,
    /// For the plan.
    ReviewPlan,
    /// Before each step.
    StepByStep,
    /// When a step failed.
    ErrorRecovery,
    /// For the plan, and after each step.
    ProgressiveReview,
    /// For the plan, before and after each step.
    FullInteractive,
    /// For the plan, after each step, and before each tool call that does more than look.
    Copilot,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Autonomous,
        Self::ReviewPlan,
        Self::StepByStep,
        Self::ErrorRecovery,
        Self::ProgressiveReview,
        Self::FullInteractive,
        Self::Copilot,
    ];

    /// What it stands for.
    pub fn asks(self) -> Asks {
        let asks = |plan, approval, on_error, tools| Asks { plan, approval, on_error, tools };
        match self {
            Self::Autonomous => asks(false, Approval::Never, false, false),
            Self::ReviewPlan => asks(true, Approval::Never, false, false),
            Self::StepByStep => asks(false, Approval::BeforeStep, true, false),
            Self::ErrorRecovery => asks(false, Approval::OnError, true, false),
            Self::ProgressiveReview => asks(true, Approval::AfterStep, true, false),
            Self::FullInteractive => asks(true, Approval::Both, true, false),
            Self::Copilot => asks(true, Approval::AfterStep, true, true),
        }
    }
}

/// When people are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asks {
    /// For the plan.
    pub plan: bool,
    /// About steps.
    pub approval: Approval,
    /// About steps that failed.
    pub on_error: bool,
    /// Before tool calls that do more than look.
    pub tools: bool,
}

impl Phases {
    /// When people are asked: as it is said, then as the preset says. Without either: for the plan, before each step, and on
    /// errors.
    pub fn asks(&self) -> Asks {
        let default =
            Asks { plan: true, approval: Approval::BeforeStep, on_error: true, tools: false };
        let base = self.preset.map_or(default, Preset::asks);
        let control = &self.control;
        let by_mode = control.approval.map_or(base.on_error, |mode| mode != Approval::Never);
        Asks {
            plan: self.planning.ask.unwrap_or(base.plan),
            approval: control.approval.unwrap_or(base.approval),
            on_error: control.ask_on_error.unwrap_or(by_mode),
            tools: control.ask_tools.unwrap_or(base.tools),
        }
    }

    /// Says what the preset stands for, so that a run does not depend on what a later version makes of it.
    pub(super) fn expand(&mut self) {
        let asks = self.asks();
        self.planning.ask = Some(asks.plan);
        self.control.approval = Some(asks.approval);
        self.control.ask_on_error = Some(asks.on_error);
        self.control.ask_tools = Some(asks.tools);
    }

    /// The gate of `ask_tools`.
    pub fn tool_gate() -> GateFile {
        GateFile {
            name: "ask_tools".to_owned(),
            when: Some(r#"action.kind == "tool" && !("read_only" in action.effects)"#.to_owned()),
            ..GateFile::default()
        }
    }
}
