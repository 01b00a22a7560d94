"""An agent of the example's kind that asks one thing after another: an amount, a login, several things at once."""

import sys

import agent
import uvicorn
from a2a.helpers import new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, InMemoryTaskStore, TaskUpdater
from google.protobuf.json_format import MessageToDict
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette


def said(message):
    parts = [MessageToDict(part) for part in message.parts]
    return [part.get("text", part.get("data")) for part in parts]


class Clerk(AgentExecutor):
    async def execute(self, context: RequestContext, queue: EventQueue) -> None:
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        await updater.start_work()
        mine = [message for message in task.history if message.role == context.message.role]
        if all(message.message_id != context.message.message_id for message in mine):
            mine.append(context.message)
        if len(mine) == 1:
            parts = [new_text_part("How much?"), new_data_part({"schema": {"type": "integer", "minimum": 1}})]
            await updater.requires_input(updater.new_agent_message(parts))
        elif len(mine) == 2:
            await updater.requires_auth(updater.new_agent_message([new_text_part("Sign in at the bank.")]))
        elif len(mine) == 3:
            parts = [
                new_text_part("Two last things."),
                new_data_part({"id": "when", "options": ["today", "tomorrow"]}),
                new_data_part({"id": "note", "schema": {"type": "string"}}),
            ]
            await updater.requires_input(updater.new_agent_message(parts))
        else:
            words = " / ".join(str(said(message)) for message in mine[1:])
            await updater.add_artifact([new_text_part(words)], name="transfer")
            await updater.complete()

    async def cancel(self, context: RequestContext, queue: EventQueue) -> None:
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


# `memory`: what it was asked is gone when it restarts.
kept = DatabaseTaskStore(create_async_engine("sqlite+aiosqlite:///tasks.db"))
tasks = InMemoryTaskStore() if sys.argv[1] == "memory" else kept
handler = DefaultRequestHandler(agent_executor=Clerk(), task_store=tasks, agent_card=agent.card)
app = Starlette(routes=create_agent_card_routes(agent.card) + create_jsonrpc_routes(handler, "/"))
uvicorn.run(app, host="127.0.0.1", port=agent.port, log_level="warning")
