#!/usr/bin/env bash
# The one build of the fuzz targets for ClusterFuzzLite and OSS-Fuzz: what .clusterfuzzlite/build.sh and
# oss-fuzz/build.sh call, in the image that their Dockerfile makes.  CC, CXX, CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE
# say how to compile and what to link; targets, seeds, dictionaries and options go to $OUT, what is in between to
# $WORK.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck disable=SC2034 # for what is sourced
script=fuzz/build.sh
# shellcheck source=ci/fuzz_common.sh
. ci/fuzz_common.sh
for variable in CC CXX CFLAGS CXXFLAGS LIB_FUZZING_ENGINE OUT WORK; do
    if [[ -z ${!variable+set} ]]; then
        fail 2 "$variable is not set; ClusterFuzzLite and OSS-Fuzz set it"
    fi
done

# Sanitizers are the engine's business and in CFLAGS; their clang is newer than ours, so warnings are not errors; the
# machines that run the targets have no libraries of ours, so those are linked statically.
build=$WORK/hbmstress
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DHBMSTRESS_TESTS=OFF -DHBMSTRESS_WERROR=OFF \
    -DCMAKE_PROJECT_hbmstress_INCLUDE="$PWD/fuzz/static_libraries.cmake"
read_target_list "$build/fuzz/targets.txt"
cmake --build "$build" --target "${names[@]}"

for name in "${names[@]}"; do
    cp "$build/fuzz/$name" "$OUT/"
    engine_flags "$name"
    if [[ -e fuzz/dictionaries/$name.dict ]]; then
        cp "fuzz/dictionaries/$name.dict" "$OUT/"
        flags+=("dict=$name.dict")
    fi
    printf '%s\n' '[libfuzzer]' "${flags[@]/=/ = }" >"$OUT/$name.options"
    unpack_seeds "$name" "$WORK/seeds"
    seeds=$WORK/seeds/$name
    if [[ ! -d $seeds && ${kind[$name]} = bytes ]]; then seeds=corpus/field/${name#fuzz_}; fi
    if [[ ! -d $seeds && $name = *_ops_text ]]; then seeds=corpus/regressions; fi
    if [[ -d $seeds ]]; then
        rm -f "$OUT/${name}_seed_corpus.zip"
        # The same files give the same archive.
        find "$seeds" -type f | LC_ALL=C sort | zip -q -X -j "$OUT/${name}_seed_corpus.zip" -@
    fi
done
