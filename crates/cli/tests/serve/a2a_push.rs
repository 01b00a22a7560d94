//! Clients of A2A that are told elsewhere how their tasks go on.

use std::time::Duration;

use serde_json::{Value, json};

use crate::a2a_support::{Agent, BINDINGS, Binding, place};
use crate::receiver::Receiver;
use crate::support::{PARTY, Place, Server, text};

/// A server that may tell receivers on this machine.
fn serve(place: &Place) -> Server {
    std::fs::write(place.path("signoff.toml"), "[push]\nallow_private = true\n").unwrap();
    place.serve()
}

fn config(receiver: &Receiver) -> Value {
    json!({
        "url": format!("http://127.0.0.1:{}/told", receiver.port), "token": "t-1",
        "authentication": { "scheme": "Bearer", "credentials": "very-secret" },
    })
}

fn message(id: &str, says: &str, task: Option<&str>) -> Value {
    let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": says }] });
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    message
}

/// What was taken, in a word each.
fn told(receiver: &Receiver) -> Vec<String> {
    let taken = receiver.sent().into_iter().filter(|sent| sent.status == 204);
    let word = |event: Value| {
        let (kind, it) = event.as_object().unwrap().iter().next().unwrap();
        let state = text(&it["status"]["state"]);
        if kind == "artifactUpdate" { kind.clone() } else { format!("{kind} {state}") }
    };
    taken.map(|sent| word(sent.event())).collect()
}

/// Begins a party and has somebody told of it, from its first moment.
async fn begin(agent: &Agent, config: Value) -> String {
    let params = json!({
        "message": message("m1", PARTY, None),
        "configuration": { "returnImmediately": true, "taskPushNotificationConfig": config },
    });
    let sent = agent.call("SendMessage", params).await.unwrap();
    text(&sent["task"]["id"])
}

#[tokio::test]
async fn a_client_is_told_as_a_stream_would_tell_it() {
    let place = place();
    let server = serve(&place);
    for binding in BINDINGS {
        let receiver = Receiver::start(&[]);
        let agent = Agent::of(&server, "event_planner", binding);
        let task = begin(&agent, config(&receiver)).await;
        let asked = "statusUpdate TASK_STATE_INPUT_REQUIRED";
        receiver.until(|it| told(it).iter().any(|it| it == asked)).await;
        for (id, says) in [("m2", "The Glasshouse"), ("m3", "yes"), ("m4", "vegan")] {
            agent.send(message(id, says, Some(&task))).await;
        }
        let done = "statusUpdate TASK_STATE_COMPLETED";
        receiver.until(|it| told(it).iter().any(|it| it == done)).await;
        let told = told(&receiver);
        assert_eq!(told[..2], ["task TASK_STATE_SUBMITTED", "statusUpdate TASK_STATE_WORKING"]);
        assert_eq!(told.iter().filter(|it| *it == asked).count(), 3, "{told:?}");
        assert_eq!(told.iter().filter(|it| *it == "artifactUpdate").count(), 1, "{told:?}");
        assert_eq!(told.last().unwrap(), done);
        let sent = receiver.sent();
        for it in &sent {
            assert_eq!(it.headers["authorization"], "Bearer very-secret");
            assert_eq!(it.headers["x-a2a-notification-token"], "t-1");
            assert_eq!(it.headers["content-type"], "application/json");
        }
        // Put together they are the task.
        let found = agent.call("GetTask", json!({ "id": task })).await.unwrap();
        let artifact = sent.iter().map(|it| it.event()).find(|it| it["artifactUpdate"].is_object());
        assert_eq!(artifact.unwrap()["artifactUpdate"]["artifact"], found["artifacts"][0]);
        let last = sent.last().unwrap().event();
        assert_eq!(last["statusUpdate"]["status"], found["status"]);
    }
    let metrics = text(&server.read("/metrics").await);
    assert!(
        metrics.contains("signoff_push_notifications_total{outcome=\"delivered\"}"),
        "{metrics}"
    );
}

#[tokio::test]
async fn nothing_is_lost_while_receiver_and_server_are_down() {
    let (place, receiver) = (place(), Receiver::start(&[]));
    let server = serve(&place);
    let agent = Agent::of(&server, "event_planner", Binding::Rpc);
    let task = begin(&agent, config(&receiver)).await;
    receiver.until(|it| told(it).len() == 3).await;
    receiver.down();
    agent.send(message("m2", "The Glasshouse", Some(&task))).await;
    server.process.kill();
    let server = serve(&place);
    let agent = Agent::of(&server, "event_planner", Binding::Rest);
    agent.send(message("m3", "yes", Some(&task))).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    receiver.up();
    agent.send(message("m4", "vegan", Some(&task))).await;
    let done = "statusUpdate TASK_STATE_COMPLETED";
    receiver.until(|it| told(it).iter().any(|it| it == done)).await;
    let stream: Vec<String> = told(&receiver);
    // In order, and none left out: an answer is told as the work that follows it.
    let expected = [
        "task TASK_STATE_SUBMITTED",
        "statusUpdate TASK_STATE_WORKING",
        "statusUpdate TASK_STATE_INPUT_REQUIRED",
        "statusUpdate TASK_STATE_WORKING",
        "statusUpdate TASK_STATE_INPUT_REQUIRED",
        "statusUpdate TASK_STATE_WORKING",
        "statusUpdate TASK_STATE_INPUT_REQUIRED",
        "statusUpdate TASK_STATE_WORKING",
        "artifactUpdate",
        "statusUpdate TASK_STATE_COMPLETED",
    ];
    assert_eq!(stream, expected);
}

#[tokio::test]
async fn those_who_are_told_are_listed_and_taken_back() {
    let (place, receiver) = (place(), Receiver::start(&[]));
    let server = serve(&place);
    for binding in BINDINGS {
        let agent = Agent::of(&server, "event_planner", binding);
        let task = text(&agent.send(message("m1", PARTY, None)).await["id"]);
        let mut wanted = config(&receiver);
        (wanted["taskId"], wanted["id"]) = (task.as_str().into(), "mine".into());
        let made = agent.call("CreateTaskPushNotificationConfig", wanted.clone()).await.unwrap();
        assert_eq!(made, wanted);
        let named = json!({ "taskId": task, "id": "mine" });
        assert_eq!(
            agent.call("GetTaskPushNotificationConfig", named.clone()).await.unwrap(),
            wanted
        );
        let mut other = config(&receiver);
        other["taskId"] = task.as_str().into();
        let other = agent.call("CreateTaskPushNotificationConfig", other).await.unwrap();
        assert!(text(&other["id"]).starts_with("push_"), "the server names it: {other}");
        let all = json!({ "taskId": task });
        let listed = agent.call("ListTaskPushNotificationConfigs", all.clone()).await.unwrap();
        assert_eq!(listed, json!({ "configs": [wanted, other], "nextPageToken": "" }));
        for _ in 0..2 {
            agent.call("DeleteTaskPushNotificationConfig", named.clone()).await.unwrap();
        }
        let gone = agent.call("GetTaskPushNotificationConfig", named).await.unwrap_err();
        assert_eq!(gone.0, -32001, "{gone:?}");
        let listed = agent.call("ListTaskPushNotificationConfigs", all).await.unwrap();
        assert_eq!(listed["configs"].as_array().unwrap().len(), 1);
        let unknown = json!({ "taskId": "run_nobody", "url": wanted["url"] });
        let refused = agent.call("CreateTaskPushNotificationConfig", unknown).await.unwrap_err();
        assert_eq!(refused.0, -32001);
        // Only what comes from now on is told.
        assert!(told(&receiver).is_empty(), "{:?}", told(&receiver));
    }
}

#[tokio::test]
async fn private_and_redirecting_receivers_are_refused() {
    let (place, receiver) = (place(), Receiver::start(&[302]));
    let server = place.serve();
    let agent = Agent::of(&server, "event_planner", Binding::Rpc);
    let task = text(&agent.send(message("m1", PARTY, None)).await["id"]);
    for url in [
        format!("http://127.0.0.1:{}/", receiver.port),
        format!("https://127.0.0.1:{}/", receiver.port),
        "https://10.0.0.1/".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://[::1]/".to_owned(),
        "https://[fd00::1]/".to_owned(),
        "http://example.org/".to_owned(),
        "https://me:secret@example.org/".to_owned(),
        "ftp://example.org/".to_owned(),
        "nonsense".to_owned(),
        String::new(),
    ] {
        let wanted = json!({ "taskId": task, "url": url });
        let refused = agent.call("CreateTaskPushNotificationConfig", wanted).await.unwrap_err();
        assert_eq!(refused.0, -32602, "{url}: {refused:?}");
        let params = json!({
            "message": message("m9", PARTY, None),
            "configuration": { "taskPushNotificationConfig": { "url": url } },
        });
        assert_eq!(agent.call("SendMessage", params).await.unwrap_err().0, -32602, "{url}");
    }
    let tasks = agent.call("ListTasks", json!({})).await.unwrap();
    assert_eq!(tasks["totalSize"], 1, "nothing was begun");
    // A name that leads to this machine is found out when it is resolved; nobody is contacted.
    let wanted = json!({ "taskId": task, "url": format!("https://localhost:{}/", receiver.port) });
    agent.call("CreateTaskPushNotificationConfig", wanted).await.unwrap();
    agent.send(message("m2", "The Glasshouse", Some(&task))).await;
    let given_up = "signoff_push_notifications_total{outcome=\"given_up\"} 1";
    until(&server, given_up).await;
    assert!(receiver.sent().is_empty(), "{:?}", receiver.sent());
    drop(server);
    // Nor is a redirect followed, wherever it leads.
    let server = serve(&place);
    let agent = Agent::of(&server, "event_planner", Binding::Rpc);
    let mut wanted = config(&receiver);
    wanted["taskId"] = task.as_str().into();
    agent.call("CreateTaskPushNotificationConfig", wanted).await.unwrap();
    agent.send(message("m3", "yes", Some(&task))).await;
    until(&server, given_up).await;
    assert_eq!(receiver.sent().len(), 1, "{:?}", receiver.sent());
}

async fn until(server: &Server, line: &str) {
    for _ in 0..600 {
        if text(&server.read("/metrics").await).contains(line) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{line} does not come: {}", text(&server.read("/metrics").await));
}

#[tokio::test]
async fn clients_of_0_3_are_told_the_whole_task() {
    let (place, receiver) = (place(), Receiver::start(&[]));
    let server = serve(&place);
    let call = async |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, body) = server.post("/a2a/event_planner", &body).await;
        assert_eq!(status, 200, "{body}");
        body["result"].clone()
    };
    let said = json!({ "kind": "message", "messageId": "m1", "role": "user",
        "parts": [{ "kind": "text", "text": PARTY }] });
    let task = text(&call("message/send", json!({ "message": said })).await["id"]);
    let url = format!("http://127.0.0.1:{}/", receiver.port);
    let wanted = json!({ "taskId": task, "pushNotificationConfig": { "id": "mine", "url": url,
        "token": "t", "authentication": { "schemes": ["Basic"], "credentials": "eA==" } } });
    let made = call("tasks/pushNotificationConfig/set", wanted.clone()).await;
    assert_eq!(made, wanted);
    let named = json!({ "id": task, "pushNotificationConfigId": "mine" });
    assert_eq!(call("tasks/pushNotificationConfig/get", named.clone()).await, wanted);
    let all = call("tasks/pushNotificationConfig/list", json!({ "id": task })).await;
    assert_eq!(all, json!([wanted]));
    let said = json!({ "kind": "message", "messageId": "m2", "role": "user", "taskId": task,
        "parts": [{ "kind": "text", "text": "The Glasshouse" }] });
    call("message/send", json!({ "message": said })).await;
    receiver
        .until(|it| it.sent().iter().any(|it| it.event()["status"]["state"] == "input-required"))
        .await;
    let sent = receiver.sent();
    assert!(sent.iter().all(|it| it.event()["kind"] == "task"), "{sent:?}");
    assert_eq!(sent[0].headers["authorization"], "Basic eA==");
    assert_eq!(call("tasks/pushNotificationConfig/delete", named).await, Value::Null);
}
