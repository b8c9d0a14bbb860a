#!/usr/bin/env bash
# The table of calls, with other packages: floor, framework and peers in one run.
#
# Usage: run.sh [ROW]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=$(cargo metadata --manifest-path "$here/../Cargo.toml" --no-deps --format-version 1 |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
export CARGO_TARGET_DIR=$target

# The packages that a peer consists of, by name and version.
cargo tree --quiet --locked --manifest-path "$here/Cargo.toml" --depth 1 --prefix none |
    grep -E '^(rmcp|tools-rs) ' | sort -u
cargo bench --quiet --locked --manifest-path "$here/Cargo.toml" --bench table -- "$@"
