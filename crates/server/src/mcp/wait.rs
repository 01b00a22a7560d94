//! Waiting for a person, for as long as a client will.

use std::pin::pin;
use std::time::Duration;

use signoff_core::journal::ErrorInfo;
use signoff_core::request::{Request, RequestStatus};
use signoff_core::{RequestId, RunStatus};

use crate::app::App;
use crate::error::ApiError;

/// How often the store is looked at if nothing is heard: a decision that nobody drives on is not in the journal.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The request once it waits for nobody any more; or as it stands when the patience, or the server, ends.
pub(super) async fn settled(
    app: &App,
    id: &RequestId,
    patience: Duration,
) -> Result<Request, ApiError> {
    until(app, id, patience, |request| request.status != RequestStatus::Pending).await
}

/// The request once it is there. A run that was just started asks within a moment.
pub(super) async fn asked(app: &App, id: &RequestId) -> Result<Request, ApiError> {
    until(app, id, Duration::from_secs(10), |_| true).await
}

async fn until(
    app: &App,
    id: &RequestId,
    patience: Duration,
    wanted: fn(&Request) -> bool,
) -> Result<Request, ApiError> {
    let unknown = || ApiError::unknown_request(id.as_str());
    let (run, _) = id.split().ok_or_else(unknown)?;
    let mut listening = app.hub.listen(&run);
    let mut stopping = app.stopping.clone();
    let mut over = pin!(tokio::time::sleep(patience));
    let mut last = patience.is_zero();
    loop {
        let (read, of) = (id.clone(), run.clone());
        let found = app.read(move |engine| {
            let request = engine.store().request(&read)?;
            let run = if request.is_none() { engine.store().run(&of)? } else { None };
            Ok((request, run))
        });
        match found.await? {
            (Some(request), _) if last || wanted(&request) => return Ok(request),
            (None, None) => return Err(unknown()),
            (None, Some(run)) if run.status == RunStatus::Failed => {
                return Err(failed(
                    run.error.map(|error| ErrorInfo::new(error.code, error.message)),
                ));
            }
            (None, Some(run)) if last || run.status.is_over() => return Err(unknown()),
            (Some(_), _) | (None, Some(_)) => {}
        }
        tokio::select! {
            _ = listening.next() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = over.as_mut() => last = true,
            // If nobody can tell any more, it is over as well.
            _ = stopping.wait_for(|it| *it) => last = true,
        }
    }
}

fn failed(error: Option<ErrorInfo>) -> ApiError {
    error.unwrap_or_else(|| ErrorInfo::new("internal", "the run failed")).into()
}
