#!/usr/bin/env python3
"""Holds what `tool-runtime` sends to the providers' own SDK types, and to the rules that they publish.

    python3 check.py [FILE or FOLDER ..]

A file is named after its dialect and is a JSON object with any of `tools` (as they are sent), `findings` (of each
tool, as texts), `names` (of all tools, sent or not), `results` and `request`. Without files, the golden ones are
taken. First, exports that are broken in known ways are refused, each for its reason; if one is not, that is the end.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import rules
import sdk
from broken import BROKEN, SOUND
from rules import Wrong

GOLDEN = Path(__file__).parent.parent / "dialects" / "golden"

# What may be sent if a diagnostic of the tool says that it may be refused, and the text of the diagnostic.
LISTED = {
    "description-length": "some models reject more than",
    "tool-count": "the provider rejects requests with more than",
    "parameter-name": "the provider documents only names",
    "required-recursion": "the provider unrolls recursive types",
}


def definitions(export: dict) -> Iterator[dict]:
    for tool in export.get("tools", []):
        yield from tool["functionDeclarations"] if "functionDeclarations" in tool else [tool]


def name_of(tool: dict) -> str:
    return tool.get("function", tool).get("name", "")


def of_tool(dialect: str, tool: dict) -> Iterator[Wrong]:
    provider = sdk.provider(dialect)
    # Gemini's are in one list, which is the type that the SDK has for them.
    whole = {"functionDeclarations": [tool]} if provider == "gemini" else tool
    for message in sdk.definition(dialect, whole):
        yield "sdk", message
    function = tool.get("function", tool)
    yield from rules.name(provider, function.get("name", ""))
    yield from rules.size(provider, function.get("description", ""))
    keys = {"openai": "parameters", "anthropic": "input_schema", "mcp": "inputSchema", "gemini": "parametersJsonSchema"}
    key = "parameters" if dialect == "gemini-schema" else keys[provider.split("-")[0]]
    schema = function.get(key)
    if not isinstance(schema, dict):
        # Gemini is told nothing of parameters that there are not.
        if dialect != "gemini-schema" or schema is not None:
            yield "sdk", f"{key} is missing"
        return
    yield from of_schema(dialect, function, schema)


def of_schema(dialect: str, function: dict, schema: dict) -> Iterator[Wrong]:
    if dialect == "gemini-schema":
        yield from rules.root(schema, name="OBJECT")
        yield from rules.gemini_schema(schema)
        return
    wrong = list(rules.json_schema(schema, declared=dialect == "mcp"))
    yield from wrong
    if any(rule == "meta-schema" for rule, _ in wrong):
        return
    strict = function.get("strict") is True
    if dialect == "mcp":
        if "outputSchema" in function:
            yield from rules.json_schema(function["outputSchema"], declared=True)
        yield from rules.mcp(function)
        return
    yield from rules.root(schema)
    if dialect == "gemini":
        yield from rules.lists(schema, tuples=True)
        yield from rules.gemini(schema)
    elif dialect.startswith("anthropic"):
        yield from rules.claude(schema)
        if strict:
            yield from rules.claude_strict(schema)
    else:
        yield from rules.lists(schema, tuples=False)
        if strict:
            yield from rules.openai_strict(schema)


def of_export(dialect: str, export: dict) -> Iterator[tuple[str, str, str]]:
    """The tool, the rule and what is wrong."""
    seen = Counter(map(name_of, definitions(export)))
    for name, count in seen.items():
        if count > 1:
            yield name, "name", f"{count} tools have it"
    for tool in definitions(export):
        for rule, message in of_tool(dialect, tool):
            yield name_of(tool), rule, message
    if seen.total() > rules.TOOLS.get(sdk.provider(dialect), seen.total()):
        yield "", "tool-count", f"{seen.total()} tools"
    if dialect.startswith("anthropic"):
        strict = [tool["input_schema"] for tool in definitions(export) if tool.get("strict") is True]
        for rule, message in rules.claude_strict_request(strict):
            yield "", rule, message
    for name in export.get("names", []):
        left_out = any(text.startswith("error: ") for text in export.get("findings", {}).get(name, []))
        if name not in seen and not left_out:
            yield name, "silence", "it is not sent, and no diagnostic says so"
    for message in sdk.results(dialect, export["results"]) if "results" in export else []:
        yield "", "results", message
    for message in sdk.request(dialect, export["request"]) if "request" in export else []:
        yield "", "request", message


def is_listed(export: dict, tool: str, rule: str) -> bool:
    findings = export.get("findings", {})
    texts = findings.get(tool, []) if tool else [text for texts in findings.values() for text in texts]
    return rule in LISTED and any(LISTED[rule] in text for text in texts)


def self_test() -> int:
    """How many broken exports were refused, each for its reason."""
    for dialect, export in SOUND.items():
        found = list(of_export(dialect, export))
        if found:
            sys.exit(f"self-test: what is sound is refused in {dialect}: {found}")
    for what, dialect, export, rule, message in BROKEN:
        found = [one for one in of_export(dialect, export) if not is_listed(export, one[0], one[1])]
        if not any(one == rule and message in text for _, one, text in found):
            sys.exit(f"self-test: {what} in {dialect} is not refused as {rule} ({message}): {found}")
    return len(BROKEN)


def files(given: list[str]) -> Iterator[Path]:
    for path in map(Path, given or [GOLDEN]):
        found = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        if not found or not path.exists():
            sys.exit(f"{path}: there is nothing to check")
        yield from found


def main() -> None:
    print(f"{self_test()} broken exports are refused, each for its reason")
    refused = 0
    for path in files(sys.argv[1:]):
        dialect, export = path.stem, json.loads(path.read_text())
        sent = sum(1 for _ in definitions(export))
        found = list(of_export(dialect, export))
        wrong = [one for one in found if not is_listed(export, one[0], one[1])]
        listed = Counter(rule for _, rule, _ in found) - Counter(rule for _, rule, _ in wrong)
        left_out = len(set(export.get("names", [])) - set(map(name_of, definitions(export))))
        parts = [key for key in ("results", "request") if key in export]
        strict = sum(tool.get("function", tool).get("strict") is True for tool in definitions(export))
        counts = [f"{sent} definitions", *([f"{strict} of them strict"] if strict else []), f"{left_out} left out", *parts]
        print(f"{path.parent.name}/{path.stem}: {', '.join(counts)}; listed: {dict(listed) or 'none'}; refused: {len(wrong)}")
        for tool, rule, message in wrong[:40]:
            print(f"    {tool or dialect}: {rule}: {message}")
        refused += len(wrong)
    if refused:
        sys.exit(f"{refused} things that a provider refuses")


if __name__ == "__main__":
    main()
