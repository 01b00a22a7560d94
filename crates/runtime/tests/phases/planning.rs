//! The plan: who makes it, who agrees to it, how often it is made again.

use serde_json::json;
use signoff_core::decision::Then;
use signoff_core::{Decision, DecisionKind, RunStatus};
use signoff_models::ModelRequest;

use crate::stage::{
    Plays, answer, approve_all, error, full_team, note, output, plainly, plan, read, revise, says,
    stands, start, team, told, waits, worlds,
};

/// A planner that does as the last remark says: `steps: a b`.
fn obedient(request: &ModelRequest) -> Plays {
    if &*request.agent != "planner" {
        return plainly(request);
    }
    let told = told(request);
    let wish = told.lines().find_map(|line| line.split_once("steps: "));
    match wish {
        Some((_, titles)) => says(plan(&titles.split_whitespace().collect::<Vec<_>>())),
        None => says(plan(&["one", "two"])),
    }
}

#[tokio::test]
async fn improver_planner_and_reviewer_come_before_the_person() {
    let model = |request: &ModelRequest| match &*request.agent {
        "improver" => says(json!("Do it well")),
        "planner" => {
            assert_eq!(request.messages[0].text(), "Do it", "the task is never rewritten");
            assert!(told(request).contains("Do it well"));
            let sent_back = told(request).contains("too short");
            says(plan(if sent_back { &["one", "two"] } else { &["one"] }))
        }
        "reviewer" => {
            let good = told(request).contains("2. two");
            says(json!({ "approved": good, "comments": if good { "fine" } else { "too short" } }))
        }
        "lead" if told(request).contains("says:") => {
            says(json!({ "next": "end", "instruction": "" }))
        }
        "lead" => says(json!({ "next": "researcher", "instruction": "look" })),
        who => says(json!(format!("{who} did it"))),
    };
    for world in worlds(&full_team("ask: true, review_rounds: 2", "approval: never"), model) {
        let run = start(&world).await;
        let request = waits(&world, &run);
        assert_eq!(request.body.kind.as_str(), "plan_review");
        assert_eq!(request.body.context["proposal"], plan(&["one", "two"]));
        assert_eq!(request.body.context["review"], "fine");
        assert_eq!(request.body.context["improved"], "Do it well");
        let wanted =
            [DecisionKind::Approve, DecisionKind::Edit, DecisionKind::Revise, DecisionKind::Reject];
        assert_eq!(request.body.allowed, wanted);
        assert_eq!(answer(&world, &run, Decision::approve()).await, "completed");
        let output = output(&world, &run);
        assert_eq!(output["answer"], "researcher did it", "the controller chose: {output}");
        assert_eq!(world.engine.state(&run).unwrap().total_model_calls(), 1 + 2 + 2 + 2 * 3);
    }
}

#[tokio::test]
async fn each_revision_is_shown_with_what_changed() {
    for world in worlds(&team("ask: true", "approval: never", ""), obedient) {
        let run = start(&world).await;
        assert!(waits(&world, &run).body.context.get("changes").is_none());
        assert_eq!(answer(&world, &run, revise("steps: one three")).await, "plan_review");
        let body = waits(&world, &run).body;
        assert_eq!(body.context["revision"], 2);
        assert_eq!(body.preview["diff"], "  1. one\n- 2. two\n+ 2. three\n");
        let changes = body.context["changes"].to_string();
        assert!(changes.contains(r#""change":"removed""#), "{changes}");
        assert_eq!(body.context["feedback"][0]["text"], "steps: one three");
        assert_eq!(answer(&world, &run, Decision::approve()).await, "completed");
        let output = output(&world, &run);
        assert_eq!(output["plan"], plan(&["one", "three"]));
    }
}

#[tokio::test]
async fn a_plan_may_be_edited_within_its_schema() {
    for world in worlds(&team("ask: true", "approval: never", ""), plainly) {
        let run = start(&world).await;
        let request = waits(&world, &run);
        for wrong in [
            json!({ "steps": [] }),
            json!({ "steps": [{ "title": "x", "detail": "", "agent": "nobody" }] }),
            json!("do less"),
        ] {
            let edit = Decision::Edit { value: wrong, note: None };
            let refused = world.answer(&request.id, edit).await.unwrap_err();
            assert_eq!(refused.code(), "invalid_answer");
        }
        let edit = Decision::Edit { value: plan(&["only"]), note: Some("short".into()) };
        assert_eq!(answer(&world, &run, edit).await, "completed");
        assert_eq!(output(&world, &run)["plan"], plan(&["only"]));
        assert_eq!(world.engine.state(&run).unwrap().progress.feedback[0].given.text, "short");
    }
}

#[tokio::test]
async fn a_plan_that_is_rejected_ends_the_run() {
    for world in worlds(&team("ask: true", "approval: never", ""), plainly) {
        let run = start(&world).await;
        let reject = |then| Decision::reject(Some("no money".into()), then);
        assert_eq!(answer(&world, &run, reject(Then::Continue)).await, "failed");
        let error = error(&world, &run);
        assert_eq!(
            (error.code.as_str(), error.message.contains("no money")),
            ("plan_rejected", true)
        );
        let run = start(&world).await;
        assert_eq!(answer(&world, &run, reject(Then::Stop)).await, "cancelled");
    }
}

#[tokio::test]
async fn revisions_are_bounded_and_the_end_is_as_configured() {
    for (setting, expected) in [
        ("", "failed"),
        ("on_exhausted: take_last", "completed"),
        ("on_exhausted: escalate", "plan_review"),
    ] {
        let file = team(&format!("ask: true, max_revisions: 1, {setting}"), "approval: never", "");
        for world in worlds(&file, obedient) {
            let run = start(&world).await;
            assert_eq!(answer(&world, &run, revise("steps: a")).await, "plan_review");
            assert_eq!(waits(&world, &run).body.context["revisions_left"], 0);
            assert_eq!(answer(&world, &run, revise("steps: b")).await, expected, "{setting}");
            match expected {
                "failed" => assert_eq!(error(&world, &run).code, "plan_revisions"),
                "completed" => assert_eq!(output(&world, &run)["plan"], plan(&["a"])),
                _ => {
                    let allowed = waits(&world, &run).body.allowed;
                    let wanted = [DecisionKind::Approve, DecisionKind::Edit, DecisionKind::Reject];
                    assert_eq!(allowed, wanted);
                    let request = waits(&world, &run);
                    let more = world.answer(&request.id, revise("more")).await.unwrap_err();
                    assert_eq!(more.code(), "decision_not_allowed");
                    assert_eq!(answer(&world, &run, Decision::approve()).await, "completed");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_comment_given_with_yes_reaches_the_workers() {
    let model = |request: &ModelRequest| match &*request.agent {
        "planner" => says(plan(&["one"])),
        _ => says(json!(format!("told: {}", told(request)))),
    };
    for world in worlds(&team("ask: true", "approval: never", ""), model) {
        let run = start(&world).await;
        assert_eq!(answer(&world, &run, note("Use euros")).await, "completed");
        let output = output(&world, &run).to_string();
        assert!(output.contains("planning (local): Use euros"), "{output}");
    }
}

#[tokio::test]
async fn a_planner_that_breaks_its_schema_does_not_get_through() {
    let model = |request: &ModelRequest| match &*request.agent {
        "planner" => says(json!({ "steps": [{ "title": "x", "detail": "y", "agent": "nobody" }] })),
        _ => plainly(request),
    };
    for world in worlds(&team("ask: false", "approval: never", ""), model) {
        let run = start(&world).await;
        assert_eq!(world.status(&run), RunStatus::Failed);
        assert_eq!(error(&world, &run).code, "output_invalid");
    }
    for world in worlds(&team("ask: false, max_steps: 1", "approval: never", ""), plainly) {
        let run = start(&world).await;
        assert_eq!(error(&world, &run).code, "output_invalid", "two steps are too many");
    }
}

#[test]
fn what_does_not_make_sense_is_an_error_with_its_place() {
    for (file, place, problem) in [
        (team("", "approval: sometimes", ""), "10:", "`approval` cannot be `sometimes`"),
        (team("", "max_attempts: 0", ""), "10:", "at least 1"),
        (team("on_exhausted: guess", "", ""), "9:", "cannot be `guess`"),
        (team("reviewer: nobody", "", ""), "9:", "no agent `nobody`"),
        (team("reviewer: engineer", "", ""), "9:", "has a part"),
        (team("max_steps: 1000", "", ""), "9:", "from 1 to 100"),
        (team("", "approval: on_error, ask_on_error: false", ""), "10:", "do not go together"),
        (team("", "ask_before: true", ""), "10:", "unknown key"),
    ] {
        let problems = read(&file).unwrap_err();
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(said.iter().any(|it| it.contains(problem)), "{problem}: {said:?}");
        assert!(said.iter().any(|it| it.contains(place)), "{place}: {said:?}");
    }
}

#[tokio::test]
async fn phases_and_steps_are_in_the_journal() {
    for world in worlds(&team("ask: true", "approval: before_step", ""), plainly) {
        let run = start(&world).await;
        let progress = |run| world.engine.state(run).unwrap().progress;
        assert_eq!(progress(&run).phase.as_deref(), Some("planning"));
        answer(&world, &run, Decision::approve()).await;
        assert_eq!(
            (progress(&run).phase.as_deref(), progress(&run).step),
            (Some("control"), Some(1))
        );
        answer(&world, &run, Decision::approve()).await;
        assert_eq!(progress(&run).step, Some(2));
        assert_eq!(progress(&run).ended.len(), 1);
        approve_all(&world, &run).await;
        assert_eq!(stands(&world, &run), "completed");
        assert_eq!(progress(&run).ended.len(), 2);
    }
}
