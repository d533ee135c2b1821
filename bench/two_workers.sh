#!/usr/bin/env bash
# Prints how much more work two workers do than one: the same run with one and with two of them, in turn, wall time,
# median of the rounds.  Only an idle machine with two processors says anything.
#   bench/two_workers.sh [BUILD [ROUNDS [OPS]]]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$here/build/release}
rounds=${2:-5}
ops=${3:-200000}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Seconds of one run with so many workers, from its start to its end.
seconds() {
    local TIMEFORMAT=%R
    { time "$build/cli/hbmstress" run --target hbm --seed 1 --ops "$ops" --workers "$1" --out "$out/run" >"$out/log" 2>&1; } 2>&1 ||
        { cat "$out/log" >&2; exit 1; }
}

for ((round = 0; round < rounds; round++)); do
    one=$(seconds 1)
    two=$(seconds 2)
    awk -v one="$one" -v two="$two" 'BEGIN { printf "%.3f %.2f %.2f\n", one / two, one, two }'
done | sort -n | awk -v load="$(cut -d ' ' -f 1 /proc/loadavg)" '
    { times[NR] = $1; one[NR] = $2; two[NR] = $3 }
    END {
        middle = int((NR + 1) / 2)
        printf "two workers do %.2f times the work of one (median of %d rounds; %.2f to %.2f); %.2f s and %.2f s; the load at the start was %s\n",
               times[middle], NR, times[1], times[NR], one[middle], two[middle], load
    }'
