#!/usr/bin/env bash
# What a run with --time does with a target that misbehaves as a guest, one row for each way of it: how long it took, how
# it exited, what it reported, whether --json was JSON lines and nothing else, and which processes stayed.
# Usage: guests_table.sh HBMSTRESS test_cli_guest_target.so [SECONDS [WAY...]]; GUESTS_OPTIONS has more options of run.
set -u
hbmstress=$(realpath "$1")
target=$(realpath "$2")
seconds=${3:-5}
shift $(($# < 3 ? $# : 3))
ways=("$@")
[ ${#ways[@]} -gt 0 ] || ways=(nothing sleep spin block stop fork fork_twice fork_return clone_return flood print
    close close_all write write_all fill)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# Processes have the environment of the program that they were forked from.
export GUESTS_TABLE=$$.$RANDOM
find_strays() {
    local process
    for process in /proc/[0-9]*; do
        grep -szqx "GUESTS_TABLE=$GUESTS_TABLE.run" "$process/environ" && basename "$process"
    done
}

row() { # WAY
    local before after code pure strays reported
    before=$(date +%s.%N)
    # The bound on files stands for a full disk.
    (
        ulimit -f 65536
        GUESTS_TABLE=$GUESTS_TABLE.run exec "$hbmstress" run fragmentation_storm --target "$target" \
            --target-option "does=$1" --seed 1 --workers 2 --time "${seconds}s" --op-timeout 1s --results-limit 1M --out "out-$1" --json \
            ${GUESTS_OPTIONS:-}
    ) 2>"$1.err" > >(cat >"$1.json") & # no file of the program's own
    wait $!
    code=$?
    wait
    after=$(date +%s.%N)
    strays=$(find_strays | tr '\n' ' ')
    [ -z "$strays" ] || kill -KILL $strays
    pure=no
    if jq -e -n 'reduce inputs as $line (true; . and ($line | has("type")))' "$1.json" >/dev/null 2>&1; then
        pure=yes
    fi
    reported=$(grep -ao '"type":"broken".*' "$1.json" | grep -ao '"signature":"[^"]*"' | sort -u | cut -d'"' -f4 | paste -sd';')
    [ -n "$reported" ] || reported=$(head -n 1 "$1.err" | cut -c 1-70)
    printf '%-13s %6.1f %5d  %-4s  %-7s %s\n' "$1" "$(echo "$after - $before" | bc)" "$code" "$pure" "${strays:-none}" "${reported:--}"
    rm -f filled
}

printf '%-13s %6s %5s  %-4s  %-7s %s\n' way seconds exit json strays reported
for way in "${ways[@]}"; do
    row "$way"
done
