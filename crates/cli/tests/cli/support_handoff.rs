//! The support example of the contract: who hands to whom, who asks, and how it ends.

use serde_json::{Value, json};

use crate::support::Place;

#[test]
fn the_conversation_goes_from_triage_to_delivery() {
    let place = Place::new();
    place.write("answers.yaml", "- The screen is cracked\n- 12 Main Street, Springfield\n");
    let input =
        "I need help with order 12345. I want a replacement and need to know when it will arrive.";
    let args = ["run", "support_handoff", input, "--answers", "answers.yaml", "--json"];
    let output = place.run(&args).exits(0);
    let requests = output.requests();
    let asked: Vec<&str> =
        requests.iter().map(|it| it["agent_path"][0].as_str().unwrap()).collect();
    assert_eq!(asked, ["replacement", "delivery"]);
    assert!(requests[0]["prompt"].as_str().unwrap().contains("photo"), "{}", requests[0]);
    assert!(requests[1]["prompt"].as_str().unwrap().contains("address"), "{}", requests[1]);
    let events = output.events();
    let last = events.last().unwrap();
    assert_eq!(last["status"], "completed");
    assert_eq!(last["output"]["ended_by"], "condition");
    let conversation = last["output"]["conversation"].as_array().unwrap();
    let authors: Vec<&Value> = conversation.iter().map(|message| &message["author"]).collect();
    let expected = json!([
        null,
        "triage",
        "replacement",
        "local",
        "replacement",
        "delivery",
        "local",
        "delivery"
    ]);
    assert_eq!(json!(authors), expected);
    assert!(!last["output"].to_string().contains("handoff_to_"), "no internal chatter");
    let inbox = place.run(&["inbox", "list", "--json"]).exits(0);
    assert!(!inbox.stdout.contains("req_"), "nothing is pending: {}", inbox.stdout);
}
