#!/usr/bin/env bash
# The op that a run, a sweep or a search of schedules names is an op of the repro that it names: the one that replay and
# explain name, and the last one of the file.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# The op of a line of JSON.
op_of() { sed -n 's/.*"op":\([0-9]*\).*/\1/p' "$1"; }

# check_repros FILE: each line of FILE that has a repro names an op of it.
check_repros() {
    local line repro op count=0
    while read -r line; do
        repro=$(sed -n 's/.*"repro":"\([^"]*\)".*/\1/p' <<<"$line")
        op=$(sed -n 's/.*"op":\([0-9]*\).*/\1/p' <<<"$line")
        [ -e "$repro" ] || continue # a shorter one was found later
        count=$((count + 1))
        grep -q "^$op: " "$repro" || fail "$repro has no op $op: $line"
        "$hbmstress" replay "$repro" --json >replay.txt 2>err.txt
        grep '"signature"' replay.txt | head -n 1 >shown.txt
        [ "$(op_of shown.txt)" = "$op" ] || fail "run says op $op of $repro, and replay op $(op_of shown.txt)"
        grep -qF "$(sed -n 's/.*\("reason":"[^"]*"\).*/\1/p' <<<"$line")" shown.txt ||
            fail "run and replay have other reasons: $line $(cat shown.txt)"
    done < <(grep '"repro"' "$1" | grep '"signature"\|"fault"\|"phase"')
    [ "$count" -gt 0 ] || fail "$1 names no repro: $(head -c 300 "$1")"
}

# Lists that were shrunk: the op in the trial was another one.
expect_exit 1 run fragmentation_storm --target plant_premature_undrained --capacity 64M --seed 1 --seeds 1 --ops 800 --out out
mv out shrunk
grep '^BROKEN' out.txt >titles.txt
repro=$(echo shrunk/repros/premature-*.ops)
[ "$(sed -n 's/^BROKEN premature: op \([0-9]*\),.*/\1/p' titles.txt)" = "$(sed -n 's/^\([0-9]*\): .*/\1/p' "$repro" | tail -n 1)" ] ||
    fail "the terminal does not name the last op of $repro: $(cat titles.txt)"
expect_exit 1 explain "$repro"
expect_text out.txt "op $(sed -n 's/^BROKEN premature: op \([0-9]*\),.*/\1/p' titles.txt): alloc"
expect_text shrunk/summary.json "\"reason\":\"$(sed -n 's/^# reason: //p' "$repro")\""
expect_text shrunk/junit.xml "message=\"$(sed -n 's/^# reason: //p' "$repro")\""
expect_exit 1 run fragmentation_storm --target plant_overlap --seed 1 --seeds 1 --ops 800 --out overlap
check_repros overlap/results.jsonl
# With lanes, and lists that were not shrunk.
expect_exit 1 run queued_free_race --lanes 3 --target race_limit_checked --seed 1 --seeds 1 --schedules 10 --shrink-budget 200 --out lanes
check_repros lanes/results.jsonl
expect_exit 1 run fragmentation_storm --target plant_overlap --seed 1 --seeds 1 --ops 800 --shrink-budget 0 --out whole
check_repros whole/results.jsonl

# A sweep.
expect_exit 1 run eviction_pressure --sweep --target plant_premature_defragmented_once --ops 120 --seed 1 --capacity 64M --json \
    --shrink-budget 200 --out swept
grep '"repro"' out.txt >swept.txt
[ -s swept.txt ] || fail "the sweep has no repro: $(tail -n 2 out.txt)"
while read -r line; do
    repro=$(sed -n 's/.*"repro":"\([^"]*\)".*/\1/p' <<<"$line")
    op=$(sed -n 's/.*"op":\([0-9]*\).*/\1/p' <<<"$line")
    [ "$(sed -n 's/^\([0-9]*\): .*/\1/p' "$repro" | tail -n 1)" = "$op" ] || fail "the sweep says op $op of $repro"
done <swept.txt

# A search that keeps no repro speaks of the file that it was given.
{
    printf 'hbmstress-ops 1\ncapacity 4K\ngranule 512\ntarget race_limit_checked\n'
    for i in 0 1 2 3 4 5 6 7; do
        echo "$i: alloc size=512 lane=$((i % 3))"
    done
} >lanes.ops
search=(replay lanes.ops --strategy pct=3 --schedules 20 --seed 3 --json)
expect_exit 1 "${search[@]}" --out searched
cp out.txt searched.jsonl
check_repros searched.jsonl
expect_exit 1 "${search[@]}" --shrink-budget 0 --out unshrunk
grep '"type":"broken"' out.txt | sed 's/,"repro".*//' >with.txt
expect_exit 1 "${search[@]}"
grep '"type":"broken"' out.txt | sed 's/}$//' >without.txt
cmp -s with.txt without.txt || fail "without --out it is another op: $(cat with.txt without.txt)"
finish
