//! The runs that a session follows.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use signoff_core::{RunId, Seq};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::shape;
use crate::stream::{Tail, Told};

/// How many pieces wait for a session that is busy. A tail that is behind reads the store.
const WAITING: usize = 16;

/// One thing of one run, for the attachment of this number.
type Piece = (RunId, u64, Result<Told, ApiError>);

/// The runs that a session follows.
#[derive(Debug)]
pub(super) struct Attached {
    app: App,
    runs: BTreeMap<RunId, Task>,
    next: u64,
    to_session: mpsc::Sender<Piece>,
    pieces: mpsc::Receiver<Piece>,
}

/// Follows one run until it is dropped.
#[derive(Debug)]
struct Task {
    number: u64,
    following: JoinHandle<()>,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Attached {
    pub(super) fn new(app: &App) -> Self {
        let (to_session, pieces) = mpsc::channel(WAITING);
        Self { app: App::clone(app), runs: BTreeMap::new(), next: 0, to_session, pieces }
    }

    /// Whether one more run may be followed.
    pub(super) fn room(&self, run: &RunId) -> Result<(), ApiError> {
        let most = self.app.settings.max_attached;
        if self.runs.len() >= most && !self.runs.contains_key(run) {
            let message = format!("{most} runs are followed on this connection already");
            return Err(ApiError::new(Problem::TooManyAttached, message)
                .hint("detach from one, or open another connection"));
        }
        Ok(())
    }

    /// Follows a run from the entry after `after`; from there on, if it was followed before.
    pub(super) fn add(&mut self, run: RunId, after: Seq) {
        self.next += 1;
        let number = self.next;
        let mut tail = Tail::new(&self.app, run.clone(), after);
        let (name, to_session) = (run.clone(), self.to_session.clone());
        let following = tokio::spawn(async move {
            loop {
                let told = tail.next().await;
                let last = matches!(told, Ok(Told::End | Told::Bye) | Err(_));
                if to_session.send((name.clone(), number, told)).await.is_err() || last {
                    return;
                }
            }
        });
        self.runs.insert(run, Task { number, following });
    }

    /// Follows a run no more. Whether it was.
    pub(super) fn remove(&mut self, run: &RunId) -> bool {
        self.runs.remove(run).is_some()
    }

    /// What happens next in one of them, as it is told. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Value {
        loop {
            let Some((run, number, told)) = self.pieces.recv().await else {
                // Not while this has a sender itself.
                return std::future::pending().await;
            };
            // What a task had sent before it was dropped.
            if self.runs.get(&run).is_none_or(|task| task.number != number) {
                continue;
            }
            match told {
                Ok(Told::Entry(entry)) => {
                    let entry = shape::entry(&run, &entry);
                    return json!({ "type": "entry", "attached": run, "entry": entry });
                }
                Ok(Told::Delta { run: of, agent, text, .. }) => {
                    return json!({ "type": "delta", "attached": run, "run": of, "agent": agent, "text": text });
                }
                Ok(Told::Restart { run: of, agent, .. }) => {
                    return json!({ "type": "restart", "attached": run, "run": of, "agent": agent });
                }
                Ok(Told::End) => {
                    self.remove(&run);
                    return json!({ "type": "end", "attached": run });
                }
                // The session hears of it too.
                Ok(Told::Bye) => {}
                Err(error) => {
                    self.remove(&run);
                    let error = error.into_fields().1;
                    return json!({ "type": "end", "attached": run, "error": error });
                }
            }
        }
    }
}
