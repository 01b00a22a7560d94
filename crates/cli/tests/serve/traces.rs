//! Traces, as whoever collects them gets them.

#[path = "traces/collector.rs"]
mod collector;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use collector::{Answer, Collector, TAKEN};
use serde_json::{Value, json};
use signoff_testkit::Process;

use crate::support::{COMPLETE, PARTY, Place, Server, text};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

fn traced(place: &Place, collector: &Collector) -> Server {
    place.serve_in(&[(ENDPOINT, &collector.url)], &[])
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with(name)).collect()
}

#[track_caller]
fn one<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found = named(spans, name);
    assert_eq!(found.len(), 1, "{name}: {spans:#?}");
    found[0]
}

/// Each span once, all in one trace, each below one that is there and within its time.
#[track_caller]
fn is_one_trace(spans: &[Value]) {
    let by_id: BTreeMap<&str, &Value> =
        spans.iter().map(|span| (span["id"].as_str().unwrap(), span)).collect();
    assert_eq!(by_id.len(), spans.len(), "a span came twice");
    let roots: Vec<&Value> = spans.iter().filter(|span| span["parent"].is_null()).collect();
    assert_eq!(roots.len(), 1, "{spans:#?}");
    // The parts of a run that was stopped hear of it a moment later.
    let stopped = roots[0]["attributes"]["signoff.run.status"] == "cancelled";
    for span in spans {
        assert_eq!(span["trace"], spans[0]["trace"]);
        let Some(parent) = span["parent"].as_str() else { continue };
        let parent = by_id.get(parent).unwrap_or_else(|| panic!("nothing above {span:#}"));
        let time = |span: &Value, edge: &str| span[edge].as_i64().unwrap();
        assert!(time(parent, "start") <= time(span, "start"), "{parent:#} {span:#}");
        let within = time(parent, "end") >= time(span, "end");
        assert!(within || stopped, "{parent:#} {span:#}");
    }
}

/// All texts of several words in what was said, asked, answered, called and given.
fn words(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) if text.trim().contains(' ') => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| words(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| words(field, into)),
        _ => {}
    }
}

#[tokio::test]
async fn a_run_is_one_trace_however_many_processes_drive_it() {
    let collector = Collector::start(&[], TAKEN);
    let place = Place::new();
    let server = traced(&place, &collector);
    let run = server.start("event_planner", PARTY).await;
    let first = server.pending(&run).await;
    let answer = json!({ "decision": "respond", "content": "The Glasshouse" });
    assert_eq!(server.decide(&first, &answer).await.0, 200);
    let second = server.pending(&run).await;
    assert_ne!(first, second);
    // What is committed and not sent yet dies with the process; all else must not.
    let committed = server.journal(&run).await;
    let last = committed.iter().rev().find(|entry| entry["type"] == "effect").unwrap();
    assert_eq!(last["kind"], "model", "the last span of this process is that of a model: {last}");
    let models = committed.iter().filter(|it| it["type"] == "effect" && it["kind"] == "model");
    let models = models.count();
    let since = Instant::now();
    while collector.raw().matches("\"name\":\"chat ").count() < models {
        assert!(since.elapsed() < Duration::from_mins(1), "{}", collector.raw());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(server.process.kill().was_killed());

    let server = traced(&place, &collector);
    let canary = "vegan, and no kanarienvogel";
    for decision in [
        json!({ "decision": "approve", "note": canary }),
        json!({ "decision": "respond", "content": canary }),
    ] {
        let request = server.pending(&run).await;
        assert_eq!(server.decide(&request, &decision).await.0, 200);
    }
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    let journal = server.journal(&run).await;
    assert!(server.stop().exits(0).stderr.contains("stopping"));

    let spans = collector.spans();
    is_one_trace(&spans);
    let of = |kind: &str| {
        let effects = journal.iter().filter(|entry| entry["type"] == "effect");
        effects.filter(|entry| entry["kind"] == kind).count()
    };
    let activations = journal.iter().filter(|entry| entry["type"] == "delivered").count();
    assert_eq!(named(&spans, "chat default").len(), of("model"));
    assert_eq!(named(&spans, "execute_tool ").len(), of("tool"));
    assert_eq!(named(&spans, "invoke_agent ").len(), activations);
    assert_eq!(named(&spans, "wait_for_person ").len(), 3);
    assert_eq!(spans.len(), 1 + of("model") + of("tool") + activations + 3);

    let whole = one(&spans, "invoke_workflow event_planner");
    assert_eq!(whole["parent"], Value::Null);
    assert_eq!(whole["attributes"]["signoff.run.id"], run.as_str());
    assert_eq!(whole["attributes"]["signoff.run.status"], "completed");
    let lead = one(&spans, "invoke_agent coordinator");
    assert_eq!(lead["parent"], whole["id"]);
    let venue = one(&spans, "invoke_agent venue");
    assert_eq!((&venue["parent"], &venue["kind"]), (&lead["id"], &json!(1)));
    let wait = one(&spans, "wait_for_person selection");
    assert_eq!(wait["parent"], venue["id"]);
    let told = &wait["attributes"];
    assert_eq!(told["signoff.request.id"], first.as_str());
    assert_eq!(
        (&told["signoff.decision"], &told["signoff.decided_by"]),
        (&json!("respond"), &json!("local"))
    );
    for chat in named(&spans, "chat ") {
        let told = &chat["attributes"];
        assert_eq!((&chat["kind"], &told["gen_ai.provider.name"]), (&json!(3), &json!("scripted")));
        assert_eq!(told["gen_ai.conversation.id"], whole["attributes"]["gen_ai.conversation.id"]);
        assert!(told["gen_ai.usage.output_tokens"].as_i64().unwrap() > 0, "{chat:#}");
    }
    let processes: std::collections::BTreeSet<String> =
        spans.iter().map(|span| text(&span["resource"]["service.instance.id"])).collect();
    assert_eq!(processes.len(), 2);

    let mut said = vec![canary.to_owned(), "Glasshouse".to_owned()];
    for entry in &journal {
        for field in
            ["input", "message", "outcome", "body", "decision", "value", "output", "payload"]
        {
            words(&entry[field], &mut said);
        }
    }
    assert!(said.len() > 40, "{said:?}");
    let sent = collector.raw();
    for words in said {
        assert!(!sent.contains(&words), "`{words}` was sent");
    }
}

#[tokio::test]
async fn a_model_call_lasts_as_long_as_it_took() {
    let collector = Collector::start(&[], TAKEN);
    let server = traced(&Place::new(), &collector);
    let run = server.start("slow", "hi").await;
    server.at_rest(&run).await;
    let journal = server.journal(&run).await;
    let took = journal.iter().find(|entry| entry["type"] == "effect").unwrap()["took"].as_i64();
    let took = took.unwrap();
    assert!((1_500..60_000).contains(&took), "{took}");
    let _ = server.stop().exits(0);
    let spans = collector.spans();
    is_one_trace(&spans);
    let chat = one(&spans, "chat ");
    assert_eq!(chat["end"].as_i64().unwrap() - chat["start"].as_i64().unwrap(), took);
}

/// What is asked in a run or its parts, besides what was asked before.
async fn asked(server: &Server, run: &str, before: &str) -> String {
    let since = Instant::now();
    loop {
        let found = server.read(&format!("/v1/runs/{run}")).await;
        match found["pending"][0].as_str() {
            Some(request) if request != before => return request.to_owned(),
            _ => assert!(since.elapsed() < Duration::from_mins(1), "{found}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn parts_are_in_the_trace_of_the_whole() {
    let parts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows/docs-parts");
    let parts = parts.canonicalize().unwrap();
    let collector = Collector::start(&[], TAKEN);
    let env = [
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("{}/mine", collector.url)),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20sesame".to_owned()),
        ("OTEL_SERVICE_NAME", "desk".to_owned()),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test".to_owned()),
    ];
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let more = ["--workflows", parts.to_str().unwrap(), "--log", "debug"];
    let server = Place::new().serve_in(&env, &more);
    let run = server.start("hire", "A gardener for the summer").await;
    let request = asked(&server, &run, "").await;
    server.decide(&request, &json!({ "decision": "approve" })).await;
    let other = asked(&server, &run, &request).await;
    let (status, _) = server.post(&format!("/v1/runs/{run}/cancel"), &json!({})).await;
    assert_eq!(status, 200);
    let log = server.stop().exits(0).stderr;
    assert!(!log.contains("sesame"), "{log}");
    let (_, head) = collector.asked();
    assert!(head.starts_with("post /mine http/1.1"), "{head}");
    assert!(head.contains("authorization: basic sesame"), "{head}");
    let spans = collector.spans();
    is_one_trace(&spans);
    let whole = one(&spans, "invoke_workflow hire");
    assert_eq!(whole["attributes"]["signoff.run.status"], "cancelled");
    assert_eq!(whole["resource"]["service.name"], "desk");
    assert_eq!(whole["resource"]["deployment.environment.name"], "test");
    let signs = named(&spans, "invoke_workflow sign");
    let of =
        |status: &str| signs.iter().find(|it| it["attributes"]["signoff.run.status"] == status);
    let manager = one(&spans, "manager");
    assert_eq!(of("completed").unwrap()["parent"], manager["id"]);
    let owner = one(&spans, "owner");
    assert_eq!(owner["attributes"]["signoff.cut_off"], true);
    assert_eq!(of("cancelled").unwrap()["parent"], owner["id"]);
    let waits = named(&spans, "wait_for_person approval");
    let taken_back =
        waits.iter().find(|it| it["attributes"]["signoff.request.id"] == other.as_str());
    assert_eq!(taken_back.unwrap()["attributes"]["signoff.decision"], "withdrawn");
}

#[tokio::test]
async fn commands_add_to_the_trace_of_the_server() {
    let collector = Collector::start(&[], TAKEN);
    let place = Place::new();
    let server = traced(&place, &collector);
    let run = server.start("ask", "hi").await;
    let request = server.pending(&run).await;
    let mut answer = place.command(&["inbox", "answer", &request, "yes", "--as", "ada"]);
    let _ = Process::start(answer.env(ENDPOINT, &collector.url)).wait().exits(0);
    server.at_rest(&run).await;
    let _ = server.stop().exits(0);
    let spans = collector.spans();
    is_one_trace(&spans);
    assert_eq!(one(&spans, "wait_for_person ")["attributes"]["signoff.decided_by"], "ada");
    let mut command = place.command(&["run", "event_planner", COMPLETE]);
    let _ = Process::start(command.env(ENDPOINT, &collector.url)).wait().exits(0);
    assert_eq!(named(&collector.spans(), "invoke_workflow event_planner").len(), 1);
}

#[tokio::test]
async fn what_is_not_taken_now_is_sent_again() {
    let busy = Answer::Status(503, "");
    let collector = Collector::start(&[busy, Answer::Status(429, "")], TAKEN);
    let server = traced(&Place::new(), &collector);
    let run = server.start("event_planner", COMPLETE).await;
    assert_eq!(server.at_rest(&run).await["status"], "completed");
    collector.has("invoke_workflow event_planner").await;
    is_one_trace(&collector.spans());
    let sent = collector.spans().len();
    let metrics = text(&server.read("/metrics").await);
    assert!(metrics.contains(&format!("\nsignoff_traces_sent_total {sent}\n")), "{metrics}");
    assert!(metrics.contains("\nsignoff_traces_dropped_total 0\n"), "{metrics}");
}

#[tokio::test]
async fn what_is_refused_is_counted_and_told_once() {
    let some = Answer::Status(200, r#"{"partialSuccess":{"rejectedSpans":"2"}}"#);
    let collector = Collector::start(&[some], Answer::Status(400, "no"));
    let server = traced(&Place::new(), &collector);
    let dropped = |metrics: String| -> u64 {
        let line = metrics.lines().find(|line| line.starts_with("signoff_traces_dropped_total "));
        line.unwrap().rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    let mut before = 0;
    for count in 1..=3 {
        let run = server.start("event_planner", COMPLETE).await;
        server.at_rest(&run).await;
        let since = Instant::now();
        loop {
            let now = dropped(text(&server.read("/metrics").await));
            if now > before && collector.asked().0 >= count {
                before = now;
                break;
            }
            assert!(since.elapsed() < Duration::from_mins(1));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(count > 1 || before == 2, "{before}");
    }
    let log = server.stop().exits(0).stderr;
    assert_eq!(log.matches("spans were dropped").count(), 1, "{log}");
}

#[tokio::test]
async fn runs_do_not_wait_for_whoever_collects() {
    let silent = Collector::start(&[], Answer::Silence);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [silent.url.clone(), format!("http://{nobody}")] {
        let server = Place::new().serve_in(&[(ENDPOINT, &url)], &[]);
        for _ in 0..3 {
            let run = server.start("event_planner", PARTY).await;
            assert_eq!(server.answer_party(&run).await["status"], "completed");
        }
        let since = Instant::now();
        let _ = server.stop().exits(0);
        assert!(since.elapsed() < Duration::from_secs(8), "{:?}", since.elapsed());
    }
    assert!(silent.asked().0 > 0);
}

#[test]
fn a_place_that_is_none_is_told() {
    let place = Place::new();
    let wrong = [(ENDPOINT, "collector:4317")];
    let mut command = place.command(&["serve", "--addr", "127.0.0.1:0"]);
    let ended = Process::start(command.envs(wrong)).wait().exits(2);
    assert!(
        ended.stderr.contains("OTEL_EXPORTER_OTLP_ENDPOINT: it must begin"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("OTEL_SDK_DISABLED=true"), "{}", ended.stderr);
    // What is meant for other programs stops no work.
    let mut command = place.command(&["run", "event_planner", COMPLETE]);
    let ended = Process::start(command.envs(wrong)).wait().exits(0);
    assert!(
        ended.stderr.contains("no traces are sent: OTEL_EXPORTER_OTLP_ENDPOINT"),
        "{}",
        ended.stderr
    );
}
