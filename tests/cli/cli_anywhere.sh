#!/usr/bin/env bash
# A list whose target is a relative path runs from any directory: the path is resolved against the list's folder, then
# where the list was made, then the working directory.
bad_target=$(realpath "$2")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
run=(run slow_leak --target-option fails=crash --seed 1 --seeds 1 --ops 60 --shrink-budget 20)

mkdir -p a/plugins b
cp "$bad_target" a/plugins/mine.so
cp "$bad_target" a/here.so
(cd a && "$hbmstress" "${run[@]}" --target ./plugins/mine.so --out out >run.txt 2>err.txt)
[ "$?" = 1 ] || fail "the run: $(cat a/err.txt)"
(cd a && "$hbmstress" "${run[@]}" --target here.so --out deep/er/out >run.txt 2>err.txt)
[ "$?" = 1 ] || fail "the second run: $(cat a/err.txt)"
repro=$(echo a/out/repros/crash-*.ops)
second=$(echo a/deep/er/out/repros/crash-*.ops)
signature=$(sed -n 's/^# signature: //p' "$repro")
[ -n "$signature" ] || fail "the repro has no signature"
# The head is as the certificates know it, and the comment names no folder of this machine.
expect_text "$repro" "target ./plugins/mine.so"
expect_text "$repro" "# made in: ../.."
expect_text "$second" "target here.so"
expect_text "$second" "# made in: ../../../.."
expect_no_text "$repro" "$work"

# shows LIST: whoever reads it finds the target, wherever he is.
shows() {
    local list
    list=$(realpath "$1")
    for place in / "$work/b"; do
        cd "$place" || exit 1
        expect_in_place 1 replay "$list"
        grep -qF "$signature" "$work/out.txt" ||
            fail "in $place replay of $1 does not show $signature: $(head -c 300 "$work/out.txt")"
        expect_in_place 1 explain "$list"
        expect_in_place 1 explain --timeline "$list"
    done
    cd "$work" || exit 1
}
expect_in_place() {
    local wanted=$1
    shift
    "$hbmstress" "$@" >"$work/out.txt" 2>"$work/err.txt"
    local got=$?
    [ "$got" = "$wanted" ] || fail "in $PWD: hbmstress $*: exit $got, should be $wanted; $(head -c 300 "$work/err.txt")"
}
shows "$repro"
shows "$second"

# What is made of it runs from anywhere, too.
(cd / && "$hbmstress" replay --shrink "$work/$repro" --shrink-budget 20 -o "$work/b/small.ops" 2>"$work/err.txt")
[ "$?" = 1 ] || fail "shrink: $(cat err.txt)"
expect_text b/small.ops "# made in: ../a"
shows b/small.ops

# Merged into a folder of another depth it is found from there.
(cd a && "$hbmstress" merge out --out ../b/deep/merged >"$work/out.txt" 2>"$work/err.txt")
[ "$?" = 1 ] || fail "merge: $(cat err.txt)"
merged=$(echo b/deep/merged/repros/crash-*.ops)
expect_text "$merged" "# made in: ../../../../a"
shows "$merged"
diff -I '^# made in' -I '^# replay: ' "$repro" "$merged" || fail "merge changes more of a list"

# The folder moves, and its plug-in with it.
mv a moved
shows "${repro/#a/moved}"
# The list's own folder comes first; the working directory last.
mkdir -p own/plugins
cp "$bad_target" own/plugins/mine.so
sed '/^# made in/d' "${repro/#a/moved}" >own/list.ops
shows own/list.ops
mkdir other
sed '/^# made in/d' "${repro/#a/moved}" >other/list.ops
(cd own && "$hbmstress" replay ../other/list.ops >"$work/out.txt" 2>"$work/err.txt")
[ "$?" = 1 ] || fail "the working directory is no place to look: $(cat err.txt)"
expect_exit 2 replay other/list.ops
[ "$(wc -l <err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
expect_text err.txt "./plugins/mine.so"
# An option of the file is for the same target under another path.
expect_exit 1 replay "${repro/#a/moved}" --target moved/plugins/mine.so
expect_no_text err.txt "its options are for target"
# A name that was typed on the command line is where the user is.
expect_exit 2 replay own/list.ops --target ./plugins/mine.so
finish
