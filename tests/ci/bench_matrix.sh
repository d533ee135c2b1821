#!/usr/bin/env bash
# bench/matrix: a small part is measured once and not again, another seed or an unknown name is refused, and the page says who
# found what; bench/robson writes its tables and its chart.
#
#     tests/ci/bench_matrix.sh TREE HBMSTRESS
set -u
tree=$(realpath "$1")
hbmstress=$(realpath "$2")
# shellcheck source=tests/ci/bench_common.sh
. "$tree/tests/ci/bench_common.sh"

# Any scenario finds a block that is too large; one of these two finds an ignored alignment so soon.
small=(--generators deep_programs,exact_edge --ops 400 --deepen 1)
runs 0 "$tree/bench/matrix/measure" "$hbmstress" --plants plant_misaligned "${small[@]}"
says 'plant_misaligned,misaligned,deep_programs,400,ops,,' out-matrix/cells.csv
grep -qE '^plant_misaligned,misaligned,exact_edge,400,ops,[0-9]+,$' out-matrix/cells.csv || fail "not found: $(cat out-matrix/cells.csv)"
cp out-matrix/cells.csv first.csv
runs 0 "$tree/bench/matrix/measure" "$hbmstress" --plants plant_misaligned,plant_too_large "${small[@]}" --jobs 2
[ "$(wc -l <out-matrix/cells.csv)" = 6 ] || fail "not four rows: $(cat out-matrix/cells.csv)"
head -n 4 out-matrix/cells.csv | cmp -s - first.csv || fail "rows that were there were measured again"
runs 2 "$tree/bench/matrix/measure" "$hbmstress" "${small[@]}" --seed 2
says "it was made otherwise" err.txt
runs 2 "$tree/bench/matrix/measure" "$hbmstress" --plants plant_none
says "--plants: there is no 'plant_none'" err.txt

runs 0 "$tree/bench/matrix/measure" "$hbmstress" --plants race_limit_checked --generators small --lane-ops 40 --out lanes
grep -qE '^race_limit_checked,overlap,small,40,schedules,[0-9]+,$' lanes/cells.csv || fail "not found: $(cat lanes/cells.csv)"
runs 2 "$tree/bench/matrix/measure" "$hbmstress" --explored nowhere.so --out lanes
says "--explored: cannot read nowhere.so" err.txt

runs 0 "$tree/bench/matrix/page" --page matrix.md --commit none
says '| `plant_misaligned` | misaligned | `exact_edge` |' matrix.md
grep -qE '^\| `plant_misaligned` \| misaligned \| - \| \*\*[0-9]+\*\* \|$' matrix.md || fail "no row: $(cat matrix.md)"
runs 2 "$tree/bench/matrix/page" nowhere --page matrix.md
says "nowhere/cells.csv: there is no such file" err.txt

printf '%s\n' 'before' '<!-- bench/robson: begin -->' 'old' '<!-- bench/robson: end -->' 'behind' >robson.md
runs 0 "$tree/bench/robson" "$hbmstress" hbm hbm,defrag=none --live 64 --largest 2,8 --out .
grep -qE '^\| \*\*bound\*\* \| \*\*1\.47\*\* \| \*\*2\.38\*\* \|$' robson.md || fail "no bound: $(cat robson.md)"
says '| `hbm` | blocks may move | ' robson.md
grep -qE '^\| `hbm,defrag=none` \| moves nothing \| 2\.[45]' robson.md || fail "no use: $(cat robson.md)"
if grep -q old robson.md || ! grep -q behind robson.md; then fail "the page around the tables: $(cat robson.md)"; fi
says '>bound 2.38<' robson.svg
runs 2 "$tree/bench/robson" "$hbmstress" hbm --out nowhere
[ "$failures" = 0 ]
