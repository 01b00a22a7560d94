"""Reads what a collector was sent, one body a line, as the real messages of OTLP; prints the spans in them."""

import base64
import json
import string
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def with_ids_as_bytes(node):
    """OTLP has ids in hex where JSON of protocol buffers has base64."""
    if isinstance(node, list):
        return [with_ids_as_bytes(it) for it in node]
    if not isinstance(node, dict):
        return node
    changed = {}
    for key, value in node.items():
        if key in IDS:
            assert len(value) == 2 * IDS[key] and set(value) <= set(string.hexdigits), (key, value)
            assert int(value, 16) != 0, key
            value = base64.b64encode(bytes.fromhex(value)).decode()
        changed[key] = with_ids_as_bytes(value)
    return changed


def value(any_value):
    kind = any_value.WhichOneof("value")
    assert kind in {"string_value", "int_value", "double_value", "bool_value"}, kind
    return getattr(any_value, kind)


def attributes(pairs):
    keys = [pair.key for pair in pairs]
    assert len(keys) == len(set(keys)), keys
    return {pair.key: value(pair.value) for pair in pairs}


spans = []
for line in sys.stdin:
    request = ExportTraceServiceRequest()
    # Fields that are not known to the messages are errors.
    json_format.ParseDict(with_ids_as_bytes(json.loads(line)), request)
    for of_resource in request.resource_spans:
        resource = attributes(of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            assert of_scope.scope.name == "signoff", of_scope.scope
            for span in of_scope.spans:
                assert len(span.trace_id) == 16 and len(span.span_id) == 8
                assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
                spans.append(
                    {
                        "trace": span.trace_id.hex(),
                        "id": span.span_id.hex(),
                        "parent": span.parent_span_id.hex() or None,
                        "name": span.name,
                        "kind": span.kind,
                        "start": span.start_time_unix_nano // 1_000_000,
                        "end": span.end_time_unix_nano // 1_000_000,
                        "failed": span.status.code == 2,
                        "links": len(span.links),
                        "attributes": attributes(span.attributes),
                        "resource": resource,
                    }
                )
json.dump(spans, sys.stdout)
