"""What each provider publishes of the definitions that it takes, one function for each matter.

Written from the providers' pages, not from `tool-runtime`: where the two differ, one of them is wrong.
"""

import re
from collections.abc import Iterator

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from walk import below, nodes, target, types

# A rule, what is wrong.
Wrong = tuple[str, str]

# OpenAI: https://platform.openai.com/docs/api-reference/chat/create, `tools[].function.name`
# Anthropic: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
# Gemini: https://firebase.google.com/docs/reference/js/ai.functiondeclaration (its SDK says 128, and dots and colons)
# MCP: https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names
NAMES = {
    "openai-chat": r"[a-zA-Z0-9_-]{1,64}",
    "openai-responses": r"[a-zA-Z0-9_-]{1,64}",
    "anthropic": r"[a-zA-Z0-9_-]{1,128}",
    "gemini": r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",
    "mcp": r"[a-zA-Z0-9_.-]{1,128}",
}

# What OpenAI refuses: descriptions, for some models (https://github.com/getsentry/sentry-mcp/issues/106), and more tools
# (https://platform.openai.com/docs/api-reference/chat/create, `tools`). Gemini's declarations: the SDK's `Tool`.
DESCRIPTION, TOOLS = 1_024, {"openai-chat": 128, "openai-responses": 128, "gemini": 512}

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#schema-complexity-limits, of all strict tools
# of a request: tools, optional parameters, parameters with union types.
CLAUDE_STRICT_TOOLS, CLAUDE_STRICT_OPTIONAL, CLAUDE_STRICT_UNIONS = 20, 24, 16

# https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
OPENAI_KEYWORDS = {
    "type", "title", "description", "enum", "const", "anyOf", "$ref", "$defs", "properties", "required",
    "additionalProperties", "items", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minItems", "maxItems",
}
OPENAI_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

# https://pub.dev/documentation/google_cloud_aiplatform_v1beta1/latest/aiplatform/GenerationConfig/responseJsonSchema.html,
# which is taken to hold for parameters, too.
GEMINI_KEYWORDS = {
    "$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems",
    "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
    "propertyOrdering",
}

# https://ai.google.dev/api/caching#Schema
GEMINI_FORMATS = {"STRING": {"enum", "date-time"}, "NUMBER": {"float", "double"}, "INTEGER": {"int32", "int64"}}

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
CLAUDE_STRICT_REFUSES = {
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems",
    "uniqueItems", "oneOf", "not", "if", "then", "else", "patternProperties", "minProperties", "maxProperties",
    "dependentRequired", "dependentSchemas", "prefixItems", "contains", "propertyNames", "unevaluatedProperties",
}
CLAUDE_FORMATS = OPENAI_FORMATS | {"uri"}


def name(provider: str, given: str) -> Iterator[Wrong]:
    if not re.fullmatch(NAMES[provider], given):
        yield "name", f"{given!r} is not {NAMES[provider]}"


def size(provider: str, description: str) -> Iterator[Wrong]:
    if provider.startswith("openai") and len(description) > DESCRIPTION:
        yield "description-length", f"{len(description)} characters"


def json_schema(schema: dict, *, declared: bool) -> Iterator[Wrong]:
    """Of draft 2020-12, or, where that is left to it, of the one that it declares."""
    kind = validator_for(schema, default=Draft202012Validator) if declared else Draft202012Validator
    try:
        kind.check_schema(schema)
    except SchemaError as why:
        yield "meta-schema", f"/{'/'.join(map(str, why.absolute_path))}: {why.message[:200]}"
        return
    for at, one in nodes(schema):
        reference = one.get("$ref")
        local = isinstance(reference, str) and reference.startswith("#") and "/" in reference
        if local and not isinstance(target(schema, reference), dict | bool):
            yield "reference", f"{at}: {reference} leads nowhere"


def root(schema: dict, *, name: str = "object") -> Iterator[Wrong]:
    """`type: object`, and no choice beside it.

    OpenAI: https://github.com/langchain-ai/langchainjs/issues/9804
    Anthropic: https://github.com/anthropics/claude-code/issues/27337
    """
    if schema.get("type") != name:
        yield "root", f"its type is {schema.get('type')!r}"
    for key in ("oneOf", "anyOf", "allOf", "enum", "not"):
        if key in schema:
            yield "root", f"{key} at the root"


def lists(schema: dict, *, tuples: bool) -> Iterator[Wrong]:
    """Lists say what their items are: https://github.com/PrefectHQ/fastmcp/issues/2464 ("array schema missing items")."""
    for at, one in nodes(schema):
        if "array" not in types(one) or (tuples and "prefixItems" in one):
            continue
        if not isinstance(one.get("items"), dict):
            yield "items", f"{at}: a list without items"


def openai_strict(schema: dict) -> Iterator[Wrong]:
    """https://platform.openai.com/docs/guides/structured-outputs#supported-schemas"""
    for at, one in nodes(schema):
        for key in one.keys() - OPENAI_KEYWORDS:
            yield "keyword", f"{at}: {key}"
        if one.get("format", "date") not in OPENAI_FORMATS:
            yield "format", f"{at}: {one['format']}"
        if "properties" in one or "object" in types(one):
            if one.get("additionalProperties") is not False:
                yield "closed", f"{at}: additionalProperties is not false"
            if set(one.get("required", [])) != set(one.get("properties", {})):
                yield "all-required", f"{at}: not all properties are required"
        if "$ref" in one and len(one) > 1:
            yield "beside-reference", f"{at}: {sorted(one)}"
        if not {"type", "anyOf", "$ref"} & one.keys():
            yield "type", f"{at}: nothing says its type"
    yield from openai_limits(schema)


def openai_limits(schema: dict) -> Iterator[Wrong]:
    """https://platform.openai.com/docs/guides/structured-outputs#objects-have-limitations-on-nesting-depth-and-size"""
    properties = sum(len(one.get("properties", {})) for _, one in nodes(schema))
    texts, values = [], 0
    for at, one in nodes(schema):
        enum = one.get("enum", [])
        texts += [*one.get("properties", {}), *one.get("$defs", {}), *enum, *([one["const"]] if "const" in one else [])]
        values += len(enum)
        if len(enum) > 250 and sum(len(it) for it in enum if isinstance(it, str)) > 15_000:
            yield "large-enum", f"{at}: {len(enum)} values"
    characters = sum(len(text) for text in texts if isinstance(text, str))
    limits = [(properties, 5_000, "properties"), (levels(schema), 10, "depth"),
              (characters, 120_000, "characters"), (values, 1_000, "enum-values")]
    for count, most, rule in limits:
        if count > most:
            yield rule, f"{count}, where {most} are allowed"


def levels(schema: object) -> int:
    """How deep objects are nested, each definition for itself."""
    if not isinstance(schema, dict):
        return 0
    deepest = max((levels(one) for key, one, _ in below(schema) if key != "$defs"), default=0)
    return max([deepest + ("properties" in schema), *(levels(one) for one in schema.get("$defs", {}).values())])


def claude(schema: dict) -> Iterator[Wrong]:
    """Those at the root: https://github.com/anthropics/claude-code/issues/4668, https://github.com/decocms/studio/pull/6874."""
    for key in schema.get("properties", {}):
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key):
            yield "property-name", f"{key!r}"


def claude_strict(schema: dict) -> Iterator[Wrong]:
    """https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations"""
    for at, one in nodes(schema):
        for key in one.keys() & CLAUDE_STRICT_REFUSES:
            yield "keyword", f"{at}: {key}"
        if one.get("minItems", 0) not in (0, 1):
            yield "keyword", f"{at}: minItems {one['minItems']}"
        if one.get("format", "uri") not in CLAUDE_FORMATS:
            yield "format", f"{at}: {one['format']}"
        if ("properties" in one or "object" in types(one)) and one.get("additionalProperties") is not False:
            yield "closed", f"{at}: additionalProperties is not false"
        if any(isinstance(value, dict | list) for value in one.get("enum", [])):
            yield "enum", f"{at}: values that are no scalars"
    for chain in cycles(schema):
        yield "recursion", f"{chain} holds itself"


def claude_strict_request(schemas: list[dict]) -> Iterator[Wrong]:
    """https://platform.claude.com/docs/en/build-with-claude/structured-outputs#schema-complexity-limits"""
    all_nodes = [one for schema in schemas for _, one in nodes(schema)]
    optional = sum(len(one.get("properties", {}).keys() - set(one.get("required", []))) for one in all_nodes)
    parameters = [held for one in all_nodes for held in one.get("properties", {}).values() if isinstance(held, dict)]
    unions = sum("anyOf" in held or isinstance(held.get("type"), list) for held in parameters)
    limits = [(len(schemas), CLAUDE_STRICT_TOOLS, "strict-tools"), (optional, CLAUDE_STRICT_OPTIONAL, "strict-optional"),
              (unions, CLAUDE_STRICT_UNIONS, "strict-unions")]
    for count, most, rule in limits:
        if count > most:
            yield rule, f"{count}, where {most} are allowed"


def gemini(schema: dict) -> Iterator[Wrong]:
    cyclic = set(cycles(schema))
    for at, one in nodes(schema):
        for key in one.keys() - GEMINI_KEYWORDS:
            yield "keyword", f"{at}: {key}"
        enum = one.get("enum", [])
        texts, numbers = (all(isinstance(it, kind) for it in enum) for kind in (str, int | float))
        if not texts and (not numbers or any(isinstance(it, bool) for it in enum)):
            yield "enum", f"{at}: values that are neither all texts nor all numbers"
        if "$ref" in one and any(not key.startswith("$") for key in one):
            yield "beside-reference", f"{at}: {sorted(one)}"
        ordering = one.get("propertyOrdering")
        if ordering is not None and sorted(ordering) != sorted(one.get("properties", {})):
            yield "ordering", f"{at}: {ordering}"
        # "may only be used within non-required properties"
        for key in one.get("required", []):
            held = one.get("properties", {}).get(key)
            if cyclic and held is not None and reached(schema, held) & cyclic:
                yield "required-recursion", f"{at}/properties/{key}"


def references(schema: object) -> set[str]:
    return {one["$ref"] for _, one in nodes(schema) if isinstance(one.get("$ref"), str)}


def reached(root: dict, schema: object) -> set[str]:
    """All references that `schema` leads to."""
    seen, open_ones = set(), references(schema)
    while open_ones:
        reference = open_ones.pop()
        if reference not in seen:
            seen.add(reference)
            open_ones |= references(target(root, reference))
    return seen


def cycles(root: dict) -> list[str]:
    return sorted(one for one in references(root) if one in reached(root, target(root, one)))


def gemini_schema(schema: dict) -> Iterator[Wrong]:
    for at, one in nodes(schema):
        if "anyOf" in one:
            # https://github.com/langchain-ai/langchain-google/issues/1216
            if len(one) > 1:
                yield "any-of-alone", f"{at}: {sorted(one)}"
            continue
        kind = one.get("type")
        if kind not in ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"):
            yield "type", f"{at}: {kind!r}"
        # https://github.com/agno-agi/agno/issues/2112
        if kind == "OBJECT" and not one.get("properties"):
            yield "empty-object", f"{at}: properties should be non-empty for OBJECT type"
        if kind == "ARRAY" and "items" not in one:
            yield "items", f"{at}: missing field"
        if "enum" in one and (kind != "STRING" or "" in one["enum"] or not all(isinstance(it, str) for it in one["enum"])):
            yield "enum", f"{at}: an enum of {kind}: {one['enum'][:3]}"
        if "format" in one and one["format"] not in GEMINI_FORMATS.get(kind, ()):
            yield "format", f"{at}: {one['format']} of {kind}"
        for key in ("required", "propertyOrdering"):
            for listed in one.get(key, []):
                if listed not in one.get("properties", {}):
                    yield "required", f"{at}: {key} has {listed!r}, which is no property"
        for listed in one.get("properties", {}):
            # So says the SDK's `FunctionDeclaration.parameters`.
            if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}", listed):
                yield "parameter-name", f"{at}: {listed!r}"


def mcp(tool: dict) -> Iterator[Wrong]:
    """https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool"""
    for key in ("inputSchema", "outputSchema"):
        if key in tool and tool[key].get("type") != "object":
            yield "root", f"the type of {key} is {tool[key].get('type')!r}"
