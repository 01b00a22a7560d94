use serde_json::json;
use signoff_core::request::{Request, RequestBody, RequestStatus};
use signoff_core::{Decision, RunId, Timestamp};

use super::{Prompt, Typed, changed};

fn prompt(body: RequestBody) -> Prompt {
    let run = RunId::from_unique("1");
    Prompt::new(Request {
        id: run.request(1),
        version: 1,
        status: RequestStatus::Pending,
        root: run.clone(),
        run,
        workflow: "w".into(),
        conversation: "conv_1".into(),
        tenant: signoff_core::Tenant::local(),
        assignee: None,
        body,
        created_at: Timestamp(0),
        decision: None,
        withdrawn: None,
        deferred_until: None,
    })
}

#[test]
fn fields_are_changed_by_name() {
    let value = json!({ "venue": 600, "catering": 300, "note": "as usual" });
    for (text, expected) in [
        ("venue=700", json!({ "venue": 700, "catering": 300, "note": "as usual" })),
        ("venue=700 catering = 1.5", json!({ "venue": 700, "catering": 1.5, "note": "as usual" })),
        ("note=two words, venue=1", json!({ "venue": 1, "catering": 300, "note": "two words" })),
        ("note=7", json!({ "venue": 600, "catering": 300, "note": "7" })),
        (r#"{"venue": 5}"#, json!({ "venue": 5, "catering": 300, "note": "as usual" })),
    ] {
        assert_eq!(changed(&value, &value, text).unwrap(), expected, "{text}");
    }
    for wrong in ["", "what", "venu=7", "oops venue=7", r#"{"x": 1}"#, "=", "ünï=1"] {
        let problem = changed(&value, &value, wrong).unwrap_err();
        assert!(problem.contains("venue, catering, note"), "{wrong}: {problem}");
    }
}

#[test]
fn a_proposal_is_edited_in_steps_or_at_once() {
    let proposal = json!({ "venue": 600, "catering": 300 });
    let edited = |venue: u32| {
        Typed::Decision(Decision::Edit {
            value: json!({ "venue": venue, "catering": 300 }),
            note: None,
        })
    };
    let mut prompt = prompt(RequestBody::approval("Good?", proposal));
    assert_eq!(prompt.take("e venue=1"), edited(1));
    assert!(matches!(prompt.take("e venue=much"), Typed::Refused(_)));
    assert!(matches!(prompt.take("e"), Typed::Show(_)));
    assert_eq!(prompt.marker(), "edit> ");
    assert!(matches!(prompt.take("venue=2"), Typed::Show(_)));
    assert!(matches!(prompt.take("nothing"), Typed::Refused(_)));
    assert!(matches!(prompt.take("venue=lots"), Typed::Show(_)));
    assert!(matches!(prompt.take(""), Typed::Refused(_)), "it is checked before it is sent");
    assert!(matches!(prompt.take("venue=2"), Typed::Show(_)));
    assert_eq!(prompt.take(""), edited(2));
    assert!(matches!(prompt.take("e"), Typed::Show(_)));
    assert!(matches!(prompt.take("cancel"), Typed::Show(_)));
    assert_eq!(prompt.marker(), "> ");
    assert_eq!(prompt.take("yes"), Typed::Decision(Decision::approve()));
}

#[test]
fn nothing_and_help_ask_again() {
    let mut prompt = prompt(RequestBody::input("Name?"));
    assert_eq!(prompt.take("  "), Typed::Nothing);
    assert!(matches!(prompt.take("?"), Typed::Show(help) if help.contains("accepted: text")));
    assert_eq!(prompt.take("e"), Typed::Decision(Decision::respond("e")), "nothing to edit here");
}
