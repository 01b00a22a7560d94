//! Exit codes, resuming, and what happens where nobody can be asked.

use std::io::Write as _;
use std::process::Stdio;

use crate::support::{PARTY, Place, Talk, asking, finish, text};

const PARK: [&str; 5] = ["run", "event_planner", PARTY, "--no-prompt", "queue"];

#[test]
fn a_parked_run_goes_on_in_a_new_process() {
    let place = Place::new();
    let parked = place.run(&PARK).exits(3);
    let run = place.last_run();
    assert!(parked.stderr.contains(&format!("signoff resume {run}")), "{}", parked.stderr);
    assert_eq!(parked.stdout, "");
    let again = place.run(&["resume", "last", "--json", "--no-prompt", "queue"]).exits(3);
    let last = again.events().pop().unwrap();
    assert_eq!(last["type"], "run.waiting");
    assert_eq!(last["pending"].as_array().unwrap().len(), 1);
    assert!(again.events().iter().all(|event| event["seq"].is_null()), "nothing new happened");
    place.write("answers.yaml", "- 1\n- yes\n- none\n");
    let suffix = &run[run.len() - 8..];
    let done = place.run(&["resume", suffix, "--answers", "answers.yaml"]).exits(0);
    assert!(done.stdout.contains("Union Hall"), "{}", done.stdout);
    let over = place.run(&["resume", &run]).exits(0);
    assert_eq!(over.stdout, done.stdout, "a run that is over gives its output again");
    let nothing = place.run(&["resume", "last"]).exits(2);
    assert!(nothing.stderr.contains("unfinished"), "{}", nothing.stderr);
}

#[test]
fn closed_input_leaves_the_run_waiting() {
    let place = Place::new();
    let output = place.run(&["run", "event_planner", PARTY]).exits(3);
    assert!(output.stderr.contains("signoff resume run_"), "{}", output.stderr);
    let output = place.run_with(&["resume", "last"], "1\n").exits(3);
    assert!(output.stderr.contains("Approval from Budget analyst"), "{}", output.stderr);
    assert_eq!(place.inbox().len(), 1);
}

#[test]
fn a_killed_process_loses_nothing() {
    let place = Place::new();
    let mut talk = Talk::start(&place, &["run", "event_planner", PARTY, "--json"]);
    talk.until("request.pending");
    talk.say("2");
    talk.until("request.pending");
    talk.child.kill().unwrap();
    talk.end();
    place.write("answers.yaml", "- yes\n- none\n");
    let done = place.run(&["resume", "last", "--answers", "answers.yaml"]).exits(0);
    assert!(done.stdout.contains("The Glasshouse"), "{}", done.stdout);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let place = Place::new();
    let mut talk = Talk::start(&place, &["run", "event_planner", PARTY, "--json"]);
    talk.until("request.pending");
    let pid = talk.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(talk.until("run.waiting")["status"], "waiting");
    assert_eq!(talk.end().0, 130);
    place.run(&["resume", "last", "--no-prompt", "queue"]).exits(3);
}

#[test]
fn nobody_to_ask_denies_queues_or_fails() {
    let place = Place::new();
    let denied = place.run(&["run", "event_planner", PARTY, "--no-prompt", "deny"]).exits(4);
    assert!(denied.stderr.contains("denied without asking"), "{}", denied.stderr);
    let failed =
        place.run(&["run", "event_planner", PARTY, "--no-prompt", "fail", "--json"]).exits(1);
    assert_eq!(failed.events().pop().unwrap()["status"], "cancelled");
    assert!(place.inbox().is_empty());

    let yes = place.write("yes.yaml", asking("yes", "approval"));
    let output = place.run(&["run", text(&yes), "hi", "--no-prompt", "deny", "--json"]);
    let decided = output.events().into_iter().find(|event| event["type"] == "decided").unwrap();
    assert_eq!(decided["decision"]["decision"], "reject", "rejecting is allowed here");
}

#[test]
fn a_person_who_aborts_ends_it_with_4_and_a_failure_with_1() {
    let place = Place::new();
    place.write("ask.yaml", asking("ask", "approval"));
    let output = place.run_with(&["run", "ask.yaml", "hi"], "no, not now\n");
    assert!(output.stderr.contains("rejected: not now"), "{}", output.stderr);
    place.write("a.yaml", "- decision: reject\n  reason: never\n  then: stop\n");
    let output = place.run(&["run", "ask.yaml", "hi", "--answers", "a.yaml"]).exits(4);
    assert!(output.stderr.contains("stopped by local: never"), "{}", output.stderr);
    let run = place.last_run();
    place.run(&["resume", &run]).exits(4);

    let broken = "workflow: broken\npattern: graph\nstart: a\nexecutors:\n  a: { transform: 'output.missing' }\n";
    place.write("broken.yaml", broken);
    let output = place.run(&["run", "broken.yaml", "hi"]).exits(1);
    assert!(
        output.stderr.starts_with("broken · run_")
            && output.stderr.contains("error: the run failed")
    );
    assert_eq!(output.stdout, "");
    let run = place.last_run();
    place.run(&["resume", &run]).exits(1);
}

#[test]
fn wrong_answers_files_are_told_with_their_place() {
    let place = Place::new();
    let run = |content: &str| {
        place.write("a.yaml", content);
        place.run(&["run", "event_planner", PARTY, "--answers", "a.yaml"]).exits(2).stderr
    };
    assert!(run("- []\n").contains("a.yaml:1:3"), "{}", run("- []\n"));
    assert!(run("x: [\n").contains("a.yaml:"));
    assert!(run("answer: 1\n").contains("answers are a list"));
    assert!(run("- { decision: explode }\n").contains("a.yaml:1:"));
    assert!(place.inbox().is_empty(), "nothing was started");
    let said = run("- the moon\n");
    assert!(said.contains("answer 1:") && said.contains("signoff resume run_"), "{said}");
    assert_eq!(place.inbox().len(), 1, "the run waits");
    let missing = place.run(&["run", "event_planner", PARTY, "--answers", "nope.yaml"]).exits(2);
    assert!(missing.stderr.contains("nope.yaml: there is no such file"), "{}", missing.stderr);
}

#[test]
fn inputs_are_text_json_or_standard_input() {
    let place = Place::new();
    let schema = "workflow: add\npattern: graph\nstart: a\nsamples: [{ n: 1 }]\n\
                  input: { type: object, properties: { n: { type: integer } }, required: [n] }\n\
                  executors:\n  a: { transform: 'output.n + 1' }\n";
    place.write("add.yaml", schema);
    assert_eq!(place.run(&["run", "add.yaml", r#"{"n": 41}"#]).exits(0).stdout, "42\n");
    let piped = place.run_with(&["run", "add.yaml", "-"], "{\"n\": 1}\n").exits(0);
    assert_eq!(piped.stdout, "2\n");
    for (input, says) in [("{n", "INPUT is not JSON"), (r#"{"n": "x"}"#, "does not fit `add`")] {
        let output = place.run(&["run", "add.yaml", input]).exits(2);
        assert!(
            output.stderr.contains(says) && output.stderr.contains(r#"{"n":1}"#),
            "{}",
            output.stderr
        );
    }
    let none = place.run(&["run", "event_planner"]).exits(2);
    assert!(
        none.stderr.contains("needs an input") && none.stderr.contains(PARTY),
        "{}",
        none.stderr
    );
    let mut child = place.command(&["run", "add.yaml", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&[0xff, 0xfe]).unwrap();
    assert!(finish(child).exits(2).stderr.contains("UTF-8"));
}

#[test]
fn what_does_not_exist_suggests_what_does() {
    let place = Place::new();
    let output = place.run(&["run", "event_planer", "x"]).exits(2);
    assert!(output.stderr.contains("did you mean `event_planner`?"), "{}", output.stderr);
    let output = place.run(&["run", "zzz", "x"]).exits(2);
    assert!(output.stderr.contains("known here: event_planner"), "{}", output.stderr);
    assert!(!place.path(".signoff").exists(), "nothing was made");
    place.run(&PARK).exits(3);
    let output = place.run(&["resume", "nonsense"]).exits(2);
    assert!(output.stderr.contains(&place.last_run()), "{}", output.stderr);
    place.run(&["run"]).exits(2);
    place.run(&["explode"]).exits(2);
}

#[test]
fn a_conversation_has_one_run_at_a_time() {
    let place = Place::new();
    let args = [&PARK[..], &["--conversation", "team-1"]].concat();
    place.run(&args).exits(3);
    let busy = place.run(&args).exits(2);
    assert!(busy.stderr.contains("signoff resume run_"), "{}", busy.stderr);
    let wrong = [&PARK[..], &["--conversation", "a b"]].concat();
    place.run(&wrong).exits(2);
}

#[test]
fn folders_and_scripts_give_workflows_and_models() {
    let place = Place::new();
    let workflow = "workflow: hello\npattern: sequential\nsequential: { agents: [a] }\n\
                    agents:\n  a: { instructions: Greet. }\n";
    place.write("flows/hello/workflow.yaml", workflow);
    let none = place.run(&["run", "hello", "x", "--workflows", "flows"]).exits(2);
    assert!(none.stderr.contains("there is no model `default`"), "{}", none.stderr);
    place.write("flows/hello/script.yaml", "- text: Hello from the script\n");
    let output = place.run(&["run", "hello", "x", "--workflows", "flows"]).exits(0);
    assert_eq!(output.stdout, "Hello from the script\n");
    place.write("other.yaml", "- text: Hello from the config\n");
    place.write(
        "signoff.toml",
        "[models.default]\nprovider = \"scripted\"\nscript = \"other.yaml\"\n",
    );
    let output = place.run(&["run", "hello", "x", "--workflows", "flows"]).exits(0);
    assert_eq!(output.stdout, "Hello from the config\n");
    place.write("signoff.toml", "[models.default]\nprovider = \"openai\"\nscript = \"x\"\n");
    let output = place.run(&["run", "hello", "x", "--workflows", "flows"]).exits(2);
    assert!(
        output.stderr.contains("models.default.script: only a scripted model has one"),
        "{}",
        output.stderr
    );
    place.write("flows/again.yaml", workflow);
    let output = place.run(&["run", "hello", "x", "--workflows", "flows"]).exits(2);
    assert!(output.stderr.contains("in two files"), "{}", output.stderr);
}

#[cfg(unix)]
#[test]
fn the_data_directory_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.run(&PARK).exits(3);
    let mode =
        |name: &str| std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(".signoff"), mode(".signoff/signoff.db")), (0o700, 0o600));
    let elsewhere =
        place.run(&["runs", "--store", "sqlite:.signoff/signoff.db", "--json"]).exits(0);
    assert_eq!(elsewhere.events().len(), 1);
    place.run(&["runs", "--store", "postgres://x"]).exits(2);
}

#[test]
fn a_question_nobody_answers_expires_at_the_prompt() {
    let place = Place::new();
    let late = "workflow: late\npattern: graph\nstart: ask\nexecutors:\n  ask: { ask: { prompt: Quick?, within: 300ms } }\n";
    place.write("late.yaml", late);
    let mut talk = Talk::start(&place, &["run", "late.yaml", "hi", "--json"]);
    talk.until("request.pending");
    talk.until("expired");
    talk.until("run.ended");
    assert_eq!(talk.end().0, 0);
}

#[test]
fn parts_of_a_run_ask_through_it() {
    let place = Place::new();
    place.write("flows/inner.yaml", asking("inner", "approval"));
    let outer =
        "workflow: outer\npattern: graph\nstart: sub\nexecutors:\n  sub: { workflow: inner }\n";
    place.write("flows/outer.yaml", outer);
    let args = ["run", "outer", "hi", "--workflows", "flows", "--no-prompt", "queue", "--json"];
    let parked = place.run(&args).exits(3);
    let request = &parked.requests()[0];
    assert_eq!(request["agent_path"], serde_json::json!(["sub", "ask"]));
    let done = place.run_with(&["resume", "last"], "yes\n").exits(0);
    assert!(done.stderr.contains("Approval from sub › ask"), "{}", done.stderr);
    assert!(done.stdout.contains("approve"), "{}", done.stdout);
    assert_eq!(place.run(&["runs", "--json"]).exits(0).events().len(), 1, "parts are not listed");
    place.write("stop.yaml", "- { decision: reject, then: stop, reason: never }\n");
    let args = ["run", "outer", "hi", "--workflows", "flows", "--answers", "stop.yaml"];
    let stopped = place.run(&args).exits(4);
    assert!(stopped.stderr.contains("stopped by local: never"), "{}", stopped.stderr);
}
