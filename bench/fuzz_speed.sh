#!/usr/bin/env bash
# Prints how many executions fuzz_ops makes in a second of processor time: lists of about 150 ops of every scenario, each
# played again and again without changing it, median of the rounds.  Several programs are measured in turn.
#
#     bench/fuzz_speed.sh [--instructions] FUZZ_INPUT FUZZ_OPS... [-- ROUNDS [RUNS]]
#
# FUZZ_INPUT: the program that makes inputs.  ROUNDS: 5.  RUNS: how often each list is played, 100.  To read the file of
# a list again is part of each execution.  --instructions: valgrind counts those of an execution instead; no load of a
# machine changes them.
set -euo pipefail
counts=seconds
if [[ ${1-} == --instructions ]]; then
    counts=instructions
    shift
fi
if (($# < 2)); then
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
fuzz_input=$1
shift
programs=()
while (($# > 0)) && [[ $1 != -- ]]; do
    programs+=("$1")
    shift
done
rounds=${2:-5} runs=${3:-100}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/all" "$scratch/lists"
"$fuzz_input" scenarios "$scratch/all" 30 >"$scratch/log"
for input in "$scratch"/all/*; do
    count=$("$fuzz_input" to-ops "$input" | grep -c '^[0-9]*: ') || true
    if ((count >= 145 && count <= 155)); then
        mv "$input" "$scratch/lists/"
    fi
done
lists=("$scratch"/lists/*)

# Seconds of processor time, in the kernel as well.
seconds() { # PROGRAM RUNS
    local TIMEFORMAT='%U %S'
    { time "$1" -runs="$2" -entropic=0 -use_counters=0 "${lists[@]}" >"$scratch/log" 2>&1; } 2>&1 |
        awk '{ print $1 + $2 }'
}

# Valgrind 3.19 gives up on the debug information of clang.
instructions() { # PROGRAM RUNS
    strip -o "$scratch/stripped" "$1"
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$scratch/stripped" -runs="$2" -entropic=0 \
        -use_counters=0 "${lists[@]}" 2>&1 | sed -n 's/.*refs: *//p' | tr -d ,
}

if [[ $counts == instructions ]]; then
    for program in "${programs[@]}"; do
        count=$((($(instructions "$program" 11) - $(instructions "$program" 1)) / 10 / ${#lists[@]}))
        echo "$program: $count instructions for each execution (${#lists[@]} lists of 145 to 155 ops)"
    done
    exit 0
fi

for ((round = 0; round < rounds; round++)); do
    for i in "${!programs[@]}"; do
        echo "$(seconds "${programs[i]}" "$((runs + 1))") $(seconds "${programs[i]}" 1)" >>"$scratch/seconds$i"
    done
done
for i in "${!programs[@]}"; do
    awk -v count="$((runs * ${#lists[@]}))" '{ print count / ($1 - $2) }' "$scratch/seconds$i" | sort -n |
        awk -v program="${programs[i]}" -v lists="${#lists[@]}" '
            { rate[NR] = $1 }
            END {
                printf "%s: %.0f executions in a second of processor time (%.0f to %.0f; %d lists of 145 to 155 ops)\n",
                       program, rate[int((NR + 1) / 2)], rate[1], rate[NR], lists
            }'
done
