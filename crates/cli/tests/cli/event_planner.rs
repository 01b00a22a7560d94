//! The example of the contract: who asks what, and what the plan says.

use serde_json::{Value, json};

use crate::support::{COMPLETE, HOLIDAY, PARTY, Place};

fn asked(requests: &[Value]) -> Vec<(&str, &str)> {
    requests
        .iter()
        .map(|it| (it["agent_path"][0].as_str().unwrap(), it["kind"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_party_asks_three_times_and_the_plan_says_what_was_answered() {
    let place = Place::new();
    place.write("answers.yaml", "- The Glasshouse\n- decision: approve\n- vegan and nut-free\n");
    let args = ["run", "event_planner", PARTY, "--answers", "answers.yaml", "--json"];
    let output = place.run(&args).exits(0);
    let requests = output.requests();
    assert_eq!(
        asked(&requests),
        [("venue", "selection"), ("budget", "approval"), ("catering", "input")]
    );
    assert_eq!(requests[0]["options"].as_array().unwrap().len(), 3);
    let amounts = requests[1]["context"]["proposal"].as_object().unwrap();
    let events = output.events();
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("run.ended"), &json!("completed")));
    let plan = last["output"].as_str().unwrap();
    assert!(plan.contains("The Glasshouse") && plan.contains("vegan and nut-free"), "{plan}");
    assert!(!plan.contains("Union Hall"), "{plan}");
    for (name, amount) in amounts {
        let amount = thousands(amount.as_u64().unwrap());
        assert!(plan.contains(&format!("${amount}")), "{name} {amount}: {plan}");
    }
    let journal: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(
        journal,
        (1..=journal.len() as u64).collect::<Vec<_>>(),
        "each entry once, in order"
    );
    assert!(events.iter().all(|event| event["run"] == last["run"]));
    let calendar = place.path(".signoff/calendars/event_planning.ics");
    assert!(
        std::fs::read_to_string(calendar).unwrap().contains("SUMMARY"),
        "it is in the calendar"
    );
}

fn thousands(n: u64) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) }
}

#[test]
fn edited_amounts_are_in_the_plan() {
    let place = Place::new();
    let edited = json!({
        "venue": 600, "catering": 777, "av": 10, "decor": 10, "staff": 10, "contingency": 93, "total": 1500
    });
    let answers = json!([
        { "match": { "agent": "venue" }, "answer": 1 },
        { "match": { "kind": "approval" }, "decision": "edit", "value": edited },
        { "match": { "prompt": "dietary" }, "answer": "halal" },
    ]);
    place.write("answers.json", answers.to_string());
    let output = place.run(&["run", "event_planner", PARTY, "--answers", "answers.json"]).exits(0);
    for part in ["Union Hall", "$777", "$1,500", "halal"] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
    assert!(output.stdout.starts_with("# Party for 30 people"), "only the plan: {}", output.stdout);
    assert!(output.stderr.contains("Venue specialist is working…"), "{}", output.stderr);
}

#[test]
fn what_was_said_is_not_asked() {
    let place = Place::new();
    let output = place.run(&["run", "event_planner", COMPLETE, "--json"]).exits(0);
    assert!(output.requests().is_empty());
    let plan = output.events().pop().unwrap()["output"].as_str().unwrap().to_owned();
    for part in ["$3,000", "Seattle", "vegetarian and gluten-free"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
}

#[test]
fn only_the_place_is_asked_where_only_the_place_is_missing() {
    let place = Place::new();
    place.write("answers.yaml", "- downtown Portland\n");
    let args = ["run", "event_planner", HOLIDAY, "--answers", "answers.yaml", "--json"];
    let output = place.run(&args).exits(0);
    assert_eq!(asked(&output.requests()), [("venue", "input")]);
    let plan = output.events().pop().unwrap()["output"].as_str().unwrap().to_owned();
    assert!(plan.contains("Portland") && plan.contains("$5,000"), "{plan}");
}

#[test]
fn answers_are_typed_and_wrong_ones_are_asked_again() {
    let place = Place::new();
    let typed = "the moon\n\n?\n3\nyes, if it is cheaper\ne catering=900\nvegan\n";
    let output = place.run_with(&["run", "event_planner", PARTY], typed).exits(0);
    assert!(output.stderr.contains("\"the moon\" is not one of"), "{}", output.stderr);
    assert!(output.stderr.contains("accepted: 1 (Union Hall)"), "{}", output.stderr);
    assert!(output.stdout.contains("Grand Meridian Ballroom"), "{}", output.stdout);
    assert!(output.stdout.contains("| Catering | $900 |"), "{}", output.stdout);
}
