//! How connections are spoken: HTTP/1.1, and with gRPC HTTP/2 as well, told apart by how a client begins.

use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;

/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 32 * 1024;
/// The most headers of a request.
const MAX_HEADERS: usize = 100;
/// The most calls at once on one connection of HTTP/2.
#[cfg(feature = "grpc")]
const MAX_CALLS: u32 = 256;

type Service = TowerToHyperService<axum::Router>;

/// Serves connections. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Http(Builder);

#[cfg(not(feature = "grpc"))]
type Builder = hyper::server::conn::http1::Builder;
#[cfg(feature = "grpc")]
type Builder = hyper_util::server::conn::auto::Builder<hyper_util::rt::TokioExecutor>;

impl Http {
    #[cfg(not(feature = "grpc"))]
    pub(crate) fn new(head_timeout: Duration) -> Self {
        let mut http = Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(head_timeout)
            .max_headers(MAX_HEADERS)
            .max_header_size(MAX_HEAD);
        Self(http)
    }

    #[cfg(feature = "grpc")]
    pub(crate) fn new(head_timeout: Duration) -> Self {
        let mut http = Builder::new(hyper_util::rt::TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(head_timeout)
            .max_headers(MAX_HEADERS)
            .max_header_size(MAX_HEAD);
        let head = u32::try_from(MAX_HEAD).unwrap_or(u32::MAX);
        http.http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(head_timeout)
            .max_header_list_size(head)
            .max_concurrent_streams(MAX_CALLS);
        Self(http)
    }

    /// Serves one connection.
    #[cfg(not(feature = "grpc"))]
    pub(crate) fn serve(
        &self,
        stream: TokioIo<TcpStream>,
        service: Service,
    ) -> hyper::server::conn::http1::UpgradeableConnection<TokioIo<TcpStream>, Service> {
        self.0.serve_connection(stream, service).with_upgrades()
    }

    /// Serves one connection.
    #[cfg(feature = "grpc")]
    pub(crate) fn serve(
        &self,
        stream: TokioIo<TcpStream>,
        service: Service,
    ) -> hyper_util::server::conn::auto::UpgradeableConnection<
        '_,
        TokioIo<TcpStream>,
        Service,
        hyper_util::rt::TokioExecutor,
    > {
        self.0.serve_connection_with_upgrades(stream, service)
    }
}
