#!/usr/bin/env bash
# Adapters of host allocators: each runs, its out-of-memories are judged, a finding of it replays, what it cannot be opened
# with is told in one line, and a bent one is found.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
bent=$2
export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192
run_options="--capacity 64M --seed 1 --faults none --shrink-budget 100"

# What cannot be used is no error of the list.
expect_exit 0 list targets
for name in mimalloc jemalloc; do
    grep -q "^target  malloc:$name " out.txt || fail "list targets has no malloc:$name"
done
cp out.txt list.txt
is_usable() { ! grep -q "^target  malloc:$1 .*not usable here" list.txt; }

expect_refusal 2 "unknown target 'malloc:mimaloc'; did you mean 'malloc:mimalloc'?" run --target malloc:mimaloc
expect_refusal 2 "see docs/adapters.md" run --target malloc:./mine.so
expect_refusal 2 "multiple of 32M" run slow_leak --target malloc:mimalloc --capacity 65M
expect_refusal 2 "at least 2M" run slow_leak --target malloc:jemalloc --capacity 1M
expect_refusal 2 "unknown option 'granule'" run slow_leak --target malloc:mimalloc --capacity 64M --target-option granule=512

ran=0
if is_usable mimalloc; then
    ran=1
    # Its size classes and segments leave room that it cannot use.
    # shellcheck disable=SC2086
    expect_exit 1 run fragmentation_storm queued_free_race slow_leak --target malloc:mimalloc $run_options --ops 3000 \
        --replay-sample 1 --out mimalloc
    expect_text out.txt " justified, "
    broken=$(sed -n 's/^BROKEN \([a-z_]*\):.*/\1/p' out.txt | sort -u | tr '\n' ' ')
    case $broken in
    "premature " | "premature too_large ") ;;
    *) fail "malloc:mimalloc breaks $broken, and should break no rule but premature and too_large" ;;
    esac
    # A region is used again by the next instance of its process, and the answers stay the same.
    repro=$(find mimalloc/repros -name 'premature-*.ops' | sort | head -n 1)
    expect_exit 1 replay "$repro"
    expect_no_text out.txt "BROKEN replay"
else
    expect_refusal 2 "install the package libmimalloc2.0" run slow_leak --target malloc:mimalloc --capacity 64M
    echo "malloc:mimalloc is skipped: $(grep '^target  malloc:mimalloc ' list.txt)"
fi

if is_usable jemalloc; then
    ran=1
    # shellcheck disable=SC2086
    expect_exit 0 run fragmentation_storm queued_free_race slow_leak --target malloc:jemalloc $run_options --ops 3000 \
        --replay-sample 1 --out jemalloc
    expect_text out.txt "every promise kept, every OOM judged: "
    expect_no_text out.txt " 0 OOMs"
    # The honest one keeps every promise in the same trials, so what is found is the defect.
    for defect in leak:premature overlap:overlap premature:premature lost:counters; do
        # shellcheck disable=SC2086
        expect_exit 1 run fragmentation_storm queued_free_race --target "$bent" --target-option "bend=${defect%:*}" \
            $run_options --ops 4000 --out "bent_${defect%:*}"
        expect_text out.txt "BROKEN ${defect#*:}: "
    done
    expect_refusal 2 "bend" run slow_leak --target "$bent" --target-option bend=double --capacity 64M
    # Without room for its thread-local memory it is not loaded, and the line says what to do.
    GLIBC_TUNABLES=glibc.rtld.optional_static_tls=512 expect_refusal 2 "run with GLIBC_TUNABLES=glibc.rtld.optional_static_tls=" \
        run slow_leak --target malloc:jemalloc --capacity 64M
else
    expect_refusal 2 "install the package libjemalloc2" run slow_leak --target malloc:jemalloc --capacity 64M
    echo "malloc:jemalloc is skipped: $(grep '^target  malloc:jemalloc ' list.txt)"
fi
if [ "$ran" = 0 ] && [ "$failures" = 0 ]; then
    echo "no allocator that an adapter loads is installed"
    exit 77
fi
finish
