#!/usr/bin/env bash
# bench/speed writes the tables that it was asked for into the page, and nothing else; two builds get columns of their own; what
# is wrong is told before anything is written.
#
#     tests/ci/bench_speed.sh TREE BUILD
set -u
tree=$(realpath "$1")
build=$(realpath "$2")
# shellcheck source=tests/ci/bench_common.sh
. "$tree/tests/ci/bench_common.sh"

rows() { # EXTENDED-REGEX FILE: how many lines match
    grep -cE -- "$1" "$2"
}

for table in steady near_full packing; do
    printf '%s\n' "before $table" "<!-- bench/speed $table: begin -->" "old $table" "<!-- bench/speed $table: end -->"
done >page.md
echo behind >>page.md
runs 0 "$tree/bench/speed" steady near_full --quick --page page.md --now "$build" --before "$build"
says '| an op of | 10: before ns | 10: now ns | 100: before ns | 100: now ns |' page.md
[ "$(rows '^\| `(libhbm|null-checked)` (\| [0-9]+ / [0-9]+ ){4}\|$' page.md)" = 2 ] || fail "no times: $(cat page.md)"
says '| 70 % before | 70 % now | 95 % before |' page.md
[ "$(rows '^\| (10|100) \| hbm \| (raw|checked) \|( [0-9,]+ / [0-9,]+ \|){6} [0-9.]+ x \| [0-9.]+ x \|$' page.md)" = 4 ] || fail "no cells: $(cat page.md)"
[ "$(rows '^\| (10|100) \| null \| (raw|checked) \|( [0-9,]+ / [0-9,]+ \|){2}  \|' page.md)" = 4 ] || fail "the null target is never full: $(cat page.md)"
[ "$(rows '^(old packing|before (steady|near_full|packing)|behind)$' page.md)" = 5 ] || fail "the page around the tables: $(cat page.md)"
[ "$(rows '^old (steady|near_full)$' page.md)" = 0 ] || fail "the old tables are still there: $(cat page.md)"
if grep -qF "$build" page.md; then fail "names of this machine in the page: $(cat page.md)"; fi

# One build: no columns for another one.
runs 0 "$tree/bench/speed" near_full --quick --page page.md --now "$build"
says '| live | target | what | 70 % now | 95 % now | 99 % now | 99 / 70 now |' page.md

cp page.md same.md
runs 2 "$tree/bench/speed" steady other --quick --page page.md --now "$build"
says 'there is no table other' err.txt
runs 2 "$tree/bench/speed" workers --quick --page page.md --now "$build"
says 'it must have the marks' err.txt
runs 2 "$tree/bench/speed" --quick --page page.md
runs 2 "$tree/bench/speed" steady --quick --now "$build"
runs 2 "$tree/bench/near_full" --steps 0 "$build/cli/hbmstress"
runs 4 "$tree/bench/speed" near_full --quick --page page.md --now "$work"
says 'cannot run' err.txt
cmp -s page.md same.md || fail "the page was changed: $(cat page.md)"
runs 2 "$tree/bench/near_full" "$build/cli/hbmstress" "$build/cli/hbmstress"
runs 2 "$tree/bench/near_full" "$build/cli/hbmstress" --live many

# Each table has a place in the page.
"$tree/bench/speed" --list | while read -r table _; do
    [ "$(rows "^<!-- bench/speed $table: (begin|end) -->$" "$tree/docs/speed.md")" = 2 ] || echo "$table"
done >missing.txt
[ ! -s missing.txt ] || fail "no place in docs/speed.md: $(cat missing.txt)"

runs 0 "$tree/bench/workers" now="$build/cli/hbmstress" --scenarios deep_queue --seeds 2 --rounds 1
[ "$(rows '^\| `deep_queue` \| now \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \|$' out.txt)" = 1 ] || fail "no workers: $(cat out.txt)"
runs 4 "$tree/bench/workers" "$build/cli/hbmstress" --scenarios other
[ "$failures" = 0 ]
