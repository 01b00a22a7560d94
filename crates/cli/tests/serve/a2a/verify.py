"""Verifies the cards of a server with the protocol's own library."""

import json
import sys

import httpx
from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from google.protobuf.json_format import ParseDict
from jwt import PyJWK

url = sys.argv[1]


def key(kid, jku):
    found = [k for k in httpx.get(jku).json()["keys"] if k["kid"] == kid]
    return PyJWK(found[0])


verify = create_signature_verifier(key, ["ES256"])


def card(place, **more):
    read = {**httpx.get(f"{url}{place}").json(), **more}
    return ParseDict(read, AgentCard(), ignore_unknown_fields=True)


places = ["/a2a/event_planner/.well-known/agent-card.json", "/.well-known/agent-card.json"]
good = 0
for place in places:
    verify(card(place))
    good += 1
try:
    verify(card(places[0], description="Does something else."))
    changed = "accepted"
except InvalidSignaturesError:
    changed = "refused"
old = httpx.get(f"{url}/.well-known/agent.json").json()
print(f"good: {good}, changed: {changed}, for 0.3: {len(old.get('signatures', [])) or 'none'}")
