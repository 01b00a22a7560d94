//! Journals written by hand, and the spans they give.

use std::sync::Arc;

use serde_json::{Value, json};
use signoff_core::journal::{
    Caller, Completed, Cost, Delivered, EffectKind, Entry, ErrorInfo, Event, Next, Outcome, Parent,
    Payload, Reply, Started, Usage,
};
use signoff_core::message::ToolCall;
use signoff_core::request::RequestBody;
use signoff_core::{Actor, ConversationId, Decision, Part, RunId, Tenant, Timestamp};
use signoff_models::ModelIdentity;
use signoff_runtime::AgentProfile;

use super::{Cast, SpanReader};
use crate::id::{self, Place};
use crate::span::{Attribute, Kind, Span};

const SECRET: &str = "nobody outside may read this";

/// `ada` works with a model, `far` elsewhere; everybody else is no agent.
struct Everybody;

fn model(name: &str, provider: &'static str) -> ModelIdentity {
    let server = Some(("models.example".to_owned(), 443));
    ModelIdentity { provider, model: Some(name.into()), server }
}

impl Cast for Everybody {
    fn agent(&self, _: &str, executor: &str) -> Option<AgentProfile> {
        let here = executor == "ada";
        let known = here || executor == "far";
        known.then(|| AgentProfile {
            name: executor.into(),
            model: here.then(|| "default".into()),
            identity: here.then(|| model("big-1", "openai")),
        })
    }

    fn model(&self, alias: &str) -> Option<ModelIdentity> {
        (alias == "spare").then(|| model("small-2", "anthropic"))
    }

    fn root(&self, run: &RunId) -> Option<RunId> {
        (run.as_str() == "run_part").then(|| RunId::new("run_whole"))
    }
}

fn started() -> Started {
    Started {
        workflow: "flow".into(),
        version: "sha256:1".into(),
        conversation: ConversationId::new("conv_1"),
        tenant: Tenant::local(),
        input: json!(SECRET),
        by: Actor::local(),
        continues: None,
        parent: None,
        forked_from: None,
        reason: None,
        added: 0,
        sent: None,
    }
}

fn delivered(activation: u32, to: &str, caller: Option<u32>) -> Event {
    Event::Delivered(Delivered {
        activation,
        to: to.into(),
        payload: Payload::value(SECRET),
        from: None,
        caller: caller.map(|activation| Caller { activation, key: "k".into() }),
    })
}

fn completed(activation: u32, next: Vec<Next>) -> Event {
    let output = Payload::value(SECRET);
    Event::Completed(Completed { activation, output, next, joined: Vec::new() })
}

fn effect(activation: u32, key: &str, kind: EffectKind, outcome: Outcome, took: u64) -> Event {
    Event::Effect { activation, key: key.into(), kind, outcome, took, audited: None }
}

fn ok() -> Outcome {
    Outcome::Ok(Arc::new(json!(SECRET)))
}

fn failed(code: &str) -> Outcome {
    Outcome::Err(ErrorInfo::new(code, SECRET).hint(SECRET))
}

fn reply(calls: &[(&str, &str)], usage: Usage, by: Option<&str>) -> Outcome {
    let call = |(id, name): &(&str, &str)| {
        let arguments = json!({ "text": SECRET });
        Part::ToolCall(ToolCall { id: (*id).to_owned(), name: (*name).into(), arguments })
    };
    let text = Part::Text(SECRET.to_owned());
    let parts = std::iter::once(text).chain(calls.iter().map(call)).collect();
    Outcome::Reply(Arc::new(Reply { parts, usage, by: by.map(Into::into) }))
}

/// The spans of a journal whose entries are 10 ms apart, the first at 1000.
fn spans(run: &str, started: Started, events: Vec<Event>) -> Vec<Span> {
    let run = RunId::new(run);
    let events = std::iter::once(Event::Started(Box::new(started))).chain(events);
    let at = |seq: u64| Timestamp(1_000 + 10 * (i64::try_from(seq).unwrap() - 1));
    let mut journal = (1..).zip(events).map(|(seq, event)| Entry { seq, at: at(seq), event });
    let mut reader = SpanReader::begin(&run, &journal.next().unwrap(), &Everybody).unwrap();
    let spans: Vec<Span> = journal.flat_map(|entry| reader.read(&entry, &Everybody)).collect();
    let sent = String::from_utf8(crate::otlp::body(&[], &spans)).unwrap();
    assert!(!sent.contains(SECRET), "{sent}");
    spans
}

#[track_caller]
fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let mut found = spans.iter().filter(|span| span.name == name);
    let (Some(span), None) = (found.next(), found.next()) else {
        panic!("not one `{name}`: {:?}", spans.iter().map(|span| &span.name).collect::<Vec<_>>());
    };
    span
}

fn value(span: &Span, key: &str) -> Value {
    let mut found = span.attributes.iter().filter(|(known, _)| *known == key);
    let value = match found.next() {
        None => Value::Null,
        Some((_, Attribute::Text(text))) => text.as_str().into(),
        Some((_, Attribute::Number(number))) => (*number).into(),
        Some((_, Attribute::Amount(amount))) => (*amount).into(),
        Some((_, Attribute::Flag(flag))) => (*flag).into(),
    };
    assert!(found.next().is_none(), "{key} is there twice");
    value
}

fn times(span: &Span) -> (i64, i64) {
    (span.start.0, span.end.0)
}

fn place(run: &str, place: Place) -> String {
    id::span(&RunId::new(run), place)
}

#[test]
fn who_calls_stands_above_and_who_comes_next_beside() {
    let next = vec![Next { activation: 3, to: "last".into(), edge: 0 }];
    let spans = spans(
        "run_1",
        started(),
        vec![
            delivered(1, "lead", None),
            delivered(2, "ada", Some(1)),
            completed(2, Vec::new()),
            completed(1, next),
            completed(3, Vec::new()),
            Event::RunCompleted {},
        ],
    );
    assert_eq!(spans.len(), 4);
    let run = named(&spans, "invoke_workflow flow");
    assert_eq!((run.parent.clone(), times(run)), (None, (1_000, 1_060)));
    assert_eq!(value(run, "gen_ai.workflow.name"), "flow");
    assert_eq!(value(run, "signoff.run.status"), "completed");
    let lead = named(&spans, "lead");
    assert_eq!((lead.parent.clone(), times(lead)), (Some(run.id.clone()), (1_010, 1_040)));
    let ada = named(&spans, "invoke_agent ada");
    assert_eq!((ada.parent.clone(), times(ada)), (Some(lead.id.clone()), (1_020, 1_030)));
    assert_eq!((ada.kind, value(ada, "gen_ai.agent.name")), (Kind::Internal, json!("ada")));
    let last = named(&spans, "last");
    assert_eq!((last.parent.clone(), times(last)), (Some(run.id.clone()), (1_040, 1_050)));
    assert!(spans.iter().all(|span| span.trace == run.trace && !span.failed));
}

#[test]
fn ids_follow_from_the_run_and_the_place() {
    let run = RunId::new("run_1");
    // `printf run_1 | sha256sum | cut -c1-32` says the same.
    assert_eq!(id::trace(&run), "37ddff8ee13f1e57937fd048fa323f5e");
    let places = [Place::Run, Place::Activation(1), Place::Request(1), Place::Entry(1)];
    let mut ids: Vec<String> = places.iter().map(|place| id::span(&run, *place)).collect();
    ids.extend(Some(place("run_2", Place::Run)));
    assert!(ids.iter().all(|id| id.len() == 16));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

#[test]
fn a_model_is_asked_for_as_long_as_it_took() {
    let usage = Usage { input: 20, output: 7, cached: 5, reasoning: 3, cost: Cost(1_500_000) };
    let spans = spans(
        "run_1",
        started(),
        vec![
            delivered(1, "ada", None),
            effect(1, "m1", EffectKind::Model, reply(&[], usage, None), 4),
            effect(1, "m2", EffectKind::Model, reply(&[], Usage::default(), Some("spare")), 500),
            effect(1, "m3", EffectKind::Model, failed("model_busy"), 1),
            effect(1, "now", EffectKind::Local, ok(), 9),
        ],
    );
    let [first, second, third] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!(
        (first.name.as_str(), first.kind, times(first)),
        ("chat big-1", Kind::Client, (1_016, 1_020))
    );
    assert_eq!(first.parent, Some(place("run_1", Place::Activation(1))));
    for (key, wanted) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("big-1")),
        ("gen_ai.agent.name", json!("ada")),
        ("gen_ai.conversation.id", json!("conv_1")),
        ("gen_ai.usage.input_tokens", json!(20)),
        ("gen_ai.usage.output_tokens", json!(7)),
        ("gen_ai.usage.cache_read.input_tokens", json!(5)),
        ("gen_ai.usage.reasoning.output_tokens", json!(3)),
        ("signoff.usage.cost", json!(0.0015)),
        ("server.address", json!("models.example")),
        ("signoff.run.id", json!("run_1")),
    ] {
        assert_eq!(value(first, key), wanted, "{key}");
    }
    // Another model stood in for it. Nothing begins before the activation it belongs to.
    assert_eq!((second.name.as_str(), times(second)), ("chat small-2", (1_010, 1_030)));
    assert_eq!(value(second, "gen_ai.provider.name"), "anthropic");
    assert_eq!(value(second, "gen_ai.usage.input_tokens"), Value::Null);
    assert_eq!((third.failed, value(third, "error.type")), (true, json!("model_busy")));
}

#[test]
fn a_tool_has_the_name_its_caller_gave() {
    let calls = [("c1", "search"), ("c~2", "odd"), ("c3", "never_there")];
    let spans = spans(
        "run_1",
        started(),
        vec![
            delivered(1, "ada", None),
            effect(1, "m1", EffectKind::Model, reply(&calls, Usage::default(), None), 0),
            effect(1, "m1/c1", EffectKind::Tool, ok(), 2),
            effect(1, "m1/c1~2", EffectKind::Tool, failed("a b"), 0),
            effect(1, "m1/c~2", EffectKind::Tool, ok(), 0),
            effect(1, "m1/c3", EffectKind::Local, failed("tool_arguments"), 0),
            Event::Intent {
                activation: 1,
                key: "pay".into(),
                action: json!({ "tool": "pay", "arguments": SECRET }),
            },
            effect(1, "pay", EffectKind::Tool, ok(), 0),
            effect(1, "own", EffectKind::Tool, ok(), 0),
        ],
    );
    let of = |span: &Span| {
        (span.name.clone(), value(span, "gen_ai.tool.name"), value(span, "gen_ai.tool.call.id"))
    };
    let told: Vec<_> = spans[1..].iter().map(of).collect();
    let tool =
        |name: &str, call: Option<&str>| (format!("execute_tool {name}"), json!(name), json!(call));
    assert_eq!(
        told,
        [
            tool("search", Some("c1")),
            tool("search", Some("c1")),
            tool("odd", Some("c~2")),
            tool("pay", None),
            ("execute_tool".to_owned(), Value::Null, Value::Null),
        ]
    );
    assert_eq!(value(&spans[2], "error.type"), "_OTHER");
}

#[test]
fn people_are_waited_for() {
    let asked = |request| Event::Asked {
        activation: 1,
        key: format!("q{request}").into(),
        request,
        body: Box::new(RequestBody::input(SECRET)),
    };
    let spans = spans(
        "run_1",
        started(),
        vec![
            delivered(1, "ask", None),
            asked(1),
            asked(2),
            asked(3),
            asked(4),
            Event::Decided {
                request: 2,
                decision: Decision::Respond { content: json!(SECRET) },
                by: Actor::new("bob"),
                sent: None,
            },
            Event::Expired { request: 1 },
            Event::Withdrawn { request: 3, by: None, reason: None },
            Event::RunCancelled { by: Actor::new("bob"), reason: Some(SECRET.to_owned()) },
        ],
    );
    let of = |span: &Span| {
        let decision = value(span, "signoff.decision").as_str().map(str::to_owned);
        (times(span), decision, value(span, "signoff.decided_by"))
    };
    let waits: Vec<_> =
        spans.iter().filter(|span| span.name == "wait_for_person input").map(of).collect();
    let wait = |from, to, how: &str, by| ((from, to), Some(how.to_owned()), json!(by));
    assert_eq!(
        waits,
        [
            wait(1_030, 1_060, "respond", Some("bob")),
            wait(1_020, 1_070, "expired", None),
            wait(1_040, 1_080, "withdrawn", None),
            // The run ended before anybody took it back.
            wait(1_050, 1_090, "withdrawn", None),
        ]
    );
    assert_eq!(value(&spans[0], "signoff.request.id"), "req_1_2");
    assert_eq!(spans[0].parent, Some(place("run_1", Place::Activation(1))));
    let ask = named(&spans, "ask");
    assert_eq!((value(ask, "signoff.cut_off"), ask.failed), (json!(true), false));
    let run = named(&spans, "invoke_workflow flow");
    assert_eq!((value(run, "signoff.run.status"), run.failed), (json!("cancelled"), false));
}

#[test]
fn what_fails_says_its_code() {
    let error = ErrorInfo::new("limit_steps", SECRET);
    let spans = spans(
        "run_1",
        Started { tenant: Tenant::new("acme"), ..started() },
        vec![
            delivered(1, "far", None),
            effect(1, "begin", EffectKind::Remote, failed("remote_down"), 3),
            Event::Failed { activation: 1, error: error.clone() },
            Event::RunFailed { error },
        ],
    );
    let [call, far, run] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!((call.name.as_str(), call.kind), ("invoke_agent far", Kind::Client));
    assert_eq!(value(call, "gen_ai.provider.name"), "a2a");
    assert_eq!(value(call, "error.type"), "remote_down");
    assert_eq!((far.failed, value(far, "error.type")), (true, json!("limit_steps")));
    assert_eq!((run.failed, value(run, "error.type")), (true, json!("limit_steps")));
    assert_eq!(value(run, "signoff.tenant"), "acme");
}

#[test]
fn a_part_is_in_the_trace_of_the_whole() {
    let parent = Parent {
        run: RunId::new("run_middle"),
        root: RunId::new("run_whole"),
        activation: 4,
        key: "k".into(),
        path: Vec::new(),
    };
    let part = Started { parent: Some(parent), ..started() };
    let spans = spans("run_part", part, vec![Event::RunCompleted {}]);
    assert_eq!(spans[0].trace, id::trace(&RunId::new("run_whole")));
    assert_eq!(spans[0].parent, Some(place("run_middle", Place::Activation(4))));
}

#[test]
fn what_went_before_is_linked() {
    let later = Started {
        continues: Some(RunId::new("run_before")),
        forked_from: Some((RunId::new("run_part"), 3)),
        ..started()
    };
    let spans = spans("run_1", later, vec![Event::RunCompleted {}]);
    let link = |root: &str, run: &str| {
        (id::trace(&RunId::new(root)), id::span(&RunId::new(run), Place::Run))
    };
    assert_eq!(spans[0].links, [link("run_before", "run_before"), link("run_whole", "run_part")]);
}

#[test]
fn a_clock_that_goes_back_makes_no_span_end_before_it_begins() {
    let run = RunId::new("run_1");
    let entry = |seq, at, event| Entry { seq, at: Timestamp(at), event };
    let first = entry(1, 5_000, Event::Started(Box::new(started())));
    let mut reader = SpanReader::begin(&run, &first, &Everybody).unwrap();
    assert!(SpanReader::begin(&run, &entry(2, 0, Event::RunCompleted {}), &Everybody).is_none());
    reader.read(&entry(2, 4_000, delivered(1, "ada", None)), &Everybody);
    let outcome = reply(&[], Usage::default(), None);
    let spans =
        reader.read(&entry(3, 3_000, effect(1, "m1", EffectKind::Model, outcome, 1)), &Everybody);
    assert_eq!(times(&spans[0]), (4_000, 4_000));
    let spans = reader.read(&entry(4, 2_000, Event::RunCompleted {}), &Everybody);
    assert!(spans.iter().all(|span| span.start <= span.end), "{spans:?}");
}
