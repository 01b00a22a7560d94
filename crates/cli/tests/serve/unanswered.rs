//! A request says beforehand what follows if nobody decides in time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_testkit::process::PATIENCE;

use crate::gates::{WRITE, clerk};
use crate::support::{Place, Server, text};

async fn asked(server: &Server, workflow: &str) -> Value {
    let run = server.start(workflow, "go").await;
    let request = server.pending(&run).await;
    server.read(&format!("/v1/requests/{request}")).await
}

#[tokio::test]
async fn a_gate_says_what_follows_its_deadline() {
    for (gate, then) in [
        ("", Value::Null),
        (", within: 1h", json!("deny")),
        (", within: 1h, on_timeout: skip", json!("skip")),
        (", within: 1h, on_timeout: approve, risk: low", json!("approve")),
        (", within: 1h, on_timeout: escalate, escalation: [{ who: {} }]", json!("escalate")),
    ] {
        let place = Place::new();
        let server = clerk(&place, &format!("  - {{ name: before_file_edit{gate} }}\n"), WRITE);
        let request = asked(&server, "clerk").await;
        assert_eq!(request["on_timeout"], then, "{gate}: {request}");
        assert_eq!(request["expires_at"].is_null(), then.is_null(), "{gate}: {request}");
    }
}

#[tokio::test]
async fn what_is_said_is_what_happens() {
    let place = Place::new();
    let gate = "  - { name: before_file_edit, within: 400ms, on_timeout: escalate, \
                escalation: [{ who: {}, within: 400ms }], finally: pause }\n";
    let server = clerk(&place, gate, WRITE);
    let run = server.start("clerk", "go").await;
    let path = format!("/v1/runs/{run}");
    let until = async |wanted: &dyn Fn(&Value) -> bool| {
        let since = Instant::now();
        loop {
            let found = server.read(&path).await;
            if wanted(&found) {
                return found;
            }
            assert!(since.elapsed() < PATIENCE, "{found}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    until(&|run| run["status"] == "paused").await;
    let all = server.read("/v1/requests?status=expired").await;
    let said: Vec<&Value> =
        all["data"].as_array().unwrap().iter().map(|it| &it["on_timeout"]).collect();
    assert!(said.len() == 2 && said.contains(&&json!("escalate")), "{said:?}");
    assert!(said.contains(&&json!("pause")), "{said:?}");
    let (status, resumed) = server.post(&format!("{path}/resume"), &json!({})).await;
    assert_eq!(status, 200, "{resumed}");
    let found = until(&|run| run["pending"][0].is_string()).await;
    let request = server.read(&format!("/v1/requests/{}", text(&found["pending"][0]))).await;
    assert_eq!((&request["expires_at"], &request["on_timeout"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn questions_of_workflows_and_agents_say_it_too() {
    let place = Place::new();
    let ask = "workflow: soon\npattern: graph\nstart: ask\nexecutors:\n  \
               ask: { ask: { prompt: Now?, within: 1h } }\n";
    std::fs::write(place.path("flows/soon.yaml"), ask).unwrap();
    let calls = "- { turn: 1, call: [{ tool: request_user_input, arguments: \
                 { prompt: Tea?, request_type: clarification, context: {} } }] }\n- { turn: 2, text: done }\n";
    for (id, more) in [
        ("plain", ""),
        ("default", ", default_answer: milk"),
        ("boss", ", default_answer: milk, escalate_to: the boss"),
    ] {
        let flow = format!(
            "workflow: {id}\npattern: sequential\nsequential: {{ agents: [host] }}\nagents:\n  host: {{ \
             instructions: Ask., tools: [request_user_input], answer_within: 1h{more} }}\n"
        );
        std::fs::write(place.path(&format!("flows/{id}.yaml")), flow).unwrap();
        std::fs::write(place.path(&format!("flows/{id}.script.yaml")), calls).unwrap();
    }
    let server = place.serve();
    for (workflow, then) in
        [("soon", "continue"), ("plain", "continue"), ("default", "default"), ("boss", "escalate")]
    {
        let request = asked(&server, workflow).await;
        assert_eq!(request["on_timeout"], then, "{workflow}: {request}");
    }
}
