//! How connections are spoken: HTTP/1.1, and with gRPC HTTP/2 as well, told apart by how a client begins.

use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;

use crate::patient::Patient;

/// The largest head of a request, in bytes.
const MAX_HEAD: u16 = 32 * 1024;
/// The most headers of a request.
const MAX_HEADERS: usize = 100;

/// Where a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// What answers requests of one connection, told where they come from.
#[derive(Clone, Debug)]
pub(crate) struct Answering {
    router: TowerToHyperService<axum::Router>,
    peer: Option<Peer>,
}

impl Service<Request<Incoming>> for Answering {
    type Response = <TowerToHyperService<axum::Router> as Service<Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<axum::Router> as Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<axum::Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        self.router.call(request)
    }
}

/// Serves connections. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    one: http1::Builder,
    patience: Duration,
    #[cfg(feature = "grpc")]
    two: two::Http2,
}

impl Http {
    /// A client may take so long for the head of a request, from when it could send it; and so long to read anything of
    /// what it is sent.
    pub(crate) fn new(head_timeout: Duration, patience: Duration) -> Self {
        let mut one = http1::Builder::new();
        one.timer(TokioTimer::new())
            .header_read_timeout(head_timeout)
            .max_headers(MAX_HEADERS)
            .max_header_size(MAX_HEAD.into());
        Self {
            one,
            patience,
            #[cfg(feature = "grpc")]
            two: two::Http2::new(head_timeout),
        }
    }

    /// Serves one connection until it is closed. Told to hang up, it answers what it was asked before.
    pub(crate) async fn serve(
        &self,
        stream: TcpStream,
        service: axum::Router,
        hang_up: impl Future<Output = ()>,
    ) {
        // Small pieces matter here more than full packets.
        let _ = stream.set_nodelay(true);
        let mut hang_up = pin!(hang_up);
        let peer = stream.peer_addr().ok().map(|peer| Peer(peer.ip().to_canonical()));
        let service = Answering { router: TowerToHyperService::new(service), peer };
        #[cfg(feature = "grpc")]
        match self.two.is_begun(&stream, hang_up.as_mut()).await {
            Some(true) => {
                let stream = Patient::new(stream, self.patience);
                return self.two.serve(stream, service, hang_up).await;
            }
            Some(false) => {}
            None => return,
        }
        let stream = Patient::new(stream, self.patience);
        let connection = self.one.serve_connection(TokioIo::new(stream), service);
        let mut served = pin!(connection.with_upgrades());
        let ended = tokio::select! {
            ended = served.as_mut() => ended,
            () = hang_up.as_mut() => {
                served.as_mut().graceful_shutdown();
                served.await
            }
        };
        if let Err(error) = ended {
            tracing::trace!(%error, "a connection broke");
        }
    }
}

/// HTTP/2 without TLS, for clients that know beforehand that it is spoken here.
#[cfg(feature = "grpc")]
mod two {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::time::Duration;

    use hyper::server::conn::http2;
    use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
    use tokio::net::TcpStream;

    use crate::patient::Patient;

    /// How every connection of HTTP/2 begins; no method of HTTP/1 does.
    const PREFACE: &[u8] = b"PRI";
    /// The most calls at once on one connection.
    const MAX_CALLS: u32 = 256;
    /// How often it is looked whether the rest of the beginning has come.
    const LOOK_EVERY: Duration = Duration::from_millis(5);

    #[derive(Clone, Debug)]
    pub(super) struct Http2 {
        builder: http2::Builder<TokioExecutor>,
        patience: Duration,
    }

    impl Http2 {
        pub(super) fn new(patience: Duration) -> Self {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .timer(TokioTimer::new())
                .keep_alive_interval(patience)
                .max_header_list_size(super::MAX_HEAD.into())
                .max_concurrent_streams(MAX_CALLS);
            Self { builder, patience }
        }

        /// Whether a client begins so. Nothing, if it does not begin in time or is told to hang up.
        pub(super) async fn is_begun(
            &self,
            stream: &TcpStream,
            hang_up: Pin<&mut impl Future<Output = ()>>,
        ) -> Option<bool> {
            let beginning = async {
                let mut begun = [0; PREFACE.len()];
                loop {
                    let seen = stream.peek(&mut begun).await.ok()?;
                    if seen == 0 {
                        return None;
                    }
                    if !PREFACE.starts_with(&begun[..seen]) {
                        return Some(false);
                    }
                    if seen == PREFACE.len() {
                        return Some(true);
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            };
            tokio::select! {
                begun = tokio::time::timeout(self.patience, beginning) => begun.ok().flatten(),
                () = hang_up => None,
            }
        }

        pub(super) async fn serve(
            &self,
            stream: Patient<TcpStream>,
            service: super::Answering,
            hang_up: Pin<&mut impl Future<Output = ()>>,
        ) {
            let mut served = pin!(self.builder.serve_connection(TokioIo::new(stream), service));
            let ended = tokio::select! {
                ended = served.as_mut() => ended,
                () = hang_up => {
                    served.as_mut().graceful_shutdown();
                    served.await
                }
            };
            if let Err(error) = ended {
                tracing::trace!(%error, "a connection broke");
            }
        }
    }
}
