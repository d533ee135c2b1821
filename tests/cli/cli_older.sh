#!/usr/bin/env bash
# Files that an older version wrote or read still mean the same (docs/stability.md): tests/cli/older/VERSION/ has an op list
# with its result, a certificate with its list and log, a baseline and a job file. They are never
# changed; a version that adds something adds a folder.
#
#     tests/cli/cli_older.sh HBMSTRESS HBM-CERTIFICATE-CHECK OLDER
checker=$2 older=$(realpath "$3")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# What of the lines in out.txt must stay.
results() {
    python3 -c '
import json, sys
KEPT = {"verdict": ["op", "verdict", "requested_bytes", "free_bytes"], "hang": ["cause", "since_op", "until_op"],
        "end": ["ops", "skipped", "exit"]}
for line in map(json.loads, sys.stdin):
    if line["type"] in KEPT:
        print(line["type"], *(line[member] for member in KEPT[line["type"]]))' <out.txt
}

count=0
for folder in "$older"/*; do
    version=${folder##*/}
    count=$((count + 1))
    expect_exit 0 replay "$folder/list.ops" --json
    results >results.txt
    cmp -s results.txt "$folder/list.txt" || fail "$version: list.ops means something else: $(diff "$folder/list.txt" results.txt)"
    for program in "$checker" "$hbmstress check"; do
        # shellcheck disable=SC2086 # a program and its subcommand
        $program --list "$folder/proof/list.ops" --observations "$folder/proof/observations.jsonl" \
            "$folder"/proof/op-*.json >out.txt 2>&1 || fail "$version: the certificate does not hold: $(cat out.txt)"
        expect_text out.txt "valid: justified, spans; the state is that of the list and its observations"
    done
    rm -rf out
    expect_exit 0 run --job "$folder/job.ini" --shrink-budget 200 --baseline "$folder/baseline"
    expect_text out.txt "1 known finding"
done
[ "$count" -ge 1 ] || fail "no version is kept in $older"
