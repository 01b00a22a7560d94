//! The journal as bytes: what is written is read back, and nothing else is taken for a journal.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use signoff_core::decision::{Actor, Decision, Siblings, Then};
use signoff_core::feedback::{FeedbackScope, Given, Timing};
use signoff_core::journal::{
    Applied, Audited, Caller, Completed, Delivered, EffectKind, Entered, Entry, ErrorInfo, Event,
    Next, Outcome, Parent, Payload, Reply, Started, StepEnd, Usage, decode, encode, to_json,
};
use signoff_core::message::{Message, Part, Role, Sent, ToolCall, ToolResult};
use signoff_core::policy::{Reach, Remember};
use signoff_core::request::RequestBody;
use signoff_core::{ConversationId, RunId, Tenant, Timestamp, Unanswered};

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    ".{0,16}"
}

fn maybe_text() -> impl Strategy<Value = Option<String>> {
    prop::option::of(text())
}

fn actor() -> impl Strategy<Value = Actor> {
    text().prop_map(Actor::new)
}

fn error() -> impl Strategy<Value = ErrorInfo> {
    (text(), text(), maybe_text()).prop_map(|(code, message, hint)| ErrorInfo {
        code,
        message,
        hint,
    })
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        text().prop_map(Part::Text),
        (text(), text(), values()).prop_map(|(id, name, arguments)| Part::ToolCall(ToolCall {
            id,
            name: name.into(),
            arguments
        })),
        (text(), values(), any::<bool>()).prop_map(|(id, content, is_error)| Part::ToolResult(
            ToolResult { id, content, is_error }
        )),
        text().prop_map(|key| Part::Effect(key.into())),
        Just(Part::Input),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::Tool)];
    (role, maybe_text(), prop::collection::vec(part(), 0..4))
        .prop_map(|(role, author, parts)| Message { role, author: author.map(Into::into), parts })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        values().prop_map(|value| Outcome::Ok(Arc::new(value))),
        (prop::collection::vec(part(), 0..4), any::<u64>(), any::<u64>(), maybe_text()).prop_map(
            |(parts, input, output, by)| {
                Outcome::Reply(Arc::new(Reply {
                    parts,
                    usage: Usage { input, output, ..Usage::default() },
                    by: by.map(Into::into),
                }))
            }
        ),
        error().prop_map(Outcome::Err),
    ]
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        values().prop_map(Payload::value),
        any::<u32>().prop_map(Payload::Text),
        any::<u32>().prop_map(Payload::Json),
        any::<u32>().prop_map(Payload::Join),
        Just(Payload::Input),
    ]
}

fn decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        values().prop_map(|content| Decision::Respond { content }),
        (maybe_text(), any::<bool>()).prop_map(|(note, remember)| Decision::Approve {
            note,
            remember: remember.then_some(Remember::Reach(Reach::Run)),
        }),
        (values(), maybe_text()).prop_map(|(value, note)| Decision::Edit { value, note }),
        (maybe_text(), any::<bool>()).prop_map(|(reason, stop)| Decision::Reject {
            reason,
            then: if stop { Then::Stop } else { Then::Continue },
            siblings: stop.then_some(Siblings::Replan),
            remember: None,
        }),
        maybe_text().prop_map(|feedback| Decision::Revise { feedback }),
        maybe_text().prop_map(|feedback| Decision::Redo { feedback }),
        maybe_text().prop_map(|feedback| Decision::Retry { feedback }),
        maybe_text().prop_map(|reason| Decision::Skip { reason }),
        maybe_text().prop_map(|feedback| Decision::Rollback { feedback }),
        maybe_text().prop_map(|reason| Decision::Abort { reason }),
    ]
}

fn body() -> impl Strategy<Value = RequestBody> {
    (text(), values(), prop::option::of(any::<i64>())).prop_map(|(prompt, context, expires)| {
        RequestBody {
            context,
            agent_path: vec!["a".into(), "b".into()],
            expires_at: expires.map(Timestamp),
            on_timeout: expires.and_then(|at| {
                Unanswered::ALL.into_iter().cycle().nth(usize::from(at.to_le_bytes()[0]))
            }),
            turn: expires.map(|_| "3/m1".into()),
            siblings: if expires.is_some() { Siblings::Replan } else { Siblings::Independent },
            ..RequestBody::input(prompt)
        }
    })
}

fn sent() -> Sent {
    Sent { id: "m1".into(), parts: json!([{ "text": "yes" }]) }
}

fn started() -> impl Strategy<Value = Event> {
    (text(), values(), actor(), maybe_text(), any::<bool>()).prop_map(
        |(workflow, input, by, other, nested)| {
            Event::Started(Box::new(Started {
                workflow: workflow.into(),
                version: "sha256:0".into(),
                conversation: ConversationId::from_unique("1"),
                input,
                by,
                continues: other.clone().map(RunId::new),
                parent: nested.then(|| Parent {
                    run: RunId::from_unique("1"),
                    root: RunId::from_unique("0"),
                    activation: 7,
                    key: "k".into(),
                    path: vec!["x".into()],
                }),
                tenant: if nested { Tenant::new("acme") } else { Tenant::local() },
                forked_from: other.map(|run| (RunId::new(run), 3)),
                reason: nested.then(|| "once more".to_owned()),
                added: u32::from(nested),
                sent: nested.then(sent).map(Box::new),
            }))
        },
    )
}

fn audited() -> impl Strategy<Value = Option<Box<Audited>>> {
    let some = (text(), text(), any::<bool>())
        .prop_map(|(tool, digest, marked)| Box::new(Audited { tool: tool.into(), digest, marked }));
    prop::option::of(some)
}

fn events() -> impl Strategy<Value = Event> {
    let of_activation = prop_oneof![
        (any::<u32>(), text(), values()).prop_map(|(activation, key, action)| Event::Intent {
            activation,
            key: key.into(),
            action
        }),
        (any::<u32>(), text(), outcome(), prop_oneof![Just(0), any::<u64>()], audited()).prop_map(
            |(activation, key, outcome, took, audited)| Event::Effect {
                activation,
                key: key.into(),
                kind: EffectKind::Tool,
                outcome,
                took,
                audited,
            }
        ),
        (any::<u32>(), text(), body()).prop_map(|(n, key, body)| Event::Asked {
            activation: n,
            key: key.into(),
            request: n,
            body: Box::new(body)
        }),
        (any::<u32>(), text(), any::<i64>()).prop_map(|(activation, key, due)| {
            Event::TimerSet { activation, key: key.into(), due: Timestamp(due) }
        }),
        (any::<u32>(), text(), prop::option::of(any::<u32>()), maybe_text()).prop_map(
            |(activation, phase, step, title)| Event::Entered(Entered {
                activation,
                phase: phase.into(),
                step,
                title
            })
        ),
        (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(activation, step, done)| {
            let how = if done { StepEnd::Done } else { StepEnd::Skipped };
            Event::StepEnded { activation, step, how }
        }),
        (any::<u32>(), text(), values()).prop_map(|(activation, tool, before)| {
            let (key, tool) = ("m1/c".into(), tool.into());
            Event::Applied(Box::new(Applied { activation, key, tool, before }))
        }),
        (any::<u32>(), any::<u32>())
            .prop_map(|(activation, step)| Event::RolledBack { activation, step }),
        (any::<u32>(), text())
            .prop_map(|(activation, key)| Event::TimerFired { activation, key: key.into() }),
        (any::<u32>(), text())
            .prop_map(|(activation, key)| Event::ChildStarted { activation, key: key.into() }),
        (any::<u32>(), text(), outcome()).prop_map(|(activation, key, outcome)| {
            Event::ChildEnded { activation, key: key.into(), outcome }
        }),
        (any::<u32>(), payload())
            .prop_map(|(activation, value)| Event::Output { activation, value }),
        (any::<u32>(), payload(), prop::collection::vec(any::<u32>(), 0..3)).prop_map(
            |(activation, output, joined)| Event::Completed(Completed {
                activation,
                output,
                next: joined
                    .iter()
                    .map(|n| Next { activation: *n, to: "x".into(), edge: *n })
                    .collect(),
                joined,
            })
        ),
        (any::<u32>(), error()).prop_map(|(activation, error)| Event::Failed { activation, error }),
        (any::<u32>(), text(), payload(), prop::option::of(any::<u32>())).prop_map(
            |(activation, to, payload, from)| Event::Delivered(Delivered {
                activation,
                to: to.into(),
                payload,
                from,
                caller: from.map(|activation| Caller { activation, key: "k".into() }),
            })
        ),
    ];
    let of_run = prop_oneof![
        started(),
        (prop::option::of(any::<u32>()), message()).prop_map(|(activation, message)| {
            Event::Said { activation, message: message.into() }
        }),
        (any::<u32>(), decision(), actor(), any::<bool>()).prop_map(
            |(request, decision, by, worded)| {
                Event::Decided { request, decision, by, sent: worded.then(sent).map(Box::new) }
            }
        ),
        (any::<u32>(), actor(), text(), prop::option::of(any::<u32>())).prop_map(
            |(n, author, text, step)| Event::Feedback {
                activation: step,
                given: Box::new(Given {
                    n,
                    scope: FeedbackScope::Step,
                    phase: step.map(|_| "control".into()),
                    step,
                    timing: Timing::Redo,
                    author,
                    agents: step.map(|_| "engineer".into()).into_iter().collect(),
                    expires: step.map(|n| Timestamp(n.into())),
                    text
                })
            }
        ),
        (any::<u32>(), actor()).prop_map(|(n, by)| Event::FeedbackRemoved { n, by }),
        any::<u32>().prop_map(|request| Event::Expired { request }),
        (any::<u32>(), prop::option::of(actor()), maybe_text())
            .prop_map(|(request, by, reason)| Event::Withdrawn { request, by, reason }),
        (actor(), proptest::option::of(".{0,20}"))
            .prop_map(|(by, reason)| Event::Paused { by, reason }),
        actor().prop_map(|by| Event::Resumed { by }),
        Just(Event::RunCompleted {}),
        error().prop_map(|error| Event::RunFailed { error }),
        (actor(), maybe_text()).prop_map(|(by, reason)| Event::RunCancelled { by, reason }),
    ];
    prop_oneof![of_activation, of_run]
}

fn entries(events: Vec<Event>) -> Vec<Entry> {
    (5_u64..)
        .zip(events)
        .map(|(seq, event)| Entry { seq, at: Timestamp(i64::MAX - 9), event })
        .collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(events in prop::collection::vec(events(), 0..8)) {
        let entries = entries(events);
        let read = decode(5, &encode(&entries)).unwrap();
        prop_assert_eq!(&read, &entries);
        for entry in &read {
            prop_assert!(to_json(entry)["type"].is_string());
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(1, &bytes);
    }

    #[test]
    fn damaged_journals(
        events in prop::collection::vec(events(), 1..4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut body = encode(&entries(events));
        let at = at.index(body.len());
        if cut {
            body.truncate(at);
            prop_assert!(decode(1, &body).is_err());
        } else {
            body[at] = byte;
            let _ = decode(1, &body);
        }
    }
}

#[test]
fn deep_bytes_are_refused() {
    let deep = format!("[[0,{{\"started\":{}]]", "[".repeat(1_000_000));
    assert!(decode(1, deep.as_bytes()).is_err());
    let unknown = json!([[0, { "run_completed": {} }], [0, { "something_else": {} }]]);
    assert!(decode(1, unknown.to_string().as_bytes()).is_err());
}
