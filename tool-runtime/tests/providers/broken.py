"""Exports with one mistake each, and the sound ones that they are made of."""

import copy

NAME, SAID = "forecast", "Forecasts the weather."
STRICT = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
OPEN_API = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "18"}]}

SOUND = {
    "openai-chat-strict": {
        "tools": [{"type": "function", "function": {"name": NAME, "description": SAID, "parameters": STRICT, "strict": True}}],
        "results": [{"role": "tool", "tool_call_id": "1", "content": "18"}],
    },
    "openai-responses": {
        "tools": [{"type": "function", "name": NAME, "description": SAID, "parameters": STRICT, "strict": False}],
        "results": [{"type": "function_call_output", "call_id": "1", "output": "18"}],
    },
    "anthropic": {
        "tools": [{"name": NAME, "description": SAID, "input_schema": STRICT}],
        "results": {"role": "user", "content": [RESULT]},
        "request": {
            "model": "claude", "max_tokens": 9, "messages": [{"role": "user", "content": [RESULT]}],
            "tools": [{"name": NAME, "input_schema": STRICT}],
        },
    },
    "gemini": {
        "tools": [{"functionDeclarations": [{"name": NAME, "description": SAID, "parametersJsonSchema": STRICT}]}],
        "results": {"role": "user", "parts": [{"functionResponse": {"name": NAME, "response": {"result": 18}}}]},
    },
    "gemini-schema": {
        "tools": [{"functionDeclarations": [{"name": NAME, "description": SAID, "parameters": OPEN_API}]}],
    },
    "mcp": {
        "tools": [{"name": NAME, "description": SAID, "inputSchema": STRICT}],
        "results": [{"content": [{"type": "text", "text": "18"}], "isError": False, "structuredContent": {"t": 18}}],
    },
}

# Where the schema of the only tool is.
SCHEMAS = {
    "openai-chat-strict": "/tools/0/function/parameters",
    "openai-responses": "/tools/0/parameters",
    "anthropic": "/tools/0/input_schema",
    "gemini": "/tools/0/functionDeclarations/0/parametersJsonSchema",
    "gemini-schema": "/tools/0/functionDeclarations/0/parameters",
    "mcp": "/tools/0/inputSchema",
}


def strict_tool(at: int, schema: dict) -> dict:
    return {"name": f"t{at}", "description": SAID, "strict": True, "input_schema": schema}


def with_(dialect: str, pointer: str, value: object) -> dict:
    """The sound export with `value` at `pointer`; what begins with `~` is in the schema."""
    export = copy.deepcopy(SOUND[dialect])
    *steps, last = pointer.replace("~", SCHEMAS[dialect]).split("/")[1:]
    at = export
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if isinstance(at, list) and last == "-":
        at.append(value)
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return export


def one(what: str, dialect: str, pointer: str, value: object, rule: str, message: str) -> tuple:
    return what, dialect, with_(dialect, pointer, value), rule, message


def nested(levels: int) -> dict:
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"in": schema}, "required": ["in"], "additionalProperties": False}
    return schema


CHAT, RESPONSES, CLAUDE, GEMINI, OPEN, MCP = SOUND
LONG = "x" * 65
HOLDS_ITSELF = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}, "additionalProperties": False}
TEXT = {"type": "string"}

BROKEN = [
    one("an unknown key of a tool", CHAT, "/tools/0/parameters", {}, "sdk", "parameters: Extra inputs"),
    one("an unknown key of a function", CHAT, "/tools/0/function/title", "x", "sdk", "function.title: Extra inputs"),
    one("a wrong type of a field", CHAT, "/tools/0/function/strict", "yes", "sdk", "function.strict: Input should be a valid boolean"),
    one("a flat tool without `strict`", RESPONSES, "/tools/0", {"type": "function", "name": NAME, "parameters": STRICT}, "sdk", "strict: Field required"),
    one("an unknown key", CLAUDE, "/tools/0/parameters", {}, "sdk", "parameters: Extra inputs"),
    one("properties that are a list", CLAUDE, "~/properties", [], "sdk", "properties: Input should be"),
    one("an unknown key of a declaration", GEMINI, "/tools/0/functionDeclarations/0/strict", True, "sdk", "strict: Extra inputs"),
    one("an unknown field of `Schema`", OPEN, "~/properties/city/const", "x", "sdk", "city.const: Extra inputs"),
    one("an unknown key", MCP, "/tools/0/parameters", {}, "sdk", "parameters: Extra inputs"),
    one("a long name", CHAT, "/tools/0/function/name", LONG, "name", "{1,64}"),
    one("a name with a dot", RESPONSES, "/tools/0/name", "a.b", "name", "'a.b' is not"),
    one("a name with a space", CLAUDE, "/tools/0/name", "a b", "name", "'a b' is not"),
    one("a name that begins with a digit", GEMINI, "/tools/0/functionDeclarations/0/name", "1a", "name", "'1a' is not"),
    one("a name with a slash", MCP, "/tools/0/name", "a/b", "name", "'a/b' is not"),
    one("one name twice", MCP, "/tools/-", SOUND[MCP]["tools"][0], "name", "2 tools have it"),
    one("a long description", CHAT, "/tools/0/function/description", "x" * 1_025, "description-length", "1025"),
    one("too many tools", RESPONSES, "/tools", [{**SOUND[RESPONSES]["tools"][0], "name": f"t{at}"} for at in range(129)], "tool-count", "129"),
    one("a tool that is gone in silence", MCP, "/names", ["other"], "silence", "it is not sent"),
    one("a schema that is none", RESPONSES, "~/properties/city/type", "text", "meta-schema", "'text' is not valid"),
    one("a list of an earlier draft", CLAUDE, "~/properties/city/items", [TEXT], "meta-schema", "/properties/city/items"),
    one("a limit of an earlier draft", CLAUDE, "~/properties/city/exclusiveMinimum", True, "meta-schema", "True is not of type 'number'"),
    one("a reference that leads nowhere", CLAUDE, "~/properties/city/$ref", "#/$defs/x", "reference", "#/$defs/x leads nowhere"),
    one("a choice at the root", CLAUDE, "~/oneOf", [{}], "root", "oneOf at the root"),
    one("a root that is no object", RESPONSES, "~/type", ["object", "null"], "root", "its type is"),
    one("a root that says nothing", MCP, "~/type", "array", "root", "the type of inputSchema"),
    one("a list without items", RESPONSES, "~/properties/city", {"type": "array"}, "items", "/properties/city: a list without items"),
    one("a list without items", GEMINI, "~/properties/city", {"type": "array"}, "items", "/properties/city"),
    one("a list without items", OPEN, "~/properties/city", {"type": "ARRAY"}, "items", "missing field"),
    one("a keyword that is not supported", CHAT, "~/properties/city/minLength", 1, "keyword", "/properties/city: minLength"),
    one("a keyword that is not supported", GEMINI, "~/properties/city/pattern", "x", "keyword", "/properties/city: pattern"),
    one("a format that is not supported", CHAT, "~/properties/city/format", "uri", "format", "uri"),
    one("a format that is not supported", OPEN, "~/properties/city/format", "email", "format", "email of STRING"),
    one("an open object", CHAT, "~/additionalProperties", True, "closed", "is not false"),
    one("an optional property", CHAT, "~/required", ["city"], "all-required", "not all properties"),
    one("something beside a reference", CHAT, "~/properties/city", {"$ref": "#", "description": "x"}, "beside-reference", "/properties/city"),
    one("something beside a reference", GEMINI, "~/properties/city", {"$ref": "#", "description": "x"}, "beside-reference", "/properties/city"),
    one("a property without a type", CHAT, "~/properties/city", {"description": "x"}, "type", "/properties/city"),
    one("too many levels", CHAT, "~/properties/city", nested(10), "depth", "11, where 10"),
    one("too many properties", CHAT, "~/properties/city", {**nested(1), "properties": {f"p{at}": TEXT for at in range(5_000)}}, "properties", "5002, where"),
    one("too many values", CHAT, "~/properties/city/enum", [f"v{at}" for at in range(1_001)], "enum-values", "1001, where"),
    one("a large enum", CHAT, "~/properties/city/enum", [f"{at}{'x' * 60}" for at in range(251)], "large-enum", "251 values"),
    one("too many characters", CHAT, "~/properties/city/const", "x" * 120_000, "characters", "120008, where"),
    one("an odd name of a parameter", CLAUDE, "~/properties/a[b]", TEXT, "property-name", "'a[b]'"),
    one("an odd name of a parameter", OPEN, "~/properties/a-b", {"type": "STRING"}, "parameter-name", "'a-b'"),
    one("a strict tool with a limit", CLAUDE, "/tools/0", {"name": NAME, "strict": True, "input_schema": {**STRICT, "minProperties": 1}}, "keyword", "minProperties"),
    one("a strict tool that holds itself", CLAUDE, "/tools/0", {"name": NAME, "strict": True, "input_schema": {**STRICT, "$defs": {"n": HOLDS_ITSELF}}}, "recursion", "#/$defs/n"),
    one("too many strict tools", CLAUDE, "/tools", [strict_tool(at, STRICT) for at in range(21)], "strict-tools", "21, where"),
    one("too many strict properties that may be absent", CLAUDE, "/tools", [strict_tool(at, {**STRICT, "required": []}) for at in range(13)], "strict-optional", "26, where"),
    one("too many strict values of several types", CLAUDE, "/tools", [strict_tool(at, STRICT) for at in range(17)], "strict-unions", "17, where"),
    one("too many declarations", GEMINI, "/tools/0/functionDeclarations", [{"name": f"t{at}", "description": SAID, "parametersJsonSchema": STRICT} for at in range(513)], "tool-count", "513"),
    one("values of several types", GEMINI, "~/properties/city/enum", ["x", 1], "enum", "neither all texts"),
    one("values of no type", OPEN, "~/properties/city", {"type": "INTEGER", "enum": ["1"]}, "enum", "an enum of INTEGER"),
    one("an order of other properties", GEMINI, "~/propertyOrdering", ["city"], "ordering", "['city']"),
    one("required recursion", GEMINI, "~", {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"], "$defs": {"n": HOLDS_ITSELF}}, "required-recursion", "/properties/n"),
    one("a choice with more", OPEN, "~/properties/city/anyOf", [{"type": "STRING"}], "any-of-alone", "['anyOf', 'type']"),
    one("an object without properties", OPEN, "~/properties/city", {"type": "OBJECT"}, "empty-object", "should be non-empty"),
    one("a required property that is none", OPEN, "~/required", ["x"], "required", "'x'"),
    one("a small type", OPEN, "~/properties/city", {}, "type", "/properties/city: None"),
    one("a result without an id", CHAT, "/results/0", {"role": "tool", "content": "18"}, "results", "tool_call_id: Field required"),
    one("a result of a wrong key", RESPONSES, "/results/0/content", "18", "results", "content: Extra inputs"),
    one("an unknown key deep in a result", CLAUDE, "/results/content/0/content/0/title", "x", "results", "title: Extra inputs"),
    one("a result that is no object", GEMINI, "/results/parts/0/functionResponse/response", "18", "results", "response: Input should be an object"),
    one("a result that is no object", MCP, "/results/0/structuredContent", 18, "results", "structuredContent: Input should be an object"),
    one("an unknown key deep in a request", CLAUDE, "/request/messages/0/content/0/title", "x", "request", "title: Extra inputs"),
]
