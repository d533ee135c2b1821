#!/usr/bin/env bash
# Adds one scenario, target, format, exporter, cause, remedy, rule, plant, option and subcommand to a copy of the tree, at once;
# builds it, runs each, and counts the files that each touched: a file of its own and one line, or one row and the
# function that it names.
#
#     tests/ci/one_of_each.sh TREE COMPILER
set -euo pipefail
tree=$(realpath "$1")
compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree" "$work/run"
tar -C "$tree" --exclude='./build*' --exclude='./out*' --exclude=./.git -cf - . | tar -C "$work/tree" -xf -
cd "$work/tree"
failures=0
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# A copy of the tree before each addition tells which files it touched.
snapshot() { find . -type f -exec cksum {} + | LC_ALL=C sort >"$work/$1"; }
snapshot before
# counts NAME FILES_MAX
counts() {
    local touched
    snapshot after
    touched=$({ diff "$work/before" "$work/after" || :; } | awk '/^[<>]/ { print $4 }' | sort -u)
    printf '%-10s %d files: %s\n' "$1" "$(wc -l <<<"$touched")" "$(tr '\n' ' ' <<<"$touched")"
    [[ $(wc -l <<<"$touched") -le $2 ]] || fail "$1 touches more than $2 files"
    mv "$work/after" "$work/before"
}
# copies FILE NEW_NAME SYMBOL: the descriptor SYMBOL_<old name> in a file and under a name of its own.
copies() {
    local old
    old=$(basename "$1" .c)
    sed "s/\b$3_$old\b/$3_$2/; s/\.name = \"$old\"/.name = \"$2\"/" "$1" >"${1%/*}/$2.c"
    grep -q "$3_$2 = {" "${1%/*}/$2.c" || fail "$1 has no descriptor $3_$old"
}
adds() { printf '%s\n' "$2" >>"$1"; } # LIST LINE

copies scenarios/slow_leak.c scratch_leak scenario
adds scenarios/list.h 'SCENARIO(scratch_leak)'
counts scenario 2
copies targets/null.c scratch_null target
adds targets/list.h 'TARGET(scratch_null)'
counts target 2
copies formats/generic/malloc_lab.c scratch_lab format
adds formats/list.h 'FORMAT(generic, scratch_lab)'
counts format 2
copies formats/export/rmm.c scratch_rmm exporter
adds formats/export/list.h 'EXPORTER(scratch_rmm)'
counts exporter 2
copies diagnosis/causes/spike.c scratch_spike cause
adds diagnosis/causes/list.h 'CAUSE(scratch_spike)'
counts cause 2
copies diagnosis/remedies/capacity.c scratch_capacity remedy
adds diagnosis/remedies/list.h 'REMEDY(scratch_capacity)'
sed -i 's|^    {&remedy_capacity,|    {\&remedy_scratch_capacity, ADVICE_SAME, {[UNKNOWN] = "scratch"}},\n&|' diagnosis/advice.c
counts remedy 3 # and its words, a row
# A rule is a row and its judge: here no handle is 77.
sed -i 's|^/\* clang-format on \*/|RULE(SCRATCH, scratch, HARM, "no handle is 77", JUDGE(rules_judge_scratch), "plant_scratch")\n&|' \
    harness/oracle/rule_list.h
sed -i 's|^    return evidence->call->block.handle != 0 \|\||    if (evidence->call->block.handle == 77) {\n        return rule_judge(RULE_SCRATCH, evidence);\n    }\n&|' \
    harness/rules/report.c
printf '\nbool rules_judge_scratch(const struct rule_evidence *evidence)\n{\n    return evidence_break(evidence, RULE_SCRATCH, "the handle is 77");\n}\n' \
    >>harness/rules/report.c
counts rule 2
# A plant is a row and its function.
adds targets/plants/list.h 'PLANT(answers, scratch, "scratch", "every handle is 77", .alloc = alloc_scratch)'
printf '\nstatic enum target_result alloc_scratch(struct plant *plant, const struct target_request *request,\n                                        struct target_block *block)\n{\n    const enum target_result result = plant_inner_alloc(plant, request, block);\n    block->handle = 77;\n    return result;\n}\n' \
    >"$work/plant"
awk -v plant="$work/plant" '/^#define PLANT_IN_answers/ { while ((getline line < plant) > 0) print line } { print }' \
    targets/plants/answers.c >"$work/answers.c"
cp "$work/answers.c" targets/plants/answers.c
counts plant 2
# An option is a row, which declares its member; a subcommand names it among those that it takes.
sed -i 's|^OPTION(DURATION, trial_timeout_ns,|OPTION(NUMBER, scratch, "--scratch", .argument = "N", .key = "scratch", .most = 9, .help = "a digit")\n&|' \
    campaign/plan/run_option_list.h
sed -i 's|--results-limit |--scratch &|' cli/cmd_run.c
counts option 2
# One of the command line alone.
sed -i 's|^OPTION(TEXT, svg,|OPTION(FLAG, has_scratch, "--scratch-flag", .help = "nothing")\n&|' cli/option_list.h
sed -i 's|options = "--|options = "--scratch-flag --|' cli/cmd_check.c
counts option 2
sed 's|\bsubcommand_check\b|subcommand_scratch|; s|\.name = "check"|.name = "scratch"|' cli/cmd_check.c >cli/cmd_scratch.c
adds cli/list.h 'SUBCOMMAND(scratch)'
counts subcommand 2
# An option of a target is a row, which is kept where the row says.
sed -i 's|^    {"slot",|    {"scratch", TARGET_OPTION_FLAG, .values = "yes\|no"},\n&|' targets/null.c
counts option 1

cmake -S . -B "$work/build" -G Ninja -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 \
    -DHBMSTRESS_TESTS=OFF -DHBMSTRESS_WERROR=ON >/dev/null
cmake --build "$work/build" --target hbmstress -- --quiet
program=$work/build/cli/hbmstress
cd "$work/run"

# prints WANTED COMMAND ...: the output has a line that matches.
prints() {
    local said
    said=$("${@:2}" 2>&1) || true
    grep -qE -- "$1" <<<"$said" || fail "${*:2}: no line matches $1: $(tail -n 5 <<<"$said")"
}
for kind in scenarios:scratch_leak targets:scratch_null plants:plant_scratch formats:scratch_lab rules:scratch; do
    prints "^[a-z]+ +${kind#*:} " "$program" list "${kind%:*}"
done
prints '^every promise kept' "$program" run scratch_leak --seed 1 --ops 200 --scratch 3
prints "^hbmstress: --scratch: '12' is not a number from 0 to 9" "$program" run scratch_leak --scratch 12
prints "^hbmstress: unknown option '--scratchy'; did you mean '--scratch'" "$program" run --scratchy
prints '--scratch-flag +nothing' "$program" scratch --help
prints "^hbmstress: unknown subcommand 'scratchy'; did you mean 'scratch'" "$program" scratchy
prints "option scratch=maybe: valid values are yes, no" "$program" run slow_leak --target null -O scratch=maybe
prints '^BROKEN scratch: ' "$program" run slow_leak --target plant_scratch --capacity 64M --seed 1 --ops 200
prints '^page.html: ' "$program" report out -o page.html
grep -q 'scratch</th>' page.html || fail "the page of a campaign has no row for the rule"
printf '[global]\nscratch = 12\n[slow_leak]\n' >job.ini
prints "^hbmstress: job.ini:2: scratch: '12' is not a number from 0 to 9" "$program" run --job job.ini
prints 'no slot fits' "$program" replay "$tree/corpus/causes/spike.ops" --target scratch_null
printf '2048\n2\n3\n1\na 0 512\na 1 1536\nf 0\n' >log
prints '^0: alloc size=512' "$program" convert log --format scratch_lab -o -
prints 'allocate' "$program" convert "$tree/corpus/causes/spike.ops" --to scratch_rmm
prints 'scratch_spike' "$program" explain "$tree/corpus/causes/spike.ops" --json
prints 'scratch_capacity' "$program" explain "$tree/corpus/causes/exhausted.ops" --what-if --json

echo "one_of_each: $failures failures"
[[ $failures -eq 0 ]]
