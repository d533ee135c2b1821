#!/usr/bin/env bash
# cuda:pool, with stand-ins for the CUDA driver: what it cannot be opened with is told in one line, it keeps what it promises
# over a sound driver, and a bent one is found.  Nothing here says anything about CUDA itself.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
fakes=$2
both="queued_free_race fragmentation_storm"
quick="--capacity 64M --seed 1 --shrink-budget 0 --ops 1500"

# Without a driver, and without a device: no error of the list, and one line from whoever opens it.
expect_exit 0 list targets
if grep -q "^target  cuda:pool .*not usable here: libcuda.so.1 cannot be loaded" out.txt; then
    expect_refusal 2 "libcuda.so.1 cannot be loaded: install the package libcuda1" run slow_leak --target cuda:pool
fi
export LD_LIBRARY_PATH=$fakes/nothing
export FAKE_CUDA_NO_DEVICE=1
expect_exit 0 list targets
expect_text out.txt "not usable here: the driver cannot be initialised: CUDA_ERROR_NO_DEVICE"
expect_refusal 2 "the driver cannot be initialised: CUDA_ERROR_NO_DEVICE" run slow_leak --target cuda:pool
unset FAKE_CUDA_NO_DEVICE
expect_exit 0 list targets
grep "^target  cuda:pool " out.txt | grep -q "not usable" && fail "the stand-in is not usable: $(grep '^target  cuda:pool ' out.txt)"

expect_refusal 2 "unknown target 'cuda:poo'; did you mean 'cuda:pool'?" run --target cuda:poo
expect_refusal 2 "a multiple of 32M" run slow_leak --target cuda:pool --capacity 33M
expect_refusal 2 "valid are on_oom, placement, reuse, threshold" run slow_leak --target cuda:pool --target-option limit=1
expect_refusal 2 "option reuse=all: valid values are done, none" run slow_leak --target cuda:pool --target-option reuse=all
printf 'hbmstress-ops 1\ncapacity 64M\ngranule 1K\nhosts 1\ntarget cuda:pool\n\n0: alloc size=1\n' >granule.ops
expect_refusal 2 "cuda:pool has a granule of 512" replay granule.ops

# With faults; some trials run twice, so that answers are compared.
for options in placement=hidden placement=pages reuse=none threshold=1M; do
    # shellcheck disable=SC2086
    expect_exit 0 run $both slow_leak --target cuda:pool --target-option "$options" $quick --replay-sample 4 \
        --out "sound_$options"
    expect_text out.txt "every promise kept, "
    expect_no_text out.txt " 0 OOMs"
done

# A queued free serves its own stream at once, and others once it is done.
cat >streams.ops <<'END'
hbmstress-ops 1
capacity 64M
granule 512
hosts 1
target cuda:pool
option on_oom=none

0: alloc size=64M stream=1
1: free_after block=0 delay=1s stream=1
2: alloc size=64M stream=2
3: alloc size=64M stream=1
4: free_after block=3 delay=1s stream=1
5: alloc size=64M stream=2
6: advance delay=10s
7: alloc size=64M stream=2
END
expect_exit 0 replay streams.ops
expect_text out.txt " 8 ops, 2 OOMs"

# More waits than the driver has room for, and more streams than it has connections.
{
    printf 'hbmstress-ops 1\ncapacity 64M\ngranule 512\nhosts 1\ntarget cuda:pool\n\n'
    for ((i = 0; i < 1500; i += 2)); do
        printf '%d: alloc size=512 stream=3\n%d: free_after block=%d delay=1s stream=3\n' "$i" $((i + 1)) "$i"
    done
    printf '%d: alloc size=64M stream=4\n' "$i"
} >waits.ops
expect_exit 0 replay waits.ops
expect_text out.txt " 1501 ops, 0 OOMs"

# run_bent BEND OPTION
run_bent() {
    # shellcheck disable=SC2086
    LD_LIBRARY_PATH=$fakes/$1 expect_exit 1 run $both --target cuda:pool --target-option "$2" $quick --out "bent_$1"
}
run_bent leak placement=pages
expect_text out.txt "BROKEN premature: "
LD_LIBRARY_PATH=$fakes/forgets expect_exit 1 replay streams.ops
expect_text out.txt "op 3: out of memory, premature"
LD_LIBRARY_PATH=$fakes/foreign expect_exit 1 replay streams.ops
expect_text out.txt "finding reused_early: memory of another stream"
run_bent premature placement=hidden
expect_text out.txt "BROKEN premature: "
finish
