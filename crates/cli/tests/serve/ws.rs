//! The WebSocket: what waits, what changes, decisions, runs as they grow.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signoff_testkit::Process;
use signoff_testkit::peers::{copied, install};

use crate::support::{PARTY, Place, Stream, text};
use crate::ws_support::Socket;

fn approve() -> Value {
    json!({ "decision": "approve" })
}

#[tokio::test]
async fn what_waits_is_told_first_and_what_changes_after() {
    let place = Place::new();
    let server = place.serve();
    let before = server.start("ask", "hi").await;
    let waits = server.pending(&before).await;
    let (mut socket, snapshot) = Socket::native(&server).await;
    assert_eq!(snapshot["requests"][0], server.read(&format!("/v1/requests/{waits}")).await);
    assert!(snapshot["next_cursor"].is_null(), "{snapshot}");

    let started = socket
        .ask(&json!({ "type": "start", "workflow": "ask", "input": "hi", "idempotency_key": "k" }))
        .await;
    assert_eq!((&started["type"], &started["created"]), (&json!("ack"), &json!(true)), "{started}");
    let run = text(&started["run"]["id"]);
    let mut between = Vec::new();
    let again = socket
        .ask_keeping(
            &json!({ "type": "start", "workflow": "ask", "input": "hi", "idempotency_key": "k" }),
            &mut between,
        )
        .await;
    assert_eq!((&again["created"], &again["run"]["id"]), (&json!(false), &json!(run)));
    let request = server.pending(&run).await;
    let asked = match between.iter().find(|it| it["type"] == "request") {
        Some(told) => told["request"].clone(),
        None => socket.told(&request, "asked").await,
    };
    assert_eq!(asked, server.read(&format!("/v1/requests/{request}")).await);

    let ack = socket
        .ask(&json!({ "type": "decide", "request": request, "decision": approve(), "version": 1 }))
        .await;
    assert_eq!(
        (&ack["type"], &ack["request"]["status"]),
        (&json!("ack"), &json!("decided")),
        "{ack}"
    );
    let (status, _) = server.decide(&waits, &json!({ "decision": "reject" })).await;
    assert_eq!(status, 200);
    let told = socket.told(&waits, "decided").await;
    assert_eq!(told["decision"]["decision"], "reject");
    socket.hears_no(|it| it["type"] == "request").await;
}

#[tokio::test]
async fn requests_expire_and_are_withdrawn() {
    let place = Place::new();
    let server = place.serve();
    let (mut socket, _) = Socket::native(&server).await;
    let late = server.start("late", "hi").await;
    let id = format!("req_{}_1", late.trim_start_matches("run_"));
    assert_eq!(socket.told(&id, "asked").await["status"], "pending");
    assert_eq!(socket.told(&id, "expired").await["status"], "expired");

    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    socket.told(&request, "asked").await;
    server.post(&format!("/v1/runs/{run}/cancel"), &json!({})).await;
    assert_eq!(socket.told(&request, "cancelled").await["status"], "cancelled");
}

#[tokio::test]
async fn what_other_processes_do_is_told_within_a_second() {
    let place = Place::new();
    let server = place.serve();
    let old = server.start("ask", "hi").await;
    let waits = server.pending(&old).await;
    let (mut socket, _) = Socket::native(&server).await;
    // Asked elsewhere.
    let ended =
        Process::start(&mut place.command(&["run", "ask", "hi", "--no-prompt", "queue", "--json"]));
    let asked = socket.until(|it| it["change"] == "asked").await;
    let _ = ended.wait().exits(3);
    let request = text(&asked["request"]["id"]);
    // Answered elsewhere.
    let answered = &mut place.command(&["inbox", "answer", &request, "yes", "--as", "ada"]);
    let _ = Process::start(answered).wait().exits(0);
    let since = Instant::now();
    let decided = socket.told(&request, "decided").await;
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    assert_eq!(decided["decision"]["by"], "ada");
    // Withdrawn elsewhere: a run is stopped by a server beside this one.
    let other = place.serve();
    other.post(&format!("/v1/runs/{old}/cancel"), &json!({})).await;
    let since = Instant::now();
    socket.told(&waits, "cancelled").await;
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_between_the_snapshot_and_what_follows() {
    let server = Place::new().serve();
    let asking = {
        let server = server.client.clone();
        tokio::spawn(async move {
            let mut runs = Vec::new();
            for _ in 0..60 {
                runs.push(server.start("ask", "hi").await);
            }
            runs
        })
    };
    let mut listening = Vec::new();
    for _ in 0..8 {
        let server = server.client.clone();
        listening.push(tokio::spawn(async move {
            let (mut socket, snapshot) = Socket::native(&server).await;
            let mut seen: Vec<String> =
                snapshot["requests"].as_array().unwrap().iter().map(|it| text(&it["id"])).collect();
            while seen.len() < 60 {
                let told = socket.next().await;
                if told["type"] == "snapshot" {
                    // It was too slow: this is all there is.
                    seen = told["requests"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|it| text(&it["id"]))
                        .collect();
                    assert!(seen.len() <= 50);
                    continue;
                }
                assert_eq!(told["change"], "asked", "{told}");
                seen.push(text(&told["request"]["id"]));
            }
            seen
        }));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let runs = asking.await.unwrap();
    for one in listening {
        let mut seen = one.await.unwrap();
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((seen.len(), all), (60, 60), "each once");
        for run in &runs {
            let id = format!("req_{}_1", run.trim_start_matches("run_"));
            assert!(seen.contains(&id), "{id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_decide_at_once_one_does_and_both_are_told() {
    let server = Place::new().serve();
    let (mut ada, _) = Socket::native(&server).await;
    let (mut bob, _) = Socket::native(&server).await;
    for _ in 0..50 {
        let run = server.start("ask", "hi").await;
        let request = server.pending(&run).await;
        let wish = |note: &str| json!({ "type": "decide", "request": request, "decision": { "decision": "approve", "note": note } });
        let (ada_wants, bob_wants) = (wish("ada"), wish("bob"));
        let (mut by_ada, mut by_bob) = (Vec::new(), Vec::new());
        let (first, second) = tokio::join!(
            ada.ask_keeping(&ada_wants, &mut by_ada),
            bob.ask_keeping(&bob_wants, &mut by_bob)
        );
        let (won, lost) =
            if first["type"] == "ack" { (&first, &second) } else { (&second, &first) };
        assert_eq!((&won["type"], &lost["type"]), (&json!("ack"), &json!("error")), "{won} {lost}");
        assert_eq!(lost["error"]["code"], "already_decided");
        let note = &won["request"]["decision"]["note"];
        assert_eq!(&lost["error"]["details"]["decision"]["note"], note);
        for (socket, kept) in [(&mut ada, by_ada), (&mut bob, by_bob)] {
            let told = kept.into_iter().find(|it| it["change"] == "decided");
            let told = match told {
                Some(told) => told["request"].clone(),
                None => socket.told(&request, "decided").await,
            };
            assert_eq!(&told["decision"]["note"], note);
        }
    }
}

/// Entries up to the end of the run, or up to where the connection breaks.
async fn entries(socket: &mut Socket, run: &str, seen: &mut Vec<Value>, until: &str) -> bool {
    loop {
        let Ok(told) = socket.receive().await else { return false };
        if told["attached"] != run {
            continue;
        }
        match told["type"].as_str().unwrap() {
            "entry" => {
                let done = told["entry"]["type"] == until;
                seen.push(told["entry"].clone());
                if done && until == "asked" {
                    return true;
                }
            }
            "end" => return true,
            "delta" => assert!(!text(&told["text"]).is_empty()),
            other => panic!("{other}: {told}"),
        }
    }
}

#[tokio::test]
async fn a_run_is_followed_over_a_crash_without_gap_or_repeat() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("event_planner", PARTY).await;
    let mut seen = Vec::new();
    let (mut socket, _) = Socket::native(&server).await;
    let ack = socket.ask(&json!({ "type": "attach", "run": run })).await;
    assert_eq!((&ack["type"], &ack["run"]), (&json!("ack"), &json!(run)), "{ack}");
    entries(&mut socket, &run, &mut seen, "asked").await;
    let request = server.pending(&run).await;
    let decide = json!({ "type": "decide", "request": request, "decision": { "decision": "respond", "content": "The Glasshouse" } });
    socket.send(decide.to_string()).await;
    entries(&mut socket, &run, &mut seen, "asked").await;
    assert!(server.process.kill().was_killed());
    while socket.receive().await.is_ok() {}

    let server = place.serve();
    let (mut socket, snapshot) = Socket::native(&server).await;
    assert_eq!(snapshot["requests"].as_array().unwrap().len(), 1);
    let after = seen.last().unwrap()["seq"].clone();
    socket.ask(&json!({ "type": "attach", "run": run, "after": after })).await;
    for decision in [approve(), json!({ "decision": "respond", "content": "vegan" })] {
        let request = server.pending(&run).await;
        let decide = json!({ "type": "decide", "request": request, "decision": decision });
        socket.send(decide.to_string()).await;
        if decision["decision"] == "approve" {
            entries(&mut socket, &run, &mut seen, "asked").await;
        }
    }
    entries(&mut socket, &run, &mut seen, "").await;
    assert_eq!(seen, server.journal(&run).await);
    let over = seen.len();
    let ack = socket.ask(&json!({ "type": "attach", "run": run, "after": over })).await;
    assert_eq!(ack["status"], "completed");
    assert_eq!(socket.next().await["type"], "end", "there is nothing more to tell");
}

#[tokio::test]
async fn several_runs_are_followed_and_left() {
    let server = Place::new().serve();
    let (mut socket, _) = Socket::native(&server).await;
    let runs = [server.start("ask", "a").await, server.start("ask", "b").await];
    for run in &runs {
        server.pending(run).await;
        socket.ask(&json!({ "type": "attach", "run": run })).await;
    }
    let ack = socket.ask(&json!({ "type": "detach", "run": runs[0] })).await;
    assert_eq!(ack["was_attached"], true);
    let ack = socket.ask(&json!({ "type": "detach", "run": "run_x" })).await;
    assert_eq!(ack["was_attached"], false);
    for run in &runs {
        let request = server.pending(run).await;
        server.decide(&request, &approve()).await;
    }
    let end = socket.until(|it| it["type"] == "end").await;
    assert_eq!(end["attached"], json!(runs[1]));
    socket.hears_no(|it| it["attached"] == json!(runs[0])).await;
}

#[tokio::test]
async fn the_inbox_is_read_in_pages() {
    let server = Place::new().serve();
    for _ in 0..3 {
        let run = server.start("ask", "hi").await;
        server.pending(&run).await;
    }
    let (mut socket, _) = Socket::native(&server).await;
    let first = socket
        .ask(&json!({ "type": "requests", "filters": { "status": "pending", "workflow": "ask" }, "limit": 2 }))
        .await;
    assert_eq!(first["requests"].as_array().unwrap().len(), 2, "{first}");
    let rest = socket
        .ask(&json!({ "type": "requests", "filters": { "status": "pending" }, "cursor": first["next_cursor"] }))
        .await;
    assert_eq!(rest["requests"].as_array().unwrap().len(), 1, "{rest}");
    assert!(rest["next_cursor"].is_null());
    let pong = socket.ask(&json!({ "type": "ping" })).await;
    assert_eq!(pong["type"], "ack");
    socket.ask(&json!({ "type": "snapshot" })).await;
    assert_eq!(socket.next().await["requests"].as_array().unwrap().len(), 3);
}

#[test]
fn the_example_plans_a_party() {
    let server = Place::new().serve();
    let folder = copied("websocket-javascript");
    install(
        &folder,
        &folder.join("node_modules/ws"),
        &["npm", "install", "--no-audit", "--no-fund"],
    );
    let mut command = Command::new("node");
    command.arg(folder.join("approve.mjs")).env("SIGNOFF_URL", &server.url).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = said.lines().filter(|line| line.starts_with("> ")).collect();
    assert_eq!(answers, ["> The Glasshouse", "> approve", "> vegan"], "{said}");
}

#[tokio::test]
async fn it_stops_with_a_word() {
    let server = Place::new().serve();
    let (mut socket, _) = Socket::native(&server).await;
    server.process.terminate();
    assert_eq!(socket.next().await["type"], "bye");
    let closed = socket.receive().await.unwrap_err();
    assert_eq!(closed, (1001, "the server is stopping".to_owned()));
    let _ = server.process.wait().exits(0);
}

#[tokio::test]
async fn changes_are_streamed_as_events_too() {
    let server = Place::new().serve();
    let mut stream = Stream::open(&server, "/v1/requests/events").await;
    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    let asked = stream.next().await.unwrap();
    assert_eq!((asked.name.as_str(), &asked.data["change"]), ("request", &json!("asked")));
    assert_eq!(asked.data["request"], server.read(&format!("/v1/requests/{request}")).await);
    server.decide(&request, &approve()).await;
    let decided = stream.next().await.unwrap();
    assert_eq!(
        (&decided.data["change"], &decided.data["request"]["status"]),
        (&json!("decided"), &json!("decided"))
    );
    server.process.terminate();
    assert_eq!(stream.next().await.unwrap().name, "bye");
    assert!(stream.next().await.is_none());
}
