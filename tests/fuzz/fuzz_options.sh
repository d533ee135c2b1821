#!/usr/bin/env bash
# What fuzz/build.sh writes beside the programs for ClusterFuzzLite and OSS-Fuzz: options that the engine knows and that
# are those of ci/fuzz, dictionaries that it can read, seeds.  CMake is a stand-in, and the programs are empty: fuzz_fleet
# builds them.
#
#     tests/fuzz/fuzz_options.sh TREE TARGETS.TXT
set -u
tree=$1 targets=$2
for program in clang python3 zip; do
    if ! command -v $program >/dev/null; then
        echo "skipped: $program is missing"
        exit 77
    fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) { return bytes == NULL && size != 0; }' >"$work/engine.c"
if ! clang -fsanitize=fuzzer "$work/engine.c" -o "$work/engine" 2>"$work/log"; then
    echo "skipped: -fsanitize=fuzzer does not link: $(head -n 1 "$work/log")"
    exit 77
fi
mkdir "$work/bin" "$work/out" "$work/work"
cat >"$work/bin/cmake" <<'END'
#!/usr/bin/env bash
set -e
if [[ $1 = -S ]]; then
    mkdir -p "$4/fuzz" && cp "$STAND_IN_TARGETS" "$4/fuzz/targets.txt"
else
    for name in "${@:4}"; do : >"$2/fuzz/$name"; done
fi
END
chmod +x "$work/bin/cmake"
build() { # ARGUMENTS-OF-env...
    env PATH="$work/bin:$PATH" STAND_IN_TARGETS="$targets" CC=clang CXX=clang++ CFLAGS= CXXFLAGS= LIB_FUZZING_ENGINE= \
        OUT="$work/out" WORK="$work/work" env "$@" "$tree/fuzz/build.sh" 2>"$work/err.txt"
}
failures=0
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

build || fail "build.sh: exit $?: $(cat "$work/err.txt")"
(cd "$tree" && bash -euc 'script=t; . ci/fuzz_common.sh; read_target_list "$1"
    for name in "${names[@]}"; do engine_options "$name"; echo "$name ${options[*]}"; done' - "$targets") >"$work/options"
check() { python3 "$tree/tests/fuzz/check_options.py" "$work/out" "$targets" "$work/engine" "$work/options"; }
check || fail "what lies beside the programs is not as it should be"

# The check sees what it is for.
notices() { # TEXT COMMAND...: of a copy of what was written
    cp -r "$work/out" "$work/kept"
    "${@:2}"
    if check 2>"$work/err.txt" || ! grep -q -- "$1" "$work/err.txt"; then fail "$1: is not noticed by ${*:2}"; fi
    rm -rf "$work/out" && mv "$work/kept" "$work/out"
}
notices 'entropic is on' sed -i '/entropic/d' "$work/out/fuzz_bfc.options"
notices 'not as its kind asks' sed -i '/use_counters/d' "$work/out/fuzz_ops.options"
notices 'does not know' sed -i "\$a entropy = 0" "$work/out/fuzz_ops.options"
notices 'is not {' sed -i 's/max_len = .*/max_len = 4096/' "$work/out/fuzz_ops.options"
notices 'for the fleet' sed -i "\$a timeout = 9" "$work/out/fuzz_ops.options"
notices 'cannot read the dictionary' sed -i "\$a unquoted" "$work/out/fuzz_bfc.dict"
notices 'has no seeds' rm "$work/out/fuzz_ops_seed_corpus.zip"

# Without what the fleets set nothing is written.
build -u OUT && fail "build.sh does without OUT"
[ "$(cat "$work/err.txt")" = "fuzz/build.sh: OUT is not set; ClusterFuzzLite and OSS-Fuzz set it" ] ||
    fail "without OUT it prints $(cat "$work/err.txt")"
[ "$failures" = 0 ]
