//! The steps: who is asked, what is done again, what failed.

use serde_json::json;
use signoff_core::decision::Then;
use signoff_core::{Decision, DecisionKind};
use signoff_models::ModelRequest;

use crate::stage::{
    Plays, answer, error, output, plainly, plan, redo, retry, revise, says, start, team, told,
    waits, worlds,
};

fn one_step(request: &ModelRequest) -> Plays {
    match &*request.agent {
        "planner" => says(plan(&["one"])),
        _ => says(json!(format!("result {}", request.turn + 1))),
    }
}

#[tokio::test]
async fn before_a_step_it_may_be_skipped_edited_or_rejected() {
    for world in worlds(&team("ask: false", "approval: before_step", ""), plainly) {
        let run = start(&world).await;
        assert_eq!(waits(&world, &run).body.context["plan"][0]["status"], "now");
        let skip = Decision::Skip { reason: Some("not needed".into()) };
        assert_eq!(answer(&world, &run, skip).await, "step_before");
        let step = json!({ "title": "other", "detail": "x", "agent": "researcher" });
        let edit = Decision::Edit { value: step, note: None };
        assert_eq!(answer(&world, &run, edit).await, "completed");
        let output = output(&world, &run);
        assert_eq!(output["steps"][0]["status"], "skipped");
        assert_eq!(output["steps"][1]["result"], "researcher did it");

        let run = start(&world).await;
        let reject = Decision::reject(Some("wrong".into()), Then::Continue);
        assert_eq!(answer(&world, &run, reject).await, "failed");
        assert_eq!(error(&world, &run).code, "step_rejected");
        let run = start(&world).await;
        assert_eq!(answer(&world, &run, Decision::Abort { reason: None }).await, "cancelled");
    }
}

#[tokio::test]
async fn a_redo_replaces_the_result_and_is_bounded_but_never_accepted_in_silence() {
    for world in worlds(&team("ask: false", "approval: after_step, max_redos: 2", ""), one_step) {
        let run = start(&world).await;
        assert_eq!(waits(&world, &run).body.context["redos_left"], 2);
        assert_eq!(answer(&world, &run, redo("better")).await, "step_after");
        assert_eq!(answer(&world, &run, redo("better still")).await, "step_after");
        let request = waits(&world, &run);
        assert_eq!(request.body.context["result"], "result 3");
        assert!(!request.body.allowed.contains(&DecisionKind::Redo), "they are used up");
        let more = world.answer(&request.id, redo("again")).await.unwrap_err();
        assert_eq!(more.code(), "decision_not_allowed");
        assert_eq!(answer(&world, &run, Decision::approve()).await, "completed");
        let output = output(&world, &run);
        assert_eq!(output["steps"].as_array().unwrap().len(), 1, "replaced, not added: {output}");
        assert_eq!(
            (&output["answer"], &output["steps"][0]["redos"]),
            (&json!("result 3"), &json!(2))
        );
    }
}

#[tokio::test]
async fn who_does_it_again_is_told_what_was_wrong() {
    let model = |request: &ModelRequest| match &*request.agent {
        "planner" => says(plan(&["one"])),
        _ if told(request).contains("redo (local): in euros") => {
            assert!(told(request).contains("It gave: in dollars"));
            says(json!("in euros"))
        }
        _ => says(json!("in dollars")),
    };
    for world in worlds(&team("ask: false", "approval: after_step", ""), model) {
        let run = start(&world).await;
        answer(&world, &run, redo("in euros")).await;
        assert_eq!(waits(&world, &run).body.context["result"], "in euros");
    }
}

/// A worker that fails until somebody says `careful`.
fn careless(request: &ModelRequest) -> Plays {
    match &*request.agent {
        "planner" => says(plan(&["one"])),
        _ if told(request).contains("careful") => says(json!("done")),
        _ => Plays::Fails("it slipped"),
    }
}

#[tokio::test]
async fn a_step_that_failed_may_be_tried_again_or_left_out() {
    for world in worlds(&team("ask: false", "approval: on_error", ""), careless) {
        let run = start(&world).await;
        let request = waits(&world, &run);
        assert_eq!(request.body.kind.as_str(), "step_error");
        assert_eq!(request.body.context["error"]["message"], "it slipped");
        assert_eq!(
            request.body.allowed,
            [DecisionKind::Retry, DecisionKind::Skip, DecisionKind::Abort]
        );
        assert_eq!(answer(&world, &run, retry("be careful")).await, "completed");
        assert_eq!(output(&world, &run)["steps"][0]["attempts"], 2);

        let run = start(&world).await;
        for _ in 0..2 {
            let again = Decision::Retry { feedback: None };
            assert_eq!(answer(&world, &run, again).await, "step_error");
        }
        let allowed = waits(&world, &run).body.allowed;
        assert_eq!(allowed, [DecisionKind::Skip, DecisionKind::Abort], "three attempts are all");
        assert_eq!(answer(&world, &run, Decision::Skip { reason: None }).await, "completed");
        let output = output(&world, &run);
        assert_eq!(output["steps"][0]["status"], "skipped");
        assert_eq!(output["answer"], json!(null), "what was left out is no result");
    }
}

#[tokio::test]
async fn without_anybody_to_ask_a_step_is_tried_as_often_as_it_may_be() {
    for world in worlds(&team("ask: false", "approval: never, max_attempts: 2", ""), careless) {
        let run = start(&world).await;
        let error = error(&world, &run);
        assert_eq!(error.code, "step_failed");
        assert!(
            error.message.contains("2 times") && error.message.contains("it slipped"),
            "{error}"
        );
        let calls = world.engine.state(&run).unwrap().model_calls;
        assert_eq!(calls["engineer"], 2);
    }
    // The error gate is a setting of its own.
    let file = team("ask: false", "approval: never, ask_on_error: true", "");
    for world in worlds(&file, careless) {
        let run = start(&world).await;
        assert_eq!(waits(&world, &run).body.kind.as_str(), "step_error");
    }
    let file = team("ask: false", "approval: after_step, ask_on_error: false, max_attempts: 1", "");
    for world in worlds(&file, careless) {
        let run = start(&world).await;
        assert_eq!(error(&world, &run).code, "step_failed");
    }
}

#[tokio::test]
async fn a_worker_may_say_itself_that_it_failed() {
    let model = |request: &ModelRequest| match &*request.agent {
        "planner" => says(plan(&["one"])),
        _ => says(json!({ "summary": "", "error": "there is no data" })),
    };
    let output = "{ type: object, properties: { summary: { type: string }, error: { type: [string, \"null\"] } } }";
    let file = team("ask: false", "approval: on_error", "")
        .replace("tools: [edit] }", &format!("tools: [edit], output: {output} }}"));
    for world in worlds(&file, model) {
        let run = start(&world).await;
        assert_eq!(waits(&world, &run).body.reasons, ["there is no data"]);
    }
}

#[tokio::test]
async fn people_may_go_back_to_planning_so_often_and_keep_what_was_done() {
    let model = |request: &ModelRequest| match &*request.agent {
        "planner" if told(request).contains("add a check") => {
            assert!(
                told(request).contains("one (engineer): engineer did it"),
                "what is done is told"
            );
            says(plan(&["check"]))
        }
        _ => plainly(request),
    };
    let file = team("ask: true", "approval: both, max_replans: 1", "");
    for world in worlds(&file, model) {
        let run = start(&world).await;
        answer(&world, &run, Decision::approve()).await;
        assert_eq!(answer(&world, &run, Decision::approve()).await, "step_after");
        assert_eq!(answer(&world, &run, revise("add a check")).await, "plan_review");
        let body = waits(&world, &run).body;
        assert_eq!(body.context["round"], 2);
        assert_eq!(body.preview["diff"], "- 1. one\n- 2. two\n+ 1. check\n");
        assert_eq!(answer(&world, &run, Decision::approve()).await, "step_before");
        let allowed = waits(&world, &run).body.allowed;
        assert!(!allowed.contains(&DecisionKind::Revise), "it is bounded");
        assert_eq!(answer(&world, &run, Decision::approve()).await, "step_after");
        assert_eq!(answer(&world, &run, Decision::approve()).await, "completed");
        let output = output(&world, &run);
        let steps: Vec<_> =
            output["steps"].as_array().unwrap().iter().map(|it| &it["title"]).collect();
        assert_eq!(steps, ["one", "check"]);
    }
}

#[tokio::test]
async fn a_controller_sends_a_step_from_one_to_the_other() {
    let model = |request: &ModelRequest| match &*request.agent {
        "planner" => says(plan(&["one"])),
        "improver" => says(json!("x")),
        "reviewer" => says(json!({ "approved": true, "comments": "" })),
        "lead" => {
            let told = told(request);
            let next = match (told.contains("researcher says:"), told.contains("engineer says:")) {
                (false, _) => "researcher",
                (true, false) => "engineer",
                (true, true) => "end",
            };
            says(json!({ "next": next, "instruction": "your part" }))
        }
        "researcher" => says(json!("it is 42")),
        _ => {
            assert!(told(request).contains("researcher says: it is 42"), "{}", told(request));
            assert!(told(request).contains("The controller says: your part"));
            says(json!("built for 42"))
        }
    };
    for world in worlds(&crate::stage::full_team("ask: false", "approval: never"), model) {
        let run = start(&world).await;
        assert_eq!(output(&world, &run)["answer"], "built for 42");
    }
}

#[tokio::test]
async fn a_controller_that_does_not_end_is_a_failure() {
    let model = |request: &ModelRequest| match &*request.agent {
        "planner" => says(plan(&["one"])),
        "improver" => says(json!("x")),
        "reviewer" => says(json!({ "approved": true, "comments": "" })),
        "lead" => says(json!({ "next": "engineer", "instruction": "more" })),
        _ => says(json!("done")),
    };
    let file =
        crate::stage::full_team("ask: false", "approval: never, max_turns: 2, max_attempts: 1");
    for world in worlds(&file, model) {
        let run = start(&world).await;
        let error = error(&world, &run);
        assert!(error.message.contains("2 turns"), "{error}");
    }
}
