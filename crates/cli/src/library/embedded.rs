//! The example workflows inside this binary.

/// An example: its files by their path beside `workflow.yaml`.
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) workflow: &'static str,
    pub(super) script: &'static str,
    pub(super) files: &'static [(&'static str, &'static str)],
}

macro_rules! example {
    ($name:literal, [$($file:literal),* $(,)?]) => {
        Example {
            name: concat!($name, "/workflow.yaml"),
            workflow: include_str!(concat!("../../../../examples/workflows/", $name, "/workflow.yaml")),
            script: include_str!(concat!("../../../../examples/workflows/", $name, "/script.yaml")),
            files: &[$(($file, include_str!(concat!("../../../../examples/workflows/", $name, "/", $file)))),*],
        }
    };
}

pub(super) const EXAMPLES: &[Example] = &[
    example!(
        "event_planner",
        [
            "prompts/venue.md",
            "prompts/budget.md",
            "prompts/catering.md",
            "prompts/logistics.md",
            "prompts/coordinator.md",
        ]
    ),
    example!(
        "research_task",
        [
            "prompts/improver.md",
            "prompts/planner.md",
            "prompts/reviewer.md",
            "prompts/control.md",
            "prompts/engineer.md",
            "prompts/researcher.md",
        ]
    ),
    example!(
        "support_handoff",
        ["prompts/triage.md", "prompts/replacement.md", "prompts/delivery.md"]
    ),
];
