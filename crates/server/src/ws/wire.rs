//! The connection itself: what is written in time, and how it ends.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use serde_json::Value;
use tungstenite::error::{CapacityError, Error as WireError};

/// How long the last words may take.
const FAREWELL: Duration = Duration::from_secs(1);
/// The reader is too slow.
const TOO_SLOW: u16 = 4008;

/// Why a session ends.
#[derive(Debug)]
pub(super) enum End {
    /// The client went, or the line broke.
    Gone,
    /// We close it, with this code and reason.
    Close(u16, &'static str),
}

/// What came cannot be read.
#[derive(Debug)]
pub(super) enum Broken {
    /// A message has more bytes than this.
    TooLarge(usize),
    /// It is not the protocol, or the line broke.
    Protocol,
}

/// A WebSocket whose client must read in time.
#[derive(Debug)]
pub(super) struct Wire {
    socket: WebSocket,
    patience: Duration,
}

impl Wire {
    pub(super) fn new(socket: WebSocket, patience: Duration) -> Self {
        Self { socket, patience }
    }

    pub(super) async fn send(&mut self, message: &Value) -> Result<(), End> {
        self.send_text(message.to_string().into()).await
    }

    pub(super) async fn send_text(&mut self, text: Utf8Bytes) -> Result<(), End> {
        self.write(Message::Text(text)).await
    }

    pub(super) async fn write(&mut self, message: Message) -> Result<(), End> {
        match tokio::time::timeout(self.patience, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Gone),
            Err(_) => Err(End::Close(TOO_SLOW, "the client reads too slowly")),
        }
    }

    /// What comes next; none when the client is gone. May be dropped while it waits.
    pub(super) async fn receive(&mut self) -> Option<Result<Message, Broken>> {
        let received = self.socket.recv().await?;
        Some(received.map_err(|error| match error.into_inner().downcast_ref() {
            Some(WireError::Capacity(CapacityError::MessageTooLong { max_size, .. })) => {
                Broken::TooLarge(*max_size)
            }
            _ => Broken::Protocol,
        }))
    }

    /// Closes it with a code and a reason.
    pub(super) async fn close(&mut self, code: u16, reason: &'static str) {
        let last_words = async {
            let frame = CloseFrame { code, reason: reason.into() };
            if self.socket.send(Message::Close(Some(frame))).await.is_ok() {
                // Until the client has read it; else it might never see it.
                while let Some(Ok(_)) = self.socket.recv().await {}
            }
        };
        let _ = tokio::time::timeout(FAREWELL, last_words).await;
    }
}
