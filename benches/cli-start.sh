#!/usr/bin/env bash
# How long `weather-cli list` takes, from the start of the process to its end, in both profiles. At most 30 ms.
#
# Usage: cli-start.sh [RUNS]
set -euo pipefail
runs=${1:-50}

cd "$(dirname "$0")/.."
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')

for profile in dev release; do
    cargo build --quiet --profile "$profile" -p examples --bin weather-cli
    folder=$([ "$profile" = dev ] && echo debug || echo release)
    program=$target/$folder/weather-cli
    for ((run = 0; run < runs; run++)); do
        before=$(date +%s%N)
        "$program" list > /dev/null
        after=$(date +%s%N)
        echo $(((after - before) / 1000))
    done | sort -n | awk -v profile="$profile" '
        { took[NR] = $1 }
        END { printf "%-8s least %5.1f ms, median %5.1f ms, most %5.1f ms\n", profile, took[1] / 1000, took[int((NR + 1) / 2)] / 1000, took[NR] / 1000 }'
done
