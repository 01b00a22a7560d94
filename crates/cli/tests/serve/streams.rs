//! Streams: resumed anywhere, for every listener, whoever drives the run.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use signoff_testkit::Process;

use crate::support::{PARTY, Place, Server, Stream, text};

/// The rest of a stream.
async fn rest(mut stream: Stream) -> (Vec<Value>, Vec<Value>) {
    let (mut entries, mut deltas) = (Vec::new(), Vec::new());
    while let Some(event) = stream.next().await {
        match event.name.as_str() {
            "entry" => {
                assert_eq!(event.id, event.data["seq"].as_u64());
                entries.push(event.data);
            }
            "delta" => {
                assert!(event.id.is_none(), "text on its way has no place in the journal");
                deltas.push(event.data);
            }
            other => panic!("{other}: {}", event.data),
        }
    }
    (entries, deltas)
}

async fn events(server: &Server, path: &str) -> u16 {
    server.request(Method::GET, path).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_run_that_is_over_is_told_again_from_anywhere() {
    let server = Place::new().serve();
    let run = server.start("event_planner", PARTY).await;
    let done = server.answer_party(&run).await;
    let journal = server.journal(&run).await;
    for after in [0, 1, 9, journal.len() - 1] {
        let (entries, deltas) = rest(server.stream(&run, Some(after as u64)).await).await;
        assert_eq!(entries, journal[after..], "after {after}");
        assert!(deltas.is_empty());
    }
    let head = done["head"].as_u64().unwrap();
    let path = format!("/v1/runs/{run}/events");
    assert_eq!(events(&server, &format!("{path}?after={head}")).await, 204, "a client may rest");
    assert_eq!(events(&server, &format!("{path}?after={}", head + 1)).await, 400);
    let both = server.request(Method::GET, &format!("{path}?after=0"));
    let both = both.header("last-event-id", head.to_string()).send().await.unwrap();
    assert_eq!(both.status(), 204, "the header is newer than the address");
}

#[tokio::test]
async fn every_listener_hears_everything() {
    let server = Place::new().serve();
    let run = server.start("event_planner", PARTY).await;
    server.pending(&run).await;
    let listeners = [server.stream(&run, None).await, server.stream(&run, None).await];
    let gone = server.stream(&run, None).await;
    drop(gone);
    let listening = listeners.map(|stream| tokio::spawn(rest(stream)));
    let done = server.answer_party(&run).await;
    assert_eq!(done["status"], "completed", "who goes away stops nothing");
    let journal = server.journal(&run).await;
    let mut said = Vec::new();
    for listener in listening {
        let (entries, deltas) = listener.await.unwrap();
        assert_eq!(entries, journal);
        assert!(deltas.iter().all(|delta| delta["run"] == json!(run)));
        let budget = deltas.iter().filter(|delta| delta["agent"] == "budget");
        said.push(budget.map(|delta| text(&delta["text"])).collect::<String>());
    }
    assert!(!said[0].is_empty(), "text comes while it is said");
    assert_eq!(said[0], said[1]);
}

#[tokio::test]
async fn what_another_process_does_is_heard() {
    let place = Place::new();
    let server = place.serve();
    let run = server.start("event_planner", PARTY).await;
    server.pending(&run).await;
    let mut stream = server.stream(&run, None).await;
    stream.until("asked").await;
    for answer in ["2", "yes", "vegan"] {
        let request = server.pending(&run).await;
        let command = &mut place.command(&["inbox", "answer", &request, answer, "--as", "ada"]);
        let _ = Process::start(command).wait().exits(0);
        let decided = stream.until("decided").await.pop().unwrap();
        assert_eq!(decided.data["by"], "ada");
    }
    let ended = stream.until("run_completed").await.pop().unwrap();
    assert!(stream.next().await.is_none(), "nothing comes after the end");
    assert_eq!(ended.id, server.read(&format!("/v1/runs/{run}")).await["head"].as_u64());
}

#[tokio::test]
async fn streams_that_are_cut_miss_and_repeat_nothing() {
    let server = Place::new().serve();
    let run = server.start("event_planner", PARTY).await;
    let listeners: Vec<_> = (1..=24_usize)
        .map(|many| {
            let (server, run) = (server.client.clone(), run.clone());
            tokio::spawn(async move {
                let mut seen: Vec<Value> = Vec::new();
                loop {
                    let last = seen.last().and_then(|entry| entry["seq"].as_u64());
                    let mut stream = server.stream(&run, last).await;
                    // Cut off after a few, at another place for each.
                    for _ in 0..many {
                        let Some(event) = stream.entry().await else { break };
                        let over = event.data["type"] == "run_completed";
                        seen.push(event.data);
                        if over {
                            return seen;
                        }
                    }
                }
            })
        })
        .collect();
    server.answer_party(&run).await;
    let journal = server.journal(&run).await;
    for listener in listeners {
        assert_eq!(listener.await.unwrap(), journal);
    }
}

#[tokio::test]
async fn an_answer_is_seen_before_the_model_has_thought_about_it() {
    let server = Place::new().serve();
    let run = server.start("then", "hi").await;
    let request = server.pending(&run).await;
    let mut stream = server.stream(&run, None).await;
    stream.until("asked").await;
    assert_eq!(server.decide(&request, &json!({ "decision": "approve" })).await.0, 200);
    // The model takes half a minute.
    let decided = tokio::time::timeout(Duration::from_secs(15), stream.until("decided")).await;
    assert_eq!(decided.unwrap().pop().unwrap().data["request_id"], json!(request));
    let (status, paused) = server.post(&format!("/v1/runs/{run}/pause"), &json!({})).await;
    assert_eq!((status, &paused["status"]), (200, &json!("paused")), "{paused}");
}

/// Five hundred listeners whose connections break every one to five seconds, while their runs go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_streams_that_are_cut_over_and_over() {
    const RUNS: usize = 20;
    const EACH: usize = 25;
    let place = Place::new();
    let agents: Vec<String> = (1..=8).map(|n| format!("a{n}")).collect();
    let flow = format!(
        "workflow: long\npattern: sequential\nsequential: {{ agents: [{}] }}\nagents:\n  {}: {{ instructions: Go. }}\n",
        agents.join(", "),
        agents.join(": { instructions: Go. }\n  "),
    );
    std::fs::write(place.path("flows/long.yaml"), flow).unwrap();
    let replies = "- { text: one two three four, delay: 1s }\n";
    std::fs::write(place.path("flows/long.script.yaml"), replies).unwrap();
    let server = place.serve();
    let mut listeners = Vec::new();
    let mut runs = Vec::new();
    for n in 0..RUNS {
        let run = server.start("long", "go").await;
        for m in 0..EACH {
            let (client, run) = (server.client.clone(), run.clone());
            // From one to five seconds, at another time for each.
            let patience = move |cuts: u64| 1000 + (n * 997 + m * 131) as u64 * (cuts + 7) % 4000;
            listeners.push(tokio::spawn(async move {
                let mut seen: Vec<Value> = Vec::new();
                for cuts in 0.. {
                    let last = seen.last().and_then(|entry| entry["seq"].as_u64());
                    let mut stream = client.stream(&run, last).await;
                    let until = tokio::time::Instant::now() + Duration::from_millis(patience(cuts));
                    while let Ok(event) = tokio::time::timeout_at(until, stream.entry()).await {
                        let event = event.expect("the server ends a stream only with its run");
                        let over = event.data["type"] == "run_completed";
                        seen.push(event.data);
                        if over {
                            return (run, seen, cuts);
                        }
                    }
                }
                unreachable!("it goes on until the run is over");
            }));
        }
        runs.push(run);
    }
    let mut journals = std::collections::BTreeMap::new();
    for run in runs {
        let done = server.at_rest(&run).await;
        assert_eq!(done["status"], "completed");
        journals.insert(run.clone(), server.journal(&run).await);
    }
    let mut cut = 0;
    for listener in listeners {
        let (run, seen, cuts) = listener.await.unwrap();
        assert_eq!(seen, journals[&run], "no gap, no repeat, in order");
        cut += cuts;
    }
    assert!(cut > 500, "only {cut} were cut");
}
