#!/usr/bin/env bash
# Whether engines get to see the cells of fuzz/feedback.h.  Compilers take out arrays that nobody reads, and linkers
# sections that nobody names, without a word; then a campaign runs blind.  So the programs are looked into and run.
#
#     tests/fuzz/fuzz_feedback.sh FUZZ_INPUT BUILD_FOLDER...
#
# FUZZ_INPUT: the program that makes inputs.  Each folder is a build of this tree with libFuzzer or AFL++, if it is there.
# Exit: 0 each build shows its cells, 1 one does not, 77 there is none.
set -euo pipefail
fuzz_input=$(realpath "$1")
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
    echo "$*" >&2
    exit 1
}

# Lists in which no cell is noted, and in which memory runs out.
printf 'hbmstress-ops 1\ncapacity 4K\ngranule 512\n0: alloc size=2K\n' >"$scratch/quiet.ops"
printf 'hbmstress-ops 1\ncapacity 4K\ngranule 512\n0: alloc size=2K\n1: alloc size=4K\n' >"$scratch/full.ops"
mkdir "$scratch/quiet" "$scratch/full"
"$fuzz_input" from-ops "$scratch/quiet" "$scratch/quiet.ops"
"$fuzz_input" from-ops "$scratch/full" "$scratch/full.ops"

# The bytes of all sections of that name.
section_bytes() { # FILE SECTION
    local hex total=0
    for hex in $(readelf --sections --wide "$1" | sed 's/^ *\[ *[0-9]*\] *//' |
        awk -v name="$2" '$1 == name { print $5 }'); do
        total=$((total + 16#$hex))
    done
    echo "$total"
}
# No cell is noted by code that the engine follows, too, nor does it follow what judges; it follows what is under test.
check_followed() { # FOLDER
    local object
    object=$1/allocator/CMakeFiles/hbm.dir/heap.c.o
    nm "$object" >"$scratch/symbols"
    if [ "$(section_bytes "$object" __sancov_cntrs)" -eq 0 ] && ! grep -q ' __afl_area_ptr' "$scratch/symbols"; then
        fail "$object is not instrumented"
    fi
    for object in "$1"/harness/rules/CMakeFiles/harness_rules.dir/call.c.o \
        "$1"/fuzz/CMakeFiles/fuzz.dir/feedback.c.o "$1"/fuzz/CMakeFiles/fuzz_feedback_*.dir/feedback_*.c.o; do
        [ -f "$object" ] || fail "$object is not there"
        [ "$(section_bytes "$object" __sancov_cntrs)" -eq 0 ] || fail "$object is instrumented itself"
        nm "$object" >"$scratch/symbols"
        ! grep -q ' __afl_area_ptr' "$scratch/symbols" || fail "$object is instrumented itself"
    done
}

# --- libFuzzer ------------------------------------------------------------------------------------------------
# Features that are no edges: cells, and one for how deep the stack got.
other_features() { # FUZZER FOLDER
    "$1" -runs=0 -use_counters=0 -use_cmp=0 "$2" 2>&1 |
        sed -n 's/.*INITED cov: \([0-9]*\) ft: \([0-9]*\).*/\1 \2/p' | awk '{ print $2 - $1 }'
}
check_libfuzzer() { # FUZZER
    local bytes quiet full
    bytes=$(section_bytes "$1" __libfuzzer_extra_counters)
    [ "$bytes" -ge 512 ] || fail "$1: the section of extra counters has $bytes bytes"
    [ $((bytes % 8)) -eq 0 ] || fail "$1: libFuzzer reads counters 8 at a time, and there are $bytes"
    nm "$1" >"$scratch/symbols"
    grep -q ' [dDbB] __start___libfuzzer_extra_counters$' "$scratch/symbols" ||
        fail "$1: libFuzzer does not find the counters"
    quiet=$(other_features "$1" "$scratch/quiet")
    full=$(other_features "$1" "$scratch/full")
    [ $((full - quiet)) -ge 4 ] || fail "$1: $quiet features without an out-of-memory, $full with one"
    echo "$1: libFuzzer sees cells ($bytes bytes; $quiet features, then $full)"
}

# --- AFL++ ----------------------------------------------------------------------------------------------------
# How many places of the map that only cells have were hit: guards are numbered in order, from a number below 16 on.
cells_hit() { # FUZZER INPUT FIRST END
    afl-showmap -q -o "$scratch/map" -- "$1" "$2" >"$scratch/log" 2>&1 || true
    [ -s "$scratch/map" ] || fail "$1: afl-showmap shows nothing: $(tail -n 3 "$scratch/log")"
    awk -F: -v first="$3" -v end="$4" \
        '$1 + 0 >= first + 16 && $1 + 0 < end { count++ } END { print count + 0 }' "$scratch/map"
}
check_afl() { # FUZZER OBJECT
    local bytes all start first quiet full
    bytes=$(section_bytes "$2" __sancov_guards)
    all=$(section_bytes "$1" __sancov_guards)
    [ $((bytes >= 2048 && all > bytes)) -eq 1 ] || fail "$1: $bytes bytes of guards for cells among $all"
    start=$((16#$(nm "$1" | awk '$3 == "__start___sancov_guards" { print $1 }')))
    first=$(((16#$(nm "$1" | awk '$3 == "guards" { print $1 }') - start) / 4))
    quiet=$(cells_hit "$1" "$scratch/quiet/quiet" "$first" $((first + bytes / 4)))
    full=$(cells_hit "$1" "$scratch/full/full" "$first" $((first + bytes / 4)))
    [ $((quiet == 0 && full >= 2)) -eq 1 ] || fail "$1: $quiet cells without an out-of-memory, $full with one"
    echo "$1: AFL++ sees cells ($bytes bytes of guards; $quiet of them, then $full)"
}

looked=0
for folder in "$@"; do
    fuzzer="$folder/fuzz/fuzz_schedule"
    [ -x "$fuzzer" ] || continue
    if [ -f "$folder/fuzz/CMakeFiles/fuzz_feedback_libfuzzer.dir/feedback_libfuzzer.c.o" ]; then
        check_followed "$folder"
        check_libfuzzer "$fuzzer"
        looked=$((looked + 1))
    elif [ -f "$folder/fuzz/CMakeFiles/fuzz_feedback_afl.dir/feedback_afl.c.o" ] &&
        command -v afl-showmap >/dev/null; then
        check_followed "$folder"
        check_afl "$fuzzer" "$folder/fuzz/CMakeFiles/fuzz_feedback_afl.dir/feedback_afl.c.o"
        looked=$((looked + 1))
    fi
done
[ "$looked" -gt 0 ] || exit 77
