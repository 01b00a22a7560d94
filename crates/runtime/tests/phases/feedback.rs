//! What people said: kept, shown, bounded, taken back.

use serde_json::json;
use signoff_core::feedback::{FeedbackScope, Remark, Timing};
use signoff_core::time::Span;
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
            (3, FeedbackScope::Run, Some(1), Timing::Before),
            (4, FeedbackScope::Step, Some(1), Timing::Error),
            (5, FeedbackScope::Step, Some(1), Timing::Redo),
            (6, FeedbackScope::Run, Some(1), Timing::After),
        ];
        assert_eq!(found, wanted);
        assert!(feedback.iter().all(|it| it.given.author == Actor::local()));
        let shown = waits(&world, &run).body.context["feedback"].clone();
        assert_eq!(shown[0]["text"], "sixth", "the newest first");
        assert_eq!(shown.as_array().unwrap().len(), 3, "what was about step 1 is over");
        answer(&world, &run, Decision::approve()).await;
        let told = waits(&world, &run).body.context["result"].as_str().unwrap().to_owned();
        let at = |text: &str| told.find(text).unwrap();
        assert!(at("sixth") < at("third") && at("third") < at("second"), "{told}");
        for over in ["the one", "fourth", "fifth"] {
            assert!(!told.contains(over), "{over} is told no more: {told}");
        }
        // Back in planning, what was said about planning counts again.
        let back = Decision::Revise { feedback: Some("seventh".to_owned()) };
        answer(&world, &run, back).await;
        let shown = waits(&world, &run).body.context["feedback"].to_string();
        for counts in ["seventh", "sixth", "the one"] {
            assert!(shown.contains(counts), "{counts}: {shown}");
        }
    }
}

#[tokio::test]
async fn what_agents_are_told_is_bounded() {
    // As it is said now, and as older files say it.
    let files = ["feedback_tokens: 15", "feedback: 60"].map(|budget| {
        let budget = format!("phases:\n  {budget}\n");
        team("ask: true", "approval: before_step", "").replace("phases:\n", &budget)
    });
    for world in files.iter().flat_map(|file| worlds(file, repeating)) {
        let run = start(&world).await;
        answer(&world, &run, note(&"long ".repeat(20))).await;
        answer(&world, &run, note("short")).await;
        answer(&world, &run, Decision::approve()).await;
        let told = output(&world, &run)["answer"].as_str().unwrap().to_owned();
        assert!(told.contains("before (local): short\n(1 older left out)"), "{told}");
        assert!(!told.contains("long long"), "{told}");
    }
}

#[tokio::test]
async fn people_may_say_something_in_between_and_take_it_back() {
    for world in worlds(&team("ask: false", "approval: before_step", ""), repeating) {
        let run = start(&world).await;
        for text in ["use euros", "be quick"] {
            world
                .engine
                .add_feedback(&run, Actor::new("ada"), text.to_owned().into())
                .await
                .unwrap();
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
        let late =
            world.engine.add_feedback(&run, Actor::new("ada"), "late".to_owned().into()).await;
        assert!(late.is_err(), "the run is over");
    }
}

#[tokio::test]
async fn redo_is_told_until_its_step_is_over() {
    for world in worlds(&team("ask: false", "approval: after_step", ""), repeating) {
        let run = start(&world).await;
        answer(&world, &run, redo("with a table")).await;
        let again = waits(&world, &run).body.context["result"].to_string();
        assert!(again.contains("with a table"), "{again}");
        answer(&world, &run, Decision::approve()).await;
        let next = waits(&world, &run).body.context["result"].to_string();
        assert!(next.starts_with("\"The plan"), "nothing of what people said: {next}");
    }
}

#[tokio::test]
async fn only_those_it_is_for_are_told_and_only_until_it_expires() {
    for world in worlds(&team("ask: false", "approval: before_step", ""), repeating) {
        let run = start(&world).await;
        let now = world.engine.clock().now();
        let say = |text: &str, agents: &[&str], expires: u64| Remark {
            text: text.to_owned(),
            scope: FeedbackScope::Run,
            agents: agents.iter().map(|name| (*name).into()).collect(),
            expires: (expires > 0).then(|| now.plus(Span::seconds(expires))),
        };
        let said = [
            say("for engineers", &["engineer"], 0),
            say("for others", &["researcher"], 0),
            say("for an hour", &[], 3_600),
            say("long gone", &[], 1),
        ];
        for remark in said {
            world.engine.add_feedback(&run, Actor::new("ada"), remark).await.unwrap();
        }
        world.engine.idle().await;
        // By the clock that the journal is written with.
        world.clock.advance(Span::seconds(2));
        answer(&world, &run, Decision::approve()).await;
        answer(&world, &run, Decision::approve()).await;
        let told = output(&world, &run)["answer"].as_str().unwrap().to_owned();
        assert!(told.contains("for engineers") && told.contains("for an hour"), "{told}");
        assert!(!told.contains("for others") && !told.contains("long gone"), "{told}");
        // Nothing was forgotten: people can still see it.
        assert_eq!(world.engine.state(&run).unwrap().progress.feedback.len(), 4);
    }
}
