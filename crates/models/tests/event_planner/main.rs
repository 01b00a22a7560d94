//! The flagship example, played through with its script: who asks what, and what the plan says.
//!
//! The run is played by hand here, by the rules of the coordinator pattern, so that the example can be
//! checked without the engine.

#[cfg(test)]
mod play;

use play::{Played, Run, amounts, assert_adds_up, load, play};
use serde_json::json;
use signoff_core::decision::Then;
use signoff_core::{Decision, Message, RequestBody, RequestKind};

const PARTY: &str = "Plan a party for 30 people";
const TEAM: &str = "Plan a corporate team building event for 30 people, budget $3000, downtown Seattle, \
                    Friday evening in 3 weeks, vegetarian and gluten-free options required";
const HOLIDAY: &str = "Plan a corporate holiday party for 50 people, budget $5000";

fn kinds(played: &Played) -> Vec<(&str, RequestKind)> {
    played.asked.iter().map(|(agent, body)| (agent.as_str(), body.kind)).collect()
}

fn nobody(_: &RequestBody) -> Option<Decision> {
    panic!("nothing should be asked")
}

/// Answers the party's three questions, with the venue of this number.
fn answers(venue: usize, budget: Decision) -> impl Fn(&RequestBody) -> Option<Decision> {
    move |body| {
        Some(match body.kind {
            RequestKind::Selection => Decision::respond(body.options[venue].value.clone()),
            RequestKind::Approval => budget.clone(),
            _ => Decision::respond("two vegans, one nut allergy"),
        })
    }
}

#[tokio::test]
async fn a_vague_request_is_asked_about_three_times() {
    for (venue, name) in
        ["Union Hall", "The Glasshouse", "Grand Meridian Ballroom"].into_iter().enumerate()
    {
        let played = play(PARTY, answers(venue, Decision::approve())).await;
        assert_eq!(
            kinds(&played),
            [
                ("venue", RequestKind::Selection),
                ("budget", RequestKind::Approval),
                ("catering", RequestKind::Input)
            ]
        );
        let labels: Vec<_> =
            played.asked[0].1.options.iter().map(|option| option.label.as_str()).collect();
        assert_eq!(labels, ["Union Hall", "The Glasshouse", "Grand Meridian Ballroom"]);
        assert!(played.plan.contains(&format!("**{name}**")), "{}", played.plan);
        assert!(played.plan.contains("two vegans, one nut allergy"));
        let proposal = played.asked[1].1.proposal().unwrap();
        let names: Vec<_> = proposal.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["venue", "catering", "av", "decor", "staff", "contingency", "total"]);
        let shown: Vec<f64> =
            proposal.as_object().unwrap().values().map(|n| n.as_f64().unwrap()).collect();
        assert_eq!(amounts(&played.plan), shown, "the plan has what was approved");
        assert_adds_up(&played.plan);
        assert_eq!(played.events.as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn the_second_call_of_an_agent_that_asked_sees_two_more_messages() {
    let played = play(PARTY, answers(1, Decision::approve())).await;
    let first: Vec<usize> = played.first_call_messages.iter().map(|(_, count)| *count).collect();
    assert_eq!(first, [2, 6, 10, 14, 16]);
}

#[tokio::test]
async fn edited_amounts_are_what_the_plan_says() {
    let value = json!({ "venue": 1500, "catering": 900.5, "av": 0, "decor": 111, "staff": 120, "contingency": 300, "total": 3000 });
    let edit = Decision::Edit { value, note: Some("no band".into()) };
    let played = play(PARTY, answers(1, edit)).await;
    assert_eq!(amounts(&played.plan), [1500.0, 900.5, 0.0, 111.0, 120.0, 300.0, 2931.5]);
    assert!(played.plan.contains("add up to $2,931.50, not to the $3,000"), "{}", played.plan);
    assert!(played.plan.contains("no band"));
}

#[tokio::test]
async fn a_rejected_budget_becomes_a_lean_one_without_asking_again() {
    let reject = Decision::reject(Some("too much".into()), Then::Continue);
    let played = play(PARTY, answers(1, reject)).await;
    assert_eq!(played.asked.len(), 3);
    assert!(played.summaries["budget"].contains("lean"), "{:?}", played.summaries);
    assert!(played.plan.contains("not approved (too much)"), "{}", played.plan);
    assert_adds_up(&played.plan);
    assert!(amounts(&played.plan).last().unwrap() < &3000.0);
}

#[tokio::test]
async fn nobody_answering_still_gives_a_plan() {
    let played = play(PARTY, |_| None).await;
    assert_eq!(played.asked.len(), 3, "each agent asks once");
    assert_adds_up(&played.plan);
}

#[tokio::test]
async fn a_complete_request_is_not_asked_about() {
    let played = play(TEAM, nobody).await;
    let first: Vec<_> =
        played.first_call_messages.iter().map(|(agent, n)| (agent.as_str(), *n)).collect();
    assert_eq!(
        first,
        [("venue", 2), ("budget", 4), ("catering", 6), ("logistics", 8), ("coordinator", 10)]
    );
    assert_eq!(
        amounts(&played.plan),
        [1500.0, 750.0, 150.0, 120.0, 120.0, 360.0, 3000.0],
        "{}",
        played.plan
    );
    for word in [
        "Pioneer Loft",
        "downtown Seattle",
        "vegetarian and gluten-free",
        "Friday, 4 December 2026",
        "$25 per person, $750 for 30 guests",
    ] {
        assert!(played.plan.contains(word), "{word}\n{}", played.plan);
    }
    assert_eq!(played.events[0]["start"], "2026-12-04T18:00:00");
    assert_eq!(played.events[0]["title"], "Corporate team building event for 30 people");
}

#[tokio::test]
async fn a_missing_place_is_asked_for_once_and_the_budget_never() {
    for place in ["Seattle, WA", "Lisbon"] {
        let played = play(HOLIDAY, |_| Some(Decision::respond(place))).await;
        assert_eq!(kinds(&played), [("venue", RequestKind::Input)]);
        assert!(played.asked[0].1.prompt.contains("Where"));
        assert!(played.plan.contains(place), "{}", played.plan);
        assert_eq!(amounts(&played.plan).last(), Some(&5000.0));
        assert_adds_up(&played.plan);
        assert_eq!(
            played.plan.contains("Elliott Bay Ballroom"),
            place.contains("Seattle"),
            "{}",
            played.plan
        );
    }
}

#[tokio::test]
async fn other_requests_follow_the_same_rules() {
    let cases: [(&str, &[&str]); 11] = [
        ("Plan a wedding for 80 guests in Portland", &["venue", "budget"]),
        ("Organise a birthday party for 12 kids in Boston, $600", &["catering"]),
        ("Plan a dinner for 10 people, vegan, budget 2k", &["venue"]),
        ("Plan a lunch for 25 people in Denver on 2026-02-30, $2,500, halal", &[]),
        ("Plan a conference for 400 people in Chicago, budget $20000", &[]),
        ("Plan a party for 0 people in Austin with $10 and no allergies", &[]),
        ("Let me choose: a gala for 90 people in Paris for $30000", &["venue"]),
        ("hello", &[]),
        ("{{ nobody }} {% if %}", &[]),
        ("Plan a party for 99999999999999999999 people for $99999999999999999999 in Rome", &[]),
        ("Plan a party for 5 people, budget $0", &["venue", "budget", "catering"]),
    ];
    for (input, askers) in cases {
        let played = play(input, answers(0, Decision::approve())).await;
        let asked: Vec<&str> = played.asked.iter().map(|(agent, _)| agent.as_str()).collect();
        assert_eq!(asked, askers, "{input}");
        let entered = played.events.as_array().is_some_and(|events| !events.is_empty());
        assert_eq!(entered, input.contains(" for "), "only events go into the calendar: {input}");
        assert_adds_up(&played.plan);
    }
}

#[tokio::test]
async fn an_earlier_run_of_the_conversation_does_not_show_through() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::new(PARTY, dir.path());
    run.messages.push(Message::assistant("coordinator", "# An earlier plan"));
    run.messages.push(Message::assistant("coordinator", "Today's date is 2026-11-15."));
    run.messages.push(Message::user(TEAM));
    let text = run.turn("venue", &nobody).await;
    assert!(text.contains("Pioneer Loft"), "{text}");
}

#[test]
fn the_example_is_valid() {
    let (workflow, _) = load();
    assert_eq!(workflow.id, "event_planner");
    assert_eq!(workflow.samples, [PARTY, TEAM, HOLIDAY]);
    for (name, agent) in &workflow.agents {
        let lines = agent.instructions.lines().count();
        assert!((60..=120).contains(&lines), "the prompt of {name} has {lines} lines");
    }
}
