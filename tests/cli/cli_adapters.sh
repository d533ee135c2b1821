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
for name in mimalloc jemalloc glibc; do
    grep -q "^target  malloc:$name " out.txt || fail "list targets has no malloc:$name"
done
cp out.txt list.txt
is_usable() { ! grep -q "^target  malloc:$1 .*not usable here" list.txt; }

expect_refusal 2 "unknown target 'malloc:mimaloc'; did you mean 'malloc:mimalloc'?" run --target malloc:mimaloc
expect_refusal 2 "cannot use malloc:./mine.so: it cannot be loaded as a shared object" run --target malloc:./mine.so
expect_refusal 2 "it has no functions malloc and free" run --target "malloc:$bent/../../kit/my_target.so"
expect_refusal 2 "multiple of 32M" run slow_leak --target malloc:mimalloc --capacity 65M
expect_refusal 2 "at least 2M" run slow_leak --target malloc:jemalloc --capacity 1M
expect_refusal 2 "unknown option 'granule'" run slow_leak --target malloc:mimalloc --capacity 64M --target-option granule=512

skipped=0
# run_bent ADAPTER BEND
run_bent() {
    expect_exit 1 run fragmentation_storm queued_free_race --target "$bent/bent_$1.so" --target-option "bend=$2" \
        --capacity 64M --seed 1 --faults none --shrink-budget 0 --ops 2500 --out "bent_$1_$2"
}
count_premature() { joined out.txt | sed -n 's/.*(\([0-9]*\) justified, \([0-9]*\) premature.*/\2/p' | tail -n 1; }

# Its limit is counted, so any free bytes serve; contents are written and read back.
# shellcheck disable=SC2086
expect_exit 0 run fragmentation_storm queued_free_race slow_leak --target malloc:glibc $run_options --ops 3000 \
    --replay-sample 1 --out glibc
expect_text out.txt "not checked: where blocks lie"
expect_text out.txt "every promise kept, every OOM judged: "
expect_no_text out.txt " 0 OOMs"
for defect in leak:premature overlap:contents premature:premature lost:counters; do
    run_bent glibc "${defect%:*}"
    expect_text out.txt "BROKEN ${defect#*:}: "
done
expect_exit 0 run fragmentation_storm queued_free_race --target "malloc:$bent/malloc_nothing.so" --capacity 512K \
    --seed 1 --faults none --ops 4000 --out file
for defect in leak:premature overlap:contents premature:premature; do
    expect_exit 1 run fragmentation_storm --target "malloc:$bent/malloc_${defect%:*}.so" \
        --capacity 512K --seed 3 --faults none --shrink-budget 0 --ops 2600 --out "file_${defect%:*}"
    expect_text out.txt "BROKEN ${defect#*:}: "
done

if is_usable mimalloc; then
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
    # Its own refusals are premature, too, so a leak shows in their number.
    # shellcheck disable=SC2086
    expect_exit 1 run fragmentation_storm queued_free_race --target malloc:mimalloc $run_options --shrink-budget 0 --ops 2500 --out honest
    honest=$(count_premature)
    for defect in leak premature; do
        run_bent mimalloc "$defect"
        [ "$(count_premature)" -gt $((honest + honest / 2)) ] ||
            fail "bend=$defect: $(count_premature) premature out-of-memories, and $honest without it"
    done
    for defect in overlap:overlap lost:counters; do
        run_bent mimalloc "${defect%:*}"
        expect_text out.txt "BROKEN ${defect#*:}: "
    done
else
    expect_refusal 2 "install the package libmimalloc2.0" run slow_leak --target malloc:mimalloc --capacity 64M
    skipped=$((skipped + 1))
    echo "malloc:mimalloc is skipped: $(grep '^target  malloc:mimalloc ' list.txt)"
fi

if is_usable jemalloc; then
    # shellcheck disable=SC2086
    expect_exit 0 run fragmentation_storm queued_free_race slow_leak --target malloc:jemalloc $run_options --ops 3000 \
        --replay-sample 1 --out jemalloc
    expect_text out.txt "every promise kept, every OOM judged: "
    expect_no_text out.txt " 0 OOMs"
    # The honest one keeps every promise in the same trials, so what is found is the defect.
    for defect in leak:premature overlap:overlap premature:premature lost:counters; do
        run_bent jemalloc "${defect%:*}"
        expect_text out.txt "BROKEN ${defect#*:}: "
    done
    expect_refusal 2 "bend" run slow_leak --target "$bent/bent_jemalloc.so" --target-option bend=double --capacity 64M
    # Without room for its thread-local memory it is not loaded, and the line says what to do.
    GLIBC_TUNABLES=glibc.rtld.optional_static_tls=512 expect_refusal 2 "run with GLIBC_TUNABLES=glibc.rtld.optional_static_tls=" \
        run slow_leak --target malloc:jemalloc --capacity 64M
else
    expect_refusal 2 "install the package libjemalloc2" run slow_leak --target malloc:jemalloc --capacity 64M
    skipped=$((skipped + 1))
    echo "malloc:jemalloc is skipped: $(grep '^target  malloc:jemalloc ' list.txt)"
fi
echo "adapters that ran: $((3 - skipped)) of 3 libraries"
finish
