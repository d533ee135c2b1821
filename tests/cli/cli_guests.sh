#!/usr/bin/env bash
# A target that misbehaves as a guest: the run ends in time, says what it was, prints JSON lines and nothing else, and
# leaves no process behind.
target=$(realpath "$2")
# shellcheck source=tests/cli/shard_common.sh
. "$(dirname "$0")/shard_common.sh"
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# Processes have the environment of the program that they were forked from.
mark=cli_guests.$$.$RANDOM
has_strays() {
    grep -szqlx "CLI_GUESTS=$mark" /proc/[0-9]*/environ
}

has_no_strays() {
    ! has_strays
}

# Whether one of them is a program that the target started, in a session of its own.
has_program() {
    local process
    for process in $(grep -szlx "CLI_GUESTS=$mark" /proc/[0-9]*/environ); do
        [ "$(cat "${process%environ}comm" 2>/dev/null)" = sleep ] && return 0
    done
    return 1
}

guest() { # CODE WAY ARGUMENT...
    local code=$1 way=$2
    shift 2
    rm -rf out
    export CLI_GUESTS=$mark
    expect_exit "$code" run fragmentation_storm --target "$target" --target-option "does=$way" --seed 1 --workers 2 \
        --op-timeout 100ms --shrink-budget 0 --out out --json "$@"
    export CLI_GUESTS=no
    has_no_strays || fail "$way: processes are left"
    jq -e -n 'reduce inputs as $line (true; . and ($line | has("type")))' out.txt >/dev/null || fail "$way: standard output is no JSON lines"
    cmp -s out.txt out/results.jsonl || fail "$way: results.jsonl and standard output differ"
    tail -n 1 out.txt | grep -q '^{"type":"end"' || fail "$way: the run has no end"
}

# What the harness can keep from it does no harm.
for way in close write fork_return clone_return; do
    guest 0 "$way" --ops 600
done
guest 0 fork_twice --ops 600
expect_text err.txt "processes that the target started were still there at the end of a trial; they were killed"
guest 0 flood --ops 600
expect_no_text out.txt "on standard output"
expect_no_text err.txt "on standard error"
[ "$(cat out/output/*.txt | wc -c)" -le 140000 ] || fail "flood: too much is kept"
guest 0 print --ops 3000
[ "$(find out -name '*.txt' | sort)" = "$(grep -o '"output":"[^"]*"' out.txt | cut -d'"' -f4 | sort)" ] || fail "print: the lines do not name the files"
expect_text "$(find out/output -name '*.txt' | head -n 1)" "a line of $(printf '\033')[31mthe target"
# What is kept of the first trials of each part lies in two shards; the merge has what one run has.
print() { # ARGUMENT...
    expect_exit 0 run fragmentation_storm exact_edge --target "$target" --target-option does=print --lanes none --seed 1 \
        --seeds 6 --shrink-budget 0 "$@"
}
print --out one
print --shard 1/2 --out half-1
print --shard 2/2 --out half-2
expect_exit 0 merge half-2 half-1 --out whole
[ "$(find whole/output -name '*.txt' | wc -l)" = 6 ] || fail "merge: not the output of three trials of two parts"
expect_same one whole
GUEST_IS_LOUD=1 guest 0 nothing --ops 600
expect_text err.txt "the target is loaded"

# Everything else is the target's.
for way in close_all write_all; do
    guest 1 "$way" --ops 600
    expect_text out.txt '"signature":"crash: damaged a descriptor of the harness"'
done
for way in sleep spin block stop; do
    SECONDS=0
    guest 1 "$way" --time 1500ms
    expect_text out.txt '"signature":"hang in alloc"'
    [ "$SECONDS" -le 20 ] || fail "$way: a run of 0.3 s took $SECONDS s"
done

# A replay shows what the target prints, and where: not in --json, nor so that it acts on a terminal.
repro=$(find out/repros -name '*.ops' | head -n 1)
expect_exit 0 replay "$repro" --target "$target" --target-option does=print --json
expect_text err.txt 'target: a line of \x1b[31mthe target'
expect_text err.txt 'target: another one'
jq -e -n 'reduce inputs as $line (true; . and ($line | has("type")))' out.txt >/dev/null || fail "replay: standard output is no JSON lines"
expect_exit 1 replay "$repro" --target "$target" --target-option does=close_all --json
expect_text out.txt '"signature":"crash: damaged a descriptor of the harness"'

# Children that the program had before are not the target's.
bash -c 'sleep 600 & echo "$!" >before; exec "$@"' bash "$hbmstress" run fragmentation_storm --target "$target" \
    --target-option does=fork --seed 1 --ops 600 --out before-out >/dev/null 2>&1
kill "$(cat before)" || fail "a child of before was killed"

# Not even SIGKILL leaves what the target started, in whatever session it is.
CLI_GUESTS=$mark "$hbmstress" run fragmentation_storm --target "$target" --target-option does=leave --seed 1 --workers 1 \
    --op-timeout 1h --out killed >/dev/null 2>&1 &
run=$!
disown "$run"
wait_until has_program
kill -KILL "$run" 2>/dev/null
wait_until has_no_strays
finish
