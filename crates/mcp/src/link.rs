//! The way to a server: one session, opened when it is wanted and again after it broke.

use std::sync::Arc;
use std::time::Duration;

use signoff_core::journal::ErrorInfo;
use signoff_tools::ToolError;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::session::{Connector, Session};

/// A session that lasted less than this did not last.
const LASTED: Duration = Duration::from_secs(10);
/// How long to leave a server alone after one failure, doubled with every further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The way to a server.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connector: Connector,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    session: Option<Arc<Session>>,
    failures: u32,
    /// When the server may be tried again, and what was wrong.
    pause: Option<(Instant, ToolError)>,
}

impl Link {
    pub(crate) fn new(connector: Connector) -> Self {
        Self { connector, state: Mutex::new(State::default()) }
    }

    /// The session; a new one, if there is none or it broke.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, ToolError> {
        let mut state = self.state.lock().await;
        if let Some(session) = &state.session {
            if session.is_alive() {
                return Ok(Arc::clone(session));
            }
            // The first restart is free; a server that keeps dying is left alone for a while.
            state.failures = if session.began.elapsed() < LASTED { state.failures + 1 } else { 0 };
            if state.failures > 1 {
                let problem = ToolError::new("mcp_unavailable", "the server keeps dying");
                state.pause = Some((Instant::now() + pause(state.failures - 1), problem));
            }
            state.session = None;
        }
        if let Some((until, problem)) = &state.pause {
            let left = until.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                let ErrorInfo { code, message, .. } = &problem.0;
                let message = format!("{message}; it is tried again in {} s", left.as_secs() + 1);
                return Err(ToolError::new(code, message));
            }
        }
        state.pause = None;
        match self.connector.connect().await {
            Ok(session) => {
                let session = Arc::new(session);
                state.session = Some(Arc::clone(&session));
                Ok(session)
            }
            Err(error) => {
                state.failures += 1;
                state.pause = Some((Instant::now() + pause(state.failures), error.clone()));
                Err(error)
            }
        }
    }
}

fn pause(failures: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        assert_eq!(pause(1), FIRST_PAUSE);
        assert_eq!(pause(2), FIRST_PAUSE * 2);
        assert_eq!(pause(99), LONGEST_PAUSE);
    }
}
