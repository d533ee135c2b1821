#!/usr/bin/env bash
# vulkan, with the first driver that this machine has: it keeps what it promises, and through shims with one defect each
# every rule that its contract claims fires.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
shims=$2
quick="--capacity 64M --seed 1 --shrink-budget 0 --ops 800"

expect_exit 0 list targets
line=$(grep '^target  vulkan ' out.txt) || fail "list targets has no vulkan"
case $line in
*"not usable here"*)
    expect_refusal 2 "${line#*not usable here: }" run slow_leak --target vulkan
    echo "vulkan is skipped: ${line#*not usable here: }"
    [ "$failures" = 0 ] && exit 77
    finish
    ;;
esac

expect_refusal 2 "unknown target 'vulkam'; did you mean 'vulkan'?" run --target vulkam
expect_refusal 2 "a device of it has at most 128M" run slow_leak --target vulkan --capacity 256M
expect_refusal 2 "device" run slow_leak --target vulkan --target-option device=third

# With faults; some trials run twice, so that answers are compared.
# shellcheck disable=SC2086
expect_exit 0 run fragmentation_storm queued_free_race slow_leak --target vulkan $quick --replay-sample 4 --out sound
expect_text out.txt "every promise kept, every OOM judged: "
expect_no_text out.txt " 0 OOMs"

# A driver without a GPU refuses by itself: after a free of 40M another 40M fit, and never both.
{
    printf 'hbmstress-ops 1\ncapacity 64M\ngranule 4K\nhosts 1\ntarget vulkan\n\n'
    for ((i = 0; i < 60; i += 3)); do
        printf '%d: alloc size=40M\n%d: alloc size=40M\n%d: free block=%d\n' "$i" $((i + 1)) $((i + 2)) "$i"
    done
} >turns.ops
expect_exit 0 replay turns.ops
expect_text out.txt " 60 ops, 20 OOMs (20 justified, "

HBMSTRESS_REAL_LIBRARY=$(find /usr/lib /lib /usr/local/lib -name libvulkan.so.1 2>/dev/null | head -n 1)
export HBMSTRESS_REAL_LIBRARY
if [ -n "$HBMSTRESS_REAL_LIBRARY" ]; then
    LD_LIBRARY_PATH=$shims/nothing expect_exit 0 replay turns.ops
    LD_LIBRARY_PATH=$shims/leak expect_exit 1 replay turns.ops
    expect_text out.txt "out of memory, premature"
    # shellcheck disable=SC2086
    LD_LIBRARY_PATH=$shims/premature expect_exit 1 run queued_free_race --target vulkan $quick --faults none --out premature
    expect_text out.txt "BROKEN premature: "
    # shellcheck disable=SC2086
    LD_LIBRARY_PATH=$shims/overlap expect_exit 1 run fragmentation_storm --target vulkan $quick --faults none --out overlap
    expect_text out.txt "BROKEN contents: "
else
    echo "the shims are skipped: libvulkan.so.1 is in no folder of the system"
fi
finish
