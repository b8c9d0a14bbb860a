"""Goes through a schema, whichever keywords it has."""

from collections.abc import Iterator

NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")


def below(schema: dict) -> Iterator[tuple[str, object, str]]:
    """The schemas directly in `schema`: the keyword, the schema, and how it is pointed to."""
    for key in NAMED:
        if isinstance(schema.get(key), dict):
            for name, one in schema[key].items():
                yield key, one, f"/{key}/{escaped(name)}"
    for key in LISTED:
        if isinstance(schema.get(key), list):
            for index, one in enumerate(schema[key]):
                yield key, one, f"/{key}/{index}"
    for key in SINGLE:
        if key in schema:
            yield key, schema[key], f"/{key}"


def nodes(schema: object, at: str = "") -> Iterator[tuple[str, dict]]:
    """Every schema in `schema` that is an object, with its pointer."""
    if isinstance(schema, dict):
        yield at, schema
        for _, one, step in below(schema):
            yield from nodes(one, at + step)


def escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def target(root: dict, reference: str) -> object:
    """What a local reference leads to, or nothing."""
    from urllib.parse import unquote

    at: object = root
    for step in unquote(reference.removeprefix("#")).split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list):
            at = at[int(step)] if step.isdecimal() and int(step) < len(at) else None
        else:
            at = at.get(step) if isinstance(at, dict) else None
    return at


def types(schema: dict) -> list[str]:
    said = schema.get("type", [])
    return said if isinstance(said, list) else [said]
