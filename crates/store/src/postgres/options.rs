//! Where the database is and how it is spoken to: `postgres://user@host:port/database?…`.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::{NodeId, StoreError};

/// How many connections read at the same time, if nothing is said.
const READERS: usize = 4;
/// One writes, one listens.
const BESIDES_READERS: usize = 2;
const MAX_CONNECTIONS: usize = 1000;

/// How to open a [`PostgresStore`](crate::PostgresStore).
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The name of this process, never used before.
    pub node: NodeId,
    /// How many connections read at the same time. There are two more: one writes, one listens.
    pub readers: usize,
    /// How long a broken connection is tried again before those who wait for it are told.
    pub patience: Duration,
    pub(super) config: Config,
    pub(super) root_certificate: Option<PathBuf>,
    pooled: bool,
}

impl PostgresOptions {
    /// Reads an address. Besides what `tokio-postgres` knows it may say `sslrootcert` (a file with certificates),
    /// `sslmode=verify-full` (as `require`, which checks the certificate too) and `pool` (how many connections there are at most).
    pub fn new(address: &str, node: impl Into<NodeId>) -> Result<Self, StoreError> {
        let (base, query) = address.split_once('?').unwrap_or((address, ""));
        let mut rest = Vec::new();
        let (mut root_certificate, mut pool, mut mode) = (None, None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslrootcert", path)) => root_certificate = Some(decoded(path)),
                Some(("pool", number)) => pool = Some(connections(number)?),
                Some(("sslmode", word)) => mode = Some(ssl_mode(word)?),
                _ => rest.push(pair),
            }
        }
        let question = if rest.is_empty() { "" } else { "?" };
        let mut config: Config = format!("{base}{question}{}", rest.join("&"))
            .parse()
            .map_err(|error: tokio_postgres::Error| wrong(super::error::said(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(wrong("it names no host"));
        }
        // Nothing goes over a network unseen by nobody unless somebody says that it may.
        let near = config.get_hosts().iter().all(is_near) && config.get_hostaddrs().is_empty();
        let usual = if near { SslMode::Disable } else { SslMode::Require };
        let wanted = if root_certificate.is_some() { SslMode::Require } else { usual };
        config.ssl_mode(mode.unwrap_or(wanted));
        if config.get_application_name().is_none() {
            config.application_name("signoff");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(15));
        }
        if !rest.iter().any(|pair| pair.starts_with("keepalives_idle=")) {
            config.keepalives_idle(Duration::from_secs(10));
        }
        let readers = pool.map_or(READERS, |pool: usize| pool - BESIDES_READERS);
        Ok(Self {
            node: node.into(),
            readers,
            patience: Duration::from_secs(30),
            config,
            root_certificate: root_certificate.map(PathBuf::from),
            pooled: pool.is_some(),
        })
    }

    /// Reads by so many connections, unless the address says how many there are.
    #[must_use]
    pub fn read_by(mut self, readers: Option<usize>) -> Self {
        if let Some(readers) = readers.filter(|_| !self.pooled) {
            self.readers = readers;
        }
        self
    }

    /// The password to use if the address has none.
    #[must_use]
    pub fn or_password(mut self, password: Option<String>) -> Self {
        if let (None, Some(password)) = (self.config.get_password(), password) {
            self.config.password(password);
        }
        self
    }
}

fn ssl_mode(word: &str) -> Result<SslMode, StoreError> {
    match word {
        "disable" => Ok(SslMode::Disable),
        "prefer" | "allow" => Ok(SslMode::Prefer),
        // There is no encryption here without knowing whom one speaks to.
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        _ => Err(wrong("sslmode is disable, prefer, require or verify-full")),
    }
}

fn connections(number: &str) -> Result<usize, StoreError> {
    let fits = 1 + BESIDES_READERS..=MAX_CONNECTIONS;
    let number = number.parse().ok().filter(|number| fits.contains(number));
    number.ok_or_else(|| wrong(format!("pool is a number from 3 to {MAX_CONNECTIONS}")))
}

fn is_near(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address = name.parse::<std::net::IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// `%2F` and the like as the characters they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = hex.filter(|_| *first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn wrong(problem: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("the address of the database: {problem}"))
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::SslMode;

    use super::PostgresOptions;

    fn mode(address: &str) -> SslMode {
        PostgresOptions::new(address, "n").unwrap().config.get_ssl_mode()
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted() {
        assert_eq!(mode("postgres://me@localhost/runs"), SslMode::Disable);
        assert_eq!(mode("postgres://me@127.0.0.1/runs"), SslMode::Disable);
        assert_eq!(mode("postgres://me@%2Frun%2Fpg/runs"), SslMode::Disable);
        assert_eq!(mode("postgres://me@db.example/runs"), SslMode::Require);
        assert_eq!(mode("postgres://me@localhost,db.example/runs"), SslMode::Require);
        assert_eq!(mode("postgres://me@db.example/runs?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://me@localhost/runs?sslmode=verify-full"), SslMode::Require);
        assert_eq!(mode("postgres://me@localhost/runs?sslrootcert=%2Fca.pem"), SslMode::Require);
    }

    #[test]
    fn the_pool_has_limits() {
        let options = |query: &str| PostgresOptions::new(&format!("postgres://me@h/d{query}"), "n");
        assert_eq!(options("").unwrap().readers, 4);
        assert_eq!(options("").unwrap().read_by(Some(8)).readers, 8);
        assert_eq!(options("?pool=5").unwrap().read_by(Some(8)).readers, 3);
        let decoded = options("?sslrootcert=%2Fa%20b").unwrap().root_certificate;
        assert_eq!(decoded.unwrap().to_str(), Some("/a b"));
        for refused in ["?pool=2", "?pool=x", "?pool=100000", "?sslmode=maybe", "?nonsense=1"] {
            assert!(options(refused).is_err(), "{refused}");
        }
        assert!(PostgresOptions::new("postgres://", "n").is_err());
    }
}
