//! The ids of traces and spans: they follow from the run and the place in it.

use signoff_core::{ActivationId, RequestNo, RunId, Seq, text};

/// What a span is about, within its run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// The run itself.
    Run,
    /// An activation.
    Activation(ActivationId),
    /// A request.
    Request(RequestNo),
    /// What ended with this entry.
    Entry(Seq),
}

/// The trace that a run and all its parts are in: the first 16 bytes of the SHA-256 of the id of the run at
/// the top, in hex.
pub(crate) fn trace(root: &RunId) -> String {
    text::digest(root.as_str(), 32)
}

/// The id of a span, in hex.
pub(crate) fn span(run: &RunId, place: Place) -> String {
    let place = match place {
        Place::Run => "run".to_owned(),
        Place::Activation(number) => format!("activation/{number}"),
        Place::Request(number) => format!("request/{number}"),
        Place::Entry(seq) => format!("entry/{seq}"),
    };
    text::digest(&format!("{run}#{place}"), 16)
}
