//! Steps that are undone, and approvals of steps that are remembered.

use serde_json::{Value, json};

use crate::support::{Place, Server, text};

const CONFIG: &str = "[tools.files]\nroot = \"workspace\"\n[tools.command]\nallow = [\"echo\"]\n";
const WORK: &str = "\
- { agent: worker, turn: 1, call: [{ tool: write_file, arguments: { path: a.txt, content: new } }] }
- { agent: worker, turn: 2, call: [{ tool: edit_file, arguments: { path: b.txt, old_text: left, new_text: right } }, \
{ tool: write_file, arguments: { path: d.txt, content: fresh } }] }
- { agent: worker, turn: 3, call: [{ tool: delete_file, arguments: { path: c.txt } }, \
{ tool: run_command, arguments: { argv: [echo, hi] } }] }
- { agent: worker, turn: 4, json: { done: true } }
- { agent: worker, turn: 5, call: [{ tool: write_file, arguments: { path: a.txt, content: newer } }] }
- { agent: worker, json: { again: true } }
";

/// A worker with a plan of these steps, who is asked about as `control` and `gates` say.
fn worker(place: &Place, steps: &[&str], settings: &str, script: &str) -> Server {
    std::fs::create_dir_all(place.path("workspace")).unwrap();
    std::fs::write(place.path("signoff.toml"), CONFIG).unwrap();
    let flow = format!(
        "workflow: work\npattern: phases\nagents:\n  planner: {{ instructions: Plan. }}\n  \
         worker: {{ instructions: Work., output: {{ type: object }}, tools: [write_file, edit_file, delete_file, run_command] }}\n{settings}"
    );
    std::fs::write(place.path("flows/work.yaml"), flow).unwrap();
    let step = |title: &&str| json!({ "title": title, "detail": "so", "agent": "worker" });
    let plan = json!({ "steps": steps.iter().map(step).collect::<Vec<_>>() });
    let script = format!("- {{ agent: planner, json: {plan} }}\n{script}");
    std::fs::write(place.path("flows/work.script.yaml"), script).unwrap();
    place.serve()
}

fn phases(planning: &str, control: &str) -> String {
    format!(
        "phases:\n  planning: {{ planner: planner, {planning} }}\n  control: {{ workers: [worker], {control} }}\n"
    )
}

async fn waits(server: &Server, run: &str, kind: &str) -> Value {
    let id = server.pending(run).await;
    let request = server.read(&format!("/v1/requests/{id}")).await;
    assert_eq!(request["kind"], kind, "{request}");
    request
}

async fn decide(server: &Server, request: &Value, decision: Value) {
    let (status, answer) = server.decide(&text(&request["id"]), &decision).await;
    assert_eq!(status, 200, "{answer}");
}

fn files(place: &Place) -> Vec<Option<String>> {
    let read = |name: &str| std::fs::read_to_string(place.path(&format!("workspace/{name}"))).ok();
    ["a.txt", "b.txt", "c.txt", "d.txt"].map(read).into()
}

fn some(texts: [&str; 4]) -> Vec<Option<String>> {
    texts.map(|it| (!it.is_empty()).then(|| it.to_owned())).into()
}

#[tokio::test]
async fn a_step_is_undone_over_a_crash_and_done_again() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("workspace")).unwrap();
    for (name, content) in [("a.txt", "old"), ("b.txt", "go left"), ("c.txt", "keep me")] {
        std::fs::write(place.path(&format!("workspace/{name}")), content).unwrap();
    }
    let settings = phases("ask: false", "approval: after_step");
    let server = worker(&place, &["One"], &settings, WORK);
    let run = server.start("work", "go").await;
    let after = waits(&server, &run, "step_after").await;
    assert_eq!(after["allowed"], json!(["approve", "redo", "revise", "rollback", "abort"]));
    assert_eq!(files(&place), some(["new", "go right", "", "fresh"]));
    server.process.kill();
    let server = place.serve();
    decide(&server, &after, json!({ "decision": "rollback", "feedback": "not so" })).await;
    let undone = waits(&server, &run, "step_after").await;
    assert_eq!(files(&place), some(["old", "go left", "keep me", ""]), "{undone}");
    assert_eq!(undone["allowed"], json!(["redo", "revise", "skip", "abort"]));
    let came = &undone["context"]["rolled_back"];
    let tools: Vec<String> =
        came["undone"].as_array().unwrap().iter().map(|it| text(&it["tool"])).collect();
    assert_eq!(tools.len(), 4, "{came}");
    assert_eq!(tools.last().unwrap(), "write_file", "the first is undone last");
    let left = &came["not_undone"];
    assert_eq!(
        (&left[0]["tool"], &left[0]["code"]),
        (&json!("run_command"), &json!("cannot_undo"))
    );
    assert!(text(&undone["prompt"]).contains("4 of 5"), "{undone}");
    // Killed again: what was undone is not undone twice, and the same question waits.
    server.process.kill();
    let server = place.serve();
    std::fs::write(place.path("workspace/b.txt"), "mine").unwrap();
    decide(&server, &undone, json!({ "decision": "redo" })).await;
    let again = waits(&server, &run, "step_after").await;
    assert_eq!(files(&place), some(["newer", "mine", "keep me", ""]));
    // Somebody else has changed it since: it is left alone, and that is said.
    std::fs::write(place.path("workspace/a.txt"), "by hand").unwrap();
    decide(&server, &again, json!({ "decision": "rollback" })).await;
    let left = waits(&server, &run, "step_after").await;
    assert_eq!(left["context"]["rolled_back"]["undone"], json!([]), "only what was done since");
    assert_eq!(left["context"]["rolled_back"]["not_undone"][0]["code"], "file_changed");
    assert_eq!(files(&place)[0].as_deref(), Some("by hand"));
    decide(&server, &left, json!({ "decision": "skip" })).await;
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["output"]["steps"][0]["status"], "skipped");
    let journal = server.journal(&run).await;
    let undos = |entry: &&Value| {
        let key = text(&entry["key"]);
        key.contains("/undo") && !key.contains("/undone")
    };
    let undos = journal.iter().filter(|entry| entry["type"] == "effect").filter(undos).count();
    assert_eq!(undos, 5 + 1, "each undo is in the journal once");
}

#[tokio::test]
async fn a_step_that_failed_is_undone() {
    let place = Place::new();
    let script = "\
- { agent: worker, turn: 1, call: [{ tool: write_file, arguments: { path: d.txt, content: half } }] }
- { agent: worker, turn: 2, json: { error: it went wrong } }
- { agent: worker, json: { done: true } }
";
    let settings = phases("ask: false", "approval: on_error");
    let server = worker(&place, &["One"], &settings, script);
    let run = server.start("work", "go").await;
    let failed = waits(&server, &run, "step_error").await;
    assert_eq!(failed["allowed"], json!(["retry", "skip", "rollback", "abort"]));
    decide(&server, &failed, json!({ "decision": "rollback" })).await;
    let undone = waits(&server, &run, "step_error").await;
    assert_eq!(files(&place)[3], None);
    assert_eq!(undone["allowed"], json!(["retry", "skip", "abort"]));
    decide(&server, &undone, json!({ "decision": "retry" })).await;
    assert_eq!(server.at_rest(&run).await["status"], "completed");
}

#[tokio::test]
async fn an_approval_of_a_step_is_remembered_and_one_of_a_plan_is_refused() {
    let said = "- { agent: worker, json: { done: true } }\n";
    let always = "gates:\n  - { name: look, when: action.kind == 'step_before' }\n";
    let plain = phases("ask: true", "approval: before_step");
    for (gates, remember, asked) in [
        ("", json!("run"), 3),
        ("", json!({ "reach": "run", "arguments": {} }), 1),
        ("", json!({ "reach": "run", "arguments": {}, "times": 1 }), 2),
        ("", json!({ "reach": "run", "arguments": { "title": { "prefix": "T" } } }), 1),
        ("", json!({ "reach": "run", "arguments": { "title": "Two" } }), 2),
        (always, json!({ "reach": "run", "arguments": {} }), 3),
    ] {
        let place = Place::new();
        let server = worker(&place, &["Take", "Two", "Three"], &format!("{plain}{gates}"), said);
        let run = server.start("work", "go").await;
        let plan = waits(&server, &run, "plan_review").await;
        let wish = json!({ "decision": "approve", "remember": "run" });
        let (status, refused) = server.decide(&text(&plan["id"]), &wish).await;
        assert_eq!((status, &refused["error"]["code"]), (422, &json!("invalid_answer")));
        assert!(text(&refused["error"]["message"]).contains("a plan is approved as it is"));
        decide(&server, &plan, json!({ "decision": "approve" })).await;
        let first = waits(&server, &run, "step_before").await;
        decide(&server, &first, json!({ "decision": "approve", "remember": remember })).await;
        let mut questions = 1;
        while server.at_rest(&run).await["status"] == "waiting" {
            let next = waits(&server, &run, "step_before").await;
            decide(&server, &next, json!({ "decision": "approve" })).await;
            questions += 1;
        }
        assert_eq!(questions, asked, "{gates} {remember}");
        let done = server.read(&format!("/v1/runs/{run}")).await;
        assert_eq!(done["status"], "completed", "{done}");
    }
}
