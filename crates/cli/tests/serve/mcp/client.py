"""The reference library for Python asks a person: over HTTP if an address is given, else by a program of its own."""

import asyncio
import json
import sys
from datetime import timedelta

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def ask(read, write):
    async with ClientSession(read, write) as session:
        await session.initialize()
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert {"ask_human", "request_approval", "get_answer"} <= tools, tools
        told = []

        async def progress(done, total, message):
            told.append(message)

        arguments = {"question": "By Python?", "schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
        result = await session.call_tool("ask_human", arguments, read_timeout_seconds=timedelta(seconds=120), progress_callback=progress)
        assert not result.isError, result
        print(json.dumps(result.structuredContent))


async def main():
    if sys.argv[1].startswith("http"):
        async with streamable_http_client(sys.argv[1]) as (read, write, *_):
            await ask(read, write)
    else:
        program = StdioServerParameters(command=sys.argv[1], args=["mcp"])
        async with stdio_client(program) as (read, write):
            await ask(read, write)


asyncio.run(main())
