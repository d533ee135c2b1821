#!/usr/bin/env bash
# Every subcommand explains itself with an example, and says which version it is.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

expect_exit 0 --help
for subcommand in list run replay convert explain check merge watch new-target infer compare scale report report-bug pod budget doctor; do
    expect_text out.txt "  $subcommand"
done
expect_text out.txt "Example: hbmstress"
expect_exit 0 --version
grep -qE '^hbmstress [0-9]+\.[0-9]+\.[0-9]+(\+[0-9]+\.g[0-9a-f]+)?$' out.txt || fail "--version: $(cat out.txt)"

for subcommand in list run replay convert explain check merge watch new-target infer compare scale report report-bug pod budget doctor; do
    expect_exit 0 "$subcommand" --help
    expect_text out.txt "hbmstress $subcommand"
    expect_text out.txt "Example: hbmstress $subcommand"
    expect_text out.txt "--help"
    [ ! -s err.txt ] || fail "$subcommand --help writes to standard error"
    wide=$(grep -E '^.{101}' out.txt)
    [ -z "$wide" ] || fail "$subcommand --help has more than 100 columns: $wide"
    expect_exit 0 "$subcommand" --version
done

for kind in targets scenarios rules faults causes chips formats exporters jobs; do
    expect_exit 0 list "$kind" --json
    expect_text out.txt "\"kind\":\"${kind%s}\""
    [ "$(grep -cv '^{"kind":"[a-z]*","name":"[^"]*","summary":"..*}$' out.txt)" = 0 ] ||
        fail "list $kind --json: $(grep -v '^{"kind"' out.txt | head -1)"
    expect_exit 0 list "$kind"
    expect_text out.txt "${kind%s}"
done
expect_exit 0 list plants --json
expect_text out.txt '"breaks":"overlap"'
expect_exit 0 list remedies
expect_text out.txt 'remedy'
expect_exit 0 list targets --json
expect_no_text out.txt '"breaks"'
expect_text out.txt '"defrag":"none|slide|repack"'
expect_exit 0 list chips --json
expect_text out.txt '"capacity_bytes":'
expect_exit 0 help run
expect_text out.txt "Example: hbmstress run"
expect_no_text out.txt '"breaks":""'
finish
