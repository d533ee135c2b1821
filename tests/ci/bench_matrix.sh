#!/usr/bin/env bash
# bench/matrix: a small part is measured once and not again, another seed or an unknown name is refused, and the tables say
# who found what; bench/robson writes its table and its chart.
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

mkdir tables
runs 0 "$tree/bench/matrix/tables" --to tables --commit none
grep -qP '^plant\trule\talone\talone of the scenarios\tnote\tdeep_programs\texact_edge$' tables/matrix.tsv || fail "no head: $(cat tables/matrix.tsv)"
grep -qP '^plant_misaligned\tmisaligned\texact_edge\texact_edge\t\t-\t[0-9]+$' tables/matrix.tsv || fail "no row: $(cat tables/matrix.tsv)"
grep -qP '^exact_edge\t2\t2\t2\t2\tops$' tables/generators.tsv || fail "no generator: $(cat tables/generators.tsv)"
says 'that of commit none; ' tables/matrix-run.tsv
runs 2 "$tree/bench/matrix/tables" nowhere --to tables
says "nowhere/cells.csv: there is no such file" err.txt
runs 2 "$tree/bench/matrix/tables" --to nowhere
says "nowhere: there is no such folder" err.txt

runs 0 "$tree/bench/robson" "$hbmstress" hbm hbm,defrag=none --live 64 --largest 2,8 --out .
grep -qP '^bound\tnothing moves\t2\.38\t1\.47\t2\.38\t64\t' tables/robson.tsv || fail "no bound: $(cat tables/robson.tsv)"
grep -qP '^hbm\tblocks may move\t' tables/robson.tsv || fail "no hbm: $(cat tables/robson.tsv)"
grep -qP '^hbm,defrag=none\tmoves nothing\t2\.[45]' tables/robson.tsv || fail "no use: $(cat tables/robson.tsv)"
says '>bound 2.38<' robson.svg
runs 2 "$tree/bench/robson" "$hbmstress" hbm --out nowhere
[ "$failures" = 0 ]
