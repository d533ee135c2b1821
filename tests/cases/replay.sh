#!/usr/bin/env bash
# The cases of real targets are lists that hbmstress replay takes, and it finds in them what the cases say of plants.
#
#     tests/cases/replay.sh TESTS_CASES HBMSTRESS
#
# Every twelfth list is replayed, all of them where the environment variable HBMSTRESS_TESTS is "full", as it is at night.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --lists "$work"
period=12
[ "${HBMSTRESS_TESTS:-}" != full ] || period=1
lists=("$work"/*.ops)
count=0 found=0
for ((i = 0; i < ${#lists[@]}; i += period)); do
    list=${lists[i]}
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
((${#lists[@]} > 300 && count * period >= ${#lists[@]} && found >= (period == 1 ? 100 : 1)))
