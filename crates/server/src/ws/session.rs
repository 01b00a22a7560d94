//! One connection, from its first word to its last.

use std::collections::BTreeMap;

use axum::extract::ws::{Message, WebSocket, close_code};
use axum::http::HeaderMap;
use serde_json::{Map, Value, json};
use signoff_core::Request;
use signoff_core::request::RequestStatus;
use signoff_store::RequestFilter;
use tokio::time::{Interval, MissedTickBehavior};

use super::attached::Attached;
use super::command::{Done, perform};
use super::message::{self, Wish};
use super::pace::{Pace, Turn};
use super::wire::{Broken, End, Wire};
use super::{NATIVE, Words, approvals};
use crate::access::Caller;
use crate::app::App;
use crate::error::{ApiError, Problem};
use crate::shape;
use crate::stream::{Change, Heard, Inbox, What};

/// How many requests a snapshot has.
const PAGE: usize = 50;
/// The same for clients that cannot ask for the next page.
const LONG_PAGE: usize = 500;
/// How many signs of life may stay unanswered.
const PATIENCE: u32 = 2;
/// A message that is refused unread is looked at for its `id` up to this size.
const PEEK: usize = 4096;

/// One connection.
pub(super) struct Session {
    app: App,
    caller: Caller,
    /// What the caller came in with.
    credentials: HeaderMap,
    words: Words,
    wire: Wire,
    attached: Attached,
    pace: Pace,
    /// What the last snapshot had, so that nothing of it is told again.
    shown: BTreeMap<String, u32>,
    signs: Interval,
    unanswered: u32,
}

impl Session {
    pub(super) fn new(
        app: &App,
        (caller, credentials): (Caller, HeaderMap),
        words: Words,
        socket: WebSocket,
    ) -> Self {
        let mut signs = tokio::time::interval(app.settings.ping_every);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        signs.reset();
        Self {
            attached: Attached::new(app),
            pace: Pace::new(app.settings.max_messages),
            app: App::clone(app),
            caller,
            credentials,
            words,
            wire: Wire::new(socket, app.settings.write_timeout),
            shown: BTreeMap::new(),
            signs,
            unanswered: 0,
        }
    }

    /// Serves it to its end.
    pub(super) async fn serve(mut self) {
        let Err(End::Close(code, reason)) = self.talk().await else { return };
        self.wire.close(code, reason).await;
    }

    async fn talk(&mut self) -> Result<std::convert::Infallible, End> {
        // First listen, then read: what happens in between is told as well.
        let mut inbox = match Inbox::listen(&self.app, &self.caller).await {
            Ok(inbox) => inbox,
            Err(error) => return Err(self.broken(error).await),
        };
        self.greet().await?;
        self.snapshot().await?;
        loop {
            tokio::select! {
                received = self.wire.receive() => self.received(received).await?,
                heard = inbox.next() => self.heard(heard).await?,
                piece = self.attached.next() => self.send(&piece).await?,
                _ = self.signs.tick() => self.sign_of_life().await?,
            }
        }
    }

    async fn send(&mut self, message: &Value) -> Result<(), End> {
        self.wire.send(message).await
    }

    async fn sign_of_life(&mut self) -> Result<(), End> {
        if let Err(error) = self.app.access.is_still(&self.caller, &self.credentials) {
            self.refuse(None, error).await?;
            return Err(End::Close(close_code::POLICY, "the token is not good any more"));
        }
        if self.unanswered >= PATIENCE {
            return Err(End::Close(close_code::POLICY, "the client does not answer pings"));
        }
        self.unanswered += 1;
        self.wire.write(Message::Ping(bytes::Bytes::new())).await
    }

    async fn greet(&mut self) -> Result<(), End> {
        let settings = &self.app.settings;
        let hello = json!({
            "type": "hello",
            "protocol": NATIVE,
            "version": env!("CARGO_PKG_VERSION"),
            "actor": self.caller.actor,
            "limits": {
                "message_bytes": settings.max_body,
                "messages_per_second": settings.max_messages,
                "attached_runs": settings.max_attached,
            },
        });
        self.send(&match self.words {
            Words::Native => hello,
            Words::Approvals => self.event("connected", &hello),
        })
        .await
    }

    /// An event in the other words.
    fn event(&self, kind: &str, data: &Value) -> Value {
        let now = self.app.engine.clock().now().rfc3339();
        json!({ "event_type": kind, "timestamp": now, "data": data })
    }

    /// Tells what waits.
    async fn snapshot(&mut self) -> Result<(), End> {
        let size = if self.words == Words::Native { PAGE } else { LONG_PAGE };
        let pending = RequestFilter {
            status: Some(RequestStatus::Pending),
            deferred: Some(false),
            ..RequestFilter::default()
        };
        let read =
            self.app.search(move |engine| Ok(engine.store().requests(&pending, None, size)?));
        let page = match read.await {
            Ok(page) => page,
            Err(error) => return Err(self.broken(error).await),
        };
        self.shown =
            page.items.iter().map(|request| (request.id.to_string(), request.version)).collect();
        if self.words == Words::Approvals {
            for request in &page.items {
                self.send(&approvals::requested(request)).await?;
            }
            return Ok(());
        }
        let requests: Vec<Value> = page.items.iter().map(shape::request).collect();
        let mut snapshot = json!({ "type": "snapshot", "requests": requests });
        if let Some(next) = page.next {
            snapshot["next_cursor"] = next.into();
        }
        self.send(&snapshot).await
    }

    /// The store cannot be read: the client comes back by itself.
    async fn broken(&mut self, error: ApiError) -> End {
        let _ = self.refuse(None, error).await;
        End::Close(close_code::ERROR, "the store cannot be read")
    }

    async fn heard(&mut self, heard: Heard) -> Result<(), End> {
        match heard {
            Heard::Change(change) => self.changed(&change).await,
            // What was missed is in the store.
            Heard::Missed => self.snapshot().await,
            Heard::Bye => {
                let reason = json!({ "reason": "the server is stopping" });
                let bye = match self.words {
                    Words::Native => json!({ "type": "bye", "reason": reason["reason"] }),
                    Words::Approvals => self.event("disconnected", &reason),
                };
                self.send(&bye).await?;
                Err(End::Close(close_code::AWAY, "the server is stopping"))
            }
        }
    }

    async fn changed(&mut self, change: &Change) -> Result<(), End> {
        let Request { id, version, .. } = &change.request;
        if change.what == What::Asked && self.shown.get(id.as_str()) == Some(version) {
            return Ok(());
        }
        if self.words == Words::Native {
            return self.wire.send_text(change.text()).await;
        }
        let now = self.app.engine.clock().now();
        self.send(&match change.what {
            What::Asked => approvals::requested(&change.request),
            // There are no words for it.
            What::Noted => return Ok(()),
            What::Decided | What::Expired | What::Cancelled => {
                approvals::received(&change.request, now)
            }
        })
        .await
    }

    async fn received(&mut self, received: Option<Result<Message, Broken>>) -> Result<(), End> {
        self.unanswered = 0;
        match received {
            Some(Ok(Message::Text(text))) => self.said(&text).await,
            Some(Ok(Message::Binary(_))) => {
                self.turn()?;
                let message = "messages are text: JSON, one object each";
                self.refuse(None, ApiError::new(Problem::UnsupportedMediaType, message)).await
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
            None | Some(Ok(Message::Close(_))) => Err(End::Gone),
            Some(Err(Broken::Protocol)) => {
                Err(End::Close(close_code::PROTOCOL, "this is not the protocol"))
            }
            Some(Err(Broken::TooLarge(most))) => {
                let message = format!("the message has more than {most} bytes");
                self.refuse(None, ApiError::new(Problem::BodyTooLarge, message)).await?;
                Err(End::Close(close_code::SIZE, "a message was too large"))
            }
        }
    }

    /// Whether it is the client's turn to say something.
    fn turn(&mut self) -> Result<bool, End> {
        match self.pace.take() {
            Turn::Taken => Ok(true),
            Turn::TooMany => Ok(false),
            Turn::Enough => Err(End::Close(close_code::POLICY, "far too many messages")),
        }
    }

    async fn said(&mut self, text: &str) -> Result<(), End> {
        if !self.turn()? {
            let id = if text.len() <= PEEK { message::read(text).0 } else { None };
            let most = self.app.settings.max_messages;
            let message = format!("more than {most} messages in a second; this one was not read");
            let error =
                ApiError::new(Problem::TooManyMessages, message).hint("send it again later");
            return self.refuse(id, error).await;
        }
        let (id, wish) = message::read(text);
        let done = match wish {
            Ok(wish) => self.perform(wish).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(done) => self.done(id, done).await,
            Err(error) => self.refuse(id, error).await,
        }
    }

    async fn perform(&mut self, wish: Wish) -> Result<Done, ApiError> {
        // A connection lasts; what it may do is asked anew each time.
        self.app.access.is_still(&self.caller, &self.credentials)?;
        perform(&self.app, &self.caller, &mut self.attached, wish).await
    }

    async fn done(&mut self, id: Option<Value>, done: Done) -> Result<(), End> {
        let mut ack = answer("ack", id);
        if let Done::Ack(Value::Object(fields))
        | Done::Attach(Value::Object(fields), ..)
        | Done::Over(Value::Object(fields), _) = &done
        {
            ack.extend(fields.clone());
        }
        if self.words == Words::Approvals {
            let kind = if matches!(done, Done::Ping) { "pong" } else { "ack" };
            ack.insert("event_type".into(), kind.into());
        }
        self.send(&Value::Object(ack)).await?;
        match done {
            Done::Attach(_, run, after) => self.attached.add(run, after),
            Done::Over(_, run) => {
                self.attached.remove(&run);
                self.send(&json!({ "type": "end", "attached": run })).await?;
            }
            Done::Snapshot => self.snapshot().await?,
            Done::Ack(_) | Done::Ping => {}
        }
        Ok(())
    }

    async fn refuse(&mut self, id: Option<Value>, error: ApiError) -> Result<(), End> {
        let error = error.into_fields().1;
        let mut refusal = answer("error", id);
        if let (Words::Approvals, Value::Object(event)) =
            (self.words, self.event("error_occurred", &error))
        {
            refusal.extend(event);
        }
        refusal.insert("error".into(), error);
        self.send(&Value::Object(refusal)).await
    }
}

/// The beginning of an answer to the message of this id.
fn answer(kind: &str, id: Option<Value>) -> Map<String, Value> {
    let mut answer = Map::new();
    answer.insert("type".into(), kind.into());
    if let Some(id) = id {
        answer.insert("id".into(), id);
    }
    answer
}
