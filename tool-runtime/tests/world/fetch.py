#!/usr/bin/env python3
"""Fetches function definitions of public packages into `definitions/`, one file for each package.

    python3 fetch.py FOLDER [PACKAGE ..]

Packages are installed below FOLDER, which is kept: what is there is not installed again. Nothing of a package runs
when it is installed from npm; its program runs without a network (`unshare -n`, as root on Linux), with an
environment of its own. A package whose licence is not permissive is refused. `PROVENANCE.md` is written anew.
Needs Node, npm, Python and pip; only this script does, the tests read what it wrote.
"""

import json
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

from openapi import operations
from sources import NPM, PYPI

HERE = Path(__file__).parent
DEFINITIONS = HERE / "definitions"
PERMISSIVE = re.compile(r"\b(MIT|Apache|BSD|ISC)\b", re.I)
PLACEHOLDER = "placeholder"
NOTICES = re.compile(r"(licen[cs]e|notice|copying)", re.I)
WHOSE = re.compile(r"Copyright (\(c\)|\(C\)|©|\d{4})")
# The beginning of a licence's text, for packages that name none.
TEXTS = {"Permission is hereby granted, free of charge": "MIT", "Apache License": "Apache-2.0"}


def main() -> None:
    folder, wanted = Path(sys.argv[1]).resolve(), sys.argv[2:]
    failed = []
    for registry, sources in (("npm", NPM), ("pypi", PYPI)):
        for source in sources:
            if wanted and source["package"] not in wanted:
                continue
            try:
                one(registry, source, folder)
            except Exception as why:  # The others are fetched all the same.
                failed.append(f"{registry}:{source['package']}: {type(why).__name__}: {why}")
                print("FAILED", failed[-1], flush=True)
    provenance()
    if failed:
        sys.exit("\n".join(["", "not fetched:", *failed]))


def one(registry: str, source: dict, folder: Path) -> None:
    slug = f"{registry}-" + source["package"].strip("@").replace("/", "-")
    home = folder / slug
    home.mkdir(parents=True, exist_ok=True)
    installed = npm(source, home) if registry == "npm" else pypi(source, home)
    if not PERMISSIVE.search(installed["licence"]):
        raise ValueError(f"licence {installed['licence']!r}")
    how = source.get("how", "stdio")
    tools = {"stdio": stdio, "module": stdio, "openapi": openapi, "langchain": langchain}[how](source, home, installed)
    if not tools:
        raise ValueError("it has no tools")
    head = {
        "source": f"{registry}:{source['package']}",
        "version": installed["version"],
        "licence": installed["licence"],
        "copyright": copyright(installed["files"]),
        "how": how,
    }
    lines = [head, *sorted((plain(tool) for tool in tools), key=lambda tool: tool["name"])]
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    # Some say where they run.
    text = text.replace(str(home / "work"), "/home/user")
    DEFINITIONS.mkdir(exist_ok=True)
    (DEFINITIONS / f"{slug}.jsonl").write_text(text)
    print(f"{slug}: {len(tools)}", flush=True)


def plain(tool: dict) -> dict:
    """What is kept of a tool: that which a model is told, and its output schema."""
    kept = {
        "name": tool["name"],
        "description": tool.get("description") or "",
        "parameters": tool.get("inputSchema", tool.get("parameters")),
    }
    if tool.get("outputSchema"):
        kept["output"] = tool["outputSchema"]
    return kept


def npm(source: dict, home: Path) -> dict:
    package = home / "node_modules" / source["package"]
    if not package.exists():
        (home / "package.json").write_text("{}")
        spec = f"{source['package']}@{source['version']}"
        quiet("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", spec, cwd=home)
    manifest = json.loads((package / "package.json").read_text())
    programs = manifest.get("bin", {})
    # One that is named like the package comes first.
    path = programs if isinstance(programs, str) else next(iter(programs.values()), None)
    return {
        "version": manifest["version"],
        "licence": licence(manifest.get("license"), package),
        "files": [path for path in package.iterdir() if NOTICES.match(path.name)],
        "command": ["node", str(package / path)] if path else None,
        "package": package,
    }


def pypi(source: dict, home: Path) -> dict:
    python = home / "venv" / "bin" / "python"
    if not python.exists():
        quiet(sys.executable, "-m", "venv", str(home / "venv"))
        spec = source["package"] + (f"=={source['version']}" if source["version"] else "")
        quiet(str(python), "-m", "pip", "install", "-q", spec, *source.get("beside", []))
    code = "import importlib.metadata as m, sys, json; d = m.distribution(sys.argv[1]); i = d.metadata; " \
        "print(json.dumps([d.version, i.get('License-Expression') or i.get('License') or '', " \
        "[c for c in i.get_all('Classifier', []) if 'License ::' in c], " \
        "[str(f.locate()) for f in d.files if 'LICENSE' in f.name.upper()]]))"
    said = subprocess.run([str(python), "-c", code, source["package"]], capture_output=True, text=True, check=True)
    version, text, classifiers, files = json.loads(said.stdout)
    named = next((name for start, name in TEXTS.items() if text.strip().startswith(start) or start in text), text)
    if not named and classifiers:
        named = classifiers[0].rsplit("::", 1)[1].strip()
    if not named and files:
        named = licence(None, Path(files[0]).parent)
    run = source["run"]
    command = [str(python), "-m", run] if source.get("how") == "module" else [str(home / "venv" / "bin" / run)]
    notices = [Path(file) for file in files]
    return {"version": version, "licence": named, "files": notices, "command": command, "python": str(python)}


def licence(named: object, package: Path) -> str:
    """The name of the licence, or, where none is named, that which its text has."""
    if isinstance(named, str) and not named.startswith("SEE"):
        return named
    for file in sorted(package.glob("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*")):
        text = file.read_text(errors="replace")
        names = [name for start, name in TEXTS.items() if start in text]
        if names:
            return " and ".join(sorted(names)) + " (by its text)"
    for file in package.glob("README.md"):
        found = re.search(r"licensed under the (MIT|Apache-2\.0|Apache) ", file.read_text(errors="replace"))
        if found:
            return found[1] + " (by its README)"
    return ""


def copyright(files: list[Path]) -> list[str]:
    """The lines of a package's licence that say whose it is."""
    lines = (line.strip() for file in sorted(files) if file.is_file() for line in file.read_text(errors="replace").splitlines())
    return list(dict.fromkeys(line for line in lines if WHOSE.match(line)))


def quiet(*command: str, cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout)[-600:])


def stdio(source: dict, home: Path, installed: dict) -> list[dict]:
    """What a server answers to `tools/list`."""
    work = home / "work"
    work.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(work), **{name: PLACEHOLDER for name in source.get("env", [])}}
    env |= {name: "https://example.com" for name in source.get("urls", [])} | source.get("set", {})
    inner = ["sh", "-c", 'ip link set lo up; exec "$@"', "sh", *installed["command"], *source.get("args", [])]
    server = subprocess.Popen(
        ["unshare", "-n", *inner], cwd=work, env=env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=(home / "stderr.txt").open("wb"),
    )
    try:
        return listed(server)
    finally:
        server.kill()
        server.wait()


def listed(server: subprocess.Popen) -> list[dict]:
    client = {"name": "fetch", "version": "1"}
    ask(server, 1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
    send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    tools, cursor, number = [], None, 2
    while True:
        page = ask(server, number, "tools/list", {"cursor": cursor} if cursor else {})
        tools += page["tools"]
        cursor, number = page.get("nextCursor"), number + 1
        if not cursor:
            return tools


def send(server: subprocess.Popen, message: dict) -> None:
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()


def ask(server: subprocess.Popen, number: int, method: str, params: dict) -> dict:
    send(server, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    deadline = time.monotonic() + 90
    buffer = getattr(server, "rest", b"")
    while time.monotonic() < deadline:
        while b"\n" in buffer:
            line, buffer = buffer.split(b"\n", 1)
            server.rest = buffer
            try:
                message = json.loads(line)
            except ValueError:  # Some write their log there.
                continue
            if isinstance(message, dict) and message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]
        if select.select([server.stdout], [], [], 1)[0]:
            part = os.read(server.stdout.fileno(), 1 << 16)
            if not part:
                raise RuntimeError(f"it ended, before it answered {method}")
            buffer += part
    raise TimeoutError(method)


def openapi(source: dict, _: Path, installed: dict) -> list[dict]:
    document = json.loads((installed["package"] / source["document"]).read_text())
    return operations(document)[:: source.get("every", 1)]


def langchain(source: dict, home: Path, installed: dict) -> list[dict]:
    """What the classes of tools of a package say of their arguments."""
    code = (HERE / "langchain_tools.py").read_text()
    done = subprocess.run(
        ["unshare", "-n", installed["python"], "-W", "ignore", "-c", code, source["run"]],
        capture_output=True, text=True, timeout=300, env={"PATH": os.environ["PATH"], "HOME": str(home)},
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    return json.loads(done.stdout.splitlines()[-1])


def provenance() -> None:
    rows, total = [], 0
    for file in sorted(DEFINITIONS.glob("*.jsonl")):
        with file.open() as lines:
            head = json.loads(next(lines))
            count = sum(1 for _ in lines)
        total += count
        whose = "; ".join(head["copyright"]) or "no line of its own"
        rows.append(f"| `{head['source']}` | {head['version']} | {head['licence']} | {whose} | {head['how']} | {count} |")
    text = f"""# Sources of the definitions

Written by `fetch.py`; `sources.py` has the method for each source. {total} definitions of {len(rows)} packages.
Names, descriptions and schemas are those of the packages, under their licences: the texts are those of `LICENSE-MIT` and
`LICENSE-APACHE` at the root of this repository, with the copyright lines below. The folder that one of them runs in
is `/home/user`. What is `stdio` or `module` is as the server lists it, `langchain` as LangChain writes a tool for OpenAI;
of an `openapi` document, `openapi.py` makes the schema of each operation from those of its parameters and its body.

| package | version | licence | copyright line of the licence | method | definitions |
| --- | --- | --- | --- | --- | --- |
"""
    (HERE / "PROVENANCE.md").write_text(text + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
