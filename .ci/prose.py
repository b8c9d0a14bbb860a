#!/usr/bin/env python3
"""Checks the English of documentation, comments and messages, and the names of items: `.ci/prose.py [path ..]`.

Reports each documentation line that begins with a word of a riddle ("What ..", "Whether ..") and each use of a word or
phrase that has a plain equivalent; and each item whose name is a word that names nothing by itself: a participle (`given`),
a place (`beside`), a question word, or a constant without a quantity (`LONGEST`). Lines listed in `.ci/prose-exceptions.txt` (path, a tab, the text of the line, a tab,
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

# Words that are no name by themselves; `shown_text` is one.
NAMELESS = (
    "akin around asked asking answered argued beside both came carried ended given granted held here how it judged kept late "
    "listed looked made measured odd other others pressed repeated retried routed said shown spare taken that there told "
    "underway used using via wanted way what where which who why written"
).split()
NAMELESS_CONSTANTS = (
    "AGAIN DEEPEST ENOUGH FAR FEW HELD LARGEST LEAST LONGEST MANY MOST NESTED ONCE PARTS PATIENCE ROOM SHORTEST SPARE "
    "STAND_IN TIMES WIDEST"
).split()
# Public names are listed in `.ci/public-api.txt`, and read there.
DEFINED = re.compile(r"^\s*(?:pub\([^)]*\) )?(?:(?:const |async |unsafe )*fn|struct|enum|type|trait|mod) (\w+)")
CONSTANT = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:const|static) (\w+):")
TESTS = re.compile(r"(^|/)(tests|benches|examples|fixtures|ui-tests|fuzz|mutants)(/|\.rs$)")


def nameless(line):
    """The names in `line` of items that a reader outside of the file cannot understand."""
    names = [name for name in DEFINED.findall(line) if words(name) in NAMELESS]
    return names + [name for name in CONSTANT.findall(line) if name in NAMELESS_CONSTANTS]


def words(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


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
            if file.endswith(".rs") and not TESTS.search(file):
                hits += nameless(line)
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
