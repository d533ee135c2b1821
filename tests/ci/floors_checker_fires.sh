#!/usr/bin/env bash
# The checker of floors finds each kind of breach in a tree made for it, and nothing in a good one.
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failure_count=0

# With the budgets of the real tree, which no tree here comes near to.
copy_checker() {
    cp "$source_tree/ci/check-floors" "$source_tree/ci/check_floors.awk" "$source_tree/ci/check_budgets.awk" \
        "$source_tree/ci/help.sh" "$tree/ci/"
    grep -v '^\(file\|folder\) ' "$source_tree/ci/budgets.txt" >"$tree/ci/budgets.txt"
}

make_good_tree() {
    rm -rf "${tree:?}"/*
    mkdir "$tree/ci"
    copy_checker
    local folder
    for folder in allocator harness kit checker targets scenarios formats present campaign explain pod cli fuzz bench tests; do
        mkdir "$tree/$folder"
        printf '/* A thing of the folder, to be included by others. */\n' >"$tree/$folder/thing.h"
        printf '#include "%s/thing.h"\n\n#include <stdint.h>\n' "$folder" >"$tree/$folder/thing.c"
    done
    local room
    for room in formats/common formats/common/private formats/bfc formats/xla; do
        mkdir "$tree/$room"
        printf '/* A thing of the room, to be included by others. */\n' >"$tree/$room/thing.h"
    done
    printf '#include "formats/common/thing.h"\n#include "formats/xla/thing.h"\n' >"$tree/formats/registry.c"
    printf '#include "formats/common/private/thing.h"\n' >"$tree/formats/common/other.c"
    printf '#include "formats/common/private/thing.h"\n' >"$tree/tests/inside.c"
    printf '#include "harness/thing.h"\n#include "allocator/thing.h"\n#include "kit/thing.h"\n' >"$tree/targets/other.c"
    printf '/* hbm_alloc is spoken of here. */\nconst char *name = "hbm_x";\n' >"$tree/harness/words.c"
    printf '#include "checker/thing.h"\n' >"$tree/cli/other.c"
    printf '/* The table of calls, to be included by kit/. */\n' >"$tree/harness/target.h"
    printf '#include "harness/target.h"\n#include <hbmstress/kit.h>\n' >"$tree/kit/other.c"
    mkdir -p "$tree"/{fuzz,cli,fuzz/others}/hbm_calls
    printf '#include "allocator/thing.h"\n' >"$tree/fuzz/hbm_calls/other.c"
    printf '#include "cli/thing.h"\n#include "bench/thing.h"\n' >"$tree/tests/other.c"
}

# finds FILE "TEXT of the file" "EXPECTED part of the message"
finds() {
    make_good_tree
    printf '%b' "$2" >"$tree/$1"
    local said
    if said=$("$tree/ci/check-floors" "$tree"); then
        echo "not found in $1: $2"
        failure_count=$((failure_count + 1))
    elif [[ $said != "$1:"*"$3"* || $(wc -l <<<"$said") -ne 1 ]]; then
        echo "for $1 expected one line with \"$3\", got: $said"
        failure_count=$((failure_count + 1))
    fi
}

make_good_tree
if ! said=$("$tree/ci/check-floors" "$tree"); then
    echo "found in a good tree: $said"
    failure_count=$((failure_count + 1))
fi

for pair in allocator:harness kit:harness kit:allocator harness:kit harness:allocator harness:checker harness:targets checker:harness targets:scenarios \
    targets:cli scenarios:allocator \
    scenarios:formats formats:scenarios formats:allocator present:formats present:campaign present:allocator explain:pod pod:explain campaign:explain explain:cli present:cli \
    cli:allocator cli:bench cli:tests fuzz:allocator fuzz:cli bench:allocator bench:fuzz bench:tests; do
    from=${pair%:*}
    to=${pair#*:}
    finds "$from/bad.c" "#include \"$to/thing.h\"\n" "$from/ may not include $to/"
done
finds formats/common/bad.c '#include "formats/xla/thing.h"\n' 'formats/common/ may not include formats/xla/'
finds formats/common/bad.c '#include "formats/thing.h"\n' 'formats/common/ may not include formats/'
finds formats/bfc/bad.c '#include "formats/xla/thing.h"\n' 'formats/bfc/ may not include formats/xla/'
finds formats/xla/bad.c '#include "formats/common/private/thing.h"\n' 'is for formats/common/ alone'
# What fuzz/hbm_calls/ may include, nothing beside it and nothing of that name elsewhere may, and it may include no more.
for file in fuzz/hbm_calls.c fuzz/hbm_calls_more.c fuzz/others/hbm_calls/bad.c; do
    finds "$file" '#include "allocator/thing.h"\n' 'fuzz/ may not include allocator/'
done
finds cli/hbm_calls/bad.c '#include "allocator/thing.h"\n' 'cli/ may not include allocator/'
finds fuzz/hbm_calls/bad.c '#include "bench/thing.h"\n' 'fuzz/ may not include bench/'
finds scenarios/bad.c '#include <hbm/hbm.h>\n' 'scenarios/ may not include allocator/'
finds cli/bad.c '#include <hbmstress/kit.h>\n' 'cli/ may not include kit/'
finds allocator/bad.c '#include <hbmstress/target.h>\n' 'allocator/ may not include harness/'
finds cli/bad.c '#include <harness/thing.h>\n' 'write it in quotes'
finds cli/bad.c '#include "thing.h"\n' 'not written from the root'
finds cli/bad.c '#include "../harness/thing.h"\n' 'not written from the root'
finds cli/bad.c '#include "cli/../allocator/thing.h"\n' 'not written from the root'
finds cli/bad.c '#include "harness/nothing.h"\n' 'does not exist'
finds cli/bad.c '#define OTHER "allocator/thing.h"\n#include OTHER\n' 'not a macro'
finds cli/bad.c '/* a */ # include "allocator/thing.h" // b\n' 'cli/ may not include allocator/'
finds harness/bad.c 'int f(void) { return hbm_alloc(); }\n' 'no allocator by name'
finds harness/bad.c 'struct hbm *global; /* x */\n' 'no allocator by name'
finds harness/bad.c 'int g(void) { return "/*" [0] + HBM_OK; }\n' 'no allocator by name'
finds present/bad.h '#ifndef BAD_H\n#define BAD_H\n#endif\n' 'a header begins with a comment'
finds present/bad.h '/* bad.h */\nint bad(void);\n' 'a header begins with a comment'
finds present/bad.h '' 'a header begins with a comment'

# Two files that include each other: each edge of the cycle is a line, x.c and private/x.h count as one.
make_good_tree
mkdir -p "$tree/present/private"
printf '/* One of two that include each other. */\n#include "present/private/two.h"\n' >"$tree/present/one.h"
printf '/* The other one of those two. */\n' >"$tree/present/private/two.h"
printf '#include "present/one.h"\n' >"$tree/present/two.c"
if said=$("$tree/ci/check-floors" "$tree") || [[ $(grep -c "part of a cycle" <<<"$said") -ne 2 ]]; then
    echo "expected two lines of a cycle, got: $said"
    failure_count=$((failure_count + 1))
fi
finds harness/bad.c '#include "harness/bad.c"\n' 'a file that includes itself'

# A folder without any source is no proof of anything.
rm -rf "${tree:?}"/*
mkdir "$tree/ci" "$tree/harness"
copy_checker
if "$tree/ci/check-floors" "$tree" >/dev/null; then
    echo "an empty tree passed"
    failure_count=$((failure_count + 1))
fi

echo "floors_checker_fires: $failure_count failures"
[[ $failure_count -eq 0 ]]
