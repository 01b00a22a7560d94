//! Phases over HTTP: the research task as it comes, killed in between; feedback; what is refused.

use serde_json::{Value, json};

use crate::support::{Place, Server, text};

const TASK: &str = "Analyse the sales data and report";

/// What waits in a run.
async fn waits(server: &Server, run: &str) -> Value {
    let id = server.pending(run).await;
    server.read(&format!("/v1/requests/{id}")).await
}

/// Decides what waits, which must be of this kind, and gives it as it was.
async fn decide(server: &Server, run: &str, kind: &str, decision: Value) -> Value {
    let request = waits(server, run).await;
    assert_eq!(request["kind"], kind, "{request}");
    let (status, answer) = server.decide(&text(&request["id"]), &decision).await;
    assert_eq!(status, 200, "{answer}");
    request
}

fn yes() -> Value {
    json!({ "decision": "approve" })
}

#[tokio::test]
async fn the_research_task_is_planned_and_carried_out_over_crashes() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("research_task", TASK).await;
    let plan = waits(&server, &run).await;
    assert_eq!(plan["kind"], "plan_review");
    assert_eq!(plan["allowed"], json!(["approve", "edit", "revise", "reject"]));
    assert_eq!(plan["context"]["proposal"]["steps"].as_array().unwrap().len(), 3);
    assert!(plan["reasons"].to_string().contains("after_planning"), "{plan}");
    let again = json!({ "decision": "revise", "feedback": "Mind the holidays" });
    decide(&server, &run, "plan_review", again).await;
    let revised = waits(&server, &run).await;
    assert!(text(&revised["preview"]["diff"]).contains("+ 4. Check the result"), "{revised}");
    let shorter = json!({ "steps": revised["context"]["changes"] });
    let wrong = json!({ "decision": "edit", "value": shorter });
    assert_eq!(server.decide(&text(&revised["id"]), &wrong).await.0, 422);
    let value = plan["context"]["proposal"].clone();
    let edit = json!({ "decision": "edit", "value": value, "note": "Three steps are enough" });
    decide(&server, &run, "plan_review", edit).await;

    // Killed at the gate before a step, in the middle of it, and after it.
    let before = waits(&server, &run).await;
    assert_eq!((&before["kind"], &before["context"]["step"]), (&json!("step_before"), &json!(1)));
    let shown = server.read(&format!("/v1/runs/{run}")).await;
    assert_eq!((&shown["phase"], &shown["step"]), (&json!("control"), &json!(1)));
    server.process.kill();
    let server = place.serve();
    let note = json!({ "decision": "approve", "note": "Use euros" });
    decide(&server, &run, "step_before", note).await;
    let write = waits(&server, &run).await;
    assert_eq!(
        (&write["kind"], &write["reasons"]),
        (&json!("tool_call"), &json!(["before_file_edit"]))
    );
    server.process.kill();
    let server = place.serve();
    decide(&server, &run, "tool_call", yes()).await;
    let after = waits(&server, &run).await;
    assert_eq!(after["kind"], "step_after");
    server.process.kill();
    let server = place.serve();
    decide(&server, &run, "step_after", yes()).await;

    decide(&server, &run, "step_before", yes()).await;
    let after = decide(&server, &run, "step_after", yes()).await;
    assert!(text(&after["context"]["result"]["summary"]).contains("3630"), "{after}");
    decide(&server, &run, "step_before", yes()).await;
    let report = decide(&server, &run, "tool_call", yes()).await;
    assert!(text(&report["preview"]["diff"]).contains("Noted: Use euros"), "{report}");
    let delete = decide(&server, &run, "tool_call", yes()).await;
    assert_eq!(delete["context"]["tool"], "delete_file");
    assert!(delete["reasons"].to_string().contains("before_file_delete: destructive"), "{delete}");
    decide(&server, &run, "step_after", yes()).await;
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert!(text(&done["output"]["answer"]).contains("3630"), "{done}");
    let report = place.path(".signoff/workspace/research_task/report.md");
    assert!(std::fs::read_to_string(report).unwrap().contains("3630"));
    let journal = server.journal(&run).await;
    let count = |kind: &str| journal.iter().filter(|entry| entry["type"] == kind).count();
    assert_eq!((count("entered"), count("step_ended")), (1 + 3, 3), "each once, over all crashes");
    assert_eq!(count("feedback"), 3);
}

#[tokio::test]
async fn what_goes_wrong_in_the_research_task_is_put_to_a_person() {
    let server = Place::new().serve();
    let run = server.start("research_task", TASK).await;
    decide(&server, &run, "plan_review", yes()).await;
    decide(&server, &run, "step_before", yes()).await;
    let reject = json!({ "decision": "reject", "reason": "not there", "then": "continue" });
    decide(&server, &run, "tool_call", reject).await;
    let failed = waits(&server, &run).await;
    assert_eq!(failed["allowed"], json!(["retry", "skip", "abort"]));
    assert!(text(&failed["reasons"][0]).contains("no sales data"), "{failed}");
    for unknown in [json!({ "decision": "approve" }), json!({ "decision": "banana" })] {
        let (status, refused) = server.decide(&text(&failed["id"]), &unknown).await;
        assert!([400, 422].contains(&status), "{refused}");
    }
    let retry = json!({ "decision": "retry", "feedback": "take another name" });
    decide(&server, &run, "step_error", retry).await;
    let again = decide(&server, &run, "tool_call", yes()).await;
    assert_eq!(again["context"]["proposal"]["path"], "research_task/sales-again.csv");
    let back = json!({ "decision": "revise", "feedback": "I only want the report" });
    decide(&server, &run, "step_after", back).await;
    let plan = waits(&server, &run).await;
    assert_eq!((&plan["kind"], &plan["context"]["round"]), (&json!("plan_review"), &json!(2)));
    assert!(!plan["context"]["proposal"].to_string().contains("Get the sales data"), "{plan}");
    let stop = json!({ "decision": "reject", "then": "stop" });
    decide(&server, &run, "plan_review", stop).await;
    assert_eq!(server.at_rest(&run).await["status"], "cancelled");
}

#[tokio::test]
async fn people_say_something_in_between_and_take_it_back() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("research_task", TASK).await;
    decide(&server, &run, "plan_review", json!({ "decision": "approve", "note": "Use euros" }))
        .await;
    waits(&server, &run).await;
    let path = format!("/v1/runs/{run}/feedback");
    let (status, said) = server.post(&path, &json!({ "text": "Be brief" })).await;
    assert_eq!(status, 201, "{said}");
    let second = &said["data"][1];
    let wanted = json!({
        "n": 2, "scope": "run", "step": 1, "timing": "before", "author": "local", "text": "Be brief",
        "at": second["at"], "counts": true,
    });
    assert_eq!(*second, wanted);
    assert_eq!(said["data"][0]["timing"], "planning");
    let (status, left) = server.delete(&format!("{path}/1")).await;
    assert_eq!((status, left["data"].as_array().unwrap().len()), (200, 1), "{left}");
    for n in ["1", "99", "x"] {
        let (status, error) = server.delete(&format!("{path}/{n}")).await;
        assert_eq!((status, &error["error"]["code"]), (404, &json!("unknown_feedback")), "{n}");
    }
    for body in [json!({ "text": " " }), json!({ "text": "x".repeat(20_000) }), json!({})] {
        assert_eq!(server.post(&path, &body).await.0, 400);
    }
    // It is still there after a crash, and whoever works next is told.
    server.process.kill();
    let server = place.serve();
    assert_eq!(server.read(&path).await["data"][0]["text"], "Be brief");
    decide(&server, &run, "step_before", yes()).await;
    waits(&server, &run).await;
    let journal = server.journal(&run).await;
    let told = |word: &str| {
        let briefs = journal.iter().filter(|entry| entry["payload"]["value"]["brief"].is_string());
        briefs.filter(|entry| entry.to_string().contains(word)).count()
    };
    assert_eq!((told("Be brief"), told("Use euros")), (2, 0), "controller and engineer");
    decide(&server, &run, "tool_call", json!({ "decision": "abort" })).await;
    server.at_rest(&run).await;
    let (status, over) = server.post(&path, &json!({ "text": "late" })).await;
    assert_eq!((status, &over["error"]["code"]), (409, &json!("run_over")));
    let other = server.start("ask", "x").await;
    let (status, error) =
        server.post(&format!("/v1/runs/{other}/feedback"), &json!({ "text": "x" })).await;
    assert_eq!((status, &error["error"]["code"]), (422, &json!("feedback_not_taken")));
}

/// How many of those an agent was told have this word.
async fn told(server: &Server, run: &str, agent: &str, word: &str) -> usize {
    let journal = server.journal(run).await;
    let briefs = journal.iter().filter(|entry| entry["payload"]["value"]["brief"].is_string());
    briefs.filter(|it| it["to"] == agent && it.to_string().contains(word)).count()
}

#[tokio::test]
async fn what_is_said_is_for_some_for_a_while_and_about_a_part() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("research_task", TASK).await;
    waits(&server, &run).await;
    let path = format!("/v1/runs/{run}/feedback");
    let no_step = json!({ "text": "x", "scope": "step" });
    let (status, refused) = server.post(&path, &no_step).await;
    assert_eq!((status, &refused["error"]["code"]), (422, &json!("feedback_not_taken")));
    let of_planning = json!({ "text": "About the plan", "scope": "phase" });
    let (status, said) = server.post(&path, &of_planning).await;
    assert_eq!((status, &said["data"][0]["phase"]), (201, &json!("planning")), "{said}");
    decide(&server, &run, "plan_review", yes()).await;
    waits(&server, &run).await;
    for wrong in [
        json!({ "text": "x", "expires": "yesterday" }),
        json!({ "text": "x", "expires": "2020-01-01T00:00:00Z" }),
        json!({ "text": "x", "expires": "4000d" }),
        json!({ "text": "x", "scope": "world" }),
    ] {
        assert_eq!(server.post(&path, &wrong).await.0, 400, "{wrong}");
    }
    let (status, refused) = server.post(&path, &json!({ "text": "x", "for": ["nobody"] })).await;
    assert_eq!((status, &refused["error"]["code"]), (422, &json!("feedback_not_taken")));
    assert!(text(&refused["error"]["hint"]).contains("engineer"), "{refused}");
    for said in [
        json!({ "text": "Only for one", "for": ["engineer"] }),
        json!({ "text": "About this step", "scope": "step" }),
        json!({ "text": "Soon over", "expires": "1s" }),
        json!({ "text": "Over in an hour", "expires": "1h" }),
    ] {
        let (status, answer) = server.post(&path, &said).await;
        assert_eq!(status, 201, "{answer}");
    }
    tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
    decide(&server, &run, "step_before", yes()).await;
    decide(&server, &run, "tool_call", yes()).await;
    waits(&server, &run).await;
    for (word, control, engineer) in [
        ("Only for one", false, true),
        ("About this step", true, true),
        ("Soon over", false, false),
        ("Over in an hour", true, true),
        ("About the plan", false, false),
    ] {
        let found = (
            told(&server, &run, "control", word).await > 0,
            told(&server, &run, "engineer", word).await > 0,
        );
        assert_eq!(found, (control, engineer), "{word}");
    }
    // What is over is still there for people, over a crash too, and can be taken away.
    decide(&server, &run, "step_after", yes()).await;
    waits(&server, &run).await;
    server.process.kill();
    let server = place.serve();
    let all = server.read(&path).await;
    let counts: Vec<_> = all["data"].as_array().unwrap().iter().map(|it| &it["counts"]).collect();
    assert_eq!(json!(counts), json!([false, true, false, false, true]), "{all}");
    let (status, left) = server.delete(&format!("{path}/3")).await;
    assert_eq!((status, left["data"].as_array().unwrap().len()), (200, 4), "{left}");
    let before = told(&server, &run, "control", "About this step").await;
    // There is room for a thousand tokens: the oldest is left out, and that is said.
    for said in ["a".repeat(3_000), "b".repeat(2_000)] {
        assert_eq!(server.post(&path, &json!({ "text": said })).await.0, 201);
    }
    decide(&server, &run, "step_before", yes()).await;
    waits(&server, &run).await;
    assert_eq!(told(&server, &run, "control", "About this step").await, before);
    assert!(told(&server, &run, "control", &"b".repeat(2_000)).await > 0);
    assert_eq!(told(&server, &run, "control", &"a".repeat(3_000)).await, 0);
    assert!(told(&server, &run, "control", "(2 older left out)").await > 0);
    assert_eq!(server.read(&format!("/v1/runs/{run}")).await["input"], TASK, "as it was given");
}

#[tokio::test]
async fn the_example_is_there_only_with_its_tools() {
    let place = Place::new();
    std::fs::write(place.path("signoff.toml"), "[tools]\n").unwrap();
    let server = place.serve();
    let (status, _) = server.get("/v1/workflows/research_task").await;
    assert_eq!(status, 404, "an operator who offers no tools has none");
    assert!(!place.path(".signoff/workspace").exists());
    assert_eq!(server.get("/v1/workflows/event_planner").await.0, 200);
}
