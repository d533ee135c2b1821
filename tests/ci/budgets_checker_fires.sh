#!/usr/bin/env bash
# The check of budgets finds each kind of breach in a tree made for it, and nothing in a good one.
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failure_count=0

fail() {
    echo "budgets_checker_fires: $*"
    failure_count=$((failure_count + 1))
}

lines() { # COUNT: so many lines of code
    local i
    for ((i = 0; i < $1; i++)); do echo "int number_$i;"; done
}

# Rooms of 12 lines and 2 files beside a nested one, with one file and one folder above their limits.
make_good_tree() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/{ci,harness/rules,cli/pod,scenarios,tests}
    cp "$source_tree"/ci/{check-floors,check_floors.awk,check_budgets.awk,help.sh} "$tree/ci/"
    lines 8 >"$tree/harness/long.c"
    printf '/* Two lines of comment, and no\n * code. */\n\nint a(void); // one\n' >"$tree/harness/rules/thing.c"
    lines 5 >"$tree/cli/thing.c"
    lines 3 >"$tree/cli/pod/one.c"
    lines 3 >"$tree/cli/pod/two.c"
    lines 30 >"$tree/tests/thing.c"
    cat >"$tree/ci/budgets.txt" <<'END'
# What may be how large.
limit  file    7
limit  folder  1

room   harness              12     5   2  Most of it.
room   cli                   5     5   1  As it is.
room   pod,cli/pod           6     6   2  It leaves cli.
room   scenarios             0     0   0  Nothing yet.
room   tests               100    50   9  Cases become text.
file   harness/long.c        8            It is long.
folder cli/pod               2            It is wide.
END
}

# finds "EXPECTED line", of the tree as it stands: that line, and no other
finds() {
    local said
    if said=$("$tree/ci/check-floors" "$tree"); then
        fail "nothing found where this was expected: $1"
    elif [[ $said != "$1" ]]; then
        fail "expected \"$1\", got: $said"
    fi
}

make_good_tree
said=$("$tree/ci/check-floors" "$tree") || fail "found in a good tree: $said"
[[ -z $said ]] || fail "printed for a good tree: $said"

# The table has lines of code and of comment apart, and leaves the tests out of the sum.
said=$("$tree/ci/check-floors" --table "$tree")
grep -qE '^ +12 +12 +5 +9 +2 +2/2 +8  harness$' <<<"$said" || fail "no row of harness in: $said"
grep -qE '^ +6 +6 +6 +6 +0 +2/2 +3  pod cli/pod$' <<<"$said" || fail "no row of pod in: $said"
grep -qE '^ +0 +0 +0 +0 +0 +0/0 +0  scenarios$' <<<"$said" || fail "no row of a room without files in: $said"
grep -qE '^ +23 +23 +16 +20 +2 +5/5 +8  all but tests$' <<<"$said" || fail "no sum in: $said"
grep -qE '^ +8 +8  harness/long.c$' <<<"$said" || fail "no exception in: $said"

# Each kind of breach.
make_good_tree
echo 'int b;' >>"$tree/harness/rules/thing.c"
finds 'harness: 13 lines, and the budget is 12'
make_good_tree
: >"$tree/cli/empty.inc"
lines 1 >"$tree/cli/more.inc"
finds 'cli: 6 lines, and the budget is 5'
make_good_tree
mkdir "$tree/cli/pod/deep"
: >"$tree/cli/pod/deep/three.c"
finds 'pod,cli/pod: 3 files of .c and .h, and the budget is 2'
make_good_tree
mkdir "$tree/page"
lines 1 >"$tree/page/script.js"
printf 'set(HBMSTRESS_FOLDERS harness cli)\nif(MORE)\n    list(APPEND HBMSTRESS_FOLDERS page)\nendif()\n' >"$tree/CMakeLists.txt"
finds 'page/: no room in ci/budgets.txt, and 1 source files'
make_good_tree
mv "$tree/cli/thing.c" "$tree/cli/pod/three.c"
sed -i 's/^room   pod.*/room pod,cli\/pod 20 6 3 Wide./' "$tree/ci/budgets.txt"
finds 'cli/pod: 3 files of .c and .h, and the limit is 2'
make_good_tree
lines 8 >"$tree/cli/thing.c"
sed -i 's/^room   cli .*/room cli 20 5 1 More./' "$tree/ci/budgets.txt"
finds 'cli/thing.c: 8 lines, and the limit is 7'
make_good_tree
lines 9 >"$tree/harness/long.c"
sed -i 's/^room   harness.*/room harness 20 5 2 More./' "$tree/ci/budgets.txt"
finds 'harness/long.c: 9 lines, and the limit is 8'
make_good_tree
lines 7 >"$tree/harness/long.c"
finds 'ci/budgets.txt:10: nothing needs this line: harness/long.c is gone or within the limit of 7 (ci/check-floors --lower)'
make_good_tree
lines 101 >"$tree/tests/thing.c"
finds 'tests: 101 lines, and the budget is 100'

# A line without its reason, and one of no known kind.
for line in 'room scenarios 0 0 0' 'file harness/long.c 8' 'folder cli/pod 2' 'room scenarios 0 none 0 Nothing.' 'rooms a 1 1 1 x'; do
    make_good_tree
    sed -i "/scenarios/d" "$tree/ci/budgets.txt"
    echo "$line" >>"$tree/ci/budgets.txt"
    said=$("$tree/ci/check-floors" "$tree") && fail "accepted: $line"
    [[ $said == "ci/budgets.txt:11: "* ]] || fail "for '$line' got: $said"
done
make_good_tree
echo 'room cli/pod 9 9 9 Again.' >>"$tree/ci/budgets.txt"
finds 'ci/budgets.txt:12: cli/pod has a room already'
make_good_tree
rm "$tree/ci/budgets.txt"
printf 'set(HBMSTRESS_FOLDERS harness)\n' >"$tree/CMakeLists.txt"
said=$("$tree/ci/check-floors" "$tree") && fail "a tree without budgets passed"
[[ $said == *"no limit of a file"*"harness/: no room"* ]] || fail "without budgets got: $said"

# --lower lowers, takes out what nothing needs, keeps the reasons and raises nothing.
make_good_tree
lines 6 >"$tree/harness/long.c"
rm "$tree/cli/pod/two.c"
lines 6 >"$tree/cli/thing.c"
"$tree/ci/check-floors" --lower "$tree"
finds 'cli: 6 lines, and the budget is 5'
said=$(grep -v '^#' "$tree/ci/budgets.txt" | tr -s ' ')
expected='limit file 7
limit folder 1

room harness 10 5 2 Most of it.
room cli 5 5 1 As it is.
room pod,cli/pod 3 6 1 It leaves cli.
room scenarios 0 0 0 Nothing yet.
room tests 30 50 1 Cases become text.'
[[ $said == "$expected" ]] || fail "lowered to: $said"

status=0
"$tree/ci/check-floors" --nothing "$tree" >/dev/null 2>&1 || status=$?
[[ $status -eq 2 ]] || fail "an unknown option ends with $status"

echo "budgets_checker_fires: $failure_count failures"
[[ $failure_count -eq 0 ]]
