#!/usr/bin/env python3
"""Checks the links of the Markdown files of the repository: files exist, and headings (`#like-this`) are in them.

Pages of the guide link to items and pages as rustdoc does, which checks these links itself. Also checks that README has the
headings and links which users of a framework for tools look for, and its length."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
RUSTDOC = "src/docs/"
# Sections that README must lead to, by itself or by a link to a heading of the guide.
SECTIONS = {
    "security.md": "security notes",
    "security.md#defaults-of-an-executor": "defaults",
    "features_and_limits.md#cargo-features": "Cargo features",
    "features_and_limits.md#limits": "limits",
    "features_and_limits.md#stability": "stability",
    "choices.md": "choices where frameworks disagree",
}
MAX_WORDS = {"README.md": 1200, "ARCHITECTURE.md": 3000}


def slug(heading):
    text = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip())
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def headings(path):
    found, fenced = set(), False
    for line in path.read_text().splitlines():
        fenced ^= line.startswith("```")
        if not fenced and line.startswith("#"):
            found.add(slug(line.lstrip("#")))
    return found


def main():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    wrong = []
    for file in listed.stdout.split():
        path, fenced = ROOT / file, False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            fenced ^= line.lstrip().startswith("```")
            if fenced or RUSTDOC in file:
                continue
            for link in LINK.findall(line):
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                to = (path.parent / target).resolve() if target else path
                if not to.exists():
                    wrong.append(f"{file}:{number}: no such file: {link}")
                elif anchor and anchor not in headings(to):
                    wrong.append(f"{file}:{number}: no such heading: {link}")
    readme = (ROOT / "README.md").read_text()
    wrong += [f"README.md: no link to the {what} ({link})" for link, what in SECTIONS.items() if f"/{link})" not in readme]
    for file, most in MAX_WORDS.items():
        count = len((ROOT / file).read_text().split())
        if count > most:
            wrong.append(f"{file}: {count} words; at most {most}")
    print("\n".join([*wrong, f"{len(wrong)} wrong links"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
