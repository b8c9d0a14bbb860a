"""The types of the providers' own SDKs: what is sent has their fields, of their types, and no other."""

import json
from collections.abc import Iterator
from functools import cache
from typing import get_args, get_origin

from anthropic.types import MessageParam, ToolParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.tool_param import InputSchemaTyped
from google.genai import types as google
from mcp_types import ListToolsResult, Tool
from mcp_types import _v2025_11_25 as mcp
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import FunctionToolParam
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import BaseModel, TypeAdapter, ValidationError

# By the provider, which is how the name of a dialect begins: one definition, all results, a whole request.
TYPES = {
    "openai-chat": (ChatCompletionFunctionToolParam, list[ChatCompletionMessageParam], CompletionCreateParamsNonStreaming),
    "openai-responses": (FunctionToolParam, list[FunctionCallOutput], ResponseCreateParamsNonStreaming),
    "anthropic": (ToolParam, MessageParam, MessageCreateParamsNonStreaming),
    "gemini": (google.Tool, google.Content, google.GenerateContentConfig),
    "mcp": (Tool, list[mcp.CallToolResult], ListToolsResult),
}


def provider(dialect: str) -> str:
    return next(name for name in TYPES if dialect == name or dialect.startswith(name + "-"))


def definition(dialect: str, tool: dict) -> list[str]:
    found = fits(TYPES[provider(dialect)][0], tool)
    if provider(dialect) == "anthropic" and not found:
        # Beside its own type for schemas, the SDK takes any mapping. Other keywords are allowed by either.
        found = fits(InputSchemaTyped, tool["input_schema"], extra=None)
    if dialect == "mcp" and not found:
        # The version that is spoken; its types for schemas name three keywords, and allow others.
        found = fits(mcp.Tool, tool, extra=None)
    return found


def results(dialect: str, value: object) -> list[str]:
    return fits(TYPES[provider(dialect)][1], value)


def request(dialect: str, value: object) -> list[str]:
    if provider(dialect) != "gemini":
        return fits(TYPES[provider(dialect)][2], value)
    # The SDK knows the parts of a request, and makes the whole of them.
    contents, config = value["contents"], {"tools": value["tools"]}
    if "systemInstruction" in value:
        config["systemInstruction"] = value["systemInstruction"]
    return fits(list[google.Content], contents) + fits(google.GenerateContentConfig, config)


@cache
def adapter(kind: object) -> TypeAdapter:
    return TypeAdapter(kind)


def fits(kind: object, value: object, extra: str | None = "forbid") -> list[str]:
    """What is wrong with `value` as a `kind`, by pydantic."""
    try:
        if is_model(kind):
            adapter(kind).validate_json(json.dumps(value), strict=True, extra=extra)
        else:
            # Read as JSON, pydantic takes a text for an `Iterable`.
            exhaust(adapter(kind).validate_python(value, strict=True, extra=extra))
    except ValidationError as why:
        return [f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in why.errors()[:20]]
    return []


def is_model(kind: object) -> bool:
    """Whether it is a pydantic model, or a list of one, and no `TypedDict`."""
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def exhaust(value: object) -> None:
    """Goes through all of `value`: what is typed as an `Iterable` is not looked at before."""
    if isinstance(value, dict):
        for item in value.values():
            exhaust(item)
    elif isinstance(value, list | tuple | Iterator):
        for item in value:
            exhaust(item)
