#!/usr/bin/env bash
# pmemobj: it breaks no rule but those that docs/allocators.md says, its defragmentation keeps contents, and through shims with
# one defect each every rule that its contract claims fires.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
shims=$2
quick="--capacity 64M --seed 1 --shrink-budget 0 --ops 300"

expect_exit 0 list targets
line=$(grep '^target  pmemobj ' out.txt) || fail "list targets has no pmemobj"
case $line in
*"not usable here"*)
    expect_refusal 2 "install the package libpmemobj1" run slow_leak --target pmemobj
    echo "pmemobj is skipped: ${line#*not usable here: }"
    [ "$failures" = 0 ] && exit 77
    finish
    ;;
esac

expect_refusal 2 "unknown target 'pmemobk'; did you mean 'pmemobj'?" run --target pmemobk
expect_refusal 2 "a device of it has at least 8M" run slow_leak --target pmemobj --capacity 4M
expect_refusal 2 "defrag" run slow_leak --target pmemobj --target-option defrag=slide

# expect_broken WHERE RULES: exactly these rules broke, in alphabetical order.  libpmemobj itself leaks with each pool.
expect_broken() {
    local broken
    broken=$(sed -n 's/^BROKEN \([a-z_]*\):.*/\1/p' out.txt | sort -u | xargs)
    [ "$broken" = "$2" ] || fail "$1 breaks '$broken', and should break '$2'"
}

# With faults; some trials run twice, so that answers are compared.
for option in none oom; do
    # shellcheck disable=SC2086
    expect_exit 1 run queued_free_race --target pmemobj --target-option defrag=$option $quick --replay-sample 4 \
        --out "sound_$option"
    expect_broken "defrag=$option" "host_memory premature"
    expect_text out.txt " justified, "
done

head_lines() { # OPTION
    printf 'hbmstress-ops 1\ncapacity 64M\ngranule 16\nhosts 1\ntarget pmemobj\noption defrag=%s\n\n' "$1"
}
# One block after another, and blocks that stay.
{
    head_lines none
    for ((i = 0; i < 20; i += 2)); do printf '%d: alloc size=40M\n%d: free block=%d\n' "$i" $((i + 1)) "$i"; done
} >turns.ops
{
    head_lines none
    for ((i = 0; i < 80; i++)); do printf '%d: alloc size=100K\n' "$i"; done
} >many.ops
# Of 200 blocks of 200K three in four go; the others move together, so that there is room for a large one.
blocks() { # OPTION
    local i b
    head_lines "$1"
    for ((i = 0; i < 200; i++)); do printf '%d: alloc size=200K\n' "$i"; done
    for ((b = 0; b < 200; b++)); do
        if ((b % 4 != 0)); then printf '%d: free block=%d\n' $((i++)) "$b"; fi
    done
    printf '%d: defragment\n' $((i++))
    for ((b = 0; b < 200; b += 4)); do printf '%d: touch block=%d\n' $((i++)) "$b"; done
    printf '%d: alloc size=40M\n' "$i"
}
blocks oom >moves.ops
blocks none >stays.ops

# expect_list RULES OP_COUNTS LIST
expect_list() {
    "$hbmstress" replay "$3" >out.txt 2>err.txt
    expect_broken "$3" "$1"
    expect_text out.txt "$2"
}
expect_list host_memory " 20 ops, 0 OOMs" turns.ops
expect_list host_memory " 80 ops, 0 OOMs" many.ops
expect_list host_memory " 402 ops, 0 OOMs" moves.ops
expect_list host_memory " 401 ops, 1 skipped, 1 OOMs" stays.ops

HBMSTRESS_REAL_LIBRARY=$(find /usr/lib /lib /usr/local/lib -name libpmemobj.so.1 2>/dev/null | head -n 1)
export HBMSTRESS_REAL_LIBRARY
# expect_bent SHIM RULE LIST
expect_bent() {
    LD_LIBRARY_PATH=$shims/$1 "$hbmstress" replay "$3" >out.txt 2>err.txt
    grep -Eq "^BROKEN $2: |: out of memory, $2: " out.txt || fail "$1, $3: $(head -c 300 out.txt)"
}
if [ -n "$HBMSTRESS_REAL_LIBRARY" ]; then
    LD_LIBRARY_PATH=$shims/nothing expect_list host_memory " 402 ops, 0 OOMs" moves.ops
    expect_bent leak premature turns.ops
    expect_bent premature premature many.ops
    expect_bent overlap overlap many.ops
    expect_bent large too_large many.ops
    expect_bent moves contents moves.ops
else
    echo "the shims are skipped: libpmemobj.so.1 is in no folder of the system"
fi
finish
