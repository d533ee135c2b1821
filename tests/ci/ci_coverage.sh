#!/usr/bin/env bash
# What ci/coverage --check makes of what llvm-cov exports: ci/coverage.awk, given a small export and a list of reasons.
# usage: ci_coverage.sh TREE
set -u
tree=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# 20 lines of two functions, of which `used` is reached whole; of `rare` the last lines-missed lines are not.
export_lcov() { # LINES-MISSED
    printf 'SF:/tree/build/preset/../../allocator/room.c\nFN:1,used\nFN:11,room.c:rare\n'
    for ((line = 1; line <= 20; line++)); do printf 'DA:%d,%d\n' "$line" $((line <= 20 - $1 ? 3 : 0)); done
    printf 'end_of_record\n'
}

# expect STATUS TEXT LINES-MISSED LIST [PARTS]: exits with STATUS and says TEXT.
expect() {
    export_lcov "$3" >"$work/all.info"
    printf '# FILE FUNCTION REASON\n\n%s\n' "$4" >"$work/uncovered.txt"
    local said status
    said=$(awk -v root=/tree/ -v lists_lines=no -v check=yes -v parts="${5:-libhbm:allocator/room.c}" \
        -f "$tree/ci/coverage.awk" "$work/uncovered.txt" "$work/all.info")
    status=$?
    if [ "$status" = "$1" ] && grep -qF "$2" <<<"$said"; then return; fi
    echo "FAILED: $3 lines missed, listed '$4': exit $status, should be $1 with '$2':" >&2
    echo "$said" >&2
    failures=$((failures + 1))
}

expect 0 'promised: libhbm                                 20 of     20 lines  100.0 %' 0 ''
expect 0 'promised: libhbm                                 19 of     20 lines   95.0 %' 1 \
    'allocator/room.c rare no host memory'
expect 1 'libhbm: less than 95 %' 2 'allocator/room.c rare no host memory'
expect 1 'allocator/room.c rare: 1 lines that nothing reaches' 1 ''
expect 1 'no promised file, no function, or no reason' 1 'allocator/room.c rare'
expect 1 'there is no function allocator/room.c gone' 1 $'allocator/room.c rare no host memory\nallocator/room.c gone why'
expect 0 'allocator/room.c rare is reached whole' 0 'allocator/room.c rare no host memory'
expect 1 'allocator/hole.c: in no fuzz target' 0 '' 'libhbm:allocator/room.c libhbm:allocator/hole.c'
[ "$failures" = 0 ]
