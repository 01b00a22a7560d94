"""Plans a party with the protocol's own Python library. Each turn may be a process of its own.

    python plan.py "Plan a party for 30 people"
    python plan.py --task run_… "The Glasshouse" yes vegan
"""

import argparse
import asyncio
import os
import uuid

import grpc
import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.types.a2a_pb2 import (
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)

URL = os.environ.get("SIGNOFF_URL", "http://127.0.0.1:8484")


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="*", help="one message each")
    parser.add_argument("--agent", default="event_planner")
    parser.add_argument("--task", help="the task that the text answers")
    parser.add_argument("--id", help="how the ids of the messages begin")
    parser.add_argument("--binding", default="JSONRPC", choices=["JSONRPC", "HTTP+JSON", "GRPC"])
    parser.add_argument("--version", default="1.0", choices=["1.0", "0.3"])
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--subscribe", action="store_true", help="listen to the task until it is over")
    args = parser.parse_args()

    headers = {}
    if token := os.environ.get("SIGNOFF_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        card = await A2ACardResolver(http, f"{URL}/a2a/{args.agent}").get_agent_card()
        # As the server prefers it, unless another version is wanted.
        spoken = [i for i in card.supported_interfaces if i.protocol_version == args.version]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(spoken)
        if args.version == "0.3":
            http.headers["A2A-Version"] = "0.3"
        config = ClientConfig(
            streaming=args.stream,
            httpx_client=http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_protocol_bindings=[args.binding],
        )
        client = ClientFactory(config).create(card)

        task = args.task

        async def listen(events):
            nonlocal task
            async for event in events:
                kind = event.WhichOneof("payload")
                if kind == "task":
                    task = event.task.id
                    print("task", TaskState.Name(event.task.status.state))
                elif kind == "status_update":
                    print("status", TaskState.Name(event.status_update.status.state))
                else:
                    print(kind)

        if args.subscribe:
            await listen(client.subscribe(SubscribeToTaskRequest(id=task)))
        for n, text in enumerate(args.texts, start=1):
            message = Message(
                message_id=f"{args.id}{n}" if args.id else str(uuid.uuid4()),
                role=Role.ROLE_USER,
                parts=[Part(text=text)],
                task_id=task or "",
            )
            await listen(client.send_message(SendMessageRequest(message=message)))
        found = await client.get_task(GetTaskRequest(id=task))
        print("id", found.id)
        print("state", TaskState.Name(found.status.state))
        print("history", *(message.message_id for message in found.history))
        for part in found.status.message.parts:
            if part.text:
                print("?", part.text)
        for artifact in found.artifacts:
            for part in artifact.parts:
                print("=", part.text or part.data)


asyncio.run(main())
