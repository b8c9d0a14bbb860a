"""Calls tools with the official client for Python: one, several at once, without arguments, with progress."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def progress(*_: object) -> None:
    pass


async def main() -> None:
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.list_tools()
        await session.call_tool("add", {"a": 1, "b": 2.0})
        await asyncio.gather(
            session.call_tool("draw", {"shape": {"kind": "circle", "radius": 1.5}, "tags": [None, True, "é"]}),
            session.call_tool("nothing"),
        )
        await session.call_tool("say", {"text": 'a "quoted"\nline'}, progress_callback=progress)


asyncio.run(main())
