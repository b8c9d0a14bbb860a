"""Prints what the classes of tools of a package of LangChain's say of their arguments. Runs where that is installed."""

import importlib
import json
import pkgutil
import sys

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

package = importlib.import_module(sys.argv[1])
found = {}
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    try:
        members = vars(importlib.import_module(module.name)).values()
    except Exception:  # It needs what is not installed.
        continue
    for kind in members:
        if not (isinstance(kind, type) and issubclass(kind, BaseTool) and kind is not BaseTool):
            continue
        fields = kind.model_fields
        name, description = fields["name"].default, fields["description"].default
        if not isinstance(name, str) or not name:
            continue
        try:
            tool = kind.model_construct(name=name, description=description if isinstance(description, str) else "",
                                        args_schema=fields["args_schema"].default)
            function = convert_to_openai_tool(tool)["function"]
        except Exception:
            continue
        found[name] = {"name": name, "description": function.get("description", ""), "parameters": function["parameters"]}
print(json.dumps(list(found.values())))
