"""A server of MCP that answers every call with its number, and writes down all that it reads."""

import json
import sys

with open(sys.argv[1], "w") as log:
    for line in sys.stdin:
        message = json.loads(line)
        log.write(line)
        log.flush()
        method = message.get("method")
        if "id" not in message or method is None:
            continue
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "log", "version": "1"}}
        elif method == "tools/list":
            names = ["add", "draw", "nothing", "say"]
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": str(message["id"])}]}
        else:
            error = {"code": -32601, "message": "Method not found"}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
