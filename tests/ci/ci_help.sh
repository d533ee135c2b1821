#!/usr/bin/env bash
# Each script in ci/ tells with --help how it is called, an example and what it exits with, and does nothing.
#
#     tests/ci/ci_help.sh TREE
set -u
tree=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# Scripts may be called from anywhere, by a path that counts from there: here from ci/ itself.
mkdir "$work/tree"
cp -r "$tree/ci" "$work/tree"
count=0
for path in "$work"/tree/ci/*; do
    script=${path##*/}
    if [ ! -x "$path" ] || [ ! -f "$path" ]; then continue; fi
    count=$((count + 1))
    for words in "--help" "--time 1h --help"; do
        # shellcheck disable=SC2086 # words of a command line
        said=$(cd "$work/tree/ci" && PATH=/usr/bin:/bin timeout 10 "./$script" $words 2>"$work/err.txt" </dev/null)
        got=$?
        [ "$got" = 0 ] || fail "ci/$script $words: exit $got, should be 0: $(head -c 300 "$work/err.txt")"
        [ ! -s "$work/err.txt" ] || fail "ci/$script $words: says '$(head -c 300 "$work/err.txt")' on standard error"
    done
    grep -q "^    ci/$script" <<<"$said" || fail "ci/$script --help has no usage: $said"
    grep -qi "for example" <<<"$said" || fail "ci/$script --help has no example: $said"
    grep -qE "[Ee]xits " <<<"$said" || fail "ci/$script --help does not say what it exits with: $said"
    ! grep -q "^set \|^#" <<<"$said" || fail "ci/$script --help is not the comment alone: $said"
done
[ "$count" -ge 11 ] || fail "only $count scripts were asked"
[ "$(find "$work/tree" -mindepth 1 -maxdepth 1)" = "$work/tree/ci" ] || fail "help left $(ls "$work/tree") behind"
[ "$failures" = 0 ]
