//! Gates that are set for all workflows, decisions that are remembered, several decided at once.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use signoff_testkit::process::PATIENCE;

use crate::access::{add, ask};
use crate::gates::{WRITE, clerk};
use crate::support::{Client, Place, Server, text};

/// A gate that is about nothing the clerk does.
const IDLE: &str = "  - { name: before_deploy }\n";

async fn put(client: &Client, body: &Value) -> (u16, Value) {
    ask(client, "", Method::PUT, "/v1/policy", Some(body)).await
}

fn edits() -> Value {
    json!({ "policy": { "gates": [{ "name": "before_file_edit" }] } })
}

pub(crate) async fn wait_for(what: impl Fn() -> bool) {
    let since = Instant::now();
    while !what() {
        assert!(since.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What waits in a run, as soon as so many do.
pub(crate) async fn pending(server: &Client, run: &str, many: usize) -> Vec<Value> {
    let since = Instant::now();
    loop {
        let found = server.read(&format!("/v1/requests?status=pending&run={run}")).await;
        let found = found["data"].as_array().unwrap().clone();
        if found.len() == many {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "{found:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) async fn lines(server: &Server) -> Vec<Value> {
    server.read("/v1/audit?limit=500").await["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn gates_are_set_and_taken_back() {
    let place = Place::new();
    let server = clerk(&place, IDLE, WRITE);
    for _ in 0..2 {
        let (status, set) = put(&server, &edits()).await;
        assert_eq!((status, &set["version"]), (200, &json!(1)), "setting twice is setting once");
    }
    let (status, stale) = put(&server, &json!({ "policy": {}, "version": 7 })).await;
    assert_eq!((status, &stale["error"]["code"]), (409, &json!("version_conflict")));
    let wrong = json!({ "policy": { "gates": [{ "name": "x", "when": "action.kin == 'tool'" }] } });
    let (status, refused) = put(&server, &wrong).await;
    assert_eq!((status, &refused["error"]["code"]), (422, &json!("invalid_policy")));
    assert_eq!(refused["error"]["details"]["problems"][0]["at"], "/gates/0/when");
    assert_eq!(server.read("/v1/policy").await["version"], 1, "the one before stays");

    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    let found = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!(found["context"]["policy"], "set:1");
    let off = ask(&server, "", Method::DELETE, "/v1/policy", None).await.1;
    assert_eq!((&off["version"], &off["policy"]), (&json!(2), &Value::Null));
    let still = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!(still["status"], "pending", "loosening lets go of nothing");
    server.decide(&request, &json!({ "decision": "approve" })).await;
    assert_eq!(server.at_rest(&run).await["status"], "completed");

    std::fs::remove_file(place.path("workspace/a.txt")).unwrap();
    let run = server.start("clerk", "go").await;
    assert_eq!(server.at_rest(&run).await["status"], "completed", "as if never set");
    let said = lines(&server).await;
    let sets = said.iter().filter(|line| line["decision"]["decision"] == "policy_set").count();
    assert_eq!(sets, 2, "{said:?}");
}

#[tokio::test]
async fn what_is_tightened_after_an_approval_is_asked_again() {
    let place = Place::new();
    let server = clerk(&place, "  - { name: before_file_edit }\n", WRITE);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    assert_eq!(server.post(&format!("/v1/runs/{run}/pause"), &json!({})).await.0, 200);
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    let tighter = json!({ "policy": { "gates": [{ "name": "all", "when": "true" }] } });
    assert_eq!(put(&server, &tighter).await.0, 200);
    assert_eq!(server.post(&format!("/v1/runs/{run}/resume"), &json!({})).await.0, 200);
    let again = server.pending(&run).await;
    assert_ne!(again, request);
    assert!(!place.path("workspace/a.txt").exists(), "not done on the old approval alone");
    assert_eq!(server.decide(&again, &json!({ "decision": "approve" })).await.0, 200);
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let said = lines(&server).await;
    let used: Vec<_> =
        said.iter().filter(|line| line["decision"]["decision"] == "consumed").collect();
    assert_eq!(used.len(), 1, "{said:?}");
    assert_eq!(used[0]["decision"]["approved"], json!([1, 2]));
}

/// The run is driven while the looser rules hold, and by another process too: what waits goes on waiting.
#[tokio::test]
async fn what_is_loosened_while_it_waits_is_not_let_go() {
    let place = Place::new();
    let call = |n: u32| format!("{{ tool: write_file, arguments: {{ path: f{n}, content: x }} }}");
    let script =
        format!("- {{ turn: 1, call: [{}, {}] }}\n- {{ turn: 2, text: done }}\n", call(1), call(2));
    let server = clerk(&place, IDLE, &script);
    assert_eq!(put(&server, &edits()).await.0, 200);
    let run = server.start("clerk", "go").await;
    let waiting = pending(&server, &run, 2).await;
    let about = |path: &str| {
        let found = waiting.iter().find(|it| it["context"]["proposal"]["path"] == path);
        text(&found.unwrap()["id"])
    };
    for looser in [
        json!({ "policy": { "gates": [{ "name": "before_file_edit", "ask": "audit" }] } }),
        json!({ "policy": { "shadow": true, "gates": [{ "name": "before_file_edit" }] } }),
        json!({ "policy": {} }),
    ] {
        assert_eq!(put(&server, &looser).await.0, 200);
        assert_eq!(pending(&server, &run, 2).await.len(), 2, "{looser}");
    }
    assert_eq!(ask(&server, "", Method::DELETE, "/v1/policy", None).await.0, 200);
    // Its writer wakes for the one that is answered, and finds the other one.
    assert_eq!(server.decide(&about("f1"), &json!({ "decision": "approve" })).await.0, 200);
    wait_for(|| place.path("workspace/f1").exists()).await;
    assert_eq!(text(&pending(&server, &run, 1).await[0]["id"]), about("f2"));
    server.process.kill();
    let server = place.serve();
    for way in ["pause", "resume"] {
        assert_eq!(server.post(&format!("/v1/runs/{run}/{way}"), &json!({})).await.0, 200);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(text(&pending(&server, &run, 1).await[0]["id"]), about("f2"));
    assert!(!place.path("workspace/f2").exists(), "nobody has agreed to it");
    assert_eq!(server.decide(&about("f2"), &json!({ "decision": "reject" })).await.0, 200);
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    assert!(
        !place.path("workspace/f2").exists(),
        "what a person denied is not done by looser rules"
    );
}

#[tokio::test]
async fn the_operators_file_is_read_again_when_it_changes() {
    let place = Place::new();
    let config = "policy = \"policy.yaml\"\nenvironment = \"production\"\n";
    std::fs::write(place.path("policy.yaml"), "gates: [{ name: before_deploy }]\n").unwrap();
    let server = clerk(&place, IDLE, WRITE);
    server.process.kill();
    let with = std::fs::read_to_string(place.path("signoff.toml")).unwrap();
    std::fs::write(place.path("signoff.toml"), format!("{config}{with}")).unwrap();
    let server = place.serve();
    let before = server.read("/v1/policy").await;
    assert_eq!(before["environment"], "production");
    let run = server.start("clerk", "go").await;
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let version = || async { server.read("/v1/policy").await["operator"]["version"].clone() };
    // One that is wrong changes nothing.
    std::fs::write(place.path("policy.yaml"), "gates: [{ name: nothing }]\n").unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(version().await, before["operator"]["version"]);
    let smart = "gates: [{ name: all, when: 'true', ask: smart }]\n";
    std::fs::write(place.path("policy.yaml"), smart).unwrap();
    let since = Instant::now();
    while version().await == before["operator"]["version"] {
        assert!(since.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    let found = server.read(&format!("/v1/requests/{request}")).await;
    assert!(found["reasons"].to_string().contains("environment"), "{found}");
}

#[tokio::test]
async fn a_wrong_policy_file_is_refused_at_the_start() {
    let place = Place::new();
    std::fs::write(place.path("signoff.toml"), "policy = \"policy.yaml\"\n").unwrap();
    std::fs::write(place.path("policy.yaml"), "gates:\n  - name: x\n    when: action.kind > 3\n")
        .unwrap();
    let output = place.command(&["serve", "--addr", "127.0.0.1:0"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("policy.yaml:3:11"), "{said}");
    let output = place.command(&["policy", "check", "policy.yaml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[tokio::test]
async fn a_decision_is_remembered_until_it_is_taken_back() {
    let place = Place::new();
    let gate = "  - { name: edits, when: '\"file_edit\" in action.effects', ask: smart }\n";
    let server = clerk(&place, gate, WRITE);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    let remember =
        json!({ "reach": "workflow", "arguments": { "path": { "prefix": "a." } }, "times": 2 });
    let approve = json!({ "decision": "approve", "remember": remember });
    assert_eq!(server.decide(&request, &approve).await.0, 200);
    server.at_rest(&run).await;
    let grants = server.read("/v1/grants").await;
    assert_eq!(
        (&grants["data"][0]["what"], &grants["data"][0]["times"]),
        (&json!("approve"), &json!(2))
    );
    for _ in 0..2 {
        let run = server.start("clerk", "go").await;
        assert_eq!(server.at_rest(&run).await["status"], "completed", "nobody is asked");
    }
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    assert_eq!(server.read("/v1/grants").await["data"], json!([]), "it is used up");
    let deny = json!({ "decision": "reject", "remember": "workflow" });
    assert_eq!(server.decide(&request, &deny).await.0, 200);
    let run = server.start("clerk", "go").await;
    server.at_rest(&run).await;
    let grant = text(&server.read("/v1/grants").await["data"][0]["id"]);
    let path = format!("/v1/grants/{grant}");
    assert_eq!(ask(&server, "", Method::DELETE, &path, None).await.0, 204);
    let (status, gone) = ask(&server, "", Method::DELETE, &path, None).await;
    assert_eq!((status, &gone["error"]["code"]), (404, &json!("unknown_grant")));
    let run = server.start("clerk", "go").await;
    server.pending(&run).await;
    let said = lines(&server).await;
    for word in ["remembered", "forgotten", "allow", "deny"] {
        assert!(said.iter().any(|line| line["decision"]["decision"] == word), "{word}: {said:?}");
    }
    let verified = place.command(&["audit", "verify"]).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

#[tokio::test]
async fn a_bypass_ends_by_itself_and_is_recorded() {
    let place = Place::new();
    let server = clerk(&place, "  - { name: before_file_edit }\n", WRITE);
    let (status, refused) = server.post("/v1/grants", &json!({ "within": "9h" })).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("invalid_body")));
    let (status, grant) = server.post("/v1/grants", &json!({ "within": "2s" })).await;
    assert_eq!((status, &grant["what"]), (201, &json!("bypass")));
    let run = server.start("clerk", "go").await;
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let said = lines(&server).await;
    assert!(said.iter().any(|line| line["decision"].to_string().contains("bypass")), "{said:?}");
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let run = server.start("clerk", "go").await;
    server.pending(&run).await;
}

#[tokio::test]
async fn only_admins_change_the_rules() {
    let place = Place::new();
    let ann = add(&place, &["ann", "--role", "admin"]);
    let bob = add(&place, &["bob"]);
    let server = clerk(&place, IDLE, WRITE);
    for (method, path, body) in [
        (Method::PUT, "/v1/policy", edits()),
        (Method::DELETE, "/v1/policy", json!({})),
        (Method::POST, "/v1/grants", json!({})),
    ] {
        let (status, refused) = ask(&server, &bob, method.clone(), path, Some(&body)).await;
        assert_eq!((status, &refused["error"]["code"]), (403, &json!("not_permitted")), "{path}");
        assert!(ask(&server, &ann, method, path, Some(&body)).await.0 < 300, "{path}");
    }
}

#[tokio::test]
async fn several_are_decided_at_once() {
    let place = Place::new();
    let server = clerk(&place, "  - { name: before_file_edit }\n", WRITE);
    let mut asked = Vec::new();
    for _ in 0..3 {
        let run = server.start("clerk", "go").await;
        asked.push((server.pending(&run).await, run));
    }
    let items = |words: [&str; 3]| -> Value {
        let item = |((request, _), word): (&(String, String), &&str)| json!({ "request": request, "decision": word });
        asked.iter().zip(&words).map(item).collect()
    };
    let path = "/v1/requests/decisions";
    let wrong = json!({ "atomic": true, "items": items(["approve", "redo", "approve"]) });
    let (status, refused) = server.post(path, &wrong).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("none_decided")));
    assert_eq!(refused["error"]["details"]["items"][0]["item"], 1);
    assert_eq!(server.read("/v1/requests/count?status=pending").await["count"], 3);
    server.decide(&asked[2].0, &json!({ "decision": "reject" })).await;
    let all = json!({ "items": items(["approve", "approve", "approve"]) });
    let (status, results) = server.post(path, &all).await;
    assert_eq!(status, 200);
    assert_eq!(results["results"][0]["request"]["status"], "decided");
    assert_eq!(results["results"][2]["error"]["code"], "already_decided");
    for (_, run) in &asked {
        assert_eq!(server.at_rest(run).await["status"], "completed");
    }
}

async fn groups(server: &Server, by: &str) -> Value {
    server.read(&format!("/v1/requests/groups?by={by}")).await
}

/// What nobody has seen, and what is of high risk, is not decided with the others.
#[tokio::test]
async fn a_group_is_decided_without_those_of_high_risk() {
    let place = Place::new();
    let write = |n: u32| format!("{{ tool: write_file, arguments: {{ path: f{n}, content: x }} }}");
    let command = r#"{ tool: run_command, arguments: { argv: ["bash", "-c", "echo x >> log"] } }"#;
    let script = format!(
        "- {{ turn: 1, call: [{}, {}, {}, {command}] }}\n- {{ turn: 2, text: done }}\n",
        write(1),
        write(2),
        write(3)
    );
    let gates = "  - { name: edits, when: action.tool == 'write_file', risk: low }\n  \
                 - { name: third, when: \"'f3' in action.targets\", risk: critical }\n  \
                 - { name: runs, when: action.tool == 'run_command', risk: low }\n";
    let server = clerk(&place, gates, &script);
    let run = server.start("clerk", "go").await;
    let waiting = pending(&server, &run, 4).await;
    let id = |path: &str| {
        let about = |it: &&Value| it["context"]["proposal"]["path"] == path;
        text(&waiting.iter().find(about).unwrap()["id"])
    };
    let tools = json!([
        { "group": "write_file", "count": 3, "high_risk": 1 },
        { "group": "run_command", "count": 1, "high_risk": 0 },
    ]);
    assert_eq!(groups(&server, "tool").await, json!({ "data": tools, "more": false }));
    assert_eq!(
        groups(&server, "gate").await["data"][0],
        json!({ "group": "edits", "count": 3, "high_risk": 1 })
    );
    let targets = groups(&server, "target").await;
    let third = json!({ "group": "f3", "count": 1, "high_risk": 1 });
    assert!(targets["data"].as_array().unwrap().contains(&third), "{targets}");

    let path = "/v1/requests/decisions";
    let approve = json!({ "decision": "approve" });
    let group = |until: &str, more: &Value| {
        let mut body =
            json!({ "group": { "tool": "write_file", "until": until }, "decide": approve });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let later = "2999-01-01T00:00:00Z";
    for wrong in [
        json!({ "group": { "tool": "write_file", "until": later } }),
        json!({ "decide": approve }),
        json!({ "group": { "until": later }, "decide": approve }),
        group("soon", &json!({})),
        group(later, &json!({ "atomic": true })),
        json!({ "items": [], "include_high_risk": true }),
    ] {
        let (status, refused) = server.post(path, &wrong).await;
        assert_eq!((status, &refused["error"]["code"]), (400, &json!("invalid_body")), "{wrong}");
    }
    let (_, none) = server.post(path, &group("2020-01-01T00:00:00Z", &json!({}))).await;
    assert_eq!(
        none,
        json!({ "results": [], "left_out": [], "more": false }),
        "nobody had seen them"
    );
    let (status, some) = server.post(path, &group(later, &json!({}))).await;
    assert_eq!((status, some["results"].as_array().unwrap().len()), (200, 2), "{some}");
    assert_eq!(some["left_out"], json!([id("f3")]));
    wait_for(|| place.path("workspace/f1").exists() && place.path("workspace/f2").exists()).await;
    assert!(!place.path("workspace/f3").exists() && !place.path("workspace/log").exists());
    // Who means it says so, for the group or by name.
    let (_, rest) = server.post(path, &group(later, &json!({ "include_high_risk": true }))).await;
    assert_eq!(rest["results"][0]["request"]["id"], json!(id("f3")), "{rest}");
    wait_for(|| place.path("workspace/f3").exists()).await;
    let last = pending(&server, &run, 1).await;
    let named = json!({ "items": [{ "request": last[0]["id"], "decision": "reject" }] });
    assert_eq!(server.post(path, &named).await.1["results"][0]["request"]["status"], "decided");
    assert_eq!(server.at_rest(&run).await["status"], "completed");
}

#[tokio::test]
async fn gates_are_tried_out_on_what_was_done() {
    let place = Place::new();
    let server = clerk(&place, IDLE, WRITE);
    let run = server.start("clerk", "go").await;
    server.at_rest(&run).await;
    let (status, report) = server.post("/v1/policy/test", &edits()).await;
    assert_eq!(
        (status, &report["actions"], &report["ask"]),
        (200, &json!(1), &json!(1)),
        "{report}"
    );
    assert_eq!(report["changes"][0]["after"], "ask");
    std::fs::write(place.path("try.yaml"), "gates: [{ name: before_file_edit, ask: deny }]\n")
        .unwrap();
    let output = place.command(&["policy", "test", "try.yaml"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("write_file") && said.contains("allow -> deny"), "{said}");
    // The same in earnest, but only noted.
    let shadow = json!({ "policy": { "shadow": true, "gates": [{ "name": "before_file_edit" }] } });
    assert_eq!(put(&server, &shadow).await.0, 200);
    let run = server.start("clerk", "go").await;
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let said = lines(&server).await;
    assert!(
        said.iter().any(|line| line["decision"].to_string().contains("shadow ask")),
        "{said:?}"
    );
}

#[tokio::test]
async fn after_three_denials_everything_is_asked_for() {
    let place = Place::new();
    let call = |n: u32| {
        format!(
            "- {{ turn: {n}, call: [{{ tool: write_file, arguments: {{ path: f{n}, content: x }} }}] }}\n"
        )
    };
    let looks = "- { turn: 4, call: [{ tool: read_file, arguments: { path: a } }] }\n- { turn: 5, text: done }\n";
    let script = format!("{}{}{}{looks}", call(1), call(2), call(3));
    let server = clerk(&place, "  - { name: before_file_edit }\n", &script);
    let run = server.start("clerk", "go").await;
    for _ in 0..3 {
        let request = server.pending(&run).await;
        server.decide(&request, &json!({ "decision": "reject" })).await;
    }
    let request = server.pending(&run).await;
    let found = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!(found["context"]["tool"], "read_file");
    assert!(found["reasons"].to_string().contains("breaker"), "{found}");
    wait_for(|| !place.path("workspace/f1").exists()).await;
}
