//! What is left out, and what never is.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use signoff_core::{Message, Part, Role};
use signoff_models::{Budget, budget, trim};

use super::support::{answered, call, long_conversation, result, said};

fn arcs(messages: Vec<Message>) -> Vec<Arc<Message>> {
    messages.into_iter().map(Arc::new).collect()
}

fn total(messages: &[Arc<Message>]) -> usize {
    messages.iter().map(|message| budget::size(message)).sum()
}

#[test]
fn what_fits_is_left_alone() {
    let messages = arcs(long_conversation());
    let (kept, omitted) = trim(&messages, Budget(total(&messages)));
    assert_eq!((kept, omitted), (messages, None));
    assert_eq!(trim(&[], Budget(0)), (Vec::new(), None));
    assert_eq!(Budget::tokens(10), Budget(40));
}

#[test]
fn the_middle_goes_and_a_note_says_so() {
    let long = "x".repeat(100);
    let mut messages = vec![Message::user("Plan a party.")];
    for n in 0..10 {
        messages.push(said("venue", vec![Part::Text(format!("{n} {long}"))]));
    }
    let messages = arcs(messages);
    let (kept, omitted) = trim(&messages, Budget(500));
    let omitted = omitted.unwrap();
    assert_eq!((omitted.from, omitted.to, omitted.over), (1, 8, false));
    assert!(omitted.reason.contains("the budget is 500"), "{}", omitted.reason);
    assert_eq!(kept[0].text(), "Plan a party.");
    assert_eq!(
        kept[1].text(),
        "(7 earlier messages were left out here to fit the model's context.)"
    );
    assert_eq!(kept[2..], messages[8..]);
}

#[test]
fn what_must_stay_stays_even_if_it_is_too_large() {
    let long = "x".repeat(1_000);
    let messages = arcs(vec![
        Message::user(long.as_str()),
        said("a", vec![Part::Text(long.clone())]),
        said("b", vec![Part::Text(long)]),
    ]);
    let (kept, omitted) = trim(&messages, Budget(10));
    assert!(omitted.unwrap().over);
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[2], messages[2]);
}

fn message() -> impl Strategy<Value = Message> {
    let id = prop::sample::select(&["a", "b", "c"][..]);
    prop_oneof![
        ".{0,60}".prop_map(Message::user),
        ".{0,60}".prop_map(|text| Message::assistant("x", text)),
        (id.clone(), id.clone()).prop_map(|(one, two)| said(
            "x",
            vec![
                call(one, "t", json!({})),
                result(one, json!("r")),
                call(two, "ask", json!({ "prompt": "?" })),
            ],
        )),
        id.prop_map(|id| answered("p", id, json!("the answer"))),
    ]
}

/// Whether a result stands without the call it answers, though that call was there before.
fn splits(messages: &[Arc<Message>], from: usize, to: usize) -> bool {
    let mut calls = std::collections::HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        for part in &message.parts {
            match part {
                Part::ToolCall(call) => {
                    calls.insert(call.id.clone(), at);
                }
                Part::ToolResult(result) => {
                    let call = calls.get(&result.id).copied();
                    let gone = |at: usize| (from..to).contains(&at);
                    if call.is_some_and(|call| gone(call) != gone(at)) {
                        return true;
                    }
                }
                _ => {}
            }
        }
    }
    false
}

proptest! {
    #[test]
    fn the_rules_hold(messages in prop::collection::vec(message(), 0..20), size in 0usize..900) {
        let messages = arcs(messages);
        let (kept, omitted) = trim(&messages, Budget(size));
        let Some(omitted) = omitted else {
            prop_assert_eq!(&kept, &messages);
            return Ok(());
        };
        let head = messages.iter().take_while(|message| message.role == Role::User).count();
        prop_assert!(total(&messages) > size);
        prop_assert_eq!(omitted.from, head);
        prop_assert!(omitted.from < omitted.to && omitted.to < messages.len());
        prop_assert_eq!(&kept[..head], &messages[..head]);
        prop_assert_eq!(&kept[head + 1..], &messages[omitted.to..]);
        prop_assert!(!splits(&messages, omitted.from, omitted.to));
        prop_assert_eq!(omitted.over, total(&kept) > size);
        // Twice is once.
        prop_assert_eq!(trim(&messages, Budget(size)).0, kept);
    }
}
