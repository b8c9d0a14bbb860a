#!/usr/bin/env python3
"""Lists the public API of the published libraries, from the pages that `cargo doc` wrote: `.ci/public-api.py [--write]`.

`.ci/public-api.txt` holds the list: one line for each item, method, variant and field, by its path. Without `--write`,
a difference between the file and the pages is printed and is an error, so that each rename is seen in a diff.
"""

import difflib
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "doc"
LIST = ROOT / ".ci" / "public-api.txt"
CRATES = ["tool_runtime", "tool_cli", "tool_schema", "tool_http"]

ITEM = re.compile(r'<li><a href="([^"]+)">([^<]+)</a></li>')
MEMBER = re.compile(r'id="(method|tymethod|variant|structfield|associatedtype|associatedconstant)\.(\w+)"')
WORDS = {"tymethod": "method", "structfield": "field", "associatedtype": "type", "associatedconstant": "constant"}


def members(page):
    text = page.read_text()
    # Behind it are methods of other types and of traits.
    own = re.split(r'id="(?:deref-methods|trait-implementations)', text)[0]
    return sorted({(WORDS.get(kind, kind), name) for kind, name in MEMBER.findall(own)})


def lines(crate):
    items = ITEM.findall((DOCS / crate / "all.html").read_text())
    root = {path for _, path in items if "::" not in path}
    for href, path in items:
        kind = pathlib.PurePath(href).name.split(".")[0]
        yield f"{crate}::{path} ({kind})"
        # Listed once where the root has it too, and not at all where it is of another crate.
        if ("::" in path and path.split("::")[-1] in root) or path.startswith("prelude::"):
            continue
        for member, name in members(DOCS / crate / href):
            yield f"{crate}::{path}::{name} ({member})"


def main(arguments):
    found = sorted(line for crate in CRATES for line in lines(crate))
    if arguments == ["--write"]:
        LIST.write_text("\n".join(found) + "\n")
        return 0
    listed = LIST.read_text().splitlines()
    difference = list(difflib.unified_diff(listed, found, str(LIST.name), "cargo doc", lineterm="", n=0))
    print("\n".join(difference) or f"{len(found)} lines, as listed")
    if difference:
        print("run `.ci/public-api.py --write` after `cargo doc` with all features, and commit the list")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
