#!/usr/bin/env bash
# Prints what share of a stress run's time goes to judging: the same seeds and ops with the real judges and with judges
# that cost nothing, in turn, processor time of the workers, median of the rounds.
#   bench/judging_share.sh [BUILD [ROUNDS [OPS]]]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$here/build/release}
rounds=${2:-5}
ops=${3:-200000}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Seconds of processor time of one run.
seconds() {
    local TIMEFORMAT=%U
    { time "$1" run --target hbm --faults none --lanes none --seed 1 --ops "$ops" --workers 1 --replay-sample 0 --out "$out/run" >"$out/log" 2>&1; } 2>&1 ||
        { cat "$out/log" >&2; exit 1; }
}

for ((round = 0; round < rounds; round++)); do
    judged=$(seconds "$build/cli/hbmstress")
    unjudged=$(seconds "$build/bench/hbmstress_unjudged")
    awk -v judged="$judged" -v unjudged="$unjudged" 'BEGIN { printf "%.1f %.2f\n", 100 * (1 - unjudged / judged), judged }'
done | sort -n | awk '
    { share[NR] = $1; judged[NR] = $2 }
    END {
        middle = int((NR + 1) / 2)
        printf "judging takes %.1f %% of the processor time (median of %d rounds; %.1f to %.1f %%); a run takes %.2f s\n",
               share[middle], NR, share[1], share[NR], judged[middle]
    }'
