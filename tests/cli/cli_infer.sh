#!/usr/bin/env bash
# infer of the host's allocators; all else that it prints is tests/snap/infer.snap.
#
#     tests/cli/cli_infer.sh HBMSTRESS
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

# Host allocators: what docs/allocators.md says is found by design, and nothing else.
export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192
for adapter in mimalloc jemalloc; do
    expect_exit 0 list targets
    if grep "^target  malloc:$adapter " out.txt | grep -q "not usable here"; then
        echo "malloc:$adapter is skipped: it is not usable here"
        continue
    fi
    expect_exit 1 infer "malloc:$adapter" --capacity 64M --json
    [ "$(grep -c '"verdict":"refuted"' out.txt)" = 1 ] || fail "malloc:$adapter: $(grep '"verdict":"refuted"' out.txt)"
    grep '"verdict":"refuted"' out.txt | grep -q '"field":"rounding".*"experiment":"largest_alignment"' ||
        fail "malloc:$adapter: not the aligned requests: $(grep '"verdict":"refuted"' out.txt)"
done
unset GLIBC_TUNABLES
finish
