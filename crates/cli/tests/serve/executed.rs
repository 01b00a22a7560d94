//! What the record says of calls that gates let pass, when they have ended: once each, whatever happens meanwhile.

use serde_json::{Value, json};

use crate::gates::{WRITE, clerk};
use crate::policy::wait_for;
use crate::support::{Client, Place, Server, text};

const GATE: &str = "  - { name: before_file_edit }\n";

/// The lines of the record with one of these words, oldest first.
async fn lines(client: &Client, words: &[&str]) -> Vec<Value> {
    let all = client.read("/v1/audit?limit=500").await;
    let all = all["data"].as_array().unwrap().clone();
    let wanted = |line: &Value| words.iter().any(|word| line["decision"]["decision"] == *word);
    all.into_iter().filter(wanted).collect()
}

fn sha256(value: &Value) -> Value {
    signoff_store::hex_sha256(value.to_string().as_bytes()).into()
}

/// What came of a call, as the journal has it.
async fn outcome(server: &Client, run: &str) -> Value {
    let journal = server.journal(run).await;
    let ended = |entry: &&Value| entry["type"] == "effect" && entry["kind"] == "tool";
    journal.iter().rfind(ended).unwrap()["outcome"].clone()
}

#[tokio::test]
async fn a_call_is_in_the_record_from_the_question_to_what_came_of_it() {
    let place = Place::new();
    let server = clerk(&place, GATE, WRITE);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    let shown = server.read(&format!("/v1/requests/{request}")).await;
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let all = server.read("/v1/audit?limit=500").await["data"].as_array().unwrap().clone();
    let words: Vec<String> = all.iter().map(|line| text(&line["decision"]["decision"])).collect();
    assert_eq!(words, ["asked", "requested", "viewed", "approve", "consumed", "executed"]);
    let about = |line: &Value| (text(&line["by"]), text(&line["request"]));
    let wanted = [
        ("policy", &run),
        ("system", &request),
        ("local", &request),
        ("local", &request),
        ("policy", &run),
        ("system", &run),
    ];
    for (line, (by, of)) in all.iter().zip(wanted) {
        assert_eq!(about(line), (by.to_owned(), of.clone()), "{line}");
    }
    let said: Vec<&Value> = all.iter().map(|line| &line["decision"]).collect();
    let digest = &shown["context"]["digest"];
    for n in [0, 1, 4, 5] {
        assert_eq!(&said[n]["digest"], digest, "all of it is about the same: {}", said[n]);
    }
    assert_eq!((&said[1]["kind"], &said[1]["agent"]), (&json!("tool_call"), &shown["agent_path"]));
    let journal = server.journal(&run).await;
    let asked = journal.iter().find(|entry| entry["type"] == "asked").unwrap();
    assert_eq!(said[1]["sha256"], sha256(&asked["body"]), "what binds the question");
    assert_eq!(said[3]["channel"], "http");
    let done = said[5];
    assert_eq!((&done["tool"], &done["result"]), (&json!("write_file"), &json!("ok")));
    assert!(done["took_ms"].is_u64() && done.get("error").is_none(), "{done}");
    assert_eq!(
        done["sha256"],
        sha256(&outcome(&server, &run).await["ok"]),
        "what binds the result"
    );
    assert!(!done.to_string().contains("a.txt"), "and nothing of it: {done}");
    assert!(place.command(&["audit", "verify"]).output().unwrap().status.success());
}

#[tokio::test]
async fn a_question_that_no_gate_asks_is_in_the_record_too() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("ask", "x").await;
    let request = server.pending(&run).await;
    let yes = json!({ "decision": "approve", "note": "fine" });
    assert_eq!(server.decide(&request, &yes).await.0, 200);
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let all = server.read("/v1/audit?limit=500").await["data"].as_array().unwrap().clone();
    let words: Vec<String> = all.iter().map(|line| text(&line["decision"]["decision"])).collect();
    assert_eq!(words, ["requested", "approve"], "{all:?}");
    assert!(all.iter().all(|line| line["request"] == request), "{all:?}");
    assert!(all[0]["decision"].get("digest").is_none(), "it is about no call: {}", all[0]);
}

#[tokio::test]
async fn what_is_denied_or_fails_is_said_to_be() {
    let place = Place::new();
    let calls = "- { turn: 1, call: [{ tool: write_file, arguments: { path: c.txt, content: x } }] }\n\
                 - { turn: 2, call: [{ tool: write_file, arguments: { path: a.txt, content: x } }] }\n\
                 - { turn: 3, call: [{ tool: read_file, arguments: { path: b.txt } }] }\n\
                 - { turn: 4, text: done }\n";
    let gates = "  - { name: before_file_edit }\n  - { name: reads, when: action.tool == 'read_file', ask: audit }\n";
    std::fs::create_dir_all(place.path("workspace")).unwrap();
    std::fs::write(place.path("workspace/b.txt"), "tulip").unwrap();
    let server = clerk(&place, gates, calls);
    let run = server.start("clerk", "go").await;
    let first = server.pending(&run).await;
    std::fs::write(place.path("workspace/c.txt"), "meanwhile").unwrap();
    assert_eq!(server.decide(&first, &json!({ "decision": "approve" })).await.0, 200);
    let second = another(&server, &run, &first).await;
    let no = json!({ "decision": "reject", "then": "continue" });
    assert_eq!(server.decide(&second, &no).await.0, 200);
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let said: Vec<Value> = lines(&server, &["executed", "allow"])
        .await
        .into_iter()
        .map(|line| {
            let said = &line["decision"];
            json!([said["decision"], said["tool"], said["result"], said["error"]])
        })
        .collect();
    let wanted = [
        json!(["executed", "write_file", "error", "file_changed"]),
        json!(["allow", "read_file", null, null]),
        json!(["executed", "read_file", "ok", null]),
    ];
    assert_eq!(said, wanted, "what was denied was not done");
}

async fn another(server: &Client, run: &str, not: &str) -> String {
    text(&crate::deciders::pending(server, "", run, not).await["id"])
}

/// The first time it is called it takes long enough to be killed.
const SLOW: &str = r#"- { turn: 1, call: [{ tool: run_command, arguments: { argv: ["bash", "-c", "echo x >> log; [ $(wc -l < log) -gt 1 ] || sleep 20"] } }] }
- { turn: 2, text: done }
"#;

/// A server that was killed in the middle of a call: what comes back asks whether it was done.
async fn killed_in_a_call(place: &Place) -> (Server, String, String) {
    let server = clerk(place, GATE, SLOW);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    wait_for(|| place.path("workspace/log").exists()).await;
    server.process.kill();
    let server = place.serve();
    let doubt = another(&server, &run, &request).await;
    let kind = server.read(&format!("/v1/requests/{doubt}")).await["kind"].clone();
    assert_eq!(kind, "in_doubt");
    assert!(lines(&server, &["executed"]).await.is_empty(), "nobody knows yet");
    (server, run, doubt)
}

#[tokio::test]
async fn a_call_that_a_kill_interrupts_is_in_the_record_once() {
    let said = json!("it was there");
    for (decision, result) in [
        (json!({ "decision": "retry" }), "ok"),
        (json!({ "decision": "skip" }), "marked"),
        (json!({ "decision": "respond", "content": said }), "marked"),
    ] {
        let place = Place::new();
        let (server, run, doubt) = killed_in_a_call(&place).await;
        assert_eq!(server.decide(&doubt, &decision).await.0, 200);
        assert_eq!(server.at_rest(&run).await["status"], "completed");
        // Whoever comes next has nothing to add.
        server.process.kill();
        let server = place.serve();
        assert_eq!(server.at_rest(&run).await["status"], "completed");
        let done = lines(&server, &["executed"]).await;
        assert_eq!(done.len(), 1, "{decision}: {done:?}");
        let done = &done[0]["decision"];
        assert_eq!((&done["result"], &done["tool"]), (&json!(result), &json!("run_command")));
        let used = lines(&server, &["consumed"]).await;
        assert_eq!(used.len(), 1, "the approval is used up once: {used:?}");
        let asked = lines(&server, &["asked"]).await;
        assert_eq!(done["digest"], asked[0]["decision"]["digest"], "{decision}");
        let given = outcome(&server, &run).await["ok"].clone();
        assert_eq!(done["sha256"], sha256(&given), "{decision}: {given}");
        if decision["decision"] == "respond" {
            assert_eq!(given, said);
        }
    }
}

/// A tool server whose tool asks people something before it does anything.
const MCP: &str = r#"
import json, sys
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
call = None
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked.get("method"), asked.get("params", {})
    if method is None:
        if asked["id"] == "which" and call is not None:
            text = json.dumps(asked["result"].get("content"))
            send(id=call, result={"content": [{"type": "text", "text": text}]})
            call = None
    elif "id" not in asked:
        continue
    elif method == "initialize":
        info = {"name": "t", "version": "1"}
        send(id=asked["id"], result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        send(id=asked["id"], result={"tools": [{"name": "put", "description": "Puts it.", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        call = asked["id"]
        schema = {"type": "object", "properties": {"shelf": {"type": "string"}}, "required": ["shelf"]}
        send(id="which", method="elicitation/create", params={"message": "Which shelf?", "requestedSchema": schema})
    else:
        send(id=asked["id"], result={})
"#;

#[tokio::test]
async fn a_call_that_asks_people_is_done_when_it_gives_its_result() {
    let place = Place::new();
    std::fs::write(place.path("tools.py"), MCP).unwrap();
    let config = "[mcp.store]\ncommand = [\"python3\", \"tools.py\"]\n";
    let flow = "workflow: keeper\npattern: sequential\nsequential: { agents: [hand] }\nagents:\n  hand: { instructions: Work., \
                tools: [\"mcp:store/*\"] }\ngates:\n  - { name: puts, when: action.tool == 'store_put' }\n";
    let script =
        "- { turn: 1, call: [{ tool: store_put, arguments: {} }] }\n- { turn: 2, text: done }\n";
    for (name, text) in [
        ("signoff.toml", config),
        ("flows/keeper.yaml", flow),
        ("flows/keeper.script.yaml", script),
    ] {
        std::fs::write(place.path(name), text).unwrap();
    }
    let server = place.serve();
    let run = server.start("keeper", "go").await;
    let gate = server.pending(&run).await;
    assert_eq!(server.decide(&gate, &json!({ "decision": "approve" })).await.0, 200);
    let which = another(&server, &run, &gate).await;
    assert!(lines(&server, &["executed"]).await.is_empty(), "it only asks");
    // Whoever gets the answer has not judged the call.
    server.process.kill();
    let server = place.serve();
    let shelf = json!({ "decision": "respond", "content": { "shelf": "top" } });
    let (status, answer) = server.decide(&which, &shelf).await;
    assert_eq!(status, 200, "{answer}");
    let done = server.at_rest(&run).await;
    assert_eq!(done["status"], "completed", "{done}");
    let all = lines(&server, &["asked", "requested", "consumed", "executed"]).await;
    let words: Vec<&Value> = all.iter().map(|line| &line["decision"]["decision"]).collect();
    assert_eq!(words, ["asked", "requested", "consumed", "requested", "executed"], "{all:?}");
    let (asked, done) = (&all[0]["decision"], &all[4]["decision"]);
    assert_eq!((&done["digest"], &done["result"]), (&asked["digest"], &json!("ok")), "{done}");
    assert_eq!(done["sha256"], sha256(&outcome(&server, &run).await["ok"]));
}
