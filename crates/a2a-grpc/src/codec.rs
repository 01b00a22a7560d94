//! JSON as protobuf messages, and back.

use bytes::Buf;
use prost::Message as _;
use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

use crate::Method;

/// Reads what a method takes and writes what it gives, both as JSON.
#[derive(Debug)]
pub(crate) struct JsonCodec(pub(crate) Method);

/// Writes one kind of message.
#[derive(Debug)]
pub(crate) struct Writer(MessageDescriptor);

/// Reads one kind of message.
#[derive(Debug)]
pub(crate) struct Reader(MessageDescriptor);

impl Codec for JsonCodec {
    type Encode = Value;
    type Decode = Value;
    type Encoder = Writer;
    type Decoder = Reader;

    fn encoder(&mut self) -> Writer {
        Writer(self.0.gives())
    }

    fn decoder(&mut self) -> Reader {
        Reader(self.0.takes())
    }
}

impl Encoder for Writer {
    type Item = Value;
    type Error = Status;

    fn encode(&mut self, json: Value, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        // What only the JSON of a newer or older version has is left out.
        let options = DeserializeOptions::new().deny_unknown_fields(false);
        let message = DynamicMessage::deserialize_with_options(self.0.clone(), json, &options)
            .map_err(|error| {
                Status::internal(format!("this is not a {}: {error}", self.0.name()))
            })?;
        message.encode(into).map_err(|error| Status::internal(error.to_string()))
    }
}

impl Decoder for Reader {
    type Item = Value;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Value>, Status> {
        read(&self.0, from).map(Some).map_err(Status::invalid_argument)
    }
}

/// A message as JSON.
pub(crate) fn read(kind: &MessageDescriptor, from: impl Buf) -> Result<Value, String> {
    let unreadable = |why: String| format!("this is not a {}: {why}", kind.name());
    let message = DynamicMessage::decode(kind.clone(), from)
        .map_err(|error| unreadable(error.to_string()))?;
    message
        .serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new())
        .map_err(|error| unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Methods;

    /// What was written as a message and read again.
    fn there_and_back(of: MessageDescriptor, json: Value) -> Value {
        let options = DeserializeOptions::new().deny_unknown_fields(false);
        let message = DynamicMessage::deserialize_with_options(of.clone(), json, &options).unwrap();
        let again = DynamicMessage::decode(of, message.encode_to_vec().as_slice()).unwrap();
        serde_json::to_value(&again).unwrap()
    }

    #[test]
    fn every_kind_of_part_comes_back_as_it_was() {
        let methods = Methods::read().unwrap();
        let json = serde_json::json!({"message": {
            "messageId": "m1", "role": "ROLE_USER", "taskId": "run_1",
            "parts": [
                {"text": "hello"},
                {"raw": "AAEC", "filename": "a.bin", "mediaType": "application/octet-stream"},
                {"url": "https://example.org/a.png"},
                {"data": {"requestId": "req_1", "amounts": [1.5, 2.0], "none": null, "deep": {"yes": true}}}
            ]
        }, "configuration": {"historyLength": 3, "returnImmediately": true}});
        let send = methods.named("SendMessage").unwrap();
        assert_eq!(there_and_back(send.takes(), json.clone()), json);
    }

    #[test]
    fn times_and_states_come_back_as_they_were() {
        let methods = Methods::read().unwrap();
        let json = serde_json::json!({"statusUpdate": {
            "taskId": "run_1", "contextId": "conv_1",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-11-15T00:15:54.630Z"}
        }});
        let subscribe = methods.named("SubscribeToTask").unwrap();
        assert_eq!(there_and_back(subscribe.gives(), json.clone()), json);
    }

    #[test]
    fn what_only_newer_json_has_is_left_out() {
        let methods = Methods::read().unwrap();
        let json = serde_json::json!({"id": "run_1", "status": {"state": "TASK_STATE_WORKING"}, "later": 1});
        let get = methods.named("GetTask").unwrap();
        let back = there_and_back(get.gives(), json);
        assert_eq!(
            back,
            serde_json::json!({"id": "run_1", "status": {"state": "TASK_STATE_WORKING"}})
        );
    }
}
