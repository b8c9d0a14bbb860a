#!/usr/bin/env python3
"""Checks `RENAMES.tsv`, or completes it: `.ci/renames.py [--write]`.

Each line has an old path or public name, a tab, and the new one (`-` if it has no successor). A path that ends in `/` stands
for all files below it that kept their place within. Complete: each file of the first tree that is gone, and each public item of
its `.ci/public-api.txt` that is gone, has a line, and each new path exists. `--write` adds the files that `git` recognizes.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "RENAMES.tsv"
# The tree before the renames.
FIRST = "aa3e82a"
API = ".ci/public-api.txt"


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def entries():
    if not LIST.exists():
        return {}
    lines = [line.split("\t") for line in LIST.read_text().splitlines() if line]
    for number, fields in enumerate(lines, 1):
        if len(fields) != 2:
            sys.exit(f"{LIST.name}:{number}: expected two fields, separated by a tab")
    return dict(lines)


def successor(path, renamed):
    """The new place of `path`, by its own line or by that of a folder above it."""
    if path in renamed:
        return renamed[path]
    for folder in pathlib.PurePosixPath(path).parents:
        if f"{folder}/" in renamed:
            return renamed[f"{folder}/"] + path[len(str(folder)) + 1 :]
    return None


def gone_paths():
    now = set(git("ls-files").splitlines())
    return [path for path in git("ls-tree", "-r", "--name-only", FIRST).splitlines() if path not in now], now


def is_part_of(name, item):
    """Returns whether `name` is the path `item`, or whole segments of it: the item itself, or a type that has it."""
    return f"::{name}::" in f"::{item}::"


def write(renamed):
    gone, _ = gone_paths()
    moved = {}
    for line in git("diff", "-M35%", "-l5000", "--diff-filter=R", "--name-status", FIRST).splitlines():
        _, old, new = line.split("\t")
        moved[old] = new
    for path in gone:
        known = successor(path, renamed)
        if known is None or (known != "-" and not (ROOT / known).exists()):
            renamed[path] = moved.get(path, "-")
    LIST.write_text("".join(f"{old}\t{new}\n" for old, new in sorted(renamed.items())))


def main(arguments):
    if subprocess.run(["git", "cat-file", "-e", FIRST], cwd=ROOT, capture_output=True).returncode:
        print(f"not checked: the clone has no commit {FIRST}")
        return 0
    renamed = entries()
    if "--write" in arguments:
        write(renamed)
        renamed = entries()
    gone, now = gone_paths()
    wrong = []
    for path in gone:
        new = successor(path, renamed)
        if new is None:
            wrong.append(f"{path} is gone, and has no line")
        elif new != "-" and new not in now:
            wrong.append(f"{path}: {new} does not exist")
    old_items = set(git("show", f"{FIRST}:{API}").splitlines())
    items = set((ROOT / API).read_text().splitlines())
    names = {old for old in renamed if "/" not in old}
    for item in sorted(old_items - items):
        if not any(is_part_of(name, item.split(" (")[0]) for name in names):
            wrong.append(f"the public item `{item}` is gone, and has no line")
    print("\n".join([*wrong, f"{len(renamed)} renames, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
