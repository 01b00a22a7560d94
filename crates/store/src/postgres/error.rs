//! What the database says, in the words of the contract.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::StoreError;

/// Why something was not carried out.
#[derive(Debug)]
pub(super) enum Stop {
    /// It may not be, or what is stored cannot be read. Nothing was written.
    Refused(StoreError),
    /// The database failed; something may have been written, in a transaction that cannot be committed now.
    Broken(Error),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        // A column that does not fit leaves the transaction whole.
        if is_unreadable(&error) {
            Self::Refused(StoreError::Corrupt(error.to_string()))
        } else {
            Self::Broken(error)
        }
    }
}

impl From<Stop> for StoreError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refused(error) => error,
            Stop::Broken(error) => failed(&error),
        }
    }
}

fn is_unreadable(error: &Error) -> bool {
    // The library tells this kind by its words only.
    error.code().is_none() && error.to_string().starts_with("error deserializing column")
}

/// Whether something could not be sent or read, whatever the connection.
fn is_our_fault(error: &Error) -> bool {
    let said = error.to_string();
    let kinds = [
        "error serializing",
        "error deserializing",
        "error encoding",
        "query returned",
        "invalid ",
    ];
    kinds.iter().any(|kind| said.starts_with(kind))
}

/// The store's error for one of the database.
pub(super) fn failed(error: &Error) -> StoreError {
    StoreError::Failed(said(error))
}

/// What went wrong, in one sentence.
pub(super) fn said(error: &Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("PostgreSQL says: {} ({})", db.message(), db.code().code());
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_said = cause.to_string();
        if !text.contains(&cause_said) {
            text = format!("{text}: {cause_said}");
        }
        source = cause.source();
    }
    format!("PostgreSQL: {text}")
}

/// Whether the connection is gone, and another one may fare better.
pub(super) fn is_lost(error: &Error) -> bool {
    match error.code() {
        None => !is_our_fault(error),
        Some(code) => {
            *code == SqlState::ADMIN_SHUTDOWN
                || *code == SqlState::CRASH_SHUTDOWN
                || *code == SqlState::CANNOT_CONNECT_NOW
                || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
                || *code == SqlState::TOO_MANY_CONNECTIONS
                || *code == SqlState::READ_ONLY_SQL_TRANSACTION
                || code.code().starts_with("08")
        }
    }
}

/// Whether somebody else was in the way, and it is worth trying again.
pub(super) fn is_busy(error: &Error) -> bool {
    let busy = [
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::QUERY_CANCELED,
    ];
    error.code().is_some_and(|code| busy.contains(code))
}

/// Stored JSON as a value.
pub(super) fn parse<T: serde::de::DeserializeOwned>(
    what: &str,
    text: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("{what}: {error}")))
}

/// A value as JSON to store.
pub(super) fn json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))
}
