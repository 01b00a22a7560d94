"""Plans a party with the library of A2A 0.3, blocking and streaming. Prints how each ends."""

import asyncio
import os
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, TextPart

URL = os.environ["SIGNOFF_URL"] + "/a2a/event_planner"


async def plan(http, card, streaming):
    client = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)
    task = None
    for text in ["Plan a party for 30 people", "The Glasshouse", "yes", "vegan"]:
        message = Message(
            message_id=str(uuid.uuid4()),
            role=Role.user,
            parts=[Part(root=TextPart(text=text))],
            task_id=task and task.id,
        )
        async for event in client.send_message(message):
            task = event[0]
    how = "streaming" if streaming else "blocking"
    print(how, task.status.state.value, len(task.history), len(task.artifacts))


async def main():
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, URL).get_agent_card()
        assert card.url == URL and card.protocol_version == "0.3.0", card
        await plan(http, card, streaming=False)
        await plan(http, card, streaming=True)


asyncio.run(main())
