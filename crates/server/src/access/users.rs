//! The users as this process knows them: read from the store, and again when it has changed.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use signoff_store::{Store, StoreError, hex_sha256};

use super::Caller;
use crate::error::{ApiError, Problem};

/// The cookie that a page gets when somebody signs in.
pub(crate) const COOKIE: &str = "signoff_token";
/// How often it is looked whether users were added or removed.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The longest token that is looked at, in bytes.
const MAX_TOKEN: usize = 256;

/// Users by the hash of their token.
#[derive(Debug)]
pub(crate) struct Users {
    store: Arc<dyn Store>,
    known: RwLock<HashMap<String, Caller>>,
}

impl Users {
    /// Reads them.
    pub(crate) fn read(store: Arc<dyn Store>) -> Result<Self, StoreError> {
        let users = Self { store, known: RwLock::default() };
        users.refresh()?;
        Ok(users)
    }

    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        !self.known.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn refresh(&self) -> Result<(), StoreError> {
        let known = self.store.users()?.into_iter().map(|user| (user.token.clone(), user.into()));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known.collect();
        Ok(())
    }

    /// Keeps up with the store, until the future is dropped.
    pub(crate) async fn follow(self: Arc<Self>) {
        let mut seen = None;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let Ok(changes) = self.store.changes() else { continue };
            if seen == Some(changes) {
                continue;
            }
            let users = Arc::clone(&self);
            match tokio::task::spawn_blocking(move || users.refresh()).await {
                Ok(Ok(())) => seen = Some(changes),
                // Who was known stays known; it is looked again.
                Ok(Err(error)) => tracing::warn!(%error, "the users cannot be read"),
                Err(error) => tracing::warn!(%error, "the users cannot be read"),
            }
        }
    }

    /// Who this is; `None` if there are no users at all.
    pub(super) fn find(&self, headers: &HeaderMap) -> Result<Option<Caller>, ApiError> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() {
            return Ok(None);
        }
        let Some(token) = token(headers) else {
            return Err(ApiError::new(Problem::MissingToken, "a token is needed here")
                .hint("send `Authorization: Bearer TOKEN`; `signoff user add` prints one"));
        };
        let found = known.get(&hash(&token)).cloned();
        found.map(Some).ok_or_else(unknown)
    }

    /// Who comes in with this token.
    pub(crate) fn with_token(&self, token: &str) -> Option<Caller> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&hash(token)).cloned()
    }
}

/// What somebody with a wrong token is told.
pub(super) fn unknown() -> ApiError {
    ApiError::new(Problem::InvalidToken, "this token is not known here")
        .hint("`signoff user add NAME --new-token` prints a new one")
}

/// What is kept of a token.
fn hash(token: &str) -> String {
    hex_sha256(token.as_bytes())
}

/// The token in a request: as `Bearer`, as the password of `Basic`, or in the cookie.
fn token(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let found = match text(header::AUTHORIZATION).map(|it| it.split_once(' ').unwrap_or((it, ""))) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim().to_owned(),
        Some((scheme, pair)) if scheme.eq_ignore_ascii_case("basic") => {
            let pair = BASE64_STANDARD.decode(pair.trim()).ok()?;
            let pair = String::from_utf8(pair).ok()?;
            pair.split_once(':')?.1.to_owned()
        }
        _ => {
            let cookies = text(header::COOKIE)?.split(';');
            let named = cookies.filter_map(|cookie| cookie.trim().split_once('='));
            named.into_iter().find(|(name, _)| *name == COOKIE)?.1.to_owned()
        }
    };
    (!found.is_empty() && found.len() <= MAX_TOKEN).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_in_three_ways() {
        let found = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            token(&headers)
        };
        let own = Some("s3cret".to_owned());
        assert_eq!(found("authorization", "Bearer s3cret"), own);
        assert_eq!(found("authorization", "bearer  s3cret "), own);
        assert_eq!(found("authorization", "Basic cWxhdzpzM2NyZXQ="), own);
        assert_eq!(found("cookie", "a=b; signoff_token=s3cret; c=d"), own);
        for (name, value) in [
            ("authorization", "Bearer"),
            ("authorization", "Bearer "),
            ("authorization", "Basic !!"),
            ("authorization", "Basic cWxhdw=="),
            ("cookie", "signoff_token="),
            ("cookie", "xsignoff_token=s3cret"),
        ] {
            assert_eq!(found(name, value), None, "{name}: {value}");
        }
        assert_eq!(found("authorization", &format!("Bearer {}", "x".repeat(257))), None);
    }
}
