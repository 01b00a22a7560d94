"""What the OpenAI library for Python must be able to do. Every event and object is checked against its types."""

import json
import os
import sys
import time

import openai
from openai import OpenAI
from openai.types.conversations import Conversation, ConversationItem
from openai.types.responses import Response, ResponseItem, ResponseStreamEvent
from pydantic import TypeAdapter

client = OpenAI(base_url=os.environ["SIGNOFF_URL"] + "/v1", api_key="none", max_retries=0)
MODEL = "event_planner"
PARTY = "Plan a party for 30 people"
ANSWERS = ["The Glasshouse", "yes", "vegan"]


def fits(kind, value):
    TypeAdapter(kind).validate_python(value.to_dict())
    return value


def asked(response):
    return [item for item in response.output if item.type == "function_call"]


def waits(response):
    fits(Response, response)
    assert response.status == "completed", response
    assert response.metadata["signoff.status"] == "waiting", response.metadata
    [one] = asked(response)
    assert response.metadata["signoff.pending"] == one.call_id
    assert one.name == "request_user_input"
    return one


def planned(response):
    fits(Response, response)
    assert (response.status, response.error, asked(response)) == ("completed", None, []), response
    for part in ["The Glasshouse", "vegan", "$3,000"]:
        assert part in response.output_text, response.output_text
    assert response.output_text.count("## Executive summary") == 1, "what is given is told once"


def plain():
    """From start to plan, each answer by the call's id."""
    response = client.responses.create(model=MODEL, input=PARTY)
    question = json.loads(waits(response).arguments)
    assert question["kind"] == "selection" and len(question["options"]) > 1, question
    for answer in ANSWERS:
        call = waits(response)
        output = [{"type": "function_call_output", "call_id": call.call_id, "output": answer}]
        before = response
        response = client.responses.create(model=MODEL, previous_response_id=before.id, input=output)
        again = client.responses.create(model=MODEL, previous_response_id=before.id, input=output)
        assert again.to_dict() == response.to_dict(), "the same answer again is the same response"
    planned(response)
    given = client.responses.input_items.list(response.id).data
    assert [(item.type, item.call_id) for item in given] == [("function_call_output", call.call_id)]
    after = client.responses.create(
        model=MODEL, conversation=response.conversation.id, input="Plan a wedding for 50 people"
    )
    assert after.metadata["signoff.run"] != response.metadata["signoff.run"], "a new run goes on"


def whole_list():
    """As many programs do it: everything said so far is sent each time, and nothing is named."""
    said = [{"role": "user", "content": PARTY}]
    for answer in ANSWERS:
        response = client.responses.create(model=MODEL, input=said)
        call = waits(response)
        said += [item.to_dict() for item in response.output]
        said += [{"type": "function_call_output", "call_id": call.call_id, "output": answer}]
    planned(client.responses.create(model=MODEL, input=said))


def collect(stream):
    events = []
    for event in stream:
        fits(ResponseStreamEvent, event)
        events.append(event.to_dict())
    return events


def streaming():
    """Every event is typed and numbered, and any stream goes on from any number."""
    conversation = fits(Conversation, client.conversations.create())
    told = []
    for said in [PARTY, *ANSWERS]:
        stream = client.responses.create(
            model=MODEL, conversation={"id": conversation.id}, input=said, stream=True
        )
        events = collect(stream)
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        kinds = [event["type"] for event in events]
        assert kinds[:2] == ["response.created", "response.in_progress"], kinds
        assert kinds[-1] == "response.completed", kinds
        final = events[-1]["response"]
        done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
        assert done == final["output"], "the pieces are the whole"
        kept = client.responses.retrieve(final["id"])
        assert kept.to_dict() == final
        for after in [0, 1, 4, len(events) - 2, len(events) - 1]:
            rest = collect(client.responses.retrieve(final["id"], stream=True, starting_after=after))
            assert rest == events[after + 1 :], after
        told.append(events)
    for events in told:
        later = collect(client.responses.retrieve(events[0]["response"]["id"], stream=True))
        assert later == events, "a response does not change when the run goes on"
    planned(kept)
    with client.responses.stream(model=MODEL, input=PARTY) as stream:
        for _ in stream:
            pass
        waits(stream.get_final_response())


def cut():
    """A stream that is closed stops nothing, and nobody misses anything by it."""
    stream = client.responses.create(model="slow", input="x", stream=True)
    first = next(iter(stream)).to_dict()
    stream.close()
    id = first["response"]["id"]
    rest = collect(client.responses.retrieve(id, stream=True, starting_after=0))
    assert [first, *rest] == collect(client.responses.retrieve(id, stream=True))
    assert rest[-1]["response"]["output"][0]["content"][0]["text"] == "done"


def background():
    """It answers at once; the response is found again by its id."""
    response = client.responses.create(model=MODEL, input=PARTY, background=True)
    for answer in [*ANSWERS, None]:
        assert response.status in ("in_progress", "completed"), response.status
        while response.status == "in_progress":
            time.sleep(0.02)
            response = fits(Response, client.responses.retrieve(response.id))
        if answer:
            waits(response)
            response = client.responses.create(
                model=MODEL, previous_response_id=response.id, input=answer, background=True
            )
    planned(response)


def cancelling():
    response = client.responses.create(model=MODEL, input=PARTY)
    cancelled = fits(Response, client.responses.cancel(response.id))
    assert cancelled.status == "cancelled", cancelled
    assert client.responses.cancel(response.id).status == "cancelled"
    slow = client.responses.create(model="slow", input="x", background=True)
    assert slow.status == "in_progress", slow
    assert client.responses.cancel(slow.id).status == "cancelled"
    stream = collect(client.responses.retrieve(slow.id, stream=True))
    assert stream[-1]["type"] == "response.incomplete"


def items():
    """A conversation has what was said, asked and answered."""
    conversation = client.conversations.create(metadata={"a": "b"})
    assert client.conversations.retrieve(conversation.id).to_dict() == conversation.to_dict()
    assert conversation.metadata == {"a": "b"}
    assert client.conversations.items.list(conversation.id).data == []
    for said in [PARTY, *ANSWERS]:
        client.responses.create(model=MODEL, conversation=conversation.id, input=said)
    listed = list(client.conversations.items.list(conversation.id, order="asc", limit=3))
    kinds = [item.type for item in listed]
    assert kinds[0] == "message" and listed[0].role == "user"
    assert listed[0].content[0].text == PARTY
    assert kinds.count("function_call") == kinds.count("function_call_output") == 3, kinds
    assert listed[-1].role == "assistant" and "vegan" in listed[-1].content[0].text
    assert len({item.id for item in listed}) == len(listed) > 9, kinds
    back = list(client.conversations.items.list(conversation.id))
    assert [item.id for item in back] == [item.id for item in reversed(listed)]
    for item in listed:
        fits(ConversationItem, item)
        one = client.conversations.items.retrieve(item.id, conversation_id=conversation.id)
        assert one.to_dict() == item.to_dict()


def added():
    """What is put into a conversation is there, and its next run knows it."""
    says = lambda text: {"type": "message", "role": "user", "content": text}
    conversation = client.conversations.create(items=[says("We are all vegan.")])
    more = client.conversations.items.create(conversation.id, items=[says("We like gardens.")])
    [item] = more.data
    fits(ConversationItem, item)
    assert item.content[0].text == "We like gardens."
    one = client.conversations.items.retrieve(item.id, conversation_id=conversation.id)
    assert one.to_dict() == item.to_dict()
    texts = lambda: [
        item.content[0].text
        for item in client.conversations.items.list(conversation.id, order="asc")
        if item.type == "message"
    ]
    assert texts() == ["We are all vegan.", "We like gardens."]
    response = client.responses.create(model="slow", conversation=conversation.id, input="x")
    assert texts() == ["We are all vegan.", "We like gardens.", "x", "done"]
    client.conversations.items.create(conversation.id, items=[says("Not the old hall.")])
    again = client.responses.create(model="slow", conversation=conversation.id, input="y")
    assert texts()[-3:] == ["Not the old hall.", "y", "done"], "each is taken up once"
    print(json.dumps([response.metadata["signoff.run"], again.metadata["signoff.run"]]))
    changed = client.conversations.update(conversation.id, metadata={"c": "d"})
    assert (changed.id, changed.metadata) == (conversation.id, {"c": "d"})
    gone = client.conversations.delete(conversation.id)
    assert (gone.id, gone.deleted, gone.object) == (conversation.id, True, "conversation.deleted")
    refused(404, "unknown_conversation", None, lambda: client.conversations.retrieve(conversation.id))
    create = lambda: client.responses.create(model="slow", conversation=conversation.id, input="z")
    refused(404, "unknown_conversation", None, create)


def deleted():
    """What runs in a conversation that is deleted is stopped."""
    conversation = client.conversations.create().id
    response = client.responses.create(model=MODEL, conversation=conversation, input=PARTY)
    client.conversations.delete(conversation)
    while client.responses.retrieve(response.id).status != "cancelled":
        time.sleep(0.02)
    call = asked(response)[0].call_id
    late = [{"type": "function_call_output", "call_id": call, "output": "1"}]
    refused(410, "cancelled", "input", lambda: client.responses.create(model=MODEL, input=late))


def start():
    """For another process to go on with."""
    conversation = client.conversations.create()
    response = client.responses.create(model=MODEL, conversation=conversation.id, input=PARTY)
    waits(response)
    print(json.dumps({"conversation": conversation.id, "response": response.to_dict()}))


def go_on(left):
    """With nothing but the id of the conversation."""
    left = json.loads(left)
    assert client.responses.retrieve(left["response"]["id"]).to_dict() == left["response"]
    for answer in ANSWERS:
        response = client.responses.create(
            model=MODEL, conversation=left["conversation"], input=answer
        )
        run = left["response"]["metadata"]["signoff.run"]
        assert response.metadata["signoff.run"] == run, "the same run goes on"
    planned(response)


def listen():
    """Hears the beginning of a response."""
    stream = iter(client.responses.create(model="slow", input="x", stream=True))
    print(json.dumps([next(stream).to_dict(), next(stream).to_dict()]))


def listen_on(heard):
    """Hears the rest from another process."""
    heard = json.loads(heard)
    id = heard[0]["response"]["id"]
    after = heard[-1]["sequence_number"]
    heard += collect(client.responses.retrieve(id, stream=True, starting_after=after))
    assert heard == collect(client.responses.retrieve(id, stream=True)), "no gap, no repeat"
    assert heard[-1]["response"]["status"] == "completed"


def refused(status, code, param, make):
    try:
        make()
    except openai.APIStatusError as error:
        found = (error.status_code, error.code, error.param, error.type)
        assert found == (status, code, param, "invalid_request_error"), found
        return error.body
    raise AssertionError(f"{code} was not refused")


def faults():
    create = client.responses.create
    refused(404, "unknown_workflow", "model", lambda: create(model="nope", input="x"))
    refused(400, "invalid_body", "model", lambda: create(input="x"))
    refused(400, "invalid_body", "model", lambda: create(model=7, input="x"))
    refused(400, "invalid_body", "input", lambda: create(model=MODEL, input=7))
    refused(400, "invalid_body", "input", lambda: create(model=MODEL, input=[]))
    refused(400, "invalid_body", "input", lambda: create(model=MODEL, input=[{"type": "x"}]))
    refused(400, "invalid_body", "stream", lambda: create(model=MODEL, input="x", stream="yes"))
    refused(400, "invalid_body", "metadata", lambda: create(model=MODEL, input="x", metadata=[]))
    refused(400, "invalid_body", "conversation", lambda: create(model=MODEL, input="x", conversation=7))
    refused(400, "invalid_body", "conversation", lambda: create(model=MODEL, input="x", conversation="a b"))
    for id in ["nope", "resp_nope_1", "resp_nope_0"]:
        refused(404, "unknown_response", None, lambda: client.responses.retrieve(id))
        refused(404, "unknown_response", None, lambda: client.responses.cancel(id))
        refused(404, "unknown_response", None, lambda: client.responses.input_items.list(id))
        refused(404, "unknown_response", None, lambda: create(model=MODEL, input="x", previous_response_id=id))
    refused(404, "unknown_conversation", None, lambda: client.conversations.retrieve("nope"))
    make = client.conversations.create
    refused(400, "invalid_body", "items", lambda: make(items=[{"role": "user", "content": " "}]))
    refused(400, "invalid_body", "items", lambda: make(items=[{"role": "nobody", "content": "x"}]))
    refused(400, "invalid_body", "items", lambda: make(items=[{"type": "item_reference", "id": "x"}]))
    refused(400, "invalid_body", "items", lambda: make(items=[{"role": "user", "content": "x"}] * 21))
    refused(400, "invalid_body", "metadata", lambda: make(metadata={"a": 7}))
    refused(400, "invalid_body", "metadata", lambda: make(metadata={"a": "b" * 513}))
    refused(400, "invalid_body", "metadata", lambda: make(metadata={str(n): "" for n in range(17)}))
    refused(404, "unknown_conversation", None, lambda: client.conversations.update("nope", metadata={}))
    refused(404, "unknown_conversation", None, lambda: client.conversations.delete("nope"))
    refused(404, "unknown_conversation", None, lambda: client.conversations.items.create("nope", items=[{"role": "user", "content": "x"}]))

    waiting = create(model=MODEL, input=PARTY)
    where = {"model": MODEL, "conversation": waiting.conversation.id}
    wrong = refused(422, "invalid_answer", "input", lambda: create(**where, input="the moon"))
    assert "accepted: 1 (" in wrong["message"] and wrong["details"]["options"], wrong
    assert client.responses.retrieve(waiting.id).to_dict() == waiting.to_dict(), "nothing changed"
    call = asked(waiting)[0].call_id
    give = lambda id, output: [{"type": "function_call_output", "call_id": id, "output": output}]
    refused(422, "invalid_answer", "input", lambda: create(model=MODEL, input=give(call, "the moon")))
    refused(404, "unknown_request", "input", lambda: create(model=MODEL, input=give("req_x_1", "yes")))
    other = client.conversations.create().id
    refused(404, "unknown_request", "input", lambda: create(model=MODEL, input=give(call, "1"), conversation=other))
    refused(409, "conversation_busy", "conversation", lambda: create(**{**where, "model": "ask"}, input="1"))
    # The place of a response in its run cannot be made up.
    refused(404, "unknown_response", None, lambda: client.responses.retrieve(waiting.id[:-1] + "2"))
    create(**where, input="1")
    late = lambda: create(model=MODEL, previous_response_id=waiting.id, input="2")
    refused(409, "already_decided", "input", late)

    busy = create(model="slow", input="x", background=True)
    again = lambda: create(model="slow", input="y", conversation=busy.conversation.id)
    body = refused(409, "conversation_busy", "conversation", again)
    assert body["details"]["run"] == busy.metadata["signoff.run"]
    refused(409, "conversation_busy", "conversation", lambda: create(model="slow", input="y", previous_response_id=busy.id))


def several():
    """Two questions wait at once: an answer says which it is for, or answers both."""
    response = client.responses.create(model="two", input="x")
    calls = {json.loads(item.arguments)["prompt"]: item.call_id for item in asked(response)}
    assert sorted(calls) == ["Left?", "Right?"], calls
    body = refused(
        422, "ambiguous_answer", "input",
        lambda: client.responses.create(model="two", previous_response_id=response.id, input="yes"),
    )
    assert len(body["details"]["pending"]) == 2
    both = [{"type": "message", "content": [{"type": "workflow_hil_response", "responses": {
        calls["Left?"]: {"response": {"approved": True}}, calls["Right?"]: {"approved": False, "comment": "no"},
    }}]}]
    done = client.responses.create(model="two", conversation=response.conversation.id, input=json.dumps(both))
    assert (done.status, done.metadata["signoff.status"], asked(done)) == ("completed", "completed", []), done
    assert done.output_text == "done"
    assert len(client.responses.input_items.list(done.id).data) == 2
    assert client.responses.retrieve(done.id).to_dict() == done.to_dict()

    one = client.responses.create(extra_body={"entity_id": "two"}, input="x")
    calls = {json.loads(item.arguments)["prompt"]: item.call_id for item in asked(one)}
    left = client.responses.create(
        metadata={"request_id": calls["Left?"]}, conversation=one.conversation.id, input="yes"
    )
    assert [item.call_id for item in asked(left)] == [calls["Right?"]], "the other one still waits"
    right = client.responses.create(model="two", conversation=one.conversation.id, input="no")
    assert right.metadata["signoff.status"] == "completed", right
    assert client.responses.retrieve(left.id).to_dict() == left.to_dict(), "what was told stays so"


def again():
    """What the library sends again by itself counts once."""
    again = {"x-stainless-retry-count": "1"}
    conversation = client.conversations.create().id
    where = {"model": MODEL, "conversation": conversation}
    for said in [PARTY, *ANSWERS]:
        first = client.responses.create(**where, input=said)
        second = client.responses.create(**where, input=said, extra_headers=again)
        assert first.to_dict() == second.to_dict(), said
    planned(first)
    key = {"Idempotency-Key": "k1"}
    first = client.responses.create(model=MODEL, input=PARTY, extra_headers=key)
    second = client.responses.create(model=MODEL, input=PARTY, extra_headers=key)
    assert first.to_dict() == second.to_dict()
    other = lambda: client.responses.create(model=MODEL, input="Plan a wedding", extra_headers=key)
    refused(409, "idempotency_conflict", None, other)
    eager = client.with_options(max_retries=2)
    client.responses.create(model=MODEL, previous_response_id=first.id, input="1")
    late = lambda: eager.responses.create(model=MODEL, previous_response_id=first.id, input="2")
    refused(409, "already_decided", "input", late)
    over = client.responses.create(model="slow", input="x")
    after = {"model": "slow", "previous_response_id": over.id, "input": "y"}
    first = client.responses.create(**after)
    assert first.conversation == over.conversation and first.id != over.id
    assert client.responses.create(**after, extra_headers=again).to_dict() == first.to_dict()


def parts():
    """What a part of a run asks is answered in the same way."""
    conversation = client.conversations.create().id
    first = client.responses.create(model="hire", conversation=conversation, input="A gardener")
    manager = waits(first)
    second = client.responses.create(model="hire", conversation=conversation, input="yes")
    owner = waits(second)
    assert (second.id != first.id, owner.call_id != manager.call_id) == (True, True)
    assert second.metadata["signoff.run"] == first.metadata["signoff.run"]
    output = [{"type": "function_call_output", "call_id": owner.call_id, "output": "no, too dear"}]
    third = client.responses.create(model="hire", previous_response_id=second.id, input=output)
    assert third.metadata["signoff.status"] == "completed", third
    assert "too dear" in third.output_text, third


globals()[sys.argv[1]](*sys.argv[2:])
