//! Several questions at once, and texts that answer none.

use serde_json::json;

use crate::qlaw::Qlaw;
use crate::support::{Place, Server, text};

fn serve() -> (Place, Server) {
    let place = Place::new();
    let two = "workflow: two\npattern: graph\nstart: both\nexecutors:\n  both: { transform: input }\n  \
               left: { ask: { prompt: 'Left?', kind: approval } }\n  right: { ask: { prompt: 'Right?' } }\n  \
               end: { transform: '\"done\"' }\nedges:\n  - { from: both, to: left }\n  - { from: both, to: right }\n  \
               - { from: [left, right], to: end }\n";
    std::fs::write(place.path("flows/two.yaml"), two).unwrap();
    let server = place.serve();
    (place, server)
}

#[tokio::test]
async fn several_questions_have_handles() {
    let (_place, server) = serve();
    let qlaw = Qlaw::new(&server, "/bridge", "two");
    let asked = qlaw.say("hi").await;
    insta::assert_snapshot!(asked, @r#"


    [#1] Left?
      "hi"
    (yes / the changed value as JSON / no, REASON)

    [#2] Right?
      message: hi
    "#);
    let (left, right) = if asked.find("Left?") < asked.find("Right?") { (1, 2) } else { (2, 1) };
    let decided =
        || async { server.read("/v1/requests/count?status=decided").await["count"].clone() };

    let wrong = qlaw.say(&format!("#{left} perhaps")).await;
    assert!(
        wrong.contains("Not used") && wrong.contains("Left?") && wrong.contains("Right?"),
        "{wrong}"
    );
    assert_eq!(decided().await, json!(0), "nothing was used");
    let one = qlaw.say(&format!("#{right} over there")).await;
    assert!(one.contains("Left?") && !one.contains("Right?"), "{one}");
    assert_eq!(decided().await, json!(1));
    let late = qlaw.say(&format!("#{right} over here")).await;
    assert!(late.contains("waits no more") && late.contains("Left?"), "{late}");
    assert_eq!(decided().await, json!(1), "nothing was used");
    let done = qlaw.say("yes").await;
    assert_eq!(done, "done");
}

#[tokio::test]
async fn plain_text_answers_the_oldest_and_says_so() {
    let (_place, server) = serve();
    let qlaw = Qlaw::new(&server, "/bridge", "two");
    let asked = qlaw.say("hi").await;
    assert!(asked.trim_start().starts_with("[#1] "), "{asked}");
    let oldest = text(&server.read("/v1/requests?status=pending").await["data"][0]["prompt"]);
    let answered = qlaw.say("yes").await;
    assert!(answered.contains("(Your text answers [#1], the oldest question.)"), "{answered}");
    let left = server.read("/v1/requests?status=pending").await;
    assert_eq!(left["data"].as_array().unwrap().len(), 1);
    assert_ne!(text(&left["data"][0]["prompt"]), oldest);
}

#[tokio::test]
async fn a_text_that_does_not_fit_is_asked_again_and_nothing_is_used() {
    let (_place, server) = serve();
    let qlaw = Qlaw::new(&server, "/bridge", "ask");
    let mut first = qlaw.send("hi").await;
    first.run_out().await;
    let mut again = qlaw.send("perhaps").await;
    again.run_out().await;
    let request = |events: &[serde_json::Value]| {
        let trace = events.iter().find(|it| it["type"] == "response.trace.complete").unwrap();
        text(&trace["data"]["data"]["request_info"]["request_id"])
    };
    assert_eq!(request(&first.events), request(&again.events), "the same request");
    insta::assert_snapshot!(again.shown, @r#"
    (Not used: `perhaps` is not an answer to this; accepted: `yes`; the changed value as JSON; `no` or `no, REASON`.)

    Well?
      "hi"
    (yes / the changed value as JSON / no, REASON)
    "#);
    let waits = server.read(&format!("/v1/requests/{}", request(&again.events))).await;
    assert_eq!((&waits["status"], &waits["version"]), (&json!("pending"), &json!(1)));
    // A sign that names nothing is part of a text.
    let sign = qlaw.say("#nothing of this name").await;
    assert!(sign.contains("Not used"), "{sign}");
}

#[tokio::test]
async fn commands_are_no_answers() {
    let (_place, server) = serve();
    let qlaw = Qlaw::new(&server, "/bridge", "ask");
    for nothing in ["!list", "!cancel", "!help", ""] {
        let shown = qlaw.say(nothing).await;
        assert!(!shown.is_empty() && !shown.contains("[Error]"), "{nothing}: {shown}");
    }
    assert!(server.read("/v1/runs").await["data"].as_array().unwrap().is_empty(), "nothing began");
    qlaw.say("hi").await;
    let listed = qlaw.say("!list").await;
    assert!(listed.contains("Well?"), "{listed}");
    let stopped = qlaw.say("!CANCEL").await;
    assert!(stopped.contains("Stopped"), "{stopped}");
    let run = &server.read("/v1/runs").await["data"][0];
    assert_eq!(run["status"], "cancelled");
    assert!(qlaw.say("!list").await.contains("Nothing is under way"));
}

#[tokio::test]
async fn who_is_too_late_is_told() {
    let (_place, server) = serve();
    let qlaw = Qlaw::new(&server, "/bridge", "two");
    qlaw.say("hi").await;
    let waits = server.read("/v1/requests?status=pending").await;
    let first = text(&waits["data"][0]["id"]);
    let answer = if waits["data"][0]["kind"] == "approval" {
        json!({ "decision": "approve" })
    } else {
        json!({ "decision": "respond", "content": "x" })
    };
    assert_eq!(server.decide(&first, &answer).await.0, 200);
    let late = qlaw.say("#1 yes").await;
    assert!(late.contains("waits no more"), "{late}");
    assert_eq!(server.read("/v1/requests/count?status=pending").await["count"], 1);
}

#[tokio::test]
async fn failures_are_seen() {
    let place = Place::new();
    let bad = "workflow: bad\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: Fail. }\n";
    std::fs::write(place.path("flows/bad.yaml"), bad).unwrap();
    std::fs::write(
        place.path("flows/bad.script.yaml"),
        "- { fail: { code: strike, message: the model is on strike } }\n",
    )
    .unwrap();
    let server = place.serve();
    let shown = Qlaw::new(&server, "/bridge", "bad").say("hi").await;
    assert!(shown.contains("on strike"), "{shown}");
}
