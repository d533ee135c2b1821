#!/usr/bin/env bash
# Every list of the corpus grows or does not, and explain --timeline, budget and explain say the same of it.
# Arguments: hbmstress, the corpus.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
corpus=$2

# expected LIST: "grows" where the list was made to.
expected() {
    case $(basename "$1" .ops) in
        leak | growing_set | still_growing) echo grows ;;
        *) echo none ;;
    esac
}

# Hosts are alike here: one that grows counts.
timeline_says() {
    "$hbmstress" explain "$1" --timeline >out.txt 2>err.txt
    if grep -q '^  .*  +[0-9.]* [KMG]*i*B/1000 ops$' out.txt; then echo grows; else echo none; fi
}
# A list without steps has no growth per step.
budget_says() {
    "$hbmstress" budget "$1" --growth-per-step 0 --ooms 1000000 --json >out.txt 2>err.txt
    local code=$?
    if grep -q '"limit":"growth_per_step".*"exceeded":true' out.txt; then
        [ $code = 1 ] || fail "$1: over budget, and the exit code is $code"
        echo grows
    elif [ $code = 2 ]; then
        grep -qE 'growth-per-step needs (more )?steps' err.txt || fail "$1: $(cat err.txt)"
        echo none
    else
        echo none
    fi
}
explain_says() {
    "$hbmstress" explain "$1" --json >out.txt 2>err.txt
    if grep -qE '"type":"cause","cause":"(leak|growing_set|still_growing)"|"type":"forecast"' out.txt; then echo grows; else echo none; fi
}

count=0
right=0
for list in "$corpus"/healthy/*.ops "$corpus"/causes/*.ops; do
    count=$((count + 1))
    want=$(expected "$list")
    said="$(timeline_says "$list") $(budget_says "$list") $(explain_says "$list")"
    if [ "$said" = "$want $want $want" ]; then
        right=$((right + 1))
    else
        fail "$(basename "$list"): wanted $want; timeline, budget, explain: $said"
    fi
done
echo "$right of $count lists agree and are right"
[ "$count" -ge 39 ] || fail "only $count lists in $corpus"
finish
