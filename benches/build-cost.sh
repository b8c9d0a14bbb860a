#!/usr/bin/env bash
# What the build of many tools costs, against the same functions without the framework.
#
#   tools    parameter lists with `#[tool]`
#   by-hand  argument structs with the derives of `serde` and `schemars`, in a table that calls and
#            describes each function: what a person writes without the framework
#   unused   the same structs and functions, which nobody calls: the derives alone
#
# Dependencies are built beforehand. Each crate is a library in the dev profile, so that linking,
# which is the same for all, stays out. User and system seconds; of several runs in turns the least.
#
# Usage: build-cost.sh [TOOLS [RUNS]]
set -euo pipefail
count=${1:-500} runs=${2:-5}
flavours=(tools by-hand unused)

here=$(cd "$(dirname "$0")" && pwd)
target=$(cargo metadata --manifest-path "$here/Cargo.toml" --no-deps --format-version 1 |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
work=$target/build-cost
export CARGO_TARGET_DIR=$work/target CARGO_INCREMENTAL=0
rm -rf "$work/crates"
mkdir -p "$work/crates"
cp "$here/../Cargo.lock" "$work/crates/"
cat > "$work/crates/Cargo.toml" <<MANIFEST
[workspace]
resolver = "3"
members = ["tools", "by-hand", "unused"]

[workspace.dependencies]
schemars = { version = "1.2", features = ["preserve_order"] }
serde = { version = "1", features = ["derive"] }
serde_json = { version = "1", features = ["float_roundtrip", "preserve_order", "raw_value"] }
tool-runtime = { path = "$here/../tool-runtime" }

[profile.dev]
debug = "line-tables-only"
MANIFEST

generate() {
    cargo run --quiet --manifest-path "$here/Cargo.toml" --target-dir "$target" --bin generate -- "$@"
}

for flavour in "${flavours[@]}"; do
    mkdir -p "$work/crates/$flavour/src"
    generate "$flavour" "$count" > "$work/crates/$flavour/src/lib.rs"
    {
        printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\n' "$flavour"
        if [ "$flavour" = tools ]; then
            echo 'tool-runtime.workspace = true'
        else
            printf '%s.workspace = true\n' schemars serde serde_json
        fi
    } > "$work/crates/$flavour/Cargo.toml"
done
cd "$work/crates"

# User and system seconds of a build of the crate alone.
seconds() {
    touch "$1/src/lib.rs"
    local TIMEFORMAT='%U %S'
    { time cargo build --quiet --offline -p "$1" 2> /dev/null; } 2>&1 | awk '{ printf "%.2f", $1 + $2 }'
}

declare -A least
for flavour in "${flavours[@]}"; do
    cargo build --quiet -p "$flavour"
done
for ((run = 1; run <= runs; run++)); do
    for flavour in "${flavours[@]}"; do
        took=$(seconds "$flavour")
        least[$flavour]=$(awk -v a="${least[$flavour]:-999999}" -v b="$took" 'BEGIN { print (a + 0 < b + 0) ? a : b }')
    done
done

echo "$count tools, CPU seconds of the least of $runs builds"
for flavour in "${flavours[@]}"; do
    printf '%-8s %7.2f s  %5.1f MB\n' "$flavour" "${least[$flavour]}" \
        "$(stat -c %s "$CARGO_TARGET_DIR/debug/lib${flavour//-/_}.rlib" | awk '{ print $1 / 1e6 }')"
done
awk -v a="${least[tools]}" -v b="${least[by-hand]}" -v c="${least[unused]}" \
    'BEGIN { printf "tools / by-hand %.2f (at most 1.2)\ntools / unused  %.2f\n", a / b, a / c }'
