//! What people said: kept, shown, bounded, taken back.

use serde_json::json;
use signoff_core::feedback::{FeedbackScope, Timing};
use signoff_core::{Actor, Decision};
use signoff_models::ModelRequest;

use crate::stage::{
    Plays, answer, note, output, plan, redo, retry, revise, says, start, team, told, waits, worlds,
};

/// Workers who say what people said.
fn repeating(request: &ModelRequest) -> Plays {
    match &*request.agent {
        "planner" => says(plan(&["one", "two"])),
        _ => says(json!(told(request).rsplit("What people said").next())),
    }
}

#[tokio::test]
async fn every_remark_is_kept_with_its_scope_and_time() {
    let failing = |request: &ModelRequest| match (&*request.agent, request.turn) {
        ("engineer", 0) => Plays::Fails("it slipped"),
        _ => repeating(request),
    };
    for world in worlds(&team("ask: true", "approval: both", ""), failing) {
        let run = start(&world).await;
        answer(&world, &run, revise("the one")).await;
        answer(&world, &run, note("second")).await;
        answer(&world, &run, note("third")).await;
        answer(&world, &run, retry("fourth")).await;
        answer(&world, &run, redo("fifth")).await;
        answer(&world, &run, note("sixth")).await;
        let feedback = world.engine.state(&run).unwrap().progress.feedback;
        let found: Vec<_> = feedback
            .iter()
            .map(|it| (it.given.n, it.given.scope, it.given.step, it.given.timing))
            .collect();
        let wanted = [
            (1, FeedbackScope::Phase, None, Timing::Planning),
            (2, FeedbackScope::Run, None, Timing::Planning),
            (3, FeedbackScope::Step, Some(1), Timing::Before),
            (4, FeedbackScope::Step, Some(1), Timing::Error),
            (5, FeedbackScope::Step, Some(1), Timing::Redo),
            (6, FeedbackScope::Step, Some(1), Timing::After),
        ];
        assert_eq!(found, wanted);
        assert!(feedback.iter().all(|it| it.given.author == Actor::local()));
        let shown = waits(&world, &run).body.context["feedback"].clone();
        assert_eq!(shown[0]["text"], "sixth", "the newest first");
        assert_eq!(shown.as_array().unwrap().len(), 6);
        answer(&world, &run, Decision::approve()).await;
        let told = waits(&world, &run).body.context["result"].as_str().unwrap().to_owned();
        let at = |text: &str| told.find(text).unwrap();
        assert!(at("sixth") < at("fifth") && at("fifth") < at("the one"), "{told}");
    }
}

#[tokio::test]
async fn what_agents_are_told_is_bounded() {
    let file =
        team("ask: true", "approval: never", "").replace("phases:\n", "phases:\n  feedback: 60\n");
    for world in worlds(&file, repeating) {
        let run = start(&world).await;
        answer(&world, &run, revise(&"long ".repeat(20))).await;
        answer(&world, &run, note("short")).await;
        let told = output(&world, &run)["answer"].as_str().unwrap().to_owned();
        assert!(told.contains("planning (local): short\n(1 older left out)"), "{told}");
        assert!(!told.contains("long long"), "{told}");
    }
}

#[tokio::test]
async fn people_may_say_something_in_between_and_take_it_back() {
    for world in worlds(&team("ask: false", "approval: before_step", ""), repeating) {
        let run = start(&world).await;
        for text in ["use euros", "be quick"] {
            world.engine.add_feedback(&run, Actor::new("ada"), text.to_owned()).await.unwrap();
        }
        world.engine.idle().await;
        let feedback = world.engine.state(&run).unwrap().progress.feedback;
        let first = &feedback[0].given;
        assert_eq!((first.n, first.scope, first.step), (1, FeedbackScope::Run, Some(1)));
        world.engine.remove_feedback(&run, Actor::new("ada"), 2).await.unwrap();
        world.engine.remove_feedback(&run, Actor::new("ada"), 99).await.unwrap();
        world.engine.idle().await;
        answer(&world, &run, Decision::approve()).await;
        answer(&world, &run, Decision::approve()).await;
        let told = output(&world, &run)["answer"].as_str().unwrap().to_owned();
        assert!(told.contains("step 1, before (ada): use euros"), "{told}");
        assert!(!told.contains("be quick"), "{told}");
        let late = world.engine.add_feedback(&run, Actor::new("ada"), "late".to_owned()).await;
        assert!(late.is_err(), "the run is over");
    }
}
