"""The work of `signoff bench agents` with the OpenAI Agents SDK: 200 conversations at once, each three turns
of a person, triage hands over to a specialist; streamed over HTTP from the same model server.

    pip install openai-agents
    mkfifo hold; (sleep 600 > hold &); signoff bench model-server < hold    # prints its address
    python agents_openai.py http://127.0.0.1:PORT/v1
"""
import asyncio, json, os, sys, tempfile, time

from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, handoff, set_tracing_disabled
from openai import AsyncOpenAI

AT_ONCE, TURNS = 200, 4
set_tracing_disabled(True)
client = AsyncOpenAI(base_url=sys.argv[1], api_key="none", timeout=60, max_retries=0)
model = OpenAIChatCompletionsModel(model="w5", openai_client=client)
specialist = Agent(name="specialist", instructions="Answer.\n\nYou are `specialist`.", model=model)
triage = Agent(
    name="triage",
    instructions="Route.\n\nYou are `triage`.",
    model=model,
    handoffs=[handoff(specialist, tool_name_override="handoff_to_specialist")],
)
folder = tempfile.mkdtemp()


def rss_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


async def chat(n, durable):
    session = SQLiteSession(f"s{n}", os.path.join(folder, "sessions.db")) if durable else SQLiteSession(f"s{n}")
    agent = triage
    for turn in range(3):
        run = Runner.run_streamed(agent, f"question {n} {turn} " + "x" * 190, session=session)
        async for _ in run.stream_events():
            pass
        agent = run.last_agent
    assert agent is specialist and "specialist answer" in run.final_output


async def main():
    for durable in (False, True):
        await asyncio.gather(*(chat(n, durable) for n in range(10_000, 10_008)))
        before, peak, wall, cpu = rss_kib(), 0, time.perf_counter(), time.process_time()
        chats = asyncio.gather(*(chat(n, durable) for n in range(AT_ONCE)))
        while not chats.done():
            peak = max(peak, rss_kib())
            await asyncio.sleep(0.01)
        await chats
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps({
            "peer": "openai-agents", "workload": "agents", "durable": durable, "wall_s": wall,
            "cpu_us_per_turn": cpu / (AT_ONCE * TURNS) * 1e6,
            "rss_before_mb": before / 1024, "rss_kb_per_active_run": (peak - before) / AT_ONCE,
        }))


asyncio.run(main())
