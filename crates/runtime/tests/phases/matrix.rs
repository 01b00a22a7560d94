//! Who is asked: every row of the configuration matrix, every mode, every preset.

use serde_json::{Value, json};
use signoff_core::Decision;
use signoff_core::workflow::Preset;
use signoff_models::ModelRequest;

use crate::stage::{
    Plays, answer, approve_all, error, plainly, plan, read, says, start, team, waits, worlds,
};

/// An engineer who edits a file in the first step, a production file in the second.
fn editing(request: &ModelRequest) -> Plays {
    match (&*request.agent, request.turn) {
        ("planner", _) => says(plan(&["one", "two"])),
        (_, 0) => Plays::Calls("edit", json!({ "path": "notes.txt" })),
        (_, 2) => Plays::Calls("edit", json!({ "path": "production.txt" })),
        _ => says(json!("done")),
    }
}

/// What people are asked when they always say yes.
async fn asked(file: &str, model: fn(&ModelRequest) -> Plays) -> String {
    let mut seen = Vec::new();
    for world in worlds(file, model) {
        let run = start(&world).await;
        seen.push(approve_all(&world, &run).await.join(" "));
    }
    assert_eq!(seen[0], seen[1], "both stores");
    seen.remove(0)
}

#[tokio::test]
async fn planning_rows() {
    let plain = team("ask: false", "approval: never", "");
    assert_eq!(asked(&plain, plainly).await, "completed", "standard planning");
    let mandatory = team("ask: false", "approval: never", "gates: [{ name: after_planning }]\n");
    assert_eq!(asked(&mandatory, plainly).await, "plan_review completed", "a person must review");
    let smart =
        team("ask: false", "approval: never", "gates: [{ name: after_planning, ask: smart }]\n");
    assert_eq!(asked(&smart, plainly).await, "completed", "nothing speaks for it");
    let risky = |request: &ModelRequest| match &*request.agent {
        "planner" => says(plan(&["Delete the production data"])),
        _ => says(json!("done")),
    };
    assert_eq!(asked(&smart, risky).await, "plan_review completed", "the plan itself is judged");
}

#[tokio::test]
async fn control_rows() {
    let steps = "approval: before_step";
    let edits = "gates: [{ name: before_file_edit }]\n";
    let smart = "gates: [{ name: before_file_edit, ask: smart }]\n";
    for (control, gates, expected) in [
        (steps, "", "step_before step_before completed"),
        (steps, edits, "step_before tool_call step_before tool_call completed"),
        (steps, smart, "step_before step_before tool_call completed"),
        ("approval: never", smart, "tool_call completed"),
    ] {
        let file = team("ask: false", control, gates);
        assert_eq!(asked(&file, editing).await, expected, "{control} {gates}");
    }
}

#[tokio::test]
async fn modes() {
    for (mode, expected) in [
        ("never", "completed"),
        ("before_step", "step_before step_before completed"),
        ("after_step", "step_after step_after completed"),
        ("both", "step_before step_after step_before step_after completed"),
        ("on_error", "completed"),
        ("conditional", "completed"),
    ] {
        let file = team("ask: false", &format!("approval: {mode}"), "");
        assert_eq!(asked(&file, plainly).await, expected, "{mode}");
        let on_error = read(&file).unwrap().phases.unwrap().asks().on_error;
        assert_eq!(on_error, mode != "never", "{mode}");
    }
    // Rules decide: here, about the second step only.
    let gate = "gates:\n  - { name: second, when: \"action.kind == 'step_before' && action.step == 2\" }\n";
    let file = team("ask: false", "approval: conditional", gate);
    assert_eq!(asked(&file, plainly).await, "step_before completed");
}

fn preset(preset: Preset, control: &str) -> String {
    let word: Value = json!(preset);
    let file = team("", control, "")
        .replace("phases:\n", &format!("phases:\n  preset: {}\n", word.as_str().unwrap()));
    assert!(file.contains("preset"));
    file
}

#[tokio::test]
async fn presets() {
    let steps = |kinds: &str| format!("{kinds} {kinds} completed");
    let rows = [
        (Preset::Autonomous, "completed".to_owned()),
        (Preset::ReviewPlan, "plan_review completed".to_owned()),
        (Preset::StepByStep, steps("step_before")),
        (Preset::ErrorRecovery, "completed".to_owned()),
        (Preset::ProgressiveReview, format!("plan_review {}", steps("step_after"))),
        (Preset::FullInteractive, format!("plan_review {}", steps("step_before step_after"))),
        (Preset::Copilot, format!("plan_review {}", steps("tool_call step_after"))),
    ];
    assert_eq!(rows.len(), Preset::ALL.len());
    for (name, expected) in rows {
        let file = preset(name, "");
        assert_eq!(asked(&file, editing).await, expected, "{name:?}");
        let settings = read(&file).unwrap().phases.unwrap();
        assert_eq!(settings.asks(), name.asks());
        assert!(settings.control.ask_on_error.is_some(), "it is said what it stands for");
    }
}

#[tokio::test]
async fn what_a_file_says_counts_more_than_its_preset() {
    let file = preset(Preset::FullInteractive, "approval: after_step");
    assert_eq!(asked(&file, plainly).await, "plan_review step_after step_after completed");
    let file = preset(Preset::FullInteractive, "approval: never");
    assert!(!read(&file).unwrap().phases.unwrap().asks().on_error);
    let file = preset(Preset::Autonomous, "ask_on_error: true");
    assert!(read(&file).unwrap().phases.unwrap().asks().on_error);
}

#[tokio::test]
async fn gates_may_be_about_a_step() {
    let gates = "gates:\n  - { name: second, when: action.kind == 'step_before' && action.step == 2, risk: high, note: Look twice }\n";
    let file = team("ask: false", "approval: never", gates);
    assert_eq!(asked(&file, plainly).await, "step_before completed");
    for world in worlds(&file, plainly) {
        let run = start(&world).await;
        let body = waits(&world, &run).body;
        assert_eq!(body.context["step"], 2);
        assert_eq!(body.context["notes"], json!(["Look twice"]));
        assert_eq!(body.risk.unwrap().as_str(), "high");
        assert_eq!(body.reasons, ["second"]);
    }
    let gates = "gates:\n  - { name: later, when: action.kind == 'tool' && action.phase == 'control' && action.step == 2 }\n";
    let file = team("ask: false", "approval: never", gates);
    assert_eq!(asked(&file, editing).await, "tool_call completed", "tool calls carry the step");
    let gates =
        "gates:\n  - { name: look, when: action.kind == 'step_after' && action.step == 1 }\n";
    assert_eq!(
        asked(&team("ask: false", "approval: never", gates), plainly).await,
        "step_after completed"
    );
}

#[tokio::test]
async fn a_gate_may_forbid_a_plan_also_one_that_a_person_wrote() {
    let gates = "gates:\n  - { name: no_deploy, ask: deny, when: action.kind == 'plan' && 'deploy it' in action.targets }\n";
    let file = team("ask: true", "approval: never", gates);
    for world in worlds(&file, plainly) {
        let run = start(&world).await;
        let edit = Decision::Edit { value: plan(&["deploy it"]), note: None };
        assert_eq!(answer(&world, &run, edit).await, "failed");
        assert_eq!(error(&world, &run).code, "denied");
    }
}

#[tokio::test]
async fn nobody_answering_closes() {
    let gates = "gates: [{ name: after_planning, within: 1h }]\n";
    for world in worlds(&team("ask: false", "approval: never", gates), plainly) {
        let run = start(&world).await;
        world.clock.advance(signoff_core::Span::seconds(3601));
        world.look().await;
        assert_eq!(error(&world, &run).code, "could_not_ask");
    }
}
