#!/usr/bin/env bash
# tests/docs/explained.py notices a page that is not what explain prints, and says what it did not compare.
#
#     tests/docs/explained_fires.sh HBMSTRESS
set -u
tree=$(realpath "$(dirname "$0")/../..")
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

runs() { # CODE ARGUMENT...: with no logs, so that messages alone are explained
    local code=$1
    shift
    "$tree/tests/docs/explained.py" "$program" "$work/none" "$@" >out.txt 2>&1
    local got=$?
    [ "$got" = "$code" ] || { echo "explained.py $*: exit $got, not $code: $(cat out.txt)"; exit 1; }
}

runs 77 --check
sed 's/6.43M are free/6.44M are free/' "$tree/docs/explained.md" >page.md
runs 1 --check --page page.md
grep -q '^not on the page:$' out.txt || { echo "no word of what differs: $(cat out.txt)"; exit 1; }
runs 2 --page page.md
grep -q 'lacks tpu_oom/' out.txt || { echo "no word of what is absent: $(cat out.txt)"; exit 1; }
