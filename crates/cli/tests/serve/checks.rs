//! What separates gates that hold from gates that are hoped for: the checks by number, and the ways in which other systems were
//! seen to fail. Those that need a world of their own stand with their kind: edits and shells in `gates`, who may decide in
//! `deciders`, policies and what is remembered in `policy`, ten thousand orders in the runtime's `racing`.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use signoff_testkit::process::PATIENCE;

use crate::gates::{WRITE, clerk};
use crate::policy::{pending, wait_for};
use crate::support::{Place, Server, text};
use crate::ws_support::Socket;

pub(crate) const EDITS: &str = "  - { name: before_file_edit }\n";
/// Each time it is done there is a line more.
pub(crate) const APPEND: &str = r#"- { turn: 1, call: [{ tool: run_command, arguments: { argv: ["bash", "-c", "echo x >> log"] } }] }
- { turn: 2, text: done }
"#;

pub(crate) fn lines(place: &Place, file: &str) -> usize {
    std::fs::read_to_string(place.path(file)).map_or(0, |text| text.lines().count())
}

pub(crate) async fn audit(server: &Server, word: &str) -> usize {
    let all = server.read("/v1/audit?limit=500").await;
    let all = all["data"].as_array().unwrap().clone();
    all.iter().filter(|line| line["decision"]["decision"] == word).count()
}

#[tokio::test]
async fn check_1_killed_while_it_waits_it_is_done_once() {
    let place = Place::new();
    let server = clerk(&place, EDITS, APPEND);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    server.process.kill();
    let server = place.serve();
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    server.at_rest(&run).await;
    server.process.kill();
    let server = place.serve();
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    assert_eq!(lines(&place, "workspace/log"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_2_of_a_hundred_one_decides() {
    let place = Place::new();
    let server = clerk(&place, EDITS, APPEND);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    let deciding: Vec<_> = (0..100)
        .map(|n| {
            let (client, request) = (server.client.clone(), request.clone());
            let word = if n % 2 == 0 { "approve" } else { "reject" };
            let name = if n % 2 == 0 { "note" } else { "reason" };
            let decision = json!({ "decision": word, name: format!("{n}") });
            tokio::spawn(async move { client.decide(&request, &decision).await.0 })
        })
        .collect();
    let mut won = 0;
    for one in deciding {
        match one.await.unwrap() {
            200 => won += 1,
            status => assert_eq!(status, 409),
        }
    }
    assert_eq!(won, 1);
    server.at_rest(&run).await;
    let (yes, no) = (audit(&server, "approve").await, audit(&server, "reject").await);
    assert_eq!(yes + no, 1);
    assert_eq!(lines(&place, "workspace/log"), yes);
}

/// A tool server that writes files, in the words of its protocol.
const MCP: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        result = {"tools": [{"name": "store", "description": "Stores a file.", "inputSchema": schema}]}
    elif method == "tools/call":
        open(params["arguments"]["path"], "w").write("x")
        result = {"content": [{"type": "text", "text": "stored"}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

#[tokio::test]
async fn check_5_gates_hold_inside_other_workflows_and_for_tool_servers() {
    let place = Place::new();
    std::fs::write(place.path("tools.py"), MCP).unwrap();
    let written = place.path("stored.txt");
    let inner = "workflow: inner\npattern: sequential\nsequential: { agents: [hand] }\nagents:\n  hand: { instructions: Work., \
                 tools: [write_file, \"mcp:store/*\"] }\n";
    let outer = "workflow: outer\npattern: graph\nexecutors:\n  inside: { workflow: inner }\nstart: inside\n\
                 gates:\n  - { name: before_file_edit }\n  - { name: servers, when: action.tool == 'store_store' }\n";
    let script = format!(
        "- {{ turn: 1, call: [{{ tool: write_file, arguments: {{ path: a.txt, content: x }} }}] }}\n\
         - {{ turn: 2, call: [{{ tool: store_store, arguments: {{ path: {} }} }}] }}\n- {{ turn: 3, text: done }}\n",
        written.display()
    );
    for (name, text) in [
        ("flows/inner.yaml", inner),
        ("flows/outer.yaml", outer),
        ("flows/inner.script.yaml", &script),
    ] {
        std::fs::write(place.path(name), text).unwrap();
    }
    std::fs::create_dir_all(place.path("workspace")).unwrap();
    let config =
        "[tools.files]\nroot = \"workspace\"\n[mcp.store]\ncommand = [\"python3\", \"tools.py\"]\n";
    std::fs::write(place.path("signoff.toml"), config).unwrap();
    let server = place.serve();
    let run = server.start("outer", "go").await;
    let mut before = String::new();
    for file in [place.path("workspace/a.txt"), written] {
        // The outer run waits for the inner one, which takes its time to ask.
        let since = Instant::now();
        let request = loop {
            let found = server.read(&format!("/v1/requests?status=pending&run={run}")).await;
            match found["data"][0]["id"].as_str().filter(|id| *id != before) {
                Some(id) => break id.to_owned(),
                None => assert!(since.elapsed() < PATIENCE, "{found}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        before.clone_from(&request);
        let found = server.read(&format!("/v1/requests/{request}")).await;
        assert_eq!(
            found["agent_path"],
            json!(["inside", "hand"]),
            "asked at the root, with the way to it"
        );
        assert!(!file.exists(), "not before it is agreed to");
        assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
        let since = Instant::now();
        while !file.exists() {
            assert!(since.elapsed() < PATIENCE, "{}", file.display());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let since = Instant::now();
    while server.read(&format!("/v1/runs/{run}")).await["status"] != "completed" {
        assert!(since.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn check_7_of_three_that_wait_the_answered_one_goes_on() {
    let place = Place::new();
    let call = |n: u32| format!("{{ tool: write_file, arguments: {{ path: f{n}, content: x }} }}");
    let script = format!(
        "- {{ turn: 1, call: [{}, {}, {}] }}\n- {{ turn: 2, text: done }}\n",
        call(1),
        call(2),
        call(3)
    );
    let server = clerk(&place, EDITS, &script);
    let run = server.start("clerk", "go").await;
    let waiting = pending(&server, &run, 3).await;
    let second = waiting.iter().find(|it| it["context"]["proposal"]["path"] == "f2").unwrap();
    server.decide(second["id"].as_str().unwrap(), &json!({ "decision": "approve" })).await;
    let since = Instant::now();
    while !place.path("workspace/f2").exists() {
        assert!(since.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!place.path("workspace/f1").exists() && !place.path("workspace/f3").exists());
    assert_eq!(server.read("/v1/requests/count?status=pending").await["count"], 2);
}

/// An approval counts for one call, however many are the same.
#[tokio::test]
async fn as_many_calls_as_are_approved_are_made_of_several_that_are_the_same() {
    let place = Place::new();
    let call = r#"{ tool: run_command, arguments: { argv: ["bash", "-c", "echo x >> log"] } }"#;
    let script = format!(
        "- {{ turn: 1, call: [{call}, {call}, {call}, {call}] }}\n- {{ turn: 2, text: done }}\n"
    );
    let server = clerk(&place, EDITS, &script);
    let run = server.start("clerk", "go").await;
    let waiting = pending(&server, &run, 4).await;
    let digest = &waiting[0]["context"]["digest"];
    assert!(waiting.iter().all(|it| it["context"]["digest"] == *digest), "{waiting:?}");
    for (done, asked) in waiting.iter().enumerate().skip(1).take(2) {
        let request = text(&asked["id"]);
        assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
        // The same yes again is the same yes.
        assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
        wait_for(|| lines(&place, "workspace/log") >= done).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(lines(&place, "workspace/log"), done, "one for each that was approved");
        assert_eq!(pending(&server, &run, 4 - done).await.len(), 4 - done);
    }
    // The last two are answered by two people at once, over a crash.
    server.process.kill();
    let server = place.serve();
    let (no, yes) = (text(&waiting[0]["id"]), text(&waiting[3]["id"]));
    let (approve, reject) = (json!({ "decision": "approve" }), json!({ "decision": "reject" }));
    let (one, other) = tokio::join!(server.decide(&yes, &approve), server.decide(&no, &reject));
    assert_eq!((one.0, other.0), (200, 200));
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let used = audit(&server, "consumed").await;
    assert_eq!(lines(&place, "workspace/log"), used, "each call that was made used up an approval");
    assert!((2..=3).contains(&used), "{used}");
}

#[tokio::test]
async fn check_8_with_two_servers_time_runs_out_once() {
    let place = Place::new();
    let gate = "  - { name: before_file_edit, within: 400ms, on_timeout: escalate, escalation: [{ who: {}, within: 1h }] }\n";
    let one = clerk(&place, gate, WRITE);
    let two = place.serve();
    let run = one.start("clerk", "go").await;
    let first = one.pending(&run).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let all = two.read(&format!("/v1/requests?run={run}")).await;
    let all = all["data"].as_array().unwrap().clone();
    assert_eq!(all.len(), 2, "asked of others once: {all:?}");
    let (status, late) = two.decide(&first, &json!({ "decision": "approve" })).await;
    assert_eq!((status, &late["error"]["code"]), (410, &json!("expired")));
    assert_eq!(audit(&one, "expired").await, 1);
    let second = two.pending(&run).await;
    assert_eq!(two.decide(&second, &json!({ "decision": "approve" })).await.0, 200);
    let since = Instant::now();
    while !place.path("workspace/a.txt").exists() {
        assert!(since.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn check_12_whoever_comes_back_finds_the_request() {
    let place = Place::new();
    let server = clerk(&place, EDITS, WRITE);
    let run = server.start("clerk", "go").await;
    let mut stream = server.stream(&run, None).await;
    stream.until("asked").await;
    drop(stream);
    let request = server.pending(&run).await;
    server.process.kill();
    let server = place.serve();
    let (_, snapshot) = Socket::native(&server.client).await;
    assert!(snapshot.to_string().contains(&request), "{snapshot}");
}

#[tokio::test]
async fn check_13_a_changed_byte_of_the_record_is_found() {
    let place = Place::new();
    let server = clerk(&place, EDITS, WRITE);
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    server.decide(&request, &json!({ "decision": "approve", "note": "looks right" })).await;
    server.at_rest(&run).await;
    assert_eq!(audit(&server, "consumed").await, 1);
    server.stop();
    assert!(place.command(&["audit", "verify"]).output().unwrap().status.success());
    let database = rusqlite::Connection::open(place.path(".signoff/signoff.db")).unwrap();
    let changed = database
        .execute("UPDATE audit SET decision = replace(decision, 'right', 'wrong')", [])
        .unwrap();
    assert!(changed > 0);
    drop(database);
    let verified = place.command(&["audit", "verify"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");
}

/// Wake-up under load is measured by `signoff bench answers`, ten thousand and more by `signoff bench w4`; here, that neither
/// waits for a clock or costs a thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_14_an_answer_wakes_at_once_and_what_waits_costs_no_thread() {
    let place = Place::new();
    let server = place.serve();
    let threads =
        || std::fs::read_dir(format!("/proc/{}/task", server.process.id())).unwrap().count();
    let ask = async |count: usize| {
        let asking: Vec<_> = (0..8)
            .map(|_| {
                let client = server.client.clone();
                tokio::spawn(async move {
                    for _ in 0..count / 8 {
                        client.start("ask", "x").await;
                    }
                })
            })
            .collect();
        for one in asking {
            one.await.unwrap();
        }
    };
    // Threads that read the store come as they are needed, and stay; so some runs go first.
    ask(64).await;
    let before = threads();
    ask(1_000).await;
    assert!(threads() <= before + 8, "{before} threads, then {}", threads());
    let mut took = Vec::new();
    for _ in 0..40 {
        let run = server.start("ask", "x").await;
        let mut stream = server.stream(&run, None).await;
        stream.until("asked").await;
        let request = server.pending(&run).await;
        let since = Instant::now();
        let decided = json!({ "decision": "approve" });
        let (told, ()) = tokio::join!(server.decide(&request, &decided), async {
            stream.until("run_completed").await;
        });
        assert_eq!(told.0, 200);
        took.push(since.elapsed());
    }
    took.sort_unstable();
    // A poll once a second would take half of one; this is an unoptimised build on a machine that does other things.
    assert!(took[20] < Duration::from_millis(250), "{took:?}");
}

/// The ways in which the system that asked for all this was seen to fail.
#[tokio::test]
async fn seven_defects_are_not_here() {
    let place = Place::new();
    // 1, 2: the first action that needs a person asks over every channel, and leaves nothing behind on a console.
    let server = clerk(&place, "  - { name: before_execution, within: 600ms }\n", &danger());
    std::fs::create_dir_all(place.path("workspace/keep")).unwrap();
    let run = server.start("clerk", "go").await;
    let request = server.pending(&run).await;
    assert_eq!(server.read("/v1/requests/count?status=pending").await["count"], 1);
    // 6: a word that was not offered.
    let (status, refused) = server.decide(&request, &json!({ "decision": "banana" })).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("invalid_body")));
    let (status, refused) = server.decide(&request, &json!({ "decision": "revise" })).await;
    assert_eq!((status, &refused["error"]["code"]), (422, &json!("decision_not_allowed")));
    // 3: without an answer nothing is done; 5: a late one is told so, and nothing waits any more.
    let since = Instant::now();
    while server.read(&format!("/v1/runs/{run}")).await["status"] != "completed" {
        assert!(since.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(place.path("workspace/keep").exists());
    let (status, late) = server.decide(&request, &json!({ "decision": "approve" })).await;
    assert_eq!((status, &late["error"]["code"]), (410, &json!("expired")));
    assert_eq!(server.read("/v1/requests/count?status=pending").await["count"], 0);
    // 4: gates that are set twice ask once, and those that are taken back are gone.
    let twice = json!({ "policy": { "gates": [{ "name": "before_file_edit" }] } });
    for _ in 0..2 {
        let set = server.request(Method::PUT, "/v1/policy").json(&twice).send().await.unwrap();
        assert_eq!(set.status(), 200);
    }
    let policy = server.read("/v1/policy").await;
    assert_eq!(policy["policy"]["gates"].as_array().unwrap().len(), 1);
    assert_eq!(server.delete("/v1/policy").await.1["policy"], Value::Null);
    // 7: it is woken by the answer and not by a clock; `signoff bench answers` says how soon.
    let run = server.start("clerk", "go").await;
    let mut stream = server.stream(&run, None).await;
    stream.until("asked").await;
    let request = text(&server.read(&format!("/v1/runs/{run}")).await["pending"][0]);
    server.decide(&request, &json!({ "decision": "reject" })).await;
    stream.until("run_completed").await;
}

fn danger() -> String {
    r#"- { turn: 1, call: [{ tool: run_command, arguments: { argv: ["rm", "-rf", "keep"] } }] }
- { turn: 2, text: done }
"#
    .to_owned()
}
