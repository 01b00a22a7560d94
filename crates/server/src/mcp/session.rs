//! Sessions of clients that speak a version before 2026-07-28. What a session consists of stands in its id, which is
//! signed and bound to whoever opened it: a process that does not know it makes it anew, and nobody else can use it.

use std::future::Future;
use std::pin::Pin;

use rmcp::model::{Implementation, InitializeRequestParams, JsonObject, TASKS_EXTENSION_ID};
use rmcp::transport::streamable_http_server::session::{
    SessionState, SessionStore, SessionStoreError,
};
use serde::{Deserialize, Serialize};
use signoff_core::{Actor, Tenant, text};

use crate::access::Caller;
use crate::sealed::Key;

/// The longest name or version of a client, in bytes.
const MAX_NAME: usize = 128;

/// What the id of a session says.
#[derive(Debug, Deserialize, Serialize)]
struct Said {
    id: String,
    tenant: Tenant,
    actor: Actor,
    client: InitializeRequestParams,
}

/// A session as a client brings it.
#[derive(Clone, Debug)]
pub(super) struct Brought {
    /// What the library knows it by.
    pub(super) id: String,
    client: InitializeRequestParams,
}

/// The id that a client gets for a session.
pub(super) fn id(
    key: &Key,
    caller: &Caller,
    id: &str,
    client: InitializeRequestParams,
) -> Option<String> {
    let said = Said {
        id: id.to_owned(),
        tenant: caller.tenant.clone(),
        actor: caller.actor.clone(),
        client: short(client),
    };
    key.sign(&said).ok()
}

/// The session of an id, if this caller opened it.
pub(super) fn brought(key: &Key, caller: &Caller, id: &str) -> Option<Brought> {
    let said: Said = key.open(id)?;
    let own = said.tenant == caller.tenant && said.actor == caller.actor;
    own.then_some(Brought { id: said.id, client: said.client })
}

/// What matters of a client, so that the id stays short.
fn short(client: InitializeRequestParams) -> InitializeRequestParams {
    let mut capabilities = client.capabilities;
    let tasks =
        capabilities.extensions.as_mut().and_then(|all| all.remove_entry(TASKS_EXTENSION_ID));
    capabilities.extensions = tasks.map(|(name, _)| [(name, JsonObject::default())].into());
    capabilities.experimental = None;
    let name = text::clean(&client.client_info.name, MAX_NAME);
    let version = text::clean(&client.client_info.version, MAX_NAME);
    InitializeRequestParams::new(capabilities, Implementation::new(name, version))
        .with_protocol_version(client.protocol_version)
}

/// What the library looks sessions up in: the one that the request brings.
#[derive(Debug)]
pub(super) struct InRequest(pub(super) Option<Brought>);

type Done<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

impl SessionStore for InRequest {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Done<'c, Option<SessionState>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        let found = self.0.as_ref().filter(|brought| brought.id == id);
        let state = found.map(|brought| SessionState::new(brought.client.clone()));
        Box::pin(std::future::ready(Ok(state)))
    }

    fn store<'a, 'b, 'c, 'd>(&'a self, _: &'b str, _: &'c SessionState) -> Done<'d, ()>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
        Self: 'd,
    {
        Box::pin(std::future::ready(Ok(())))
    }

    fn delete<'a, 'b, 'c>(&'a self, _: &'b str) -> Done<'c, ()>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sealed::MAX_TOKEN;

    #[test]
    fn a_session_is_its_callers_and_says_what_the_client_can() {
        let key = Key::new("secret");
        let params: InitializeRequestParams = serde_json::from_value(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "elicitation": {}, "sampling": {},
                "extensions": { "io.modelcontextprotocol/tasks": {}, "x/y": { "z": "w".repeat(9000) } },
            },
            "clientInfo": { "name": "n".repeat(9000), "version": "1" },
        }))
        .unwrap();
        let token = id(&key, &Caller::local(), "abc", params).unwrap();
        assert!(token.len() < MAX_TOKEN, "{}", token.len());
        let session = brought(&key, &Caller::local(), &token).unwrap();
        assert_eq!(session.id, "abc");
        assert!(session.client.capabilities.elicitation.is_some());
        assert!(session.client.capabilities.supports_tasks());
        let eve = Caller { actor: Actor::new("eve"), ..Caller::local() };
        assert!(brought(&key, &eve, &token).is_none());
        assert!(brought(&Key::new("other"), &Caller::local(), &token).is_none());
        assert!(brought(&key, &Caller::local(), "abc").is_none());
    }
}
