#!/usr/bin/env python3
"""Checks the English of documentation, comments and messages: `.ci/prose.py [path ..]`.

Reports each documentation line that begins with a word of a riddle ("What ..", "Whether ..") and each use of a word or
phrase that has a plain equivalent. Lines listed in `.ci/prose-exceptions.txt` (path, a tab, the text of the line, a tab,
the reason) are allowed; an entry that no longer matches a line is an error.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / ".ci" / "prose-exceptions.txt"

OPENING = re.compile(r"^\s*(?:///|//!)\s*(?:[-*] )?(What|Who|Whether|How|That|Which|Where|Nobody|Somebody)\b")
OPENING_MD = re.compile(r"^\s*(?:[-*] |#+ )?(What|Who|Whether|How|That|Which|Where|Nobody|Somebody)\b")
PHRASE = re.compile(
    r"(?<![A-Za-z])(nobody|somebody|whoever|is[ _]told|are[ _]told|that[ _]of|says[ _]whether)(?![A-Za-z])", re.IGNORECASE
)


def exceptions():
    if not EXCEPTIONS.exists():
        return {}
    entries = {}
    for number, line in enumerate(EXCEPTIONS.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 3 or not all(field.strip() for field in fields):
            sys.exit(f"{EXCEPTIONS.name}:{number}: expected path, text and reason, separated by tabs")
        entries[(fields[0], fields[1].strip())] = number
    return entries


def files(paths):
    listed = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return [it for it in listed.stdout.split() if it.endswith((".rs", ".md")) and (ROOT / it).exists()]


def main(paths):
    allowed, used, found = exceptions(), set(), []
    for file in files(paths):
        opening = OPENING if file.endswith(".rs") else OPENING_MD
        fenced = False
        for number, line in enumerate((ROOT / file).read_text().splitlines(), 1):
            fenced ^= file.endswith(".md") and line.lstrip().startswith("```")
            hits = [] if fenced else opening.findall(line)
            hits += PHRASE.findall(line)
            key = (file, line.strip())
            if hits and key in allowed:
                used.add(key)
            elif hits:
                found.append(f"{file}:{number}: {', '.join(hits)}: {line.strip()}")
    print("\n".join(found + [f"{len(found)} lines"]))
    stale = [] if paths else [key for key in allowed if key not in used]
    for file, text in stale:
        print(f"{EXCEPTIONS.name}:{allowed[file, text]}: no such line any more: {file}: {text}")
    return 1 if found or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
