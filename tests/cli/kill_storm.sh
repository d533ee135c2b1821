#!/usr/bin/env bash
# kill_storm.sh HBMSTRESS [COUNT]: a campaign with findings is ended COUNT times (default 12) at random moments: by
# SIGKILL, SIGTERM, SIGINT, SIGSTOP of the program or of a worker, or a disk that is full; and goes on each time.  What
# it leaves in the end is what an undisturbed run leaves, byte for byte but for times, and nothing else.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
count=${2:-12}
RANDOM=${KILL_STORM_SEED:-7}
campaign=(run fragmentation_storm queued_free_race eviction_pressure --target plant_premature_evicted_once
    --target-option with=plant_counters --seed 2 --ops "${KILL_STORM_OPS:-9000}" --workers 2)

# What is left of it, without times and without the name of its folder.
essence() {
    (cd "$1" && find . -type f ! -name campaign ! -name checkpoint | sort)
    (cd "$1" && find . -type f \( -name '*.jsonl' -o -name '*.ops' -o -path './certificates/*' \) | sort | xargs cat) |
        sed "s/\"seconds\":[0-9.]*//; s#$1/#OUT/#g"
}
wait_a_bit() { sleep "0.$((RANDOM % 10))$((RANDOM % 10))"; }

"$hbmstress" "${campaign[@]}" --out whole >out.txt 2>err.txt || [ $? = 1 ] || fail "undisturbed: $(cat err.txt)"
essence whole >whole.txt

declare -A ends
command=("${campaign[@]}" --out hit)
for ((i = 0; i < count; i++)); do
    way=$((RANDOM % 6))
    if [ "$way" = 5 ]; then # the largest file that it may write, in KiB
        size=$(($(stat -c %s hit/results.jsonl 2>/dev/null || echo 0) / 1024 + RANDOM % 100))
        (ulimit -f "$size" && exec "$hbmstress" "${command[@]}") >out.txt 2>err.txt
    else
        "$hbmstress" "${command[@]}" >out.txt 2>err.txt &
        process=$!
        wait_a_bit
        case $way in
        0) kill -KILL "$process" ;;
        1) kill -TERM "$process" ;;
        2) kill -INT "$process" ;;
        3)
            kill -STOP "$process"
            wait_a_bit
            kill -CONT "$process"
            wait_a_bit
            kill -KILL "$process"
            ;;
        4)
            for child in $(cat "/proc/$process/task/$process/children"); do
                [ $((RANDOM % 2)) = 0 ] || kill -STOP "$child"
            done
            wait_a_bit
            kill -TERM "$process"
            ;;
        esac 2>/dev/null
        wait "$process" 2>/dev/null
    fi
    code=$?
    [ -z "${KEEP:-}" ] || { echo "== $i way $way code $code"; cat out.txt err.txt; } >>"$KEEP/log"
    ends["$way:$code"]=$((${ends["$way:$code"]:-0} + 1))
    [ ! -s hit/checkpoint ] || command=(run --resume hit --workers $((RANDOM % 3 + 1)))
    # One that came to its end begins anew.
    if [ -s hit/summary.json ] && ! grep -q '"interrupted":true' hit/summary.json; then
        essence hit >hit.txt
        cmp -s whole.txt hit.txt || fail "after $((i + 1)) ends: $(diff whole.txt hit.txt | head -n 4 | cut -c 1-300)"
        [ -z "${KEEP:-}" ] || cp -r hit "$KEEP/hit-$i"
        rm -rf hit
        command=("${campaign[@]}" --out hit)
    fi
done
"$hbmstress" "${command[@]}" >out.txt 2>err.txt
essence hit >hit.txt
cmp -s whole.txt hit.txt || fail "in the end: $(diff whole.txt hit.txt | head -n 4 | cut -c 1-300)"
echo "$count ends, as way:exit=count (0 KILL, 1 TERM, 2 INT, 3 STOP and KILL, 4 STOP of workers and TERM, 5 full disk):" \
    "$(for key in "${!ends[@]}"; do echo "$key=${ends[$key]}"; done | sort | tr '\n' ' ')"
finish
