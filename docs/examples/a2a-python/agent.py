"""An agent that grants refunds. It asks a person before it grants a large one."""

import os
import re

import uvicorn
from a2a.helpers import new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette

YES_OR_NO = {"type": "string", "enum": ["yes", "no"]}


class Refunds(AgentExecutor):
    async def execute(self, context: RequestContext, queue: EventQueue) -> None:
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        await updater.start_work()
        # What the customer wants is in the first message; a later one is the answer to our question.
        wanted = task.history[0] if task.history else context.message
        amount = re.search(r"\d+", " ".join(part.text for part in wanted.parts))
        if amount is None:
            words = [new_text_part("it does not say how much")]
            await updater.reject(updater.new_agent_message(words))
            return
        amount = int(amount.group())
        is_answer = wanted.message_id != context.message.message_id
        if amount > 100 and not is_answer:
            question = [new_text_part(f"Grant a refund of {amount}?"), new_data_part({"schema": YES_OR_NO})]
            await updater.requires_input(updater.new_agent_message(question))
            return
        granted = not is_answer or context.get_user_input() == "yes"
        words = f"{amount} granted" if granted else f"{amount} not granted"
        await updater.add_artifact([new_text_part(words)], name="refund")
        await updater.complete()

    async def cancel(self, context: RequestContext, queue: EventQueue) -> None:
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


port = int(os.environ.get("PORT", "9999"))
card = AgentCard(
    name="Refunds",
    description="Grants refunds.",
    version="1.0.0",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    supported_interfaces=[
        AgentInterface(
            url=f"http://127.0.0.1:{port}/",
            protocol_binding="JSONRPC",
            protocol_version="1.0",
        )
    ],
    skills=[AgentSkill(id="refund", name="Refund", description="Grants a refund.", tags=["money"])],
)
# Tasks are in a file, so that one that waits for a person outlives this process.
tasks = DatabaseTaskStore(create_async_engine("sqlite+aiosqlite:///tasks.db"))
handler = DefaultRequestHandler(agent_executor=Refunds(), task_store=tasks, agent_card=card)
routes = create_agent_card_routes(card) + create_jsonrpc_routes(handler, "/")

if __name__ == "__main__":
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="warning")
