"""The operations of an OpenAPI document as function definitions."""

import re

METHODS = ("get", "put", "post", "delete", "patch")


def operations(document: dict) -> list[dict]:
    found = []
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                found.append(definition(document, path, method, item))
    return found


def definition(document: dict, path: str, method: str, item: dict) -> dict:
    operation = item[method]
    name = operation.get("operationId") or f"{method}_{path}"
    properties, required = {}, []
    for parameter in [*item.get("parameters", []), *operation.get("parameters", [])]:
        parameter = resolved(document, parameter)
        schema = dict(parameter.get("schema", {}))
        if "description" in parameter and "$ref" not in schema:
            schema["description"] = parameter["description"]
        properties[parameter["name"]] = schema
        if parameter.get("required"):
            required.append(parameter["name"])
    body = resolved(document, operation.get("requestBody", {}))
    content = body.get("content", {}).get("application/json")
    if content:
        properties["body"] = content.get("schema", {})
        if body.get("required"):
            required.append("body")
    schema = {"type": "object", "properties": properties, "required": required}
    schema = moved(schema)
    definitions = referred(document, schema)
    if definitions:
        schema["$defs"] = definitions
    return {
        "name": re.sub(r"[^A-Za-z0-9_-]", "_", name),
        "description": operation.get("summary") or operation.get("description", ""),
        "parameters": schema,
    }


def resolved(document: dict, value: dict) -> dict:
    while "$ref" in value:
        at = document
        for step in value["$ref"].removeprefix("#/").split("/"):
            at = at[step.replace("~1", "/").replace("~0", "~")]
        value = at
    return value


def moved(schema: object) -> object:
    """`schema`, with what it refers to below `$defs`, and without its examples, which can be long."""
    if isinstance(schema, list):
        return [moved(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str):
            value = value.replace("#/components/schemas/", "#/$defs/")
        elif key in ("example", "examples") and not isinstance(value, dict | list):
            pass
        elif key in ("example", "examples"):
            continue
        kept[key] = moved(value)
    return kept


def referred(document: dict, schema: object) -> dict:
    definitions, open_ones = {}, names_in(schema)
    while open_ones:
        name = open_ones.pop()
        if name not in definitions:
            definitions[name] = moved(document["components"]["schemas"][name])
            open_ones |= names_in(definitions[name])
    return dict(sorted(definitions.items()))


def names_in(schema: object) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(names_in, schema))
    if not isinstance(schema, dict):
        return set()
    names = set().union(*map(names_in, schema.values()))
    if isinstance(schema.get("$ref"), str):
        names.add(schema["$ref"].removeprefix("#/$defs/"))
    return names
