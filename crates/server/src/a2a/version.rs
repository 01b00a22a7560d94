//! The two versions of the protocol, and how each writes things.

use axum::http::{HeaderMap, Uri};
use serde_json::Value;
use signoff_a2a::wire::{Event, PushConfig, PushParams, Task, TaskState, old};

use super::fault::{Fault, Kind, broken};
use super::follow::Until;
use super::rpc::read;

/// Where a client says which version it speaks; in a query it has the same name.
pub(super) const HEADER: &str = "a2a-version";

/// A version that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// 1.0.
    New,
    /// 0.3.
    Old,
}

impl Version {
    /// The version that a client says it speaks; none, if it does not say.
    pub(super) fn read(headers: &HeaderMap, uri: &Uri) -> Result<Option<Self>, Fault> {
        let query = uri.query().unwrap_or_default();
        let query: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap_or_default();
        let in_query = query.iter().find(|(name, _)| name.eq_ignore_ascii_case(HEADER));
        let named = match headers.get(HEADER) {
            Some(named) => named.to_str().unwrap_or("?"),
            None => in_query.map_or("", |(_, named)| named.as_str()),
        };
        let mut numbers = named.trim().split('.');
        match (numbers.next(), numbers.next()) {
            (Some(""), None) => Ok(None),
            (Some("1"), Some("0")) => Ok(Some(Self::New)),
            (Some("0"), Some("3")) => Ok(Some(Self::Old)),
            _ => {
                let shown = signoff_core::text::clean(named, 32);
                let message = format!("version `{shown}` is not spoken here; 1.0 and 0.3 are");
                Err(Fault::new(Kind::VersionNotSupported, message))
            }
        }
    }

    /// A task.
    pub(super) fn task(self, task: &Task) -> Result<Value, Fault> {
        match self {
            Self::New => serde_json::to_value(task).map_err(|error| broken(&error)),
            Self::Old => Ok(old::task(task)),
        }
    }

    /// What a client wants to be told, and where.
    pub(super) fn wanted_push(self, params: Value) -> Result<PushConfig, Fault> {
        match self {
            Self::New => read(params),
            Self::Old => {
                let params: PushParams = read(params)?;
                let config = params.push_notification_config.unwrap_or_default();
                Ok(PushConfig { task_id: params.task_id, ..config })
            }
        }
    }

    /// Where a client is told.
    pub(super) fn push(self, config: &PushConfig) -> Result<Value, Fault> {
        match self {
            Self::New => serde_json::to_value(config).map_err(|error| broken(&error)),
            Self::Old => Ok(config.in_old_words()),
        }
    }

    /// What is told in answer to a message, or as a piece of a stream that goes on so far.
    pub(super) fn event(self, event: &Event, until: Until) -> Result<Value, Fault> {
        let last = match event {
            Event::Status(update) => {
                let asks = update.status.state == TaskState::InputRequired;
                update.status.state.is_terminal() || (asks && until != Until::End)
            }
            _ => false,
        };
        match self {
            Self::New => serde_json::to_value(event).map_err(|error| broken(&error)),
            Self::Old => Ok(old::event(event, last)),
        }
    }
}
