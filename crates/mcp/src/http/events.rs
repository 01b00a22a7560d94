//! Server-sent events, each of a bounded size.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use rmcp::transport::streamable_http_client::SseError;
use signoff_net::Response;
use sse_stream::{Sse, SseStream};

use crate::stdio::MAX_LINE;

/// The events of a response.
pub(crate) fn read(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let pieces = unfold(Some((response, Gauge::default())), |reading| async {
        let (mut response, mut gauge) = reading?;
        match response.chunk().await {
            Ok(None) => None,
            Ok(Some(piece)) if gauge.fits(&piece) => Some((Ok(piece), Some((response, gauge)))),
            Ok(Some(_)) => Some((Err(std::io::Error::other("an event is too large")), None)),
            Err(error) => Some((Err::<Bytes, _>(std::io::Error::other(error)), None)),
        }
    });
    SseStream::from_bytes_stream(Box::pin(pieces)).boxed()
}

/// How much there is of the current event.
#[derive(Default)]
struct Gauge {
    event: usize,
    line: usize,
}

impl Gauge {
    /// Counts `piece`; false once an event is too large.
    fn fits(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            match byte {
                b'\r' => {}
                b'\n' if self.line == 0 => self.event = 0,
                b'\n' => self.line = 0,
                _ => {
                    self.line += 1;
                    self.event += 1;
                }
            }
            if self.event > MAX_LINE {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_measured_one_by_one() {
        let mut gauge = Gauge::default();
        let event = format!("data: {}\r\n\r\n", "x".repeat(MAX_LINE / 2));
        assert!(gauge.fits(event.as_bytes()));
        assert!(gauge.fits(event.as_bytes()));
        assert!(gauge.fits(event.as_bytes()));
        let unending = "data: x\n".repeat(MAX_LINE / 4);
        assert!(!gauge.fits(unending.as_bytes()));
    }
}
