#!/usr/bin/env bash
# What `cmake --install` lays down serves strangers: their code compiles against <hbm/...> and
# <hbmstress/target.h> alone, and the installed program runs.
#
#     tests/ci/installed_headers_compile.sh BUILD_DIRECTORY COMPILER
set -euo pipefail
build=$1
compiler=$2
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

cmake --install "$build" --prefix "$prefix" >/dev/null

cat >"$prefix/product.c" <<'C'
#include <hbm/hbm.h>
#include <hbm/hbm_shape.h>
uint64_t held(const struct hbm *hbm);
uint64_t held(const struct hbm *hbm) { return hbm_host_bytes(hbm); }
C
cat >"$prefix/plugin.c" <<'C'
#include <hbmstress/target.h>
extern const struct target hbmstress_target;
const struct target hbmstress_target = {.abi_version = TARGET_ABI_VERSION, .size_bytes = sizeof(struct target)};
C
for unit in product plugin; do
    "$compiler" -std=c17 -pedantic -Wall -Wextra -Werror -Wno-missing-field-initializers -I"$prefix/include" \
        -c "$prefix/$unit.c" -o "$prefix/$unit.o"
done
archive=$(find "$prefix" -name libhbm.a)
[[ -n $archive ]]
"$prefix/bin/hbmstress" --version
