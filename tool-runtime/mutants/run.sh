#!/usr/bin/env bash
# The mutation tests; see the README beside. Takes the options of `src/main.rs`.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$here/../../target}"
# The tests of the stores run over Postgres, too, and those of a fleet over NATS.
. "$("$here/../../.ci/session/install")/environment"
. "$("$here/../../.ci/builtins/install")/environment"
. "$("$here/../../.ci/fleet/install")/environment"
# Without debugging information, the build is a third of its size.
export CARGO_PROFILE_DEV_DEBUG=0
exec nice cargo run --quiet --locked --manifest-path "$here/Cargo.toml" -- "$@"
