//! Terminal clients that send only text: from the first word to the last, over crashes, apart from each other.

use serde_json::{Value, json};

use crate::qlaw::Qlaw;
use crate::support::{PARTY, Place, text};

const ORDER: &str =
    "I need help with order 12345. I want a replacement and need to know when it will arrive.";

#[tokio::test]
async fn a_customer_is_served_from_the_first_text_to_the_end() {
    let server = Place::new().serve();
    let qlaw = Qlaw::new(&server, "/bridge", "support_handoff");
    let first = qlaw.say(ORDER).await;
    insta::assert_snapshot!(first, @r#"
    Triage: Thank you for writing. I pass you to our replacement specialist, who takes care of order 12345.

    Replacement specialist: I can arrange a replacement for order 12345. Please send me a photo of the damage, or tell me in a sentence why you need it replaced.
    "#);
    let second = qlaw.say("It arrived broken").await;
    insta::assert_snapshot!(second, @r#"
    Replacement specialist: Thank you. You wrote: "It arrived broken" That is reason enough: the replacement for order 12345 is approved. My colleague arranges the delivery.

    Delivery specialist: Where should the replacement for order 12345 go? Please give me the full address.
    "#);
    let third = qlaw.say("1 Main Street, Springfield").await;
    insta::assert_snapshot!(third, @r#"
    Delivery specialist: Confirmed: the replacement for order 12345 goes to 1 Main Street, Springfield.
    It arrives within three working days, and you get a message with a link when it leaves.
    "#);
    let pending = server.read("/v1/requests/count?status=pending").await;
    assert_eq!(pending["count"], 0, "nothing waits");
    let runs = server.read("/v1/runs").await;
    assert_eq!(
        (runs["data"].as_array().unwrap().len(), &runs["data"][0]["status"]),
        (1, &json!("completed"))
    );
    // The next text begins anew, in the same conversation.
    let next = qlaw.say("Where is my order 98765?").await;
    assert!(next.starts_with("Triage: Thank you for writing."), "{next}");
    let runs = server.read("/v1/runs").await;
    assert_eq!(runs["data"][0]["continues"], runs["data"][1]["id"]);
}

#[tokio::test]
async fn choices_approvals_and_data_read_well() {
    let server = Place::new().serve();
    let qlaw = Qlaw::new(&server, "/bridge/", "event_planner");
    let venue = qlaw.say(PARTY).await;
    insta::assert_snapshot!(venue, @r#"
    Venue specialist: Looking for venues for 30 people.

    I found three venues for 30 people. Which one do you prefer?
      1. Union Hall: Plain, bright hall with a kitchen and a courtyard. Up to 60 guests, $600 for the evening.
      2. The Glasshouse: Former greenhouse with plants, a bar and sound. Up to 80 guests, $1,500 for the evening.
      3. Grand Meridian Ballroom: Classic ballroom with stage, cloakroom and own staff. Up to 200 guests, $2,400 for the evening.
      event: Party for 30 people
      guests: 30
    (a number or a name)
    "#);
    let wrong = qlaw.say("the moon").await;
    insta::assert_snapshot!(wrong, @r#"
    (Not used: the answer does not fit: "the moon" is not one of "Union Hall", "The Glasshouse" or "Grand Meridian Ballroom"; accepted: 1 (Union Hall), 2 (The Glasshouse), 3 (Grand Meridian Ballroom).)

    I found three venues for 30 people. Which one do you prefer?
      1. Union Hall: Plain, bright hall with a kitchen and a courtyard. Up to 60 guests, $600 for the evening.
      2. The Glasshouse: Former greenhouse with plants, a bar and sound. Up to 80 guests, $1,500 for the evening.
      3. Grand Meridian Ballroom: Classic ballroom with stage, cloakroom and own staff. Up to 200 guests, $2,400 for the evening.
      event: Party for 30 people
      guests: 30
    (a number or a name)
    "#);
    let budget = qlaw.say("2").await;
    insta::assert_snapshot!(budget, @r#"


    No budget was given. For 30 people at The Glasshouse I propose $3,000, about $100 per person. Do you approve this allocation? You can change any amount.
      {
        "venue": 1500,
        "catering": 750,
        "av": 150,
        "decor": 120,
        "staff": 120,
        "contingency": 360,
        "total": 3000
      }
      event: Party for 30 people
      guests: 30
      venue: The Glasshouse
      currency: USD
    (yes / the changed value as JSON / no, REASON)
    "#);
    let diet = qlaw.say("yes").await;
    insta::assert_snapshot!(diet, @r#"


    Are there dietary needs or allergies among your guests? For example vegetarian, vegan, gluten-free, nut allergy, or none.
      event: Party for 30 people
      guests: 30
      catering_budget: 750
    "#);
    let plan = qlaw.say("vegan").await;
    insta::assert_snapshot!(plan, @r#"
    Catering coordinator: Looking for caterers at up to $25 per person.

    Logistics manager: Checking the weather for Saturday, 19 December 2026.

    Event coordinator: # Party for 30 people

    ## Executive summary

    30 guests at **The Glasshouse** on **Saturday, 19 December 2026**, 18:00 to 22:00, for **$3,000** in total, about $100 per person. Catering: Green Fork Catering, vegan.

    ## Venue

    **The Glasshouse**, city centre. Former greenhouse with plants, a bar and sound. Up to 80 guests, $1,500 for the evening. Chosen by you.

    ## Budget

    As approved by you.

    | Item | Amount |
    |---|---:|
    | Venue | $1,500 |
    | Catering | $750 |
    | Technology | $150 |
    | Decoration | $120 |
    | Staff | $120 |
    | Contingency | $360 |
    | **Total** | **$3,000** |

    ## Catering

    Green Fork Catering: a warm buffet, $25 per person, $750 for 30 guests. Diet: **vegan**.

    ## Logistics

    - 16:00 set-up
    - 17:00 caterer arrives
    - 18:00 doors open
    - 22:00 end; clean-up in the hour after
    - Weather: fair, around 18 °C, and mostly dry
    - Calendar: entered

    ## Next steps

    1. Book The Glasshouse for Saturday, 19 December 2026.
    2. Confirm Green Fork Catering and the diet list (vegan) a week before.
    3. Send the invitation below.

    ## Trade-offs

    - No city was named; the venue is in the city centre.
    - No date was given; Saturday, 19 December 2026 leaves time to prepare.
    - $360 stay in reserve for what nobody thought of.

    ## Invitation

    > You are invited: Party for 30 people. Saturday, 19 December 2026, 18:00 to 22:00, The Glasshouse. Food and drinks are taken care of; tell us what you cannot eat. Please reply by Saturday, 12 December 2026.
    "#);
}

/// All that such a client may be sent.
fn is_harmless(event: &Value) -> bool {
    let kind = event["type"].as_str().unwrap_or_default();
    let known = [
        "response.created",
        "response.output_text.delta",
        "response.trace.complete",
        "error",
        "response.completed",
    ];
    known.contains(&kind)
        && event["text"].is_null()
        && event["content"].is_null()
        && (event["delta"].is_null() || kind == "response.output_text.delta")
}

#[tokio::test]
async fn nothing_is_sent_that_would_leak() {
    let server = Place::new().serve();
    let qlaw = Qlaw::new(&server, "/bridge", "event_planner");
    for said in [PARTY, "2", "yes", "vegan", "!help", "!list"] {
        let mut coming = qlaw.send(said).await;
        coming.run_out().await;
        assert!(coming.events.iter().all(is_harmless), "{:?}", coming.events);
        assert_eq!(coming.events[0]["type"], "response.created");
        assert_eq!(coming.events.last().unwrap()["type"], "response.completed");
    }
}

#[tokio::test]
async fn it_goes_on_after_a_crash() {
    let place = Place::new();
    let server = place.serve();
    let qlaw = Qlaw::new(&server, "/bridge", "support_handoff");
    let first = qlaw.say(ORDER).await;
    assert!(first.contains("photo of the damage"), "{first}");
    assert!(server.process.kill().was_killed());
    let server = place.serve();
    let qlaw = qlaw.at(&server);
    let listed = qlaw.say("!list").await;
    assert!(listed.contains("photo of the damage"), "{listed}");
    let second = qlaw.say("It arrived broken").await;
    assert!(second.contains("Please give me the full address"), "{second}");
    let third = qlaw.say("1 Main Street").await;
    assert!(third.contains("Confirmed") && third.contains("1 Main Street"), "{third}");
    let runs = server.read("/v1/runs").await;
    assert_eq!(runs["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_turn_loses_nothing() {
    let place = Place::new();
    let server = place.serve();
    let qlaw = Qlaw::new(&server, "/bridge", "slow");
    let mut coming = qlaw.send("hi").await;
    assert!(coming.shown.is_empty());
    assert!(server.process.kill().was_killed());
    coming.run_out().await;
    let server = place.serve();
    let after = qlaw.at(&server).say("are you there?").await;
    assert!(after.contains("your text was not used") && after.contains("done"), "{after}");
    assert_eq!(server.read("/v1/runs").await["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn sessions_models_and_names_are_apart() {
    let server = Place::new().serve();
    let terminals = [
        ("/bridge", "ask"),
        ("/bridge/alice", "ask"),
        ("/bridge/bob", "ask"),
        ("/bridge/alice", "ask:other"),
        ("/bridge/ali/ce", "ask"),
    ];
    for (base, model) in &terminals[..4] {
        let shown = Qlaw::new(&server, base, model).say("hi").await;
        assert!(shown.contains("Well?") && shown.contains("yes / "), "{shown}");
    }
    let (base, model) = terminals[4];
    let lost = Qlaw::new(&server, base, model).say("hi").await;
    assert!(
        lost.starts_with("[Error] HTTP 404 Not Found - {\"error\":{\"code\":\"unknown_route\""),
        "{lost}"
    );
    let count = |status: &str| {
        let (server, path) = (server.client.clone(), format!("/v1/requests/count?status={status}"));
        async move { server.read(&path).await["count"].as_u64().unwrap() }
    };
    assert_eq!(count("pending").await, 4);
    // Basic and no credentials are one and the same person, as long as there are no users.
    let answered =
        Qlaw::new(&server, "/bridge/alice", "ask").with_name("qlaw", "tok").say("yes").await;
    assert!(answered.contains("approve"), "this is what it gives: {answered}");
    assert_eq!((count("pending").await, count("decided").await), (3, 1));
    let unknown = Qlaw::new(&server, "/bridge", "asc").say("hi").await;
    assert!(
        unknown.contains("[Error] HTTP 404") && unknown.contains("did you mean `ask`?"),
        "{unknown}"
    );
}

#[tokio::test]
async fn a_terminal_that_is_closed_stops_nothing() {
    let server = Place::new().serve();
    let qlaw = Qlaw::new(&server, "/bridge", "slow");
    drop(qlaw.send("hi").await);
    let run = text(&server.read("/v1/runs").await["data"][0]["id"]);
    assert_eq!(server.at_rest(&run).await["status"], "completed");
}

#[tokio::test]
async fn words_are_shown_as_they_come_and_once() {
    let place = Place::new();
    let flow = "workflow: talker\npattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: Talk. }\n";
    std::fs::write(place.path("flows/talker.yaml"), flow).unwrap();
    let script = "- { text: 'one two three four', chunk: 4, pace: 500ms }\n";
    std::fs::write(place.path("flows/talker.script.yaml"), script).unwrap();
    let server = place.serve();
    let mut coming = Qlaw::new(&server, "/bridge", "talker").send("hi").await;
    coming.until("a: one").await;
    assert!(!coming.shown.contains("four"), "{}", coming.shown);
    let run = &server.read("/v1/runs").await["data"][0];
    assert_eq!(run["status"], "running", "it is shown before it is said");
    assert_eq!(coming.rest().await, "a: one two three four");
}

#[tokio::test]
async fn a_second_terminal_follows_a_run_that_is_busy() {
    let server = Place::new().serve();
    let qlaw = Qlaw::new(&server, "/bridge", "slow");
    let first = qlaw.send("hi").await;
    let second = qlaw.say("and now?").await;
    let first = first.rest().await;
    assert_eq!(first, "a: done");
    assert_eq!(
        second,
        "(It is still at work; your text was not used. It goes on like this.)\n\na: done"
    );
    assert_eq!(server.read("/v1/runs").await["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_client_may_have_it_in_one_piece() {
    let server = Place::new().serve();
    let body = json!({ "model": "ask", "input": "hi", "stream": false });
    let (status, whole) = server.post("/bridge/v1/responses", &body).await;
    assert_eq!((status, &whole["status"]), (200, &json!("completed")), "{whole}");
    let said = text(&whole["output"][0]["content"][0]["text"]);
    assert!(said.starts_with("Well?"), "{said}");
    let request = &whole["requests"][0];
    assert_eq!(
        server.read(&format!("/v1/requests/{}", text(&request["request_id"]))).await["prompt"],
        "Well?"
    );
    let agents = server.read("/bridge/v1/agents?project_endpoint=https%3A%2F%2Fx").await;
    let ids: Vec<&Value> = agents.as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert!(ids.contains(&&json!("event_planner")), "{agents}");
    let runs = server.read("/bridge/v1/workflows/ask/runs").await;
    assert_eq!(runs[0]["status"], "waiting");
    let run = text(&runs[0]["id"]);
    assert_eq!(server.read(&format!("/bridge/v1/runs/{run}/status")).await, runs[0]);
    for bad in [
        json!({ "model": "ask" }),
        json!({ "model": "ask", "input": ["hi"] }),
        json!({ "input": "hi" }),
    ] {
        assert_eq!(server.post("/bridge/v1/responses", &bad).await.0, 400, "{bad}");
    }
}
