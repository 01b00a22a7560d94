//! Gates before tool calls, from the request to what the agent is told.

use serde_json::{Value, json};

use crate::support::{Place, Server, text};

/// A clerk who writes a file and says what came of it; `gates` as YAML.
pub(crate) fn clerk(place: &Place, gates: &str, calls: &str) -> Server {
    describe(place, gates, calls);
    place.serve()
}

/// What a server must find for such a clerk.
pub(crate) fn describe(place: &Place, gates: &str, calls: &str) {
    std::fs::create_dir_all(place.path("workspace")).unwrap();
    let config = "[tools.files]\nroot = \"workspace\"\n[tools.command]\nallow = [\"bash\", \"ls\", \"echo\", \"rm\"]\n";
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    let flow = format!(
        "workflow: clerk\npattern: sequential\nsequential: {{ agents: [clerk] }}\nagents:\n  \
         clerk: {{ instructions: Work., tools: [write_file, delete_file, read_file, run_command] }}\ngates:\n{gates}"
    );
    std::fs::write(place.path("flows/clerk.yaml"), flow).unwrap();
    std::fs::write(place.path("flows/clerk.script.yaml"), calls).unwrap();
}

pub(crate) const WRITE: &str = "- { turn: 1, call: [{ tool: write_file, arguments: { path: a.txt, content: hello } }] }\n- { turn: 2, text: done }\n";
const EDITS: &str = "  - { name: before_file_edit }\n";

/// What the last tool result said.
async fn told(server: &Server, run: &str) -> Value {
    let journal = server.journal(run).await;
    let ended = |entry: &&Value| entry["type"] == "effect" && entry["kind"] != "model";
    journal.iter().rfind(ended).unwrap()["outcome"].clone()
}

#[tokio::test]
async fn a_call_waits_for_a_person_and_is_made_once() {
    let place = Place::new();
    let server = clerk(&place, EDITS, WRITE);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    let found = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!((&found["kind"], &found["risk"]), (&json!("tool_call"), &json!("high")));
    assert_eq!(found["context"]["proposal"], json!({ "path": "a.txt", "content": "hello" }));
    assert!(found["preview"]["diff"].as_str().unwrap().contains("+hello"), "{found}");
    assert_eq!(found["reasons"], json!(["before_file_edit"]));
    assert!(!place.path("workspace/a.txt").exists(), "nothing is done before");
    // The server dies and comes back; the approval counts once.
    server.process.kill();
    let server = place.serve();
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(std::fs::read_to_string(place.path("workspace/a.txt")).unwrap(), "hello");
    let journal = server.journal(&run).await;
    let gated: Vec<_> = journal.iter().filter(|entry| entry["type"] == "gated").collect();
    assert_eq!(gated.first().unwrap()["outcome"], "ask");
    assert_eq!(gated.last().unwrap()["outcome"], "allow", "judged again before it was done");
}

#[tokio::test]
async fn what_is_denied_is_not_done_and_not_asked_again() {
    let place = Place::new();
    let twice = "- { turn: 1, call: [{ tool: write_file, arguments: { path: a.txt, content: x } }] }\n\
                 - { turn: 2, call: [{ tool: write_file, arguments: { path: a.txt, content: x } }] }\n\
                 - { turn: 3, text: done }\n";
    let server = clerk(&place, EDITS, twice);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    let reject = json!({ "decision": "reject", "reason": "not there", "then": "continue" });
    assert_eq!(server.decide(&request, &reject).await.0, 200);
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "the same call again is not asked: {done}");
    assert!(!place.path("workspace/a.txt").exists());
    let last = told(&server, &run).await;
    assert_eq!(last["err"]["code"], "denied", "{last}");
    assert!(text(&last["err"]["message"]).contains("denied exactly this before"), "{last}");
}

/// What its preview pinned is no part of what a call is known by.
#[tokio::test]
async fn a_call_on_a_file_that_failed_is_known_the_next_time() {
    let place = Place::new();
    let call = |turn: u32| {
        format!(
            "- {{ turn: {turn}, call: [{{ tool: write_file, arguments: {{ path: a.txt, content: x }} }}] }}\n"
        )
    };
    let gates =
        format!("{EDITS}  - {{ name: again, when: action.counts.failures > 0, ask: deny }}\n");
    let calls = format!("{}{}- {{ turn: 3, text: done }}\n", call(1), call(2));
    let server = clerk(&place, &gates, &calls);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    std::fs::write(place.path("workspace/a.txt"), "meanwhile").unwrap();
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "nobody is asked again: {done}");
    let last = told(&server, &run).await;
    assert!(text(&last["err"]["message"]).contains("again"), "{last}");
    assert_eq!(std::fs::read_to_string(place.path("workspace/a.txt")).unwrap(), "meanwhile");
}

#[tokio::test]
async fn a_tool_that_is_denied_five_times_in_a_row_is_not_asked_for_again() {
    let place = Place::new();
    let call = |n: u32| {
        format!(
            "- {{ turn: {n}, call: [{{ tool: write_file, arguments: {{ path: f{n}.txt, content: x }} }}] }}\n"
        )
    };
    let calls: String = (1..=6).map(call).collect();
    let server = clerk(&place, EDITS, &format!("{calls}- {{ turn: 7, text: done }}\n"));
    let run = server.start("clerk", "go").await;
    for n in 1..=5 {
        let request = server.pending(&run).await;
        assert!(request.ends_with(&format!("_{n}")), "{request}");
        let (status, told) = server.decide(&request, &json!({ "decision": "reject" })).await;
        assert_eq!(status, 200, "{told}");
    }
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "nobody is asked a sixth time: {done}");
    assert!(told(&server, &run).await.to_string().contains("denied"));
    assert_eq!(std::fs::read_dir(place.path("workspace")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_person_may_change_answer_or_skip_it() {
    for (decision, expected, written) in [
        (
            json!({ "decision": "edit", "value": { "path": "b.txt", "content": "better" } }),
            "changed the arguments",
            Some(("b.txt", "better")),
        ),
        (json!({ "decision": "respond", "content": "it is there already" }), "there already", None),
        (json!({ "decision": "skip", "reason": "later" }), "later", None),
    ] {
        let place = Place::new();
        let server = clerk(&place, EDITS, WRITE);
        let run = server.start("clerk", "go").await;
        let request = server.pending(&run).await;
        let wrong = json!({ "decision": "edit", "value": { "path": 7 } });
        let (status, refused) = server.decide(&request, &wrong).await;
        assert_eq!((status, &refused["error"]["code"]), (422, &json!("invalid_answer")));
        assert_eq!(server.decide(&request, &decision).await.0, 200);
        assert_eq!(server.at_rest(&run).await["status"], "completed");
        let last = told(&server, &run).await;
        assert!(last.to_string().contains(expected), "{last}");
        assert!(!place.path("workspace/a.txt").exists());
        if let Some((name, content)) = written {
            let path = place.path(&format!("workspace/{name}"));
            assert_eq!(std::fs::read_to_string(path).unwrap(), content);
        }
    }
}

#[tokio::test]
async fn a_riskier_change_is_asked_again() {
    let place = Place::new();
    let gates = "  - { name: all, when: action.kind == 'tool', ask: smart }\n  - { name: before_file_edit }\n";
    let server = clerk(&place, gates, WRITE);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    let riskier =
        json!({ "decision": "edit", "value": { "path": "production.txt", "content": "x" } });
    assert_eq!(server.decide(&request, &riskier).await.0, 200);
    let again = server.pending(&run).await;
    assert_ne!(again, request);
    let found = server.read(&format!("/v1/requests/{again}")).await;
    assert!(found["reasons"].to_string().contains("keyword"), "{found}");
    assert!(!place.path("workspace/production.txt").exists());
    assert_eq!(server.decide(&again, &json!({ "decision": "approve" })).await.0, 200);
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    assert!(place.path("workspace/production.txt").exists());
}

#[tokio::test]
async fn a_file_written_by_a_shell_is_asked_for_too() {
    let place = Place::new();
    let call = r#"- { turn: 1, call: [{ tool: run_command, arguments: { argv: ["bash", "-c", "echo hi > a.txt"] } }] }
- { turn: 2, call: [{ tool: run_command, arguments: { argv: ["ls"] } }] }
- { turn: 3, text: done }
"#;
    let server = clerk(&place, EDITS, call);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    let found = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!(found["context"]["commands"], json!([["echo", "hi"]]));
    assert_eq!(found["context"]["targets"], json!(["a.txt"]));
    let reject = json!({ "decision": "reject", "then": "continue" });
    assert_eq!(server.decide(&request, &reject).await.0, 200);
    assert_eq!(server.at_rest(&run).await["status"], "completed", "looking is not asked for");
    assert!(!place.path("workspace/a.txt").exists());
}

#[tokio::test]
async fn a_gate_may_forbid_and_time_may_run_out() {
    let place = Place::new();
    let server = clerk(&place, "  - { name: before_file_edit, ask: deny }\n", WRITE);
    let run = server.start("clerk", "go").await;
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    assert_eq!(told(&server, &run).await["err"]["code"], "denied");
    assert!(!place.path("workspace/a.txt").exists());

    let place = Place::new();
    let server = clerk(&place, "  - { name: before_file_edit, within: 200ms }\n", WRITE);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    loop {
        let found = server.read(&format!("/v1/runs/{run}")).await;
        if found["status"] == "completed" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let last = told(&server, &run).await;
    assert_eq!(last["err"]["code"], "could_not_ask", "{last}");
    assert!(!place.path("workspace/a.txt").exists());
    let (status, late) = server.decide(&request, &json!({ "decision": "approve" })).await;
    assert!([409, 410].contains(&status), "{late}");
}

#[tokio::test]
async fn people_are_shown_what_a_call_costs() {
    let place = Place::new();
    let flow = "workflow: buyer\npattern: sequential\nsequential: { agents: [buyer] }\n\
        agents: { buyer: { instructions: Buy., tools: [order, stamp] } }\n\
        tools:\n  order: { description: Orders., replies: [{ reply: ordered }] }\n  \
        stamp: { description: Stamps., replies: [{ reply: stamped }] }\n\
        costs:\n  order: { amount: double(arguments.pieces) * 2.5, unit: EUR }\n  stamp: { amount: 0.95, unit: EUR }\n\
        gates: [{ name: all, when: 'true' }]\n";
    std::fs::write(place.path("flows/buyer.yaml"), flow).unwrap();
    let script = "- { turn: 1, call: [{ tool: order, arguments: { pieces: 15 } }] }\n\
        - { turn: 2, call: [{ tool: order, arguments: { pieces: many } }] }\n\
        - { turn: 3, call: [{ tool: stamp, arguments: {} }] }\n- { turn: 4, text: done }\n";
    std::fs::write(place.path("flows/buyer.script.yaml"), script).unwrap();
    let server = place.serve();
    let run = server.start("buyer", "go").await;
    let mut costs = Vec::new();
    for _ in 0..3 {
        let request = server.pending(&run).await;
        let found = server.read(&format!("/v1/requests/{request}")).await;
        costs.push(found["preview"]["cost"].clone());
        let shown = place.command(&["inbox", "show", &request, "--server", &server.url]).output();
        let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
        let words = ["cost: 37.5 EUR", "cost: not known in EUR: ", "cost: 0.95 EUR"];
        assert!(shown.contains(words[costs.len() - 1]), "{shown}");
        assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    }
    assert_eq!(costs[0], json!({ "amount": 37.5, "unit": "EUR" }));
    assert!(costs[1]["amount"].is_null() && costs[1]["unknown"].is_string(), "{costs:?}");
    assert_eq!(costs[2], json!({ "amount": 0.95, "unit": "EUR" }));
    assert_eq!(server.at_rest(&run).await["status"], "completed");
}

#[test]
fn costs_that_cannot_be_are_refused_with_their_place() {
    let place = Place::new();
    let flow = "workflow: buyer\npattern: sequential\nsequential: { agents: [buyer] }\n\
        agents: { buyer: { instructions: Buy., tools: [order] } }\n\
        tools:\n  order: { description: Orders., replies: [{ reply: ordered }] }\n\
        costs:\n  ordre: { amount: 1, unit: EUR }\n  order: { amount: argument.pieces, unit: EUR }\n";
    std::fs::write(place.path("flows/buyer.yaml"), flow).unwrap();
    let checked = place.command(&["check", "flows/buyer.yaml"]).output().unwrap();
    let said =
        String::from_utf8(checked.stderr).unwrap() + &String::from_utf8(checked.stdout).unwrap();
    assert!(!checked.status.success(), "{said}");
    assert!(said.contains("ordre") && said.contains("the expression is wrong"), "{said}");
}
