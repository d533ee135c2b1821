#!/usr/bin/env bash
# Readers that are not ours take SARIF, workflow commands and Code Quality reports: the rules of each format, in Python, and
# the JSON Schema of SARIF where HBMSTRESS_SARIF_SCHEMA names it.
set -u
program=$1 # writes NAME.sarif, NAME.commands, NAME.gitlab and more into a directory
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v python3 >"$work/which.txt" || { echo "skipped: python3 is not installed"; exit 77; }
"$program" "$work" || { echo "FAILED: $program wrote nothing" >&2; exit 1; }
for suffix in sarif commands gitlab; do
    [ -s "$work/hostile.$suffix" ] || { echo "FAILED: there is no hostile.$suffix" >&2; exit 1; }
done
python3 "$here/read_reviews.py" "$work"/*.sarif "$work"/*.commands "$work"/*.gitlab
