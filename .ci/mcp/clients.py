#!/usr/bin/env python3
"""The Python clients `mcp` and `fastmcp` against `mcp-everything`: `clients.py PROGRAM URL`.

Over the standard streams and over HTTP, with a session and in revision 2026-07-28.
"""

import asyncio
import sys
import traceback

import fastmcp
import mcp
from fastmcp.client.transports import StdioTransport
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

LARGE = "é" * 335_000  # 670 kB


def check(holds, what):
    if not holds:
        raise AssertionError(what)


async def everything(call, list_tools, cancel):
    """The checks: `call(tool, arguments, on_progress)` returns the protocol's result."""
    names = {tool.name for tool in await list_tools()}
    check("test_echo" in names, names)

    # Each kind of content.
    async def kinds(tool):
        return [block.type for block in (await call(tool, {})).content]

    check(await kinds("test_simple_text") == ["text"], "text")
    check(await kinds("test_image_content") == ["image"], "image")
    check(await kinds("test_audio_content") == ["audio"], "audio")
    check(await kinds("test_embedded_resource") == ["resource"], "resource")
    check(await kinds("test_resource_link") == ["resource_link"], "resource_link")
    check(await kinds("test_multiple_content_types") == ["text", "image", "resource"], "mixed")

    # Structured output.
    result = await call("test_structured_content", {"city": "Oslo"})
    check(result.structured_content == {"city": "Oslo", "celsius": 21.5}, result)

    # Progress.
    seen = []

    async def on_progress(progress, total, message):
        seen.append((progress, total))

    await call("test_tool_with_progress", {}, on_progress)
    check(seen == [(0, 100), (50, 100), (100, 100)], seen)

    # Cancellation. Behind a load balancer, each of three processes counts its own.
    async def cancelled():
        return sum([int((await call("test_cancelled_calls", {})).content[0].text) for _ in range(3)])

    before = await cancelled()
    await cancel()
    async with asyncio.timeout(10):
        while await cancelled() == before:
            await asyncio.sleep(0.02)

    # 100 calls at once.
    texts = [f"text {at}" for at in range(100)]
    results = await asyncio.gather(*(call("test_echo", {"text": text}) for text in texts))
    check([result.content[0].text for result in results] == texts, "100 calls")

    # A large argument and result.
    check((await call("test_echo", {"text": LARGE})).content[0].text == LARGE, "670 kB")

    # A failure and invalid arguments are results.
    result = await call("test_error_handling", {})
    check(result.is_error and "intentionally" in result.content[0].text, result)
    result = await call("test_echo", {"txt": 5})
    check(result.is_error and "/text" in result.content[0].text, result)

    # An unknown tool is an error of the protocol, which names close tools.
    try:
        check(False, await call("test_ecko", {}))
    except MCPError as error:
        check(error.error.code == -32602 and "test_echo" in error.error.message, error)


async def answer(context, params):
    return ElicitResult(action="accept", content={"name": "Ada"})


async def official(server, mode, version):
    async with mcp.Client(server, mode=mode, elicitation_callback=answer) as client:
        check(client.protocol_version == version, client.protocol_version)

        async def call(tool, arguments, on_progress=None):
            return await client.call_tool(tool, arguments, progress_callback=on_progress)

        async def list_tools():
            return (await client.list_tools()).tools

        async def cancel():
            task = asyncio.create_task(client.call_tool("test_wait", {}))
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        await everything(call, list_tools, cancel)
        result = await client.call_tool("test_input_required_result_elicitation", {})
        check(result.content[0].text == "Hello, Ada!", result)
        await prompts_and_resources(client)


async def prompts_and_resources(client):
    names = [prompt.name for prompt in (await client.list_prompts()).prompts]
    check("test_simple_prompt" in names, names)
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    check(prompt.messages[0].content.text == "Prompt with arguments: arg1='a', arg2='b'", prompt)
    uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
    check("test://static-text" in uris, uris)
    read = await client.read_resource("test://template/5/data")
    check('"id":"5"' in read.contents[0].text, read)


async def of_fastmcp(server):
    async with fastmcp.Client(server) as client:

        async def call(tool, arguments, on_progress=None):
            return await client.call_tool_mcp(tool, arguments, progress_handler=on_progress)

        async def cancel():
            task = asyncio.create_task(client.call_tool_mcp("test_wait", {}))
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        await everything(call, client.list_tools, cancel)
        result = await client.call_tool("test_structured_content", {"city": "Oslo"})
        check(result.data.celsius == 21.5, result)


async def main(program, url):
    process = mcp.StdioServerParameters(command=program, args=["--stdio"])
    cases = {
        "mcp, stdio, 2025-11-25": lambda: official(process, "legacy", "2025-11-25"),
        "mcp, stdio, 2026-07-28": lambda: official(process, "auto", "2026-07-28"),
        "mcp, HTTP, 2025-11-25": lambda: official(url, "legacy", "2025-11-25"),
        "mcp, HTTP, 2026-07-28": lambda: official(url, "auto", "2026-07-28"),
        "fastmcp, stdio": lambda: of_fastmcp(StdioTransport(program, ["--stdio"])),
        "fastmcp, HTTP": lambda: of_fastmcp(url),
    }
    failed = 0
    for name, case in cases.items():
        try:
            async with asyncio.timeout(60):
                await case()
            print(f"ok: {name}")
        except BaseException as error:  # Also a group of errors, and a timeout.
            failed += 1
            traceback.print_exc()
            print(f"FAILED: {name}: {error!r}")
    return failed


sys.exit(asyncio.run(main(*sys.argv[1:])))
