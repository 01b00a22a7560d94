//! What a protocol is: a way to write requests and a way to read replies. No network here.

use serde_json::Value;
use signoff_net::sse;

use crate::assembly::Sink;
use crate::config::ProviderKind;
use crate::failure;
use crate::provider::{ModelError, ModelReply, ModelRequest};
use crate::wire_name::ToolNames;
use crate::{anthropic, chat, openai};

/// The largest event of a stream, in bytes.
pub(crate) const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

/// The settings that requests are written with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) model: String,
    pub(crate) max_output_tokens: Option<u32>,
    pub(crate) temperature: Option<f64>,
    pub(crate) effort: Option<&'static str>,
    /// Whether the server can be told the shape of the answer.
    pub(crate) structured_output: bool,
    /// Whether the server is `api.openai.com`, which knows only the newest names of things.
    pub(crate) is_openai: bool,
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Responses,
    Chat,
    Messages,
}

impl Protocol {
    /// Where requests go, below the base URL.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat/completions",
            Self::Messages => "messages",
        }
    }

    /// Whose protocol it is.
    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::Responses | Self::Chat => "openai",
            Self::Messages => "anthropic",
        }
    }

    /// The body of a request.
    pub(crate) fn body(self, request: &ModelRequest, settings: &Settings) -> Value {
        let names = ToolNames::of(&request.tools);
        match self {
            Self::Responses => openai::request::body(request, settings, &names),
            Self::Chat => chat::request::body(request, settings, &names),
            Self::Messages => anthropic::request::body(request, settings, &names),
        }
    }

    /// A reader for the reply to `request`.
    pub(crate) fn reader(self, request: &ModelRequest) -> Box<dyn Reader> {
        let names = ToolNames::of(&request.tools);
        match self {
            Self::Responses => Box::new(openai::stream::Responses::new(names)),
            Self::Chat => Box::new(chat::stream::Chunks::new(names)),
            Self::Messages => Box::new(anthropic::stream::Messages::new(names)),
        }
    }
}

/// Reads a reply, event by event. Never panics; what it does not know it passes over.
pub(crate) trait Reader: Send {
    /// Takes an event's data.
    fn event(&mut self, name: &str, data: &Value, sink: Sink<'_>) -> Result<(), ModelError>;
    /// Takes a reply that did not come in pieces.
    fn whole(&mut self, body: &Value, sink: Sink<'_>) -> Result<(), ModelError>;
    /// Whether the reply is complete.
    fn is_done(&self) -> bool;
    /// Takes the mark that some streams end with.
    fn done_mark(&mut self) {}
    /// The reply.
    fn finish(self: Box<Self>) -> Result<ModelReply, ModelError>;
}

/// A stream on its way to becoming a reply.
pub(crate) struct Stream<'a> {
    events: sse::Decoder,
    reader: Box<dyn Reader>,
    sink: Sink<'a>,
    seen: bool,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(reader: Box<dyn Reader>, sink: Sink<'a>) -> Self {
        Self { events: sse::Decoder::new(MAX_EVENT_BYTES), reader, sink, seen: false }
    }

    /// Takes more bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        let events = self.events.push(bytes).map_err(|error| failure::malformed(&error))?;
        for event in &events {
            self.event(event)?;
        }
        Ok(())
    }

    /// The stream has ended.
    pub(crate) fn finish(mut self) -> Result<ModelReply, ModelError> {
        let events = std::mem::replace(&mut self.events, sse::Decoder::new(0));
        // What is left may be half an event; it counts only if it can be read.
        if let Ok(Some(event)) = events.finish() {
            let whole =
                event.data.trim() == "[DONE]" || serde_json::from_str::<Value>(&event.data).is_ok();
            if whole {
                self.event(&event)?;
            }
        }
        if !self.seen {
            return Err(failure::malformed(&"there is no event in it"));
        }
        if !self.reader.is_done() {
            return Err(failure::cut());
        }
        self.reader.finish()
    }

    fn event(&mut self, event: &sse::Event) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.seen = true;
            self.reader.done_mark();
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let data: Value =
            serde_json::from_str(data).map_err(|_| failure::malformed(&"an event is not JSON"))?;
        self.seen = true;
        self.reader.event(&event.name, &data, self.sink)
    }
}

/// Reads a whole stream from the pieces it came in. For tests and fuzzing.
pub fn decode(
    kind: ProviderKind,
    request: &ModelRequest,
    chunks: &[&[u8]],
    sink: Sink<'_>,
) -> Result<ModelReply, ModelError> {
    let Some(protocol) = kind.protocol() else {
        return Err(failure::malformed(&"this provider has no wire"));
    };
    let mut stream = Stream::new(protocol.reader(request), sink);
    for chunk in chunks {
        stream.push(chunk)?;
    }
    stream.finish()
}

/// A tool's parameters, as something every server takes.
pub(crate) fn parameters(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) if !fields.is_empty() => schema.clone(),
        _ => serde_json::json!({ "type": "object", "properties": {} }),
    }
}
