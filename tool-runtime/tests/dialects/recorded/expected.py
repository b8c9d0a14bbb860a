"""The calls that should come of a response: the id, the name, and the arguments as they were written."""

import json


def calls_of(dialect: str, entry: dict) -> list[list]:
    if "response" in entry:
        return WHOLE[dialect](entry["response"])
    return STREAMED[dialect](entry["events"])


def written(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def chat(response: dict) -> list[list]:
    calls = [call for choice in response["choices"] for call in choice["message"].get("tool_calls") or []]
    return [[call["id"], call["function"]["name"], call["function"]["arguments"]] for call in calls]


def chat_stream(events: list[dict]) -> list[list]:
    calls: dict[int, list] = {}
    for event in events:
        for choice in event["choices"]:
            for delta in choice["delta"].get("tool_calls") or []:
                call = calls.setdefault(delta["index"], [None, "", ""])
                function = delta.get("function", {})
                call[0] = call[0] or delta.get("id")
                call[1] = call[1] or function.get("name") or ""
                call[2] += function.get("arguments") or ""
    return [calls[index] for index in sorted(calls)]


def responses(response: dict) -> list[list]:
    return [item for item in map(item_call, response["output"]) if item]


def item_call(item: dict) -> list | None:
    text = {"function_call": "arguments", "custom_tool_call": "input"}.get(item["type"])
    return [item["call_id"], item["name"], item[text]] if text else None


def responses_stream(events: list[dict]) -> list[list]:
    done = [event["item"] for event in events if event["type"] == "response.output_item.done" and event.get("item")]
    return [item for item in map(item_call, done) if item]


def anthropic(response: dict) -> list[list]:
    blocks = [block for block in response["content"] if block["type"] == "tool_use"]
    return [[block["id"], block["name"], written(block["input"])] for block in blocks]


def anthropic_stream(events: list[dict]) -> list[list]:
    calls: dict[int, list] = {}
    inputs: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            block = event["content_block"]
            calls[event["index"]] = [block["id"], block["name"], ""]
            # What comes whole is in the block that begins.
            inputs[event["index"]] = written(block["input"])
        if event["type"] == "content_block_delta" and event["index"] in calls:
            calls[event["index"]][2] += event["delta"].get("partial_json", "")
    return [[call[0], call[1], call[2] or inputs[index]] for index, call in sorted(calls.items())]


def gemini(response: dict) -> list[list]:
    parts = [part for candidate in response["candidates"] for part in candidate["content"].get("parts", [])]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    return [[call.get("id"), call["name"], written(call.get("args", {}))] for call in calls]


def mcp(request: dict) -> list[list]:
    params = request["params"]
    return [[str(request["id"]), params["name"], written(params.get("arguments", {}))]]


WHOLE = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini, "mcp": mcp}
STREAMED = {
    "openai-chat": chat_stream,
    "openai-responses": responses_stream,
    "anthropic": anthropic_stream,
    "gemini": lambda events: [call for event in events for call in gemini(event)],
    "mcp": lambda events: [call for event in events if event.get("method") == "tools/call" for call in mcp(event)],
}
