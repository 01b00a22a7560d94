//! What nodes on one PostgreSQL database do for each other's clients, and how one leaves.

use std::time::{Duration, Instant};

use signoff_testkit::postgres;

use crate::support::{Event, Place, Server};

const SPEECH: &str = "This is a long story that a model tells word by word, while somebody listens on another machine.";

/// A node with two workflows: one that takes its time to speak, one that takes many turns.
fn node(address: &str) -> Server {
    let place = Place::new();
    let one =
        "pattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: Do. }\n";
    std::fs::write(place.path("flows/speech.yaml"), format!("workflow: speech\n{one}")).unwrap();
    let script = format!("- {{ text: '{SPEECH}', delay: 4s, chunk: 4, pace: 100ms }}\n");
    std::fs::write(place.path("flows/speech.script.yaml"), script).unwrap();
    let look = "workflow: turns\ntools:\n  look: { description: Looks., replies: [{ reply: seen }] }\n\
                pattern: sequential\nsequential: { agents: [a] }\nagents:\n  a: { instructions: Look., tools: [look], max_steps: 30 }\n";
    std::fs::write(place.path("flows/turns.yaml"), look).unwrap();
    let script = "- { if: turn < 13, delay: 400ms, call: [{ tool: look, arguments: {} }] }\n- { text: done }\n";
    std::fs::write(place.path("flows/turns.script.yaml"), script).unwrap();
    place.serve_in(&[("SIGNOFF_STORE", address)], &[])
}

#[tokio::test]
async fn text_of_a_run_elsewhere_is_seen_as_it_comes() {
    let address = postgres::fresh();
    let (one, two) = (node(&address), node(&address));
    let run = one.start("speech", "hi").await;
    let mut stream = two.stream(&run, None).await;
    let mut heard = Vec::new();
    let ended = loop {
        let event: Event = stream.next().await.unwrap();
        match event.name.as_str() {
            "delta" => {
                assert_eq!(
                    (&event.data["run"], &event.data["agent"]),
                    (&run.clone().into(), &"a".into())
                );
                heard.push(event.data["text"].as_str().unwrap().to_owned());
            }
            "entry" if event.data["type"] == "effect" => break event,
            "entry" => {}
            other => panic!("{other}: {:?}", event.data),
        }
    };
    // In pieces, in order, before the turn was over. The last of them may come when it is already in the journal.
    let heard_before = heard.concat();
    assert!(SPEECH.starts_with(&heard_before), "{heard:?}");
    assert!(heard_before.len() > SPEECH.len() / 2 && heard.len() > 3, "{heard:?}");
    assert!(ended.data.to_string().contains(SPEECH), "{ended:?}");
    stream.until("run_completed").await;
}

#[tokio::test]
async fn who_is_told_to_end_hands_its_runs_over() {
    let address = postgres::fresh();
    let (one, two) = (node(&address), node(&address));
    let run = one.start("turns", "hi").await;
    let mut stream = two.stream(&run, None).await;
    stream.until("effect").await;
    let since = Instant::now();
    let ended = one.stop().exits(0);
    let left = since.elapsed();
    // It takes five seconds and more: one turn of it was waited for, and not all.
    assert!(left < Duration::from_secs(4), "{left:?}: {}", ended.stderr);
    assert!(!ended.stderr.contains("under way"), "{}", ended.stderr);
    stream.until("effect").await;
    let gap = since.elapsed();
    assert!(gap < Duration::from_secs(6), "{gap:?}");
    stream.until("run_completed").await;
    let entries = two.journal(&run).await;
    let models = entries.iter().filter(|entry| entry["kind"] == "model").count();
    assert_eq!(models, 13, "no turn was lost, and none was taken twice: {entries:?}");
}
