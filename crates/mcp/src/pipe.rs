//! A server at an address for a client that speaks over a pipe: hands every message on, and looks into none.

use std::sync::Arc;

use rmcp::service::{RoleClient, RoleServer};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use signoff_core::Span;
use signoff_core::journal::ErrorInfo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::http::{Patience, Web};
use crate::stdio::MAX_LINE;

/// How long the server may take to answer a call.
const CALL: Span = Span::seconds(24 * 60 * 60);

/// Hands on what is said, until one of both is gone. `token` is whose client it is.
pub async fn pipe<R, W>(
    url: &str,
    token: Option<String>,
    read: R,
    write: W,
) -> Result<(), ErrorInfo>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let gone = |error: &dyn std::fmt::Display| ErrorInfo::new("mcp_unavailable", error.to_string());
    let web = Web::new(CALL).map_err(|error| gone(&error))?;
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(url).max_sse_event_size(MAX_LINE);
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    config.retry_config = Arc::new(Patience);
    let mut there = StreamableHttpClientTransport::with_client(web, config);
    let mut here =
        AsyncRwTransport::<RoleServer, R, W>::new(read, write).with_max_line_length(MAX_LINE);
    loop {
        tokio::select! {
            said = here.receive() => match said {
                Some(message) => {
                    let sent = Transport::<RoleClient>::send(&mut there, message);
                    sent.await.map_err(|error| gone(&error))?;
                }
                None => break,
            },
            answered = Transport::<RoleClient>::receive(&mut there) => match answered {
                Some(message) => here.send(message).await.map_err(|error| gone(&error))?,
                None => return Err(gone(&"the server is gone, or refused to talk")),
            },
        }
    }
    Transport::<RoleClient>::close(&mut there).await.map_err(|error| gone(&error))
}
