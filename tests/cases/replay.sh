#!/usr/bin/env bash
# The cases of real targets are lists that hbmstress replay takes, and it finds in them what the cases say of plants.
#
#     tests/cases/replay.sh TESTS_CASES HBMSTRESS
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --lists "$work"
count=0 found=0
for list in "$work"/*.ops; do
    got=0
    "$2" replay "$list" >"$work/out" 2>&1 || got=$?
    case $got in
    0) ;;
    1) found=$((found + 1)) ;;
    *)
        echo "$(basename "$list"): exit $got: $(tail -n 1 "$work/out")"
        exit 1
        ;;
    esac
    count=$((count + 1))
done
echo "$count lists of cases replayed, $found with a finding"
((count > 300 && found > 100))
