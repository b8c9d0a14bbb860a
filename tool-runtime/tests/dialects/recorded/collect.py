#!/usr/bin/env python3
"""Collects responses of providers that public packages keep for their tests, one file for each dialect.

    python3 collect.py FOLDER

The source distributions are fetched from PyPI into FOLDER, if they are not there. What a client of MCP sends is
recorded: `mcp_client.py` and `mcp_client.mjs` are run against a server that writes down what it reads. The calls that
should come of each response are read here, by other code than `tool-runtime`'s. Needs PyYAML, Node and npm.
"""

import __future__
import ast
import gzip
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, cast

import yaml
from expected import calls_of
from mcp_record import recorded_requests

HERE = Path(__file__).parent

# The package, its version and its licence.
PACKAGES = {
    "openai": ("openai", "3.54.0", "Apache-2.0"),
    "anthropic": ("anthropic", "2.12.0", "MIT"),
    "langchain-openai": ("langchain-openai", "1.7.4", "MIT"),
    "langchain-anthropic": ("langchain-anthropic", "1.7.10", "MIT"),
    "otel-openai": ("opentelemetry-instrumentation-openai-v2", "2.4b0", "Apache-2.0"),
    "otel-gemini": ("opentelemetry-instrumentation-google-genai", "1.3b0", "Apache-2.0"),
    "inference-gemini": ("openinference-instrumentation-google-genai", "1.4.14", "Apache-2.0"),
}
COMPLETIONS = "tests/lib/chat/test_completions.py"
DELTAS = "tests/lib/chat/test_tool_call_deltas.py"
BASE = "tests/unit_tests/chat_models/test_base.py"
OPENAI, CLAUDE = "tests/cassettes/", "tests/cassettes/"
NULL = "tests/lib/responses/test_null_output.py"
RUNNER = "tests/lib/test_responses_tool_runner.py"
TWO = "resp([fn('record', 'one', text='a'), fn('record', 'two', text='b')], 'resp_1')"
ITEMS = "tests/lib/responses/test_null_output_items.py"
EAGER = "tests/lib/tools/test_runner_eager_tools.py"
FIXTURES = "tests/lib/streaming/fixtures/"
GEMINI = "tests/cassettes/test_instrumentation/"

# By dialect: a name, the package, the file, and how the response is found in it.
SOURCES = {
    "openai-chat": [
        ("nested arguments", "openai", COMPLETIONS, ("literal", "chatcmpl-ABfvtNiaTNUF6OymZUnEFc9lPq9p1")),
        ("one call", "openai", COMPLETIONS, ("literal", "chatcmpl-ABfvx6Z4dchiW2nya1N8KMsHFrQRE")),
        ("two functions at once", "openai", COMPLETIONS, ("literal", "chatcmpl-ABfvyvfNWKcl7Ohqos4UFrmMs1v4C")),
        ("a strict tool", "openai", COMPLETIONS, ("literal", "chatcmpl-ABfvzdvCI6RaIkiEFNjqGXCSYnlzf")),
        ("one function twice", "otel-openai", OPENAI + "test_chat_completion_tool_calls_with_content.yaml", 0),
        ("malformed arguments", "langchain-openai", BASE, ("calls", "test__convert_dict_to_message_tool_call", "raw_tool_calls")),
        ("a stream of two calls", "otel-openai", OPENAI + "test_chat_completion_multiple_tools_streaming_with_content.yaml", 0),
        ("a stream of one call", "langchain-openai", OPENAI + "test_streaming_tool_call_v1_v2_parity.yaml.gz", 0),
        ("a stream with text before", "langchain-openai", BASE, ("chunks", "test_v1_streaming_tool_calls_in_content_blocks", "stream_chunks")),
        ("deltas that share an index", "openai", DELTAS, ("fixture", "tool_call_chunks", "initial")),
        ("deltas after a role", "openai", DELTAS, ("fixture", "tool_call_chunks", "after_role")),
        ("deltas after an empty list", "openai", DELTAS, ("fixture", "tool_call_chunks", "empty")),
        ("deltas of parallel calls", "openai", DELTAS, ("fixture", "tool_call_chunks", "parallel")),
    ],
    "openai-responses": [
        ("one call", "langchain-openai", OPENAI + "test_agent_loop.yaml.gz", 0),
        ("numbers", "langchain-openai", OPENAI + "test_function_calling.yaml.gz", 0),
        ("a custom tool", "langchain-openai", OPENAI + "test_custom_tool.yaml.gz", 0),
        ("after a search of tools", "langchain-openai", OPENAI + "test_tool_search.yaml.gz", 0),
        ("no arguments", "langchain-openai", OPENAI + "test_system_additional_tools.yaml.gz", 0),
        ("malformed arguments", "langchain-openai", BASE, ("item", "test__construct_lc_result_from_responses_api_function_call_invalid_json", "ResponseFunctionToolCall")),
        ("parallel calls", "openai", RUNNER, ("helpers", TWO)),
        ("a stream of parallel calls", "openai", RUNNER, ("helpers", f"sse({TWO})")),
        ("a stream without deltas", "openai", NULL, ("locals", "test_retained_completed_call_identity", {"identity": "same"})),
        ("a stream with empty items", "openai", ITEMS, ("locals", "test_stream_preserves_output_after_empty_item", {"missing": False, "index": 1, "null_completion": False})),
        ("a stream of one call", "langchain-openai", OPENAI + "test_agent_loop_streaming.yaml.gz", 0),
        ("a stream of numbers", "langchain-openai", OPENAI + "test_function_calling.yaml.gz", 1),
        ("a stream of a custom tool", "langchain-openai", OPENAI + "test_custom_tool.yaml.gz", 2),
        ("a stream after a search of tools", "langchain-openai", OPENAI + "test_tool_search_streaming.yaml.gz", 0),
        ("a stream without arguments", "langchain-openai", OPENAI + "TestChatOpenAICodexStandard.test_tool_calling_with_no_arguments.yaml.gz", 0),
        ("a stream of other letters", "langchain-openai", OPENAI + "TestChatOpenAICodexStandard.test_unicode_tool_call_integration.yaml.gz", 0),
    ],
    "anthropic": [
        ("one call", "langchain-anthropic", CLAUDE + "test_agent_loop.yaml.gz", 0),
        ("a strict tool", "langchain-anthropic", CLAUDE + "test_strict_tool_use.yaml.gz", 0),
        ("no arguments", "langchain-anthropic", CLAUDE + "test_system_tool_addition.yaml.gz", 0),
        ("after a search of tools", "langchain-anthropic", CLAUDE + "test_tool_search.yaml.gz", 0),
        ("called by code", "langchain-anthropic", CLAUDE + "test_programmatic_tool_use.yaml.gz", 0),
        ("what a server runs", "langchain-anthropic", CLAUDE + "test_remote_mcp.yaml.gz", 2),
        ("parallel calls", "anthropic", EAGER, ("helpers", "to_message(reply(call('a'), call('b')))")),
        ("a stream of parallel calls", "anthropic", EAGER, ("helpers", "to_events(reply(call('a'), call('b')))")),
        ("a stream of one call", "anthropic", FIXTURES + "tool_use_response.txt", "sse"),
        ("a stream of malformed arguments", "anthropic", FIXTURES + "tool_use_invalid_json_response.txt", "sse"),
        ("a stream that was cut off", "anthropic", FIXTURES + "incomplete_partial_json_response.txt", "sse"),
        ("a stream of what a server runs", "anthropic", FIXTURES + "server_tool_use_response.txt", "sse"),
        ("a stream of a loop", "langchain-anthropic", CLAUDE + "test_agent_loop_streaming.yaml.gz", 0),
        ("a stream of a call by code", "langchain-anthropic", CLAUDE + "test_programmatic_tool_use_streaming.yaml.gz", 0),
    ],
    "gemini": [
        ("in a chat", "inference-gemini", GEMINI + "test_chat_session_with_tool.yaml", 0),
        ("one call", "inference-gemini", GEMINI + "test_generate_content_with_tool.yaml", 0),
        ("a tool of raw JSON", "inference-gemini", GEMINI + "test_generate_content_with_raw_json_tool.yaml", 0),
        ("parallel calls", "inference-gemini", GEMINI + "test_response_with_multiple_tool_calls[False].yaml", 0),
        ("few fields", "otel-gemini", "tests/cassettes/tool_calling_conformance.yaml", 0),
        ("a stream of one call", "inference-gemini", GEMINI + "test_streaming_content_with_tool.yaml", 0),
        ("a stream of parallel calls", "inference-gemini", GEMINI + "test_response_with_multiple_tool_calls[True].yaml", 0),
        ("a stream with thoughts", "inference-gemini", GEMINI + "test_streaming_reasoning_with_multiple_tool_calls.yaml", 0),
    ],
}


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    for dialect, sources in SOURCES.items():
        found = [one(dialect, folder, *source) for source in sources]
        write(dialect, found)
    write("mcp", [{**entry, "calls": calls_of("mcp", entry)} for entry in recorded_requests(folder)])


def write(dialect: str, found: list[dict]) -> None:
    (HERE / f"{dialect}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    for entry in found:
        print(dialect, entry["name"], entry["calls"])


def one(dialect: str, folder: Path, name: str, package: str, file: str, how: object) -> dict:
    distribution, version, licence = PACKAGES[package]
    found = read(unpacked(folder, distribution, version) / file, how)
    entry = {
        "name": name,
        "source": {"package": distribution, "version": version, "licence": licence, "file": file},
        "events" if isinstance(found, list) else "response": found,
    }
    return {**entry, "calls": calls_of(dialect, entry)}


def unpacked(folder: Path, package: str, version: str) -> Path:
    stem = f"{package.replace('-', '_')}-{version}"
    if not (folder / stem).exists():
        command = ["pip", "download", "-q", "--no-deps", "--no-binary", package, "-d", str(folder), f"{package}=={version}"]
        subprocess.run(command, check=True)
        with tarfile.open(folder / f"{stem}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return folder / stem


def read(path: Path, how: object) -> object:
    if isinstance(how, int):
        return parsed(cassette(path)[how])
    if how == "sse":
        return parsed(path.read_bytes())
    kind, name, *rest = how
    tree = ast.parse(path.read_text())
    if kind == "literal":
        texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        return json.loads(next(text for text in texts if isinstance(text, str) and f'"{name}"' in text))
    if kind == "helpers":
        return helpers(tree, name)
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    function = next(node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name)
    if kind == "locals":
        return local_events(function, rest[0])
    if kind == "fixture":
        return fixture(function, rest[0])
    if kind == "item":
        call = next(node for node in ast.walk(function) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == rest[0])
        return {"output": [{word.arg: ast.literal_eval(word.value) for word in call.keywords}]}
    value = ast.literal_eval(assigned(function, rest[0]))
    if kind == "chunks":
        return value
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": value}}]}


def assigned(function: ast.FunctionDef, name: str) -> ast.expr:
    for node in ast.walk(function):
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == name and isinstance(node.value, ast.List):
            return node.value
    raise KeyError(name)


def fixture(function: ast.FunctionDef, param: str) -> object:
    """What a fixture of pytest gives for a parameter."""
    function.decorator_list, function.returns = [], None
    for argument in function.args.args:
        argument.annotation = None
    names = {"Any": object}
    exec(compile(ast.Module([function], []), "fixture", "exec"), names)
    return names[function.name](SimpleNamespace(param=param))


def local_events(function: ast.AsyncFunctionDef, params: dict) -> object:
    """The `events` that a test makes, before it uses them."""
    names = dict(params)
    for statement in function.body:
        if any(isinstance(node, ast.Await) for node in ast.walk(statement)) or "body" in names:
            break
        if isinstance(statement, ast.AnnAssign):
            statement = ast.copy_location(ast.Assign([statement.target], statement.value), statement)
        try:
            exec(compile(ast.Module([statement], []), "test", "exec"), names)
        except NameError:  # What it imports.
            break
    return names["events"]


def helpers(tree: ast.Module, expression: str) -> object:
    """What the helpers of a test make of two calls."""
    used = {"Reply", "empty_message", *(node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name))}
    kept = [node for node in tree.body if getattr(node, "name", "") in used]
    names = {"NamedTuple": NamedTuple, "cast": cast, "json": json, "__name__": "helpers"}
    flags = __future__.annotations.compiler_flag
    exec(compile(ast.Module(kept, []), "helpers", "exec", flags=flags), names)
    made = eval(expression, names)
    return parsed(made) if isinstance(made, bytes) else made


def cassette(path: Path) -> list[bytes]:
    """The bodies of the responses in a cassette of VCR's."""
    text = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    tape = yaml.load(text, yaml.CSafeLoader)
    responses = tape.get("responses") or [one["response"] for one in tape["interactions"]]
    bodies = [response["body"] for response in responses]
    bodies = [body["string"] if isinstance(body, dict) else body for body in bodies]
    bodies = [body if isinstance(body, bytes) else (body or "").encode() for body in bodies]
    return [gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body for body in bodies]


def parsed(body: bytes) -> object:
    """JSON, or the events of a stream."""
    if body.lstrip()[:1] == b"{":
        return json.loads(body)
    lines = (line.removeprefix(b"data:").strip() for line in body.splitlines() if line.startswith(b"data:"))
    return [json.loads(line) for line in lines if line != b"[DONE]"]


if __name__ == "__main__":
    main()
