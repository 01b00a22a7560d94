//! Workflows as agents of A2A, over both bindings.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::a2a_support::{Agent, BINDINGS, Binding, history, message, place, reply, state};
use crate::support::{PARTY, text};

/// The parts of the first artifact.
fn parts(task: &Value) -> &Value {
    &task["artifacts"][0]["parts"]
}

/// What each event of a stream is.
fn kinds(told: &[Value]) -> Vec<&str> {
    told.iter().map(|event| event.as_object().unwrap().keys().next().unwrap().as_str()).collect()
}

#[tokio::test]
async fn every_behaviour_of_the_kits_over_both_bindings() {
    let server = place().serve();
    for binding in BINDINGS {
        let kit = Agent::of(&server, "kit", binding);
        // By the id of the message, or by its text.
        for (id, says) in [("tck-complete-task-1", "hi"), ("m1", "tck-complete-task")] {
            let done = kit.send(message(id, says)).await;
            assert_eq!(state(&done), "COMPLETED", "{done}");
            assert_eq!(parts(&done)[0]["text"], "Hello from TCK");
            assert_eq!(done["status"]["message"]["parts"][0]["text"], "Hello from TCK");
            assert!(text(&done["status"]["timestamp"]).ends_with('Z'));
        }
        for (id, wanted) in [
            (
                "tck-artifact-text",
                json!({ "text": "Generated text content", "mediaType": "text/plain" }),
            ),
            (
                "tck-artifact-file",
                json!({ "raw": "VGhlIGZpbGUu", "filename": "output.txt", "mediaType": "text/plain" }),
            ),
            (
                "tck-artifact-file-url",
                json!({ "url": "https://example.com/output.txt", "filename": "output.txt", "mediaType": "text/plain" }),
            ),
            (
                "tck-artifact-data",
                json!({ "data": { "key": "value", "count": 42 }, "mediaType": "application/json" }),
            ),
        ] {
            let done = kit.send(message(&format!("{id}-x"), "go")).await;
            assert_eq!((state(&done), &parts(&done)[0]), ("COMPLETED", &wanted), "{done}");
        }
        let sent = json!({ "message": message("tck-message-response-1", "go") });
        let said = kit.call("SendMessage", sent).await.unwrap();
        assert_eq!(said["message"]["parts"][0]["text"], "Direct message response", "{said}");
        assert_eq!(said["message"]["role"], "ROLE_AGENT");
        let rejected = kit.send(message("tck-reject-task-1", "go")).await;
        assert_eq!(state(&rejected), "REJECTED", "{rejected}");
        assert_eq!(rejected["status"]["message"]["parts"][0]["text"], "rejected");
    }
}

#[tokio::test]
async fn streams_tell_the_task_and_then_each_step() {
    let server = place().serve();
    for binding in BINDINGS {
        let kit = Agent::of(&server, "kit", binding);
        for id in [
            "tck-stream-001",
            "tck-stream-003",
            "tck-stream-ordering-001",
            "tck-stream-artifact-text",
            "tck-stream-artifact-file",
        ] {
            let sent = json!({ "message": message(&format!("{id}-x"), "go") });
            let told = kit.events("SendStreamingMessage", sent).await;
            assert_eq!(
                kinds(&told),
                ["task", "statusUpdate", "artifactUpdate", "statusUpdate"],
                "{id}"
            );
            assert_eq!(state(told.last().unwrap()), "COMPLETED");
        }
        let told = kit
            .events(
                "SendStreamingMessage",
                json!({ "message": message("tck-stream-artifact-chunked-1", "go") }),
            )
            .await;
        assert_eq!(
            kinds(&told),
            ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"],
            "{told:?}"
        );
        assert_eq!((state(&told[0]), state(&told[1])), ("SUBMITTED", "WORKING"));
        let (first, second) = (&told[2]["artifactUpdate"], &told[3]["artifactUpdate"]);
        assert_eq!(first["artifact"]["artifactId"], second["artifact"]["artifactId"]);
        assert_eq!((&first["append"], &second["append"]), (&Value::Null, &json!(true)));
        assert_eq!((&first["lastChunk"], &second["lastChunk"]), (&Value::Null, &json!(true)));
        assert_eq!(state(&told[4]), "COMPLETED");
        let whole = kit.get(&text(&told[0]["task"]["id"])).await;
        let texts: Vec<&Value> =
            parts(&whole).as_array().unwrap().iter().map(|it| &it["text"]).collect();
        assert_eq!(texts, ["chunk-1 ", "chunk-2"]);
    }
}

#[tokio::test]
async fn any_open_task_can_be_listened_to() {
    let place = place();
    let server = place.serve();
    let kit = Agent::of(&server, "kit", Binding::Rpc);
    let task = kit.send(message("m1", "tck-multi-turn")).await;
    server.process.kill();
    let server = place.serve();
    let id = text(&task["id"]);
    let (rpc, rest) =
        (Agent::of(&server, "kit", Binding::Rpc), Agent::of(&server, "kit", Binding::Rest));
    let mut one = rpc.stream("SubscribeToTask", json!({ "id": id })).await;
    let mut other = rest.stream("SubscribeToTask", json!({ "id": id })).await;
    assert_eq!(one.next().await.unwrap(), json!({ "task": task }), "as it was before the restart");
    assert_eq!(other.next().await.unwrap(), json!({ "task": task }));
    let told =
        rpc.events("SendStreamingMessage", json!({ "message": reply(&task, "m2", "a") })).await;
    assert_eq!((state(&told[0]), history(&told[0]["task"]).len()), ("WORKING", 3), "{told:?}");
    assert_eq!(state(told.last().unwrap()), "INPUT_REQUIRED");
    // It stays open over questions, until the end.
    let done = rest.send(reply(&task, "m3", "b")).await;
    let (mut heard, mut same) = (Vec::new(), Vec::new());
    while let Some(event) = one.next().await {
        heard.push(event);
    }
    while let Some(event) = other.next().await {
        same.push(event);
    }
    assert_eq!(heard, same);
    let states: Vec<&str> = heard.iter().map(state).filter(|state| !state.is_empty()).collect();
    assert_eq!(states, ["WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"]);
    assert_eq!(heard.last().unwrap()["statusUpdate"]["status"], done["status"]);
    for binding in BINDINGS {
        let kit = Agent::of(&server, "kit", binding);
        assert_eq!(kit.call("SubscribeToTask", json!({ "id": id })).await.unwrap_err().0, -32004);
        assert_eq!(kit.call("SubscribeToTask", json!({ "id": "x" })).await.unwrap_err().0, -32001);
        assert_eq!(kit.call("CancelTask", json!({ "id": id })).await.unwrap_err().0, -32002);
        assert_eq!(kit.call("CancelTask", json!({ "id": "x" })).await.unwrap_err().0, -32001);
    }
    let posted = server.request(Method::POST, &format!("/a2a/kit/tasks/{id}:subscribe"));
    assert_eq!(posted.send().await.unwrap().status(), 400, "by POST as well");
}

#[tokio::test]
async fn a_killed_server_goes_on_with_what_it_was_working_on() {
    let place = place();
    for binding in BINDINGS {
        let server = place.serve();
        let kit = Agent::of(&server, "kit", binding);
        let sent = json!({ "message": message("m1", "tck-long-running"), "configuration": { "returnImmediately": true } });
        let task = kit.call("SendMessage", sent).await.unwrap()["task"].clone();
        let mut stream = kit.stream("SubscribeToTask", json!({ "id": task["id"] })).await;
        assert_eq!(state(&stream.next().await.unwrap()), "WORKING");
        server.process.kill();
        assert_eq!(stream.next().await, None);
        let server = place.serve();
        let kit = Agent::of(&server, "kit", binding);
        let told = kit.events("SubscribeToTask", json!({ "id": task["id"] })).await;
        assert_eq!(told[0]["task"]["id"], task["id"]);
        assert_eq!(state(told.last().unwrap()), "COMPLETED", "{told:?}");
        let done = kit.get(&text(&task["id"])).await;
        assert_eq!(
            (history(&done), done["artifacts"].as_array().unwrap().len()),
            (vec!["m1".to_owned()], 1)
        );
    }
}

#[tokio::test]
async fn tasks_are_listed_newest_status_first() {
    let server = place().serve();
    let kit = Agent::of(&server, "kit", Binding::Rpc);
    let mut tasks = Vec::new();
    for n in 0..7 {
        let says = if n % 2 == 0 { "tck-input-required" } else { "tck-complete-task" };
        tasks.push(kit.send(message(&format!("m{n}"), says)).await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let middle = text(&tasks[2]["status"]["timestamp"]);
    // What was begun first has the newest status.
    let first = kit.send(reply(&tasks[0], "a", "x")).await;
    let mut wanted = vec![text(&first["id"])];
    wanted.extend(tasks[1..].iter().rev().map(|task| text(&task["id"])));
    for binding in BINDINGS {
        let kit = Agent::of(&server, "kit", binding);
        let mut found = Vec::new();
        let mut token = String::new();
        loop {
            let page =
                kit.call("ListTasks", json!({ "pageSize": 3, "pageToken": token })).await.unwrap();
            assert_eq!((&page["totalSize"], &page["pageSize"]), (&json!(7), &json!(3)));
            found.extend(page["tasks"].as_array().unwrap().iter().map(|task| text(&task["id"])));
            token = text(&page["nextPageToken"]);
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(found, wanted);
        let all = kit.call("ListTasks", json!({})).await.unwrap();
        assert_eq!((&all["pageSize"], all["tasks"].as_array().unwrap().len()), (&json!(50), 7));
        assert!(all["tasks"].as_array().unwrap().iter().all(|it| it.get("artifacts").is_none()));
        let more = json!({ "includeArtifacts": true, "historyLength": 1, "status": "TASK_STATE_COMPLETED" });
        let done = kit.call("ListTasks", more).await.unwrap();
        assert_eq!(done["totalSize"], 4, "{done}");
        assert!(done["tasks"].as_array().unwrap().iter().all(|it| it["artifacts"].is_array()));
        assert!(done["tasks"].as_array().unwrap().iter().all(|it| history(it).len() == 1));
        let open =
            kit.call("ListTasks", json!({ "status": "TASK_STATE_INPUT_REQUIRED" })).await.unwrap();
        assert_eq!(open["totalSize"], 3);
        let late = kit.call("ListTasks", json!({ "statusTimestampAfter": middle })).await.unwrap();
        assert_eq!(late["totalSize"], 6, "{late}");
        for bad in [
            json!({ "pageSize": 0 }),
            json!({ "pageSize": 101 }),
            json!({ "pageToken": "x" }),
            json!({ "historyLength": -1 }),
            json!({ "statusTimestampAfter": "yesterday" }),
        ] {
            assert_eq!(kit.call("ListTasks", bad.clone()).await.unwrap_err().0, -32602, "{bad}");
        }
    }
}

#[tokio::test]
async fn versions_methods_and_bodies_are_checked() {
    let server = place().serve();
    let call = |body: Value, version: &str| {
        let request = server.request(Method::POST, "/a2a/kit/").header("a2a-version", version);
        let sent = request.json(&body).send();
        async move { sent.await.unwrap().json::<Value>().await.unwrap() }
    };
    let rpc = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": "x", "method": method, "params": params });
    for (version, method, code) in [
        ("99.0", "SendMessage", -32009),
        ("0.2", "SendMessage", -32009),
        ("1.0", "Dance", -32601),
        ("1.0", "message/send", -32601),
        ("0.3", "SendMessage", -32601),
        ("1.0", "SendMessage", -32602),
        ("1.0", "GetTask", -32602),
        ("0.3", "tasks/get", -32602),
        ("1.0", "CreateTaskPushNotificationConfig", -32003),
    ] {
        let said = call(rpc(method, json!({})), version).await;
        assert_eq!((&said["id"], &said["error"]["code"]), (&json!("x"), &json!(code)), "{said}");
        assert_eq!(said["error"]["data"][0]["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
    }
    for bad in [
        json!([]),
        json!({}),
        json!({ "jsonrpc": "1.0", "method": "GetTask" }),
        json!({ "jsonrpc": "2.0" }),
    ] {
        assert_eq!(call(bad.clone(), "1.0").await["error"]["code"], -32600, "{bad}");
    }
    let raw = |kind: &str, body: &str| {
        let request = server.request(Method::POST, "/a2a/kit").header("content-type", kind);
        let sent = request.body(body.to_owned()).send();
        async move {
            let said = sent.await.unwrap();
            (said.status().as_u16(), said.json::<Value>().await.unwrap())
        }
    };
    let (status, said) = raw("application/json", "{").await;
    assert_eq!((status, &said["error"]["code"]), (200, &json!(-32700)));
    let (status, said) = raw("text/plain", "{}").await;
    assert_eq!((status, &said["error"]["code"]), (415, &json!(-32005)));

    // Who does not say the version is known by the words.
    let said = rpc(
        "message/send",
        json!({ "message": { "kind": "message", "messageId": "m1", "role": "user",
        "parts": [{ "kind": "text", "text": "tck-input-required" }] } }),
    );
    let said = server.request(Method::POST, "/a2a/kit").json(&said).send().await.unwrap();
    let task = said.json::<Value>().await.unwrap()["result"].clone();
    assert_eq!(
        (&task["kind"], &task["status"]["state"]),
        (&json!("task"), &json!("input-required"))
    );
    assert_eq!(task["status"]["message"]["parts"][1]["kind"], "data");
    let stream = rpc(
        "message/stream",
        json!({ "message": { "kind": "message", "messageId": "m2", "role": "user",
        "taskId": task["id"], "parts": [{ "kind": "text", "text": "x" }] } }),
    );
    let told = server
        .request(Method::POST, "/a2a/kit?A2A-Version=0.3")
        .json(&stream)
        .send()
        .await
        .unwrap();
    let told = told.text().await.unwrap();
    let told: Vec<Value> = told
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str::<Value>(data).unwrap()["result"].clone())
        .collect();
    assert_eq!(told[0]["kind"], "task");
    let last = told.last().unwrap();
    assert_eq!(
        (&last["status"]["state"], &last["final"]),
        (&json!("completed"), &json!(true)),
        "{last}"
    );

    let rest = |kind: &str, version: &str| {
        let request =
            server.request(Method::POST, "/a2a/kit/message:send").header("content-type", kind);
        let sent = request.header("a2a-version", version).body("{}").send();
        async move {
            let said = sent.await.unwrap();
            let kind = said.headers()["content-type"].to_str().unwrap().to_owned();
            (said.status().as_u16(), kind, said.json::<Value>().await.unwrap())
        }
    };
    let (status, kind, said) = rest("application/a2a+json", "1.0").await;
    assert_eq!((status, kind.as_str()), (400, "application/a2a+json"));
    assert_eq!(
        (&said["error"]["code"], &said["error"]["status"]),
        (&json!(400), &json!("INVALID_ARGUMENT"))
    );
    assert_eq!(said["error"]["details"][1]["fieldViolations"][0]["field"], "message");
    assert_eq!(rest("application/json", "1.0").await.1, "application/json");
    assert_eq!(
        rest("text/plain", "1.0").await.2["error"]["details"][0]["reason"],
        "CONTENT_TYPE_NOT_SUPPORTED"
    );
    assert_eq!(
        rest("application/json", "99.0").await.2["error"]["details"][0]["reason"],
        "VERSION_NOT_SUPPORTED"
    );
    for (path, status) in [
        ("/a2a/kit/tasks/run_x", 404),
        ("/a2a/kit/tasks/run_x:dance", 404),
        ("/a2a/kit/tasks/run_x?historyLength=all", 400),
        ("/a2a/kit/tasks/run_x/pushNotificationConfigs", 400),
        ("/a2a/kit/local/tasks", 200),
        ("/a2a/kit/elsewhere/tasks", 400),
        ("/a2a/nobody/tasks", 404),
    ] {
        assert_eq!(server.get(path).await.0, status, "{path}");
    }
}

#[tokio::test]
async fn a_card_says_who_it_is_and_how_to_come_in() {
    let place = place();
    let server = place.serve();
    let card =
        server.request(Method::GET, "/a2a/kit/.well-known/agent-card.json").send().await.unwrap();
    assert!(card.headers()["cache-control"].to_str().unwrap().contains("max-age="));
    let tag = card.headers()["etag"].clone();
    let card: Value = card.json().await.unwrap();
    assert_eq!(card["supportedInterfaces"][0]["url"], format!("{}/a2a/kit", server.url));
    assert_eq!(card["url"], card["supportedInterfaces"][0]["url"]);
    assert_eq!(card["skills"][0]["examples"], json!(["tck-complete-task"]));
    assert!(card.get("securitySchemes").is_none(), "{card}");
    let again = server
        .request(Method::GET, "/a2a/kit/.well-known/agent-card.json")
        .header("if-none-match", tag);
    assert_eq!(again.send().await.unwrap().status(), 304);
    assert_eq!(server.get("/a2a/nobody/.well-known/agent-card.json").await.0, 404);
    // The first by name stands at the root.
    assert_eq!(server.read("/.well-known/agent-card.json").await["name"], "ask");
    let listed = server.read("/a2a").await;
    assert!(listed["agents"].as_array().unwrap().iter().any(|agent| agent["id"] == "kit"));
    for binding in BINDINGS {
        let kit = Agent::of(&server, "kit", binding);
        let plain = kit.call("GetExtendedAgentCard", json!({})).await.unwrap();
        assert_eq!(plain["supportedInterfaces"], card["supportedInterfaces"]);
        assert!(plain.get("url").is_none(), "who says 1.0 needs nothing of 0.3: {plain}");
    }
    server.stop();
    let ann = crate::access::add(&place, &["ann"]);
    let server = place.serve();
    let card = server.read("/a2a/kit/.well-known/agent-card.json").await;
    assert_eq!(card["securityRequirements"], json!([{ "schemes": { "bearer": { "list": [] } } }]));
    assert!(card["skills"][0].get("examples").is_none(), "that is for those who have come in");
    let kit = Agent::of(&server, "kit", Binding::Rest);
    assert_eq!(kit.raw("GetExtendedAgentCard", &json!({})).await.status(), 401);
    let full = kit.with(&ann).call("GetExtendedAgentCard", json!({})).await.unwrap();
    assert!(full["skills"][0]["examples"].is_array());
    assert_eq!(server.get("/a2a").await.0, 401);
}

#[tokio::test]
async fn tasks_belong_to_their_tenant() {
    let place = place();
    let ann = crate::access::add(&place, &["ann", "--tenant", "acme"]);
    let bob = crate::access::add(&place, &["bob", "--tenant", "other"]);
    let server = place.serve();
    for binding in BINDINGS {
        let kit = Agent::of(&server, "kit", binding);
        let (hers, his) = (kit.with(&ann), kit.with(&bob));
        let task = hers.send(message("m1", "tck-input-required")).await;
        let id = json!({ "id": task["id"] });
        for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
            assert_eq!(his.call(method, id.clone()).await.unwrap_err().0, -32001, "{method}");
        }
        assert_eq!(his.refused(reply(&task, "m2", "x")).await.0, -32001);
        assert_eq!(his.call("ListTasks", json!({})).await.unwrap()["totalSize"], 0);
        let foreign = json!({ "tenant": "acme", "message": message("m1", "hi") });
        assert_eq!(his.call("SendMessage", foreign.clone()).await.unwrap_err().0, -32004);
        assert!(hers.call("SendMessage", foreign).await.is_ok());
        assert_eq!(state(&hers.get(&text(&task["id"])).await), "INPUT_REQUIRED");
    }
}

#[tokio::test]
async fn ends_say_why() {
    let place = place();
    let short = "workflow: short\npattern: sequential\nsequential: { agents: [a] }\nlimits: { wall: 200ms }\nagents:\n  a: { instructions: Wait. }\n";
    std::fs::write(place.path("flows/short.yaml"), short).unwrap();
    std::fs::write(place.path("flows/short.script.yaml"), "- { text: done, delay: 30s }\n")
        .unwrap();
    let server = place.serve();
    for binding in BINDINGS {
        let failed = Agent::of(&server, "short", binding).send(message("m1", "go")).await;
        assert_eq!(state(&failed), "FAILED", "{failed}");
        let said = &failed["status"]["message"]["parts"];
        assert!(text(&said[0]["text"]).contains("longer than its limit"), "{said}");
        assert_eq!(said[1]["data"]["code"], "limit_wall");
        let planner = Agent::of(&server, "event_planner", binding);
        let task = planner.send(message("m1", PARTY)).await;
        let stopped = planner.call("CancelTask", json!({ "id": task["id"] })).await.unwrap();
        assert_eq!(state(&stopped), "CANCELED", "{stopped}");
        assert_eq!(stopped["status"]["message"]["parts"][0]["text"], "stopped by local");
        assert_eq!(planner.get(&text(&task["id"])).await, stopped);
    }
}

#[tokio::test]
async fn who_is_asked_need_not_wait_for_what_others_do() {
    let place = place();
    let busy = "workflow: busy\npattern: graph\nstart: both\nexecutors:\n  both: { transform: input }\n  \
                ask: { ask: { prompt: 'Well?', kind: approval } }\nagents:\n  a: { instructions: Wait. }\nedges:\n  \
                - { from: both, to: ask }\n  - { from: both, to: a }\n";
    std::fs::write(place.path("flows/busy.yaml"), busy).unwrap();
    std::fs::write(place.path("flows/busy.script.yaml"), "- { text: done, delay: 60s }\n").unwrap();
    let server = place.serve();
    for binding in BINDINGS {
        let since = std::time::Instant::now();
        let agent = Agent::of(&server, "busy", binding);
        assert_eq!(state(&agent.send(message("m1", "go")).await), "INPUT_REQUIRED");
        let sent = json!({ "message": message("m1", "go") });
        let told = agent.events("SendStreamingMessage", sent).await;
        assert_eq!(state(told.last().unwrap()), "INPUT_REQUIRED", "{told:?}");
        assert!(since.elapsed() < Duration::from_secs(30));
    }
}
