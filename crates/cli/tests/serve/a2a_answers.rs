//! Answers to what a task asks: each counts once, and whoever asks is told the same.

use reqwest::Method;
use serde_json::{Value, json};

use crate::a2a_support::{Agent, BINDINGS, Binding, history, message, place, reply, state};
use crate::access::{add, get, post};
use crate::support::{PARTY, text};

#[tokio::test]
async fn a_party_is_planned_and_what_was_said_is_kept() {
    let server = place().serve();
    for binding in BINDINGS {
        let planner = Agent::of(&server, "event_planner", binding);
        let venue = planner.send(message("m1", PARTY)).await;
        assert_eq!(state(&venue), "INPUT_REQUIRED", "{venue}");
        let asked = &venue["status"]["message"];
        assert_eq!((&asked["role"], &asked["taskId"]), (&json!("ROLE_AGENT"), &venue["id"]));
        let facts = &asked["parts"][1]["data"];
        assert_eq!(facts["kind"], "selection");
        assert_eq!(facts["allowed"], json!(["respond"]));
        assert_eq!(facts["options"].as_array().unwrap().len(), 3);
        assert!(text(&asked["parts"][0]["text"]).contains("1. "), "{asked}");
        assert_eq!(history(&venue), ["m1"]);

        // The task alone says which conversation it is.
        let budget = planner.send(reply(&venue, "m2", "The Glasshouse")).await;
        assert_eq!(state(&budget), "INPUT_REQUIRED", "{budget}");
        assert_eq!((&budget["id"], &budget["contextId"]), (&venue["id"], &venue["contextId"]));
        let q1 = text(&asked["messageId"]);
        assert_eq!(history(&budget), ["m1", &q1, "m2"]);
        assert_eq!(budget["history"][2]["parts"], json!([{ "text": "The Glasshouse" }]));
        assert_eq!(budget["history"][2]["contextId"], venue["contextId"]);
        let q2 = text(&budget["status"]["message"]["messageId"]);

        let facts = &budget["status"]["message"]["parts"][1]["data"];
        assert_eq!(
            (&facts["schema"]["type"], &facts["editSchema"]["type"]),
            (&json!("string"), &json!("object"))
        );
        let request = &facts["requestId"];
        let approve = json!({ "messageId": "m3", "role": "ROLE_USER", "taskId": budget["id"], "contextId": budget["contextId"],
            "parts": [{ "data": { "requestId": request, "decision": "approve" } }] });
        let diet = planner.send(approve).await;
        let q3 = text(&diet["status"]["message"]["messageId"]);
        let plan = planner.send(reply(&diet, "m4", "vegan")).await;
        assert_eq!(state(&plan), "COMPLETED", "{plan}");
        assert_eq!(history(&plan), ["m1", &q1, "m2", &q2, "m3", &q3, "m4"]);
        let made = plan["artifacts"].to_string();
        for part in ["The Glasshouse", "vegan"] {
            assert!(made.contains(part), "{part}: {made}");
        }
        // What a poller sees is what was told.
        assert_eq!(planner.get(&text(&plan["id"])).await, plan);
        let short = json!({ "id": plan["id"], "historyLength": 1 });
        assert_eq!(history(&planner.call("GetTask", short).await.unwrap()), ["m4"]);
        let none = json!({ "id": plan["id"], "historyLength": 0 });
        assert_eq!(history(&planner.call("GetTask", none).await.unwrap()), Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_and_changes_nothing() {
    let server = place().serve();
    for binding in BINDINGS {
        let planner = Agent::of(&server, "event_planner", binding);
        let asked = planner.send(message("m1", PARTY)).await;
        let before = planner.get(&text(&asked["id"])).await;
        let mut foreign = reply(&asked, "m2", "1");
        foreign["contextId"] = "another".into();
        let (code, error) = planner.refused(foreign).await;
        assert_eq!(code, -32602, "{error}");
        assert!(error.to_string().contains("message.contextId"), "{error}");
        let (code, error) = planner.refused(reply(&asked, "m2", "The Moon")).await;
        assert_eq!(code, -32602, "{error}");
        assert!(
            error.to_string().contains("accepted: 1 (Union Hall), 2 (The Glasshouse)"),
            "{error}"
        );
        let (code, error) = planner.refused(reply(&asked, "m2", &"x".repeat(200_000))).await;
        assert_eq!((code, error.to_string().contains("at most")), (-32602, true));
        let mut unknown = message("m2", "1");
        unknown["taskId"] = "run_nothing".into();
        assert_eq!(planner.refused(unknown.clone()).await.0, -32001);
        // A task of another agent is none of this one's.
        let other = Agent::of(&server, "kit", binding);
        assert_eq!(other.refused(reply(&asked, "m2", "1")).await.0, -32001);
        assert_eq!(
            other.call("GetTask", json!({ "id": asked["id"] })).await.unwrap_err().0,
            -32001
        );
        for bad in [
            json!({}),
            json!({ "messageId": "", "role": "ROLE_USER", "parts": [{ "text": "x" }] }),
            json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": "x" }] }),
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": [] }),
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{}] }),
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "x", "url": "x://y" }] }),
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": "x" }),
            json!({ "messageId": "x".repeat(300), "role": "ROLE_USER", "parts": [{ "text": "x" }] }),
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": vec![json!({ "text": "x" }); 101] }),
            json!({ "messageId": "m", "role": "ROLE_USER", "contextId": "no such id!", "parts": [{ "text": "x" }] }),
        ] {
            let (code, error) = planner.refused(bad.clone()).await;
            assert_eq!(code, -32602, "{bad}: {error}");
        }
        let file = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "url": "https://x.test/y" }] });
        assert_eq!(planner.refused(file).await.0, -32005);
        assert_eq!(planner.get(&text(&asked["id"])).await, before);

        let done = other.send(message("m1", "hi")).await;
        let (code, error) = other.refused(reply(&done, "m2", "more")).await;
        assert_eq!(code, -32004, "{error}");
        let sent = json!({ "message": message("m1", "tck-long-running"), "configuration": { "returnImmediately": true } });
        let working = other.call("SendMessage", sent).await.unwrap()["task"].clone();
        assert_eq!(state(&working), "SUBMITTED", "{working}");
        let (code, error) = other.refused(reply(&working, "m2", "faster")).await;
        assert_eq!(code, -32004);
        assert!(error.to_string().contains("is working"), "{error}");
    }
}

#[tokio::test]
async fn the_same_answer_again_is_the_same_success() {
    let place = place();
    let server = place.serve();
    let kit = Agent::of(&server, "kit", Binding::Rpc);
    let first = kit.send(message("m1", "tck-multi-turn")).await;
    assert_eq!(state(&first), "INPUT_REQUIRED");
    let answer = reply(&first, "m2", "blue");
    let second = kit.send(answer.clone()).await;
    assert_eq!(second["status"]["message"]["parts"][1]["data"]["prompt"], "And then?");
    // It has moved on to the next question, which this does not answer.
    assert_eq!(kit.send(answer.clone()).await, second);
    server.process.kill();
    let server = place.serve();
    let kit = Agent::of(&server, "kit", Binding::Rest);
    assert_eq!(kit.send(answer.clone()).await, second, "also after a restart");
    let told = kit.events("SendStreamingMessage", json!({ "message": answer })).await;
    assert_eq!(told, [json!({ "task": second })]);
    // The same id with other words is another message.
    let done = kit.send(reply(&first, "m2", "green")).await;
    assert_eq!(state(&done), "COMPLETED", "{done}");
    assert_eq!(done["artifacts"][0]["parts"][0]["text"], "blue, green");
    assert_eq!(kit.send(answer).await, done, "and when it is over");
    let (code, _) = kit.refused(reply(&first, "m3", "red")).await;
    assert_eq!(code, -32004);
}

#[tokio::test]
async fn of_two_answers_at_once_one_counts() {
    let server = place().serve();
    for n in 0..100 {
        let ask = Agent::of(&server, "ask", BINDINGS[n % 2]);
        let task = ask.send(message("m1", "go")).await;
        let sent = |id: &str, says: &str| {
            ask.call("SendMessage", json!({ "message": reply(&task, id, says) }))
        };
        let (yes, no) = tokio::join!(sent("m2", "yes"), sent("m3", "no, not today"));
        let (won, lost) = match (yes, no) {
            (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won["task"].clone(), lost),
            other => panic!("{other:?}"),
        };
        assert_eq!(lost.0, -32004, "{lost:?}");
        let told = lost.2.to_string();
        assert!(told.contains("already decided") || told.contains("is over"), "{told}");
        assert_eq!(state(&won), "COMPLETED", "{won}");
        assert_eq!(ask.get(&text(&won["id"])).await, won, "what was reported stays so");
        assert_eq!(history(&won).len(), 3);
    }
}

#[tokio::test]
async fn what_others_must_allow_is_not_decided_here() {
    let place = place();
    let ann = add(&place, &["ann"]);
    let boss = add(&place, &["boss"]);
    let server = place.serve();
    for binding in BINDINGS {
        let kit = Agent::of(&server, "kit", binding).with(&ann);
        let task = kit.send(message("m1", "tck-auth-required")).await;
        assert_eq!(state(&task), "AUTH_REQUIRED", "{task}");
        let (code, error) = kit.refused(reply(&task, "m2", "yes")).await;
        assert_eq!(code, -32004, "{error}");
        let request = text(&task["status"]["message"]["parts"][1]["data"]["requestId"]);
        let named = json!({ "messageId": "m2", "role": "ROLE_USER", "taskId": task["id"],
            "parts": [{ "data": { "requestId": request, "decision": "approve" } }] });
        let (code, error) = kit.refused(named).await;
        assert_eq!((code, error.to_string().contains("not_asked")), (-32004, true), "{error}");
        assert_eq!(state(&kit.get(&text(&task["id"])).await), "AUTH_REQUIRED");
        // Who may decide sees a question.
        let asked = kit.with(&boss).get(&text(&task["id"])).await;
        assert_eq!(state(&asked), "INPUT_REQUIRED");

        let mut stream = kit
            .stream(
                "SendStreamingMessage",
                json!({ "message": message("m1", "tck-auth-required") }),
            )
            .await;
        let mut told = vec![stream.next().await.unwrap()];
        while state(told.last().unwrap()) != "AUTH_REQUIRED" {
            told.push(stream.next().await.unwrap());
        }
        let asked = &told.last().unwrap()["statusUpdate"]["status"]["message"]["parts"][1]["data"];
        let path = format!("/v1/requests/{}/decision", text(&asked["requestId"]));
        let (status, _) = post(&server, &boss, &path, json!({ "decision": "approve" })).await;
        assert_eq!(status, 200);
        while let Some(event) = stream.next().await {
            told.push(event);
        }
        assert_eq!(state(told.last().unwrap()), "COMPLETED", "the stream stayed open: {told:?}");
    }
    let kit = Agent::of(&server, "kit", Binding::Rest);
    assert_eq!(kit.raw("ListTasks", &json!({})).await.status(), 401);
    assert_eq!(get(&server, &ann, "/a2a").await.0, 200);
}

#[tokio::test]
async fn several_questions_are_answered_by_name() {
    let server = place().serve();
    for binding in BINDINGS {
        let two = Agent::of(&server, "two", binding);
        let task = two.send(message("m1", "go")).await;
        assert_eq!(state(&task), "INPUT_REQUIRED");
        let parts = task["status"]["message"]["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 4, "{task}");
        let (left, right) = (&parts[1]["data"]["requestId"], &parts[3]["data"]["requestId"]);
        let (code, error) = two.refused(reply(&task, "m2", "yes")).await;
        assert_eq!(code, -32602, "{error}");
        assert!(error.to_string().contains(left.as_str().unwrap()), "{error}");
        let said = |id: &str, parts: Value| json!({ "messageId": id, "role": "ROLE_USER", "taskId": task["id"], "parts": parts });
        let wrong = said(
            "m2",
            json!([
                { "data": { "requestId": left, "decision": "approve" } },
                { "data": { "requestId": right, "decision": "redo" } },
            ]),
        );
        assert_eq!(two.refused(wrong).await.0, -32602, "all or none");
        assert_eq!(two.get(&text(&task["id"])).await, task);
        let one = two
            .send(said("m2", json!([{ "data": { "requestId": right, "response": "yes" } }])))
            .await;
        assert_eq!(state(&one), "INPUT_REQUIRED", "{one}");
        assert_eq!(one["status"]["message"]["parts"].as_array().unwrap().len(), 2);
        let done = two.send(reply(&task, "m3", "yes")).await;
        assert_eq!(
            (state(&done), &done["artifacts"][0]["parts"][0]["text"]),
            ("COMPLETED", &json!("done"))
        );

        let task = two.send(message("m1", "go")).await;
        let parts = task["status"]["message"]["parts"].as_array().unwrap();
        let both: Vec<Value> = [1, 3].iter().map(|n: &usize| json!({ "data": { "requestId": parts[*n]["data"]["requestId"], "decision": "approve" } })).collect();
        let both =
            json!({ "messageId": "m2", "role": "ROLE_USER", "taskId": task["id"], "parts": both });
        let done = two.send(both.clone()).await;
        assert_eq!(state(&done), "COMPLETED", "{done}");
        assert_eq!(history(&done).iter().filter(|id| *id == "m2").count(), 1, "{done}");
        assert_eq!(two.send(both).await, done);
    }
}

#[tokio::test]
async fn questions_of_parts_are_questions_of_the_task() {
    let server = place().serve();
    for binding in BINDINGS {
        let whole = Agent::of(&server, "whole", binding);
        let mut stream =
            whole.stream("SendStreamingMessage", json!({ "message": message("m1", "go") })).await;
        let mut told = Vec::new();
        while let Some(event) = stream.next().await {
            told.push(event);
        }
        assert_eq!(state(told.last().unwrap()), "INPUT_REQUIRED", "{told:?}");
        let task = told[0]["task"].clone();
        let done = whole.send(reply(&task, "m2", "yes")).await;
        assert_eq!(
            (state(&done), &done["artifacts"][0]["parts"][0]["text"]),
            ("COMPLETED", &json!("whole"))
        );
        assert_eq!(history(&done).len(), 3, "{done}");
        assert_eq!(history(&done)[2], "m2");
        assert_eq!(whole.get(&text(&done["id"])).await, done);
        assert_eq!(whole.send(reply(&task, "m2", "yes")).await, done);
    }
}

#[tokio::test]
async fn a_context_may_have_several_tasks() {
    let server = place().serve();
    for binding in BINDINGS {
        let kit = Agent::of(&server, "kit", binding);
        let context = format!("mine-{binding:?}");
        let in_context = |id: &str, says: &str| {
            let mut message = message(id, says);
            message["contextId"] = context.as_str().into();
            message["referenceTaskIds"] = json!(["run_other"]);
            message
        };
        let open = kit.send(in_context("m1", "tck-input-required")).await;
        assert_eq!(open["contextId"], context.as_str());
        let other = kit.send(in_context("m1", "tck-input-required")).await;
        assert_ne!(
            open["id"], other["id"],
            "a message without a task begins one, also with the same id"
        );
        assert_eq!(other["contextId"], context.as_str());
        assert_eq!(state(&kit.send(reply(&open, "m2", "a")).await), "COMPLETED");
        assert_eq!(state(&kit.send(reply(&other, "m2", "b")).await), "COMPLETED");
        let listed = kit.call("ListTasks", json!({ "contextId": context })).await.unwrap();
        assert_eq!(listed["totalSize"], 2, "{listed}");
        // For others a conversation has one run at a time.
        let open = kit.send(in_context("m1", "tck-input-required")).await;
        let start = json!({ "workflow": "ask", "input": "x", "conversation": context });
        let (status, error) = server.post("/v1/runs", &start).await;
        assert_eq!((status, &error["error"]["code"]), (409, &json!("conversation_busy")));
        assert_eq!(
            state(&kit.call("CancelTask", json!({ "id": open["id"] })).await.unwrap()),
            "CANCELED"
        );
    }
    // Somebody else's answer is seen as well.
    let ask = Agent::of(&server, "ask", Binding::Rpc);
    let task = ask.send(message("m1", "go")).await;
    let request = text(&task["status"]["message"]["parts"][1]["data"]["requestId"]);
    server
        .decide(&request, &json!({ "decision": "reject", "reason": "no money", "then": "stop" }))
        .await;
    server.at_rest(&text(&task["id"])).await;
    let over = ask.get(&text(&task["id"])).await;
    assert_eq!(state(&over), "REJECTED", "{over}");
    assert_eq!(over["status"]["message"]["parts"][0]["text"], "no money");
    assert_eq!(over["history"][2]["metadata"]["by"], "local");
    let again = server
        .request(Method::POST, "/a2a/ask/message:send")
        .json(&json!({ "message": reply(&task, "m2", "yes") }));
    assert_eq!(again.send().await.unwrap().status(), 400);
}

/// One server's workflow as an agent in another's.
#[tokio::test]
async fn servers_are_agents_to_each_other() {
    let far = place().serve();
    let place = place();
    let config = format!("[a2a.planner]\nurl = \"{}/a2a/event_planner\"\n", far.url);
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    let near = "workflow: near\npattern: sequential\nsequential: { agents: [planner] }\nagents:\n  \
                planner: { name: Planner, remote: planner }\n";
    std::fs::write(place.path("flows/near.yaml"), near).unwrap();
    let server = place.serve();
    let run = server.start("near", PARTY).await;
    for says in ["The Glasshouse", "yes", "vegan"] {
        let request = server.pending(&run).await;
        let decision = json!({ "decision": "respond", "content": says });
        let (status, decided) = server.decide(&request, &decision).await;
        assert_eq!(status, 200, "{says}: {decided}");
    }
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    let output = done["output"].to_string();
    assert!(output.contains("The Glasshouse") && output.contains("vegan"), "{output}");
    let tasks = Agent::of(&far, "event_planner", Binding::Rest).call("ListTasks", json!({})).await;
    assert_eq!(tasks.unwrap()["totalSize"], 1, "it is one task");
}
