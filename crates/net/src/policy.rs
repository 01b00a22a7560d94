//! What a client may reach and how long it may take.

use std::time::Duration;

use crate::address::Zone;

/// Whether addresses of this machine, this network and this site may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Private {
    /// They may: the operator named the host.
    Allow,
    /// They may not: the host comes from a model, a tool or a stranger.
    Refuse,
}

/// What a client may reach and how long it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether private addresses may be reached.
    pub private: Private,
    /// Whether plain `http` may be used.
    pub plain_http: bool,
    /// How long connecting may take, the TLS handshake included.
    pub connect_timeout: Duration,
    /// How long the response's head may take, from the moment the request is sent.
    pub first_byte_timeout: Duration,
    /// How long the response may be silent.
    pub idle_timeout: Duration,
    /// How long all of it may take, redirects included.
    pub total_timeout: Duration,
    /// How large a response may be, in bytes.
    pub max_response_bytes: u64,
    /// How large the head of a response may be over HTTP/2, in bytes. Over HTTP/1 the client underneath
    /// has its own limits (a hundred headers, some 400 KB).
    pub max_header_bytes: u32,
    /// How many redirects are followed.
    pub max_redirects: u32,
}

impl Policy {
    /// For hosts that the operator named, such as a model's: private addresses and plain HTTP are
    /// allowed; redirects are not followed.
    pub fn configured() -> Self {
        Self { private: Private::Allow, plain_http: true, ..Self::guarded() }
    }

    /// For hosts that anybody may have named: public addresses over HTTPS only.
    pub fn guarded() -> Self {
        Self {
            private: Private::Refuse,
            plain_http: false,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_mins(2),
            max_response_bytes: 10 * 1024 * 1024,
            max_header_bytes: 64 * 1024,
            max_redirects: 0,
        }
    }

    pub(crate) fn allows(&self, zone: Zone) -> bool {
        match zone {
            Zone::Public => true,
            Zone::Private => self.private == Private::Allow,
            Zone::Forbidden => false,
        }
    }

    pub(crate) fn allows_scheme(&self, scheme: &str) -> bool {
        scheme == "https" || (scheme == "http" && self.plain_http)
    }
}
