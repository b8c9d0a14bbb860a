"""What the official clients of MCP send, recorded by a server that writes down what it reads."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PYTHON, TYPESCRIPT = "2.3.0", "1.32.2"


def recorded_requests(folder: Path) -> list[dict]:
    clients = [("PyPI mcp", PYTHON, python(folder)), ("npm @modelcontextprotocol/sdk", TYPESCRIPT, typescript(folder))]
    entries = []
    for package, version, messages in clients:
        calls = [message for message in messages if message.get("method") == "tools/call"]
        source = {"package": package, "version": version, "licence": "MIT", "file": "recorded from its client"}
        entries += [{"name": f"{package}: {call['params']['name']}", "source": source, "response": call} for call in calls]
        entries.append({"name": f"{package}: all that is sent", "source": source, "events": messages})
    return entries


def python(folder: Path) -> list[dict]:
    venv = folder / "mcp-client"
    if not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(venv / "bin" / "pip"), "install", "-q", f"mcp=={PYTHON}"], check=True)
    return recorded(folder, str(venv / "bin" / "python"), str(HERE / "mcp_client.py"))


def typescript(folder: Path) -> list[dict]:
    home = folder / "mcp-client-ts"
    if not home.exists():
        home.mkdir()
        (home / "package.json").write_text('{"type":"module"}')
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", f"@modelcontextprotocol/sdk@{TYPESCRIPT}"]
        subprocess.run(command, cwd=home, check=True, capture_output=True)
    (home / "client.mjs").write_text((HERE / "mcp_client.mjs").read_text())
    return recorded(folder, "node", str(home / "client.mjs"))


def recorded(folder: Path, *client: str) -> list[dict]:
    log = folder / "messages.jsonl"
    log.unlink(missing_ok=True)
    subprocess.run([*client, sys.executable, str(HERE / "mcp_server.py"), str(log)], check=True, timeout=60)
    return [json.loads(line) for line in log.read_text().splitlines()]
