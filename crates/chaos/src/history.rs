//! What the client of one conversation saw, and what was found of it afterwards.

/// What became of an answer, as its sender was told at last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It stands.
    Accepted,
    /// Another one stands: this.
    Refused(String),
    /// Nobody gave a clear word until the client gave up.
    Unclear(String),
}

/// An answer that was sent.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What it says.
    pub content: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// A question, and the answers that were sent to it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its id.
    pub request: String,
    /// Those who answered, in the order in which they began.
    pub answers: Vec<Answer>,
    /// Whether the second was only sent when the first was acknowledged.
    pub one_by_one: bool,
}

/// What the store says of a run, when everything is over.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Its status.
    pub status: String,
    /// What it gave.
    pub output: String,
    /// Requests and what was decided, in the order of the journal.
    pub decided: Vec<(String, String)>,
    /// Whether its journal is numbered from 1 without a gap.
    pub gapless: bool,
}

/// Something done in the world.
#[derive(Clone, Debug)]
pub struct Acted {
    /// For which step of the conversation.
    pub step: u64,
    /// Under which key.
    pub key: String,
}

/// One conversation.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What it is called: the input of its run.
    pub name: String,
    /// The run that each start was acknowledged with.
    pub runs: Vec<String>,
    /// What was asked and answered, without questions of effects in doubt.
    pub asked: Vec<Asked>,
    /// How many effects were in doubt.
    pub in_doubt: u64,
    /// Why the client gave up, if it did.
    pub gave_up: Option<String>,
    /// What was found.
    pub found: Option<Found>,
    /// What was done for it, once for each key.
    pub acted: Vec<Acted>,
}
