//! What is said of a request in a line, wherever it is told.

use serde::Deserialize as _;
use serde_json::Value;
use signoff_core::Unanswered;
use signoff_store::Happened;

/// The longest name, in characters.
const NAME: usize = 150;
/// The longest reason, in characters.
const REASON: usize = 600;

/// What is said above a request that waits.
pub(super) fn head(what: Happened, workflow: &str) -> String {
    match what {
        Happened::Reminded => format!("{workflow} still waits for an answer"),
        Happened::Reopened => format!("{workflow} waits again"),
        Happened::Deferred => format!("{workflow} waits, put off"),
        Happened::Voted => format!("{workflow} waits for others to agree"),
        _ => format!("{workflow} asks"),
    }
}

/// What follows if nobody decides a request in time that waits.
pub(super) fn unanswered(request: &Value) -> Option<&'static str> {
    let waits = request["status"] == "pending" && request["expires_at"].is_string();
    let then = Unanswered::deserialize(&request["on_timeout"]).ok();
    then.filter(|_| waits).map(Unanswered::in_words)
}

/// How a request was settled; none, if it waits.
pub(super) fn settled(request: &Value) -> Option<String> {
    let (decision, by) = (&request["decision"]["decision"], &request["decision"]["by"]);
    Some(match (request["status"].as_str(), decision.as_str()) {
        (Some("pending"), _) => return None,
        (Some("decided"), Some(decision)) => {
            format!("Decided by {}: {decision}", cut(by.as_str().unwrap_or_default(), NAME))
        }
        (Some("expired"), _) => "Nobody answered in time".to_owned(),
        _ => match request["withdrawn"].as_str() {
            Some(why) => format!("Taken back: {}", cut(why, REASON)),
            None => "Taken back".to_owned(),
        },
    })
}

/// The beginning of a text.
pub(super) fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{kept}…")
}
