#!/usr/bin/env bash
# fuzz/build.sh, called as ClusterFuzzLite and OSS-Fuzz call it, leaves in $OUT what their rules ask for: programs
# that can be named, that need nothing of the machine that built them and run from anywhere, and archives beside them.
set -u
tree=$1
for program in clang clang++ cmake ninja zip unzip; do
    if ! command -v $program >/dev/null; then
        echo "skipped: $program is missing"
        exit 77
    fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# build ENGINE VARIABLE=VALUE...: the artifacts are in $work/ENGINE, which is not where they were built.
build() {
    local engine=$1
    shift
    mkdir -p "$work/src" "$work/made" "$work/work"
    rm -rf "$work/made" "$work/work" && mkdir "$work/made" "$work/work"
    ln -sfn "$tree" "$work/src/hbmstress"
    if ! env "$@" OUT="$work/made" WORK="$work/work" SRC="$work/src" "$tree/.clusterfuzzlite/build.sh" >"$work/log" 2>&1; then
        tail -n 30 "$work/log"
        fail "$engine: build.sh ends with an error"
        return 1
    fi
    cmp -s "$tree/.clusterfuzzlite/build.sh" "$tree/oss-fuzz/build.sh" || fail "the two build.sh differ"
    cp "$work/work/hbmstress/fuzz/targets.txt" "$work/targets.txt"
    mv "$work/made" "$work/$engine"
    rm -rf "$work/work"
}

# What holds whatever the engine is.
check_artifacts() { # ENGINE
    local name out=$work/$1 extra
    while read -r name _; do
        [ -x "$out/$name" ] || fail "$1: $name is not there"
        [[ $name =~ ^[A-Za-z0-9_-]+$ ]] || fail "$1: a target cannot be called $name"
        # What is in it: fuzz_options.sh.
        [ -s "$out/$name.options" ] || fail "$1: $name has no options"
        # Their machines have the C and C++ libraries, and nothing else.
        extra=$(ldd "$out/$name" | awk '{ print $1 }' |
            grep -vE '^(linux-vdso|/lib64/ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+))\.so')
        [ -z "$extra" ] || fail "$1: $name needs $extra"
    done <"$work/targets.txt"
}

c_flags="-O1 -fno-omit-frame-pointer -gline-tables-only -fsanitize=address -fsanitize-address-use-after-scope"
libfuzzer="$c_flags -fsanitize=fuzzer-no-link"
if build libfuzzer CC=clang CXX=clang++ CFLAGS="$libfuzzer" CXXFLAGS="$libfuzzer" LIB_FUZZING_ENGINE=-fsanitize=fuzzer; then
    check_artifacts libfuzzer
    mkdir "$work/elsewhere" && cd "$work/elsewhere" || exit 1
    while read -r name _; do
        # As the base runner calls it, in the folder of the programs and with the options of the file.
        mapfile -t options < <(sed -n 's/^\([a-z_]*\) = /-\1=/p' "$work/libfuzzer/$name.options")
        (cd "$work/libfuzzer" && "./$name" -seed=1337 -runs=4 "${options[@]}") >"$work/log" 2>&1
        if grep -q unrecognized "$work/log"; then fail "$name does not know each of its options"; fi
        grep -q 'Done 4 runs' "$work/log" || fail "$name does not run from another folder: $(tail -n 3 "$work/log")"
        edges=$(sed -n 's/^INFO: Loaded 1 modules *(\([0-9]*\) inline.*/\1/p' "$work/log")
        [ "${edges:-0}" -gt 1000 ] || fail "$name has ${edges:-0} edges: it is not instrumented"
        objdump -d "$work/libfuzzer/$name" | grep -c 'call.*<__asan' >"$work/calls"
        [ "$(cat "$work/calls")" -gt 1000 ] || fail "$name is not built with the address sanitizer"
        if [ -e "$work/libfuzzer/${name}_seed_corpus.zip" ]; then
            mkdir "seeds-$name" && unzip -q -d "seeds-$name" "$work/libfuzzer/${name}_seed_corpus.zip"
            "$work/libfuzzer/$name" -runs=0 -timeout=100 "seeds-$name" >"$work/log" 2>&1 || fail "a seed of $name is a finding"
        fi
    done <"$work/targets.txt"
fi
if command -v afl-clang-fast++ >/dev/null; then
    if build afl CC=afl-clang-fast CXX=afl-clang-fast++ CFLAGS="$c_flags" CXXFLAGS="$c_flags" AFL_QUIET=1 \
        LIB_FUZZING_ENGINE=/usr/lib/afl/libAFLDriver.a ASAN_OPTIONS=detect_leaks=0; then
        check_artifacts afl
        mkdir "$work/one" && head -c 64 /dev/zero >"$work/one/zeros"
        export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1
        while read -r name _; do
            afl-fuzz -V 2 -m none -t 10000 -i "$work/one" -o "$work/out-$name" -- "$work/afl/$name" >"$work/log" 2>&1
            grep -q 'All set and ready to roll' "$work/log" || fail "afl-fuzz cannot run $name: $(tail -n 3 "$work/log")"
        done <"$work/targets.txt"
    fi
else
    echo "AFL++ is missing: its half was left out"
fi
[ "$failures" = 0 ]
