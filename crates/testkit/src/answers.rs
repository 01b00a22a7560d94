//! What the person in these tests answers: always the same to the same question, and the truth when
//! asked what has happened.

use serde_json::{Value, json};
use signoff_core::{Decision, Request, RequestKind};

use crate::ledger::Ledger;

/// What event planners are asked to plan.
pub const PARTY: &str = "Plan a party for 30 people";

/// The answers to what that makes them ask, as a file for `--answers`.
pub fn file() -> String {
    let of = |agent: &str, answer: Value| {
        let mut item = answer;
        item["match"] = json!({ "agent": agent });
        item
    };
    json!([
        of("venue", json!({ "answer": VENUE })),
        of("budget", json!({ "decision": "approve" })),
        of("catering", json!({ "answer": DIET })),
    ])
    .to_string()
}

const VENUE: &str = "The Glasshouse";
const DIET: &str = "vegan and nut-free";

/// The answer to `request`. Whether something in doubt has happened is looked up in `ledger`.
pub fn answer(request: &Request, ledger: &Ledger) -> Decision {
    match request.body.kind {
        RequestKind::InDoubt => match ledger.find(&request.run, &request.body.context["action"]) {
            Some(done) => Decision::respond(done.result),
            None => Decision::Retry { feedback: None },
        },
        RequestKind::Selection => Decision::respond(VENUE),
        RequestKind::Approval => Decision::approve(),
        _ => Decision::respond(DIET),
    }
}
