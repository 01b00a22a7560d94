//! Answers from a file, and answers as text to any request.

use proptest::prelude::*;
use serde_json::{Value, json};
use signoff_core::answer::{Answers, from_text};
use signoff_core::decision::{Decision, DecisionKind};
use signoff_core::request::{Choice, Request, RequestBody, RequestKind, RequestStatus};
use signoff_core::{ConversationId, RunId, Timestamp};

use crate::support::show;

fn request(agent: &str, body: RequestBody) -> Request {
    let run = RunId::from_unique("1");
    Request {
        id: run.request(1),
        version: 1,
        status: RequestStatus::Pending,
        root: run.clone(),
        run,
        workflow: "w".into(),
        conversation: ConversationId::from_unique("1"),
        tenant: signoff_core::Tenant::local(),
        assignee: None,
        body: RequestBody { agent_path: vec!["coordinator".into(), agent.into()], ..body },
        created_at: Timestamp(0),
        decision: None,
        withdrawn: None,
        deferred_until: None,
    }
}

#[test]
fn the_first_unused_answer_that_fits() {
    let text = "\
- match: { agent: budget }
  decision: edit
  value: { venue: 900 }
- match: { prompt: DIET }
  answer: vegan
- yes
- match: { kind: input }
  answer: 12
";
    let mut answers = Answers::parse(text).unwrap();
    let budget = request("budget", RequestBody::approval("Fine?", json!({ "venue": 1200 })));
    let diet = request("catering", RequestBody::input("Any diets?"));
    let other = request("venue", RequestBody::input("How many?"));
    assert_eq!(answers.next(&diet), Some(Ok(Decision::respond("vegan"))));
    assert_eq!(
        answers.next(&budget),
        Some(Ok(Decision::Edit { value: json!({ "venue": 900 }), note: None }))
    );
    assert_eq!(answers.next(&budget), Some(Ok(Decision::approve())));
    assert_eq!(answers.next(&budget), None);
    assert_eq!(answers.left(), 1);
    assert_eq!(answers.next(&other), Some(Ok(Decision::respond("12"))));
    assert_eq!(answers.next(&other), None);
}

#[test]
fn an_answer_that_is_none_names_itself() {
    let mut answers = Answers::parse("- maybe\n- decision: skip\n- true\n").unwrap();
    let budget = request("budget", RequestBody::approval("Fine?", Value::Null));
    assert_eq!(
        answers.next(&budget),
        Some(Err(
            "answer 1: `maybe` is not an answer to this; accepted: `yes`; `no` or `no, REASON`"
                .into()
        ))
    );
    let problem = answers.next(&budget).unwrap().unwrap_err();
    assert!(problem.starts_with("answer 2: `skip` is not allowed here"), "{problem}");
    assert_eq!(answers.next(&budget), Some(Ok(Decision::approve())));
}

#[test]
fn wrong_files() {
    let wrong = |text: &str| Answers::parse(text).map_or_else(|p| show(&p), |_| "nothing".into());
    assert_eq!(wrong(""), "nothing");
    assert_eq!(wrong("yes"), "1:1: answers are a list");
    let text = wrong(
        "- yes\n- [x]\n-\n- { answer: x, decision: skip }\n- { match: { agnt: x }, answer: y }\n- { anser: x }\n- { decision: aprove }\n",
    );
    for (line, part) in [
        (2, "answer 2: a list is not an answer"),
        (4, "answer 4: it has both"),
        (5, "answer 5: `match` is wrong: unknown field `agnt`"),
        (6, "answer 6: it says nothing"),
        (7, "answer 7: the decision is wrong: unknown variant `aprove`"),
    ] {
        assert!(text.contains(&format!("{line}:3: {part}")), "{part}\n{text}");
    }
    assert!(text.contains("answer 3: it is empty"));
}

fn bodies() -> impl Strategy<Value = RequestBody> {
    let schema = prop_oneof![
        Just(json!({})),
        Just(json!({ "type": "string", "minLength": 1 })),
        Just(json!({ "type": "string", "maxLength": 3 })),
        Just(json!({ "type": "integer", "minimum": 2 })),
        Just(json!({ "type": "boolean" })),
        Just(json!({ "type": "object", "required": ["a"] })),
        Just(json!({ "enum": ["red", "green", 3, null] })),
        Just(json!({ "type": "nonsense" })),
    ];
    let all = vec![
        DecisionKind::Respond,
        DecisionKind::Approve,
        DecisionKind::Edit,
        DecisionKind::Reject,
        DecisionKind::Revise,
        DecisionKind::Redo,
        DecisionKind::Retry,
        DecisionKind::Skip,
        DecisionKind::Abort,
    ];
    let options = prop::collection::vec(("[a-c]{0,2}", "[A-C ]{0,3}"), 0..4);
    (schema, proptest::sample::subsequence(all, 0..=9), options).prop_map(
        |(schema, allowed, options)| {
            let options = options
                .into_iter()
                .map(|(value, label)| Choice { value: json!(value), label, description: None })
                .collect();
            RequestBody {
                kind: RequestKind::Input,
                response_schema: schema,
                allowed,
                options,
                ..RequestBody::input("?")
            }
        },
    )
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,20}",
        "(yes|no|ok|skip|abort|retry|revise|redo|edit|approve|reject|true|1|2|3|a|b|red)[:, .]{0,2}(x|\\{\\}|\\{\"a\":1\\}|5)?",
        "[0-9]{1,3}",
        "\\{\"a\": ?[0-9]\\}",
    ]
}

proptest! {
    #[test]
    fn text_never_becomes_a_decision_that_is_refused(body in bodies(), text in texts()) {
        match from_text(&body, &text) {
            Ok(decision) => prop_assert_eq!(body.check(&decision), Ok(())),
            Err(problem) => prop_assert!(problem.contains("accepted"), "{}", problem),
        }
    }
}
