//! The messages are those of the protocol's own Python package: names, numbers, types.

use std::collections::BTreeMap;
use std::process::Command;

use prost_reflect::{Cardinality, DescriptorPool, Kind, MessageDescriptor};
use signoff_a2a_grpc::{Methods, SERVICE};
use signoff_testkit::peers::{copied, python};

/// Writes the package's messages in the words that `ours` writes.
const THEIRS: &str = r#"
import json
from a2a.types import a2a_pb2
from google.protobuf.descriptor import FieldDescriptor as F
names = {getattr(F, n): n[5:].lower() for n in dir(F) if n.startswith("TYPE_")}
def field(f):
    # A map is told by what its entries hold: the two ways to name an entry do not matter.
    if f.message_type is not None and f.message_type.GetOptions().map_entry:
        return "map of " + field(f.message_type.fields_by_name["value"])
    kind = names[f.type]
    if f.message_type is not None: kind = f.message_type.full_name
    if f.enum_type is not None: kind = f.enum_type.full_name
    many = f.is_repeated if hasattr(f, "is_repeated") else f.label == F.LABEL_REPEATED
    one = f.containing_oneof
    of = "" if one is None or one.name.startswith("_") else " in " + one.name
    return ("many " if many else "") + kind + of
out = {}
for name, m in a2a_pb2.DESCRIPTOR.message_types_by_name.items():
    out[name] = {str(f.number): f.json_name + ": " + field(f) for f in m.fields}
for name, e in a2a_pb2.DESCRIPTOR.enum_types_by_name.items():
    out[name] = {str(v.number): v.name for v in e.values}
for s in a2a_pb2.DESCRIPTOR.services_by_name.values():
    out[s.full_name] = {m.name: m.input_type.full_name + " to " + m.output_type.full_name for m in s.methods}
print(json.dumps(out))
"#;

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => message.full_name().to_owned(),
        Kind::Enum(it) => it.full_name().to_owned(),
        Kind::String => "string".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Int32 => "int32".to_owned(),
        other => format!("{other:?}"),
    }
}

fn fields(message: &MessageDescriptor) -> BTreeMap<String, String> {
    let written = |field: prost_reflect::FieldDescriptor| {
        let what = match field.kind() {
            Kind::Message(entry) if entry.is_map_entry() => {
                let value = entry.get_field_by_name("value").unwrap();
                format!("map of {}", kind(&value.kind()))
            }
            other => {
                let many = if field.cardinality() == Cardinality::Repeated { "many " } else { "" };
                let of = field.containing_oneof().filter(|one| !one.name().starts_with('_'));
                let of = of.map_or(String::new(), |one| format!(" in {}", one.name()));
                format!("{many}{}{of}", kind(&other))
            }
        };
        (field.number().to_string(), format!("{}: {what}", field.json_name()))
    };
    message.fields().map(written).collect()
}

fn ours() -> BTreeMap<String, BTreeMap<String, String>> {
    let bytes: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/a2a.bin"));
    let pool = DescriptorPool::decode(bytes).unwrap();
    let mut all = BTreeMap::new();
    let own = pool.all_messages().filter(|it| it.package_name() == "lf.a2a.v1");
    for message in own.filter(|it| it.parent_message().is_none()) {
        all.insert(message.name().to_owned(), fields(&message));
    }
    for it in pool.all_enums().filter(|it| it.package_name() == "lf.a2a.v1") {
        let values = it.values().map(|value| (value.number().to_string(), value.name().to_owned()));
        all.insert(it.name().to_owned(), values.collect());
    }
    let service = pool.get_service_by_name(SERVICE).unwrap();
    let methods = service.methods().map(|it| {
        let turn = format!("{} to {}", it.input().full_name(), it.output().full_name());
        (it.name().to_owned(), turn)
    });
    all.insert(SERVICE.to_owned(), methods.collect());
    all
}

#[test]
fn the_messages_are_those_of_the_protocol() {
    let home = copied("a2a-python");
    let python = python(&home, "uvicorn");
    let output = Command::new(python).args(["-c", THEIRS]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_slice(&output.stdout).unwrap();
    pretty_eq(&ours(), &theirs);
}

fn pretty_eq(
    ours: &BTreeMap<String, BTreeMap<String, String>>,
    theirs: &BTreeMap<String, BTreeMap<String, String>>,
) {
    for (name, fields) in theirs {
        assert_eq!(ours.get(name), Some(fields), "{name}");
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn two_methods_stream() {
    let methods = Methods::read().unwrap();
    let streams: Vec<&str> =
        methods.iter().filter(|it| it.streams()).map(signoff_a2a_grpc::Method::name).collect();
    assert_eq!(streams, ["SendStreamingMessage", "SubscribeToTask"]);
}
