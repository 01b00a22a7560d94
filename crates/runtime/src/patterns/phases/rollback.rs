//! Undoing what a step has changed, and asking what follows.

use serde_json::json;
use signoff_core::journal::ErrorInfo;
use signoff_core::request::RequestBody;
use signoff_core::{DecisionKind, RequestKind};

use super::Work;
use super::control::Place;

impl Work<'_> {
    /// Undoes what the step has changed. The question that comes after it: the same as before, with what was undone and what
    /// was not; there is nothing left to approve or to undo.
    pub(super) async fn rolled_back(
        &self,
        key: &str,
        place: Place<'_>,
        asked: RequestBody,
    ) -> Result<RequestBody, ErrorInfo> {
        let came = self.ctx.roll_back(key, place.n).await?;
        let (undone, left) = (came.undone.len(), came.left.len());
        let mut body = asked;
        let gone = [DecisionKind::Approve, DecisionKind::Rollback];
        body.allowed.retain(|kind| !gone.contains(kind));
        if body.kind == RequestKind::StepAfter {
            let end = body.allowed.len().saturating_sub(1);
            body.allowed.insert(end, DecisionKind::Skip);
        }
        body.context["rolled_back"] = json!({ "undone": came.undone, "not_undone": came.left });
        let rest = match left {
            0 => String::new(),
            1 => ", one could not be".to_owned(),
            left => format!(", {left} could not be"),
        };
        let words: Vec<&str> = body.allowed.iter().map(|kind| kind.as_str()).collect();
        body.prompt = format!(
            "Step {} was rolled back: {undone} of {} changes undone{rest}. What now: {}?",
            place.n,
            undone + left,
            words.join(", ")
        );
        Ok(body)
    }
}
