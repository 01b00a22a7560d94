//! Names become addresses here, and here alone: what passes is what is connected to, so a name that
//! changes its mind between a check and a connection gains nothing.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::zone;
use crate::error::NetError;
use crate::policy::Policy;

/// Turns a name into addresses, without any judgement.
pub trait Lookup: Send + Sync + std::fmt::Debug {
    /// The addresses of `host`.
    fn lookup(
        &self,
        host: String,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;
}

/// The lookup of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(
        &self,
        host: String,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
        Box::pin(async move {
            Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
        })
    }
}

/// Lets through what the policy allows.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) policy: Arc<Policy>,
    pub(crate) lookup: Arc<dyn Lookup>,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = Arc::clone(&self.policy);
        let found = self.lookup.lookup(name.as_str().to_owned());
        Box::pin(async move {
            let host = name.as_str();
            let found = found.await.map_err(|_| NetError::Connect {
                host: host.to_owned(),
                problem: "the name cannot be resolved".to_owned(),
                begun: false,
            })?;
            let allowed = allowed(&policy, host, &found)?;
            let allowed = allowed.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(allowed.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

/// All of `found`, if the policy allows all of them. A name with one good and one bad address is not
/// to be trusted with either.
fn allowed(policy: &Policy, host: &str, found: &[IpAddr]) -> Result<Vec<IpAddr>, NetError> {
    for address in found {
        check(policy, host, *address)?;
    }
    if found.is_empty() {
        return Err(NetError::Connect {
            host: host.to_owned(),
            problem: "the name has no address".to_owned(),
            begun: false,
        });
    }
    Ok(found.to_vec())
}

/// Refuses an address that the policy does not allow.
pub(crate) fn check(policy: &Policy, host: &str, address: IpAddr) -> Result<(), NetError> {
    if policy.allows(zone(address)) {
        return Ok(());
    }
    let reason = format!("{address} is not a public address, and only those may be reached");
    Err(NetError::refused(host, reason))
}
