#!/usr/bin/env bash
# What the C library keeps for ended threads is nobody's leak, however many stacks it keeps; a byte that a target loses
# in each run is one, in whichever thread it does so.
#
#     tests/targets/threads_memory.sh HBMSTRESS REAPER.so LOSES_NOTHING.so LOSES_IN_OPEN.so LOSES_IN_THREAD.so
set -euo pipefail
hbmstress=$1
reaper=$2
loses_nothing=$3
shift 3

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# run_lanes STACK_KIB TARGET LANES SCHEDULES: prints the lines of the findings and returns the program's exit code.
run_lanes() (
    if ! ulimit -S -s "$1"; then
        echo "the stack limit $1 is refused" >&2
        exit 77
    fi
    "$hbmstress" run queued_free_race --target "$2" --lanes "$3" --schedules "$4" --ops 1000 --seed 1 --out "$out/run" \
        --json | { grep '"type":"broken"' || true; }
    exit "${PIPESTATUS[0]}"
)

for stack in 512 8192 unlimited; do
    if ! (ulimit -S -s "$stack") 2>/dev/null; then
        echo "the stack limit $stack is not allowed here"
        continue
    fi
    for target in "$reaper" "$loses_nothing"; do
        for lanes in 2 3 4; do
            run_lanes "$stack" "$target" "$lanes" 20 || {
                echo "$target, $lanes lanes, stack limit $stack: exit code $?" >&2
                exit 1
            }
        done
    done
    for leaky in "$@"; do
        code=0
        found=$(run_lanes "$stack" "$leaky" 3 5) || code=$?
        if [[ $code != 1 || $found != *'"rule":"host_memory"'* ]]; then
            echo "$leaky, stack limit $stack: exit code $code, $found" >&2
            exit 1
        fi
    done
done
# Without lanes its threads are the system's.
"$hbmstress" run queued_free_race --lanes none --target "$loses_nothing" --ops 500 --seed 1 --out "$out/plain"
code=0
"$hbmstress" run queued_free_race --lanes none --target "$2" --ops 500 --seed 1 --out "$out/plain" >"$out/text" || code=$?
if [[ $code != 1 ]] || ! grep -q 'host_memory' "$out/text"; then
    cat "$out/text" >&2
    exit 1
fi
