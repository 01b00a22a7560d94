//! A client of the WebSocket.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use signoff_testkit::process::PATIENCE;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::support::Client;

/// A connection.
pub(crate) struct Socket {
    pub(crate) wire: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The subprotocol that was agreed on.
    pub(crate) protocol: Option<String>,
    next_id: u64,
}

impl Socket {
    /// Connects, or says with which status and body it was refused.
    pub(crate) async fn try_open(
        server: &Client,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, (u16, Value)> {
        let url = format!("{}{path}", server.url.replacen("http", "ws", 1));
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).unwrap();
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
        match connect_async(request).await {
            Ok((wire, response)) => {
                let protocol = response.headers().get("sec-websocket-protocol");
                let protocol = protocol.map(|it| it.to_str().unwrap().to_owned());
                Ok(Self { wire, protocol, next_id: 0 })
            }
            Err(Error::Http(response)) => {
                let body = response.body().clone().unwrap_or_default();
                Err((response.status().as_u16(), serde_json::from_slice(&body).unwrap_or_default()))
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn open(server: &Client, path: &str) -> Self {
        Self::try_open(server, path, &[]).await.ok().unwrap()
    }

    /// Connects in our own words and reads what is told at first.
    pub(crate) async fn native(server: &Client) -> (Self, Value) {
        let mut socket = Self::open(server, "/v1/ws").await;
        assert_eq!(socket.next().await["type"], "hello");
        let snapshot = socket.next().await;
        assert_eq!(snapshot["type"], "snapshot", "{snapshot}");
        (socket, snapshot)
    }

    pub(crate) async fn send(&mut self, text: impl Into<String>) {
        self.wire.send(Message::text(text.into())).await.unwrap();
    }

    /// The next message, or the code and the reason it was closed with.
    pub(crate) async fn receive(&mut self) -> Result<Value, (u16, String)> {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.wire.next()).await.unwrap();
            match message {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(Some(frame)))) => {
                    return Err((frame.code.into(), frame.reason.to_string()));
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => return Err((0, format!("{other:?}"))),
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        self.receive().await.unwrap_or_else(|closed| panic!("it was closed: {closed:?}"))
    }

    /// The next message that is wanted; all others are passed over.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await;
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Says something and gives what it was answered with; what comes before that is kept.
    pub(crate) async fn ask_keeping(&mut self, message: &Value, kept: &mut Vec<Value>) -> Value {
        self.next_id += 1;
        let mut message = message.clone();
        message["id"] = self.next_id.into();
        self.send(message.to_string()).await;
        loop {
            let answer = self.next().await;
            if answer["id"] == json!(self.next_id) {
                return answer;
            }
            kept.push(answer);
        }
    }

    /// The same where nothing else matters.
    pub(crate) async fn ask(&mut self, message: &Value) -> Value {
        self.ask_keeping(message, &mut Vec::new()).await
    }

    /// What is told of this request next.
    pub(crate) async fn told(&mut self, request: &str, change: &str) -> Value {
        self.until(|it| {
            it["type"] == "request" && it["change"] == change && it["request"]["id"] == request
        })
        .await["request"]
            .clone()
    }

    /// Nothing of this kind is told for a while.
    pub(crate) async fn hears_no(&mut self, wanted: impl Fn(&Value) -> bool) {
        let listening = self.until(wanted);
        let heard = tokio::time::timeout(Duration::from_millis(600), listening).await;
        assert!(heard.is_err(), "{heard:?}");
    }
}
