//! Two processes, one request; two processes, one run.

use serde_json::{Value, json};
use signoff_core::{Decision, RequestKind, RunId};
use signoff_runtime::StartRun;
use signoff_testkit::workflows::{self, ERRANDS, QUESTION};
use signoff_testkit::{Process, record};

use crate::support::{Place, Reference, assert_done_once};

const RACES: usize = 1_000;
/// How often each must have been the faster one for it to have been a race.
const WINS: usize = 50;

/// Starts runs that each wait for an answer.
fn start_waiting(place: &Place, count: usize) -> Vec<RunId> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let engine = workflows::engine(&place.database(), &place.ledger(), QUESTION, None);
        let mut runs = Vec::new();
        for _ in 0..count {
            runs.push(engine.start(StartRun::new(QUESTION, Value::Null)).await.unwrap().run);
        }
        engine.idle().await;
        runs
    })
}

#[test]
fn of_two_processes_that_answer_one_request_one_wins_and_the_other_is_told() {
    let place = Place::new();
    let runs = start_waiting(&place, RACES);
    let names = ["ada", "bob"];
    let mut racers = names.map(|name| place.worker("race", &[name], &[]));
    for racer in &mut racers {
        racer.json();
    }
    let mut winners = Vec::new();
    for (n, run) in runs.iter().enumerate() {
        let request = run.request(1);
        for racer in &mut racers {
            racer.say(request.as_str());
            assert_eq!(racer.json(), json!({ "ready": request }));
        }
        // Who is told first changes, so that both orders come about.
        racers[n % 2].say("go");
        racers[1 - n % 2].say("go");
        let told = racers.each_mut().map(Process::json);
        let winner = usize::from(told[0]["taken"] != true);
        assert_eq!(told[winner], json!({ "request": request, "taken": true }), "{told:?}");
        let loser = &told[1 - winner];
        assert_eq!(loser["refused"], "already_decided", "{told:?}");
        let content = format!("{n} is what {} says", names[winner]);
        let decision = &loser["decision"];
        assert_eq!(decision["decision"], "respond", "{told:?}");
        assert_eq!(decision["content"], content.as_str(), "{told:?}");
        assert_eq!(decision["by"], names[winner], "{told:?}");
        let message = loser["message"].as_str().unwrap();
        assert!(message.contains(names[winner]) && message.contains(&content), "{message}");
        winners.push((names[winner], content));
    }
    for mut racer in racers {
        racer.hang_up();
        let _ = racer.wait().exits(0);
    }
    for name in names {
        let wins = winners.iter().filter(|(winner, _)| *winner == name).count();
        println!("{name} won {wins} of {RACES}");
        assert!(wins >= WINS, "{name} won {wins} of {RACES}: this was no race");
    }
    let records = place.records();
    assert_eq!(records.len(), RACES);
    assert_done_once(&records, &place.ledger());
    for record in &records {
        let n = runs.iter().position(|run| *run == record.run.id).unwrap();
        let (winner, content) = &winners[n];
        assert_eq!(record.decisions(), [(1, &Decision::respond(content.as_str()))]);
        assert_eq!(record.requests[0].decision.as_ref().unwrap().by.as_str(), *winner);
    }
}

#[test]
fn two_processes_that_go_on_with_one_run_do_everything_once() {
    let reference = Reference::of(ERRANDS);
    for _ in 0..15 {
        let place = Place::new();
        // Whoever comes second must find the run there, not start another.
        let mut first = place.finisher(ERRANDS, &[("SIGNOFF_COMMIT_DELAY_MS", "2")]);
        let started = first.json();
        assert!(started["answered"].is_string(), "{started}");
        let second = place.finisher(ERRANDS, &[]);
        let third = place.finisher(ERRANDS, &[]);
        let _ = (first.wait().exits(0), second.wait().exits(0));
        let doubts = reference.assert_same(&place, &third.wait().exits(0));
        // Another process that is alive and at work is no reason to doubt.
        assert_eq!(doubts.retried + doubts.had_happened, 0, "{doubts:?}");
        for record in record::read_all(&place.database()) {
            assert_eq!(record.asked(RequestKind::InDoubt).count(), 0);
        }
    }
}
