#!/usr/bin/env bash
# The cost of building a program with one tool from clean, with default features and without any (the heart),
# compared with the same program on the packages that it cannot do without.
#
# Usage: weight.sh [RUNS]
set -euo pipefail
runs=${1:-2}

here=$(cd "$(dirname "$0")" && pwd)
target=$(cargo metadata --manifest-path "$here/Cargo.toml" --no-deps --format-version 1 |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
work=$target/weight
export CARGO_TARGET_DIR=$work/target CARGO_INCREMENTAL=0
rm -rf "$work/crates"
mkdir -p "$work/crates"/{tool,heart,floor}/src
cp "$here/../Cargo.lock" "$work/crates/"
cat > "$work/crates/Cargo.toml" <<MANIFEST
[workspace]
resolver = "3"
members = ["tool", "heart", "floor"]

[profile.dev]
debug = "line-tables-only"
MANIFEST

cat > "$work/crates/tool/Cargo.toml" <<MANIFEST
[package]
name = "tool"
version = "0.0.0"
edition = "2024"

[dependencies]
tokio = { version = "1", default-features = false, features = ["rt", "sync", "time", "macros"] }
tool-runtime = { path = "$here/../tool-runtime" }
MANIFEST
cat > "$work/crates/tool/src/main.rs" <<'SOURCE'
use tool_runtime::prelude::*;

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = Registry::builder().discover().build()?;
    println!("{}", tools.call("add", r#"{"a": 2, "b": 3}"#).await?.text());
    Ok(())
}
SOURCE

sed -e 's/^name = "tool"/name = "heart"/' -e '/^tool-runtime/s/ }$/, default-features = false }/' \
    "$work/crates/tool/Cargo.toml" > "$work/crates/heart/Cargo.toml"
cp "$work/crates/tool/src/main.rs" "$work/crates/heart/src/"

cat > "$work/crates/floor/Cargo.toml" <<MANIFEST
[package]
name = "floor"
version = "0.0.0"
edition = "2024"

[dependencies]
inventory = "0.3"
schemars = "1.2"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
tokio = { version = "1", default-features = false, features = ["rt", "sync", "time", "macros"] }
MANIFEST
cat > "$work/crates/floor/src/main.rs" <<'SOURCE'
use std::{future::Future, pin::Pin};

type Answer<'a> = Pin<Box<dyn Future<Output = serde_json::Result<String>> + 'a>>;

struct Tool {
    name: &'static str,
    schema: fn() -> schemars::Schema,
    call: for<'a> fn(&'a str) -> Answer<'a>,
}

inventory::collect!(Tool);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

async fn add(args: Add) -> i64 {
    args.a + args.b
}

inventory::submit! {
    Tool {
        name: "add",
        schema: || schemars::schema_for!(Add),
        call: |text| Box::pin(async move { serde_json::to_string(&add(serde_json::from_str(text)?).await) }),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    for tool in inventory::iter::<Tool> {
        println!("{} {:?} {}", tool.name, (tool.schema)(), (tool.call)(r#"{"a": 2, "b": 3}"#).await?);
    }
    Ok(())
}
SOURCE
cd "$work/crates"
cargo fetch --quiet

seconds() {
    rm -rf "$CARGO_TARGET_DIR"
    local TIMEFORMAT='%U %S'
    { time cargo build --quiet --offline -p "$1" 2> /dev/null; } 2>&1 | awk '{ printf "%.2f", $1 + $2 }'
}

crates() {
    cargo tree --quiet --offline -p "$1" -e normal --prefix none --no-dedupe --format '{p}' | sort -u | wc -l
}

declare -A least
for ((run = 1; run <= runs; run++)); do
    for program in tool heart floor; do
        took=$(seconds "$program")
        least[$program]=$(awk -v a="${least[$program]:-999999}" -v b="$took" 'BEGIN { print (a + 0 < b + 0) ? a : b }')
    done
done

echo "one tool from clean, CPU seconds of the least of $runs builds"
for program in tool heart floor; do
    printf '%-6s %7.2f s  %3d crates\n' "$program" "${least[$program]}" "$(crates "$program")"
done
awk -v tool="${least[tool]}" -v heart="${least[heart]}" -v floor="${least[floor]}" \
    'BEGIN { printf "tool / floor %.2f, heart / floor %.2f\n", tool / floor, heart / floor }'
