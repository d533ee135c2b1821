#!/usr/bin/env bash
# From nothing to a verdict with what is installed alone: new-target writes a plug-in that builds and keeps its promises,
# and a defect that is planted in it is found.
#
#     tests/cli/cli_new_target.sh HBMSTRESS BUILD_DIRECTORY COMPILER
build=$(realpath "$2")
compiler=$3
padded=$(realpath "$(dirname "$0")/new_target_padded.cpp")
arenas=$(realpath "$(dirname "$0")/new_target_arenas.cpp")
natural=$(realpath "$(dirname "$0")/new_target_natural.cpp")
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"

prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >install.txt 2>&1 || fail "cmake --install: $(tail -3 install.txt)"
hbmstress=$prefix/bin/hbmstress
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name hbmstress-kit.pc)")
export PKG_CONFIG_PATH
strict=(-g -shared -fPIC -Wall -Wextra -Wpedantic -Werror)
read -ra kit < <(pkg-config --cflags --libs hbmstress-kit)

# What is wrong is refused in one line, and leaves nothing.
mkdir taken
expect_refusal 2 "taken: it is there already" new-target taken
expect_refusal 2 "is no name for a target" new-target "$(printf 'a%.0s' {1..65})"
mkdir interrupted.partial
expect_refusal 2 "interrupted.partial: File exists" new-target interrupted
[ ! -e interrupted ] || fail "new-target wrote into what it did not make"
for left in other other.partial; do
    [ ! -e $left ] || fail "a refusal left $left"
done
# No file can be written: what was begun goes.
said=$( (ulimit -f 0 && trap '' XFSZ && exec "$hbmstress" new-target full) 2>&1)
[ "$?" = 4 ] || fail "a full disk: exit $?"
[ "$said" = "hbmstress: full: File too large" ] || fail "a full disk: $said"
for left in full full.partial; do
    [ ! -e $left ] || fail "a full disk left $left"
done

# judges CODE PLUGIN [OPTION...]: the run ends so, and some out-of-memories were judged in it.
judges() {
    local code=$1 plugin=$2
    shift 2
    expect_exit "$code" run fragmentation_storm queued_free_race deep_holds --target "$plugin" "$@" --capacity 64M \
        --seed 1 --ops 1500 --shrink-budget 50 --out verdicts
    grep -qE '[1-9][0-9]* OOMs \(' out.txt || fail "$plugin: nothing was judged: $(tail -1 out.txt)"
    rm -rf verdicts
}

# follow_guide LANGUAGE RETURNS NAME SOURCE COMPILER...: as docs/kit.md has it, with CMake and without.
follow_guide() {
    local language=$1 returns=$2 name=$3 source=$4
    shift 4
    expect_exit 0 new-target "$name" --lang "$language" --returns "$returns"
    expect_text out.txt "wrote $name/$source"
    [ ! -e "$name.partial" ] || fail "new-target left $name.partial"
    ! grep -r my_target "$name" || fail "the placeholder is left"
    # What it prints to be typed next works as it stands, whatever the environment.
    sed -n '/^next/,$s/^  //p' out.txt >next.sh
    [ "$(wc -l <next.sh)" = 2 ] || fail "new-target printed: $(cat out.txt)"
    env -u PKG_CONFIG_PATH bash -e next.sh >next.txt 2>&1 || fail "$(cat next.sh): $(tail -3 next.txt)"
    [ "$(wc -l <"$name/README.md")" -le 6 ] || fail "README.md is long"
    "$@" "${strict[@]}" -o plain.so "$name/$source" "${kit[@]}" ||
        fail "$name does not compile"
    judges 0 ./plain.so
    (cmake -S "$name" -B "$name/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$name/build") >cmake.txt 2>&1 ||
        fail "cmake of $name: $(tail -5 cmake.txt)"
    judges 0 "./$name/$name.so"
}

# plant SOURCE FROM TO RULE COMPILER...: with FROM replaced by TO that rule is broken.
plant() {
    local source=$1 from=$2 to=$3 rule=$4 planted
    shift 4
    planted=planted.${source##*.}
    sed "s/$from/$to/" "$source" >"$planted"
    ! cmp -s "$source" "$planted" || fail "'$from' is not in $source"
    "$@" "${strict[@]}" -o planted.so "$planted" "${kit[@]}" ||
        fail "'$to' does not compile"
    judges 1 ./planted.so
    grep -qE "finding( 1:)? $rule" out.txt || fail "'$to' is no $rule: $(grep -m1 finding out.txt)"
}

follow_guide c offsets mine mine.c "$compiler" -std=c17
# So does that of a program that is not installed, in a folder with a blank.
mkdir -p "not installed/cli"
cp "$hbmstress" "not installed/cli/hbmstress"
ln -s "$build/kit" "not installed/kit"
"./not installed/cli/hbmstress" new-target local >out.txt
sed -n '/^next/,$s/^  //p' out.txt >next.sh
env -u PKG_CONFIG_PATH bash -e next.sh >next.txt 2>&1 || fail "$(cat next.sh): $(tail -3 next.txt)"
expect_text next.sh "'./not installed/cli/hbmstress' run"
expect_exit 0 new-target default
cmp <(sed s/default/mine/g default/default.c) mine/mine.c || fail "the default is not that of offsets in C"
# A hole of just the size is not taken; one that is smaller is.
plant mine/mine.c 'size_bytes <= end - offset' 'size_bytes < end - offset' premature "$compiler" -std=c17
plant mine/mine.c 'size_bytes <= end - offset' 'size_bytes <= end - offset + 512' overlap "$compiler" -std=c17
plant mine/mine.c 'start + align_bytes - 1) \& ~(align_bytes - 1)' 'start + 511) \& ~(align_bytes * 0 + 511)' misaligned \
    "$compiler" -std=c17
follow_guide c pointers heap heap.c "$compiler" -std=c17
plant heap/heap.c 'bytes <= chunk->size_bytes' 'bytes < chunk->size_bytes' premature "$compiler" -std=c17
plant heap/heap.c '+ bytes, false}' '+ bytes, true}' overlap "$compiler" -std=c17
expect_exit 2 run fragmentation_storm --target ./plain.so --capacity 64M --target-option fit=best --out verdicts
expect_text err.txt "unknown option 'fit'; valid options: none"

cpp=$(command -v c++ || command -v g++ || command -v clang++)
if [ -z "$cpp" ]; then
    echo "the part in C++ is skipped: no C++ compiler"
    finish
fi
follow_guide c++ offsets yours yours.cpp "$cpp" -std=c++17
plant yours/yours.cpp 'size <= offset - place' 'size < offset - place' premature "$cpp" -std=c++17

follow_guide c++ pointers pool pool.cpp "$cpp" -std=c++17
plant pool/pool.cpp 'size <= chunk->size' 'size < chunk->size' premature "$cpp" -std=c++17

# What a class may have besides: pointers, std::optional, sizes of its own, options, exceptions.
for variant in GIVES_POINTERS GIVES_OPTIONAL; do
    "$cpp" -std=c++17 "${strict[@]}" -Wconversion -Wshadow -D$variant -o $variant.so "$padded" "${kit[@]}" ||
        fail "$variant does not compile"
    judges 0 ./$variant.so
    judges 0 ./$variant.so --target-option opens=out_of_memory
    expect_exit 2 run deep_holds --target ./$variant.so --target-option opens=no --capacity 64M --out verdicts
    expect_text err.txt "it was told not to open"
done

# A placement, and a front of its arena: contents are checked through the pointers.
"$cpp" -std=c++17 "${strict[@]}" -DGIVES_POINTERS -DHIDES -o hides.so "$padded" "${kit[@]}" || fail "a placement does not compile"
judges 0 ./hides.so
expect_text out.txt "not checked: where blocks lie"
! grep "not checked: contents" out.txt || fail "the contents of pointers are not checked"
printf '%s\n' 'hbmstress-ops 1' 'capacity 64K' 'granule 512' 'target ./hides.so' '' '0: alloc size=512' >other_granule.ops
expect_exit 2 replay other_granule.ops
expect_text err.txt "this target has a granule of its own"

# Memory that goes bad: a class that reserves it gives it to nobody.
printf '%s\n' 'hbmstress-ops 1' 'capacity 64K' 'granule 4096' 'target ./GIVES_OPTIONAL.so' '' '0: retire size=8K address=16K' \
    '1: alloc size=12K' '2: alloc size=36K' '3: alloc size=1' '4: report' >bad_memory.ops
expect_exit 0 replay bad_memory.ops
expect_text out.txt "5 ops, 1 OOMs (1 justified"
"$cpp" -std=c++17 "${strict[@]}" -DGIVES_OPTIONAL -DRESERVES_NOTHING -o GIVES_OPTIONAL.so "$padded" "${kit[@]}" || fail "it does not compile"
expect_exit 1 replay bad_memory.ops
expect_text out.txt "overlap"

# A layered one: its upstream is the kit.
"$cpp" -std=c++17 "${strict[@]}" -Wconversion -Wshadow -o arenas.so "$arenas" "${kit[@]}" || fail "arenas do not compile"
"$cpp" -std=c++17 "${strict[@]}" -Wconversion -Wshadow -DKEEPS_EMPTY -o keeping.so "$arenas" "${kit[@]}" || fail "arenas that stay do not compile"
expect_exit 0 run queued_free_race --target ./arenas.so --capacity 64M --seed 1 --ops 1500 --faults all --out arenas
expect_exit 0 run queued_free_race --target ./arenas.so --capacity 64M --seed 1 --ops 40 --sweep --out arenas-swept
expect_exit 1 run queued_free_race --target ./keeping.so --capacity 64M --seed 1 --ops 1500 --faults none --out keeping
expect_text out.txt "fits after trim and grow"

# One whose blocks lie at multiples of their size.
"$cpp" -std=c++17 "${strict[@]}" -Wconversion -Wshadow -o natural.so "$natural" "${kit[@]}" || fail "natural does not compile"
"$cpp" -std=c++17 "${strict[@]}" -Wconversion -Wshadow -DLIES -o lying.so "$natural" "${kit[@]}" || fail "lying does not compile"
expect_exit 0 run fragmentation_storm --target ./natural.so --capacity 72M --seed 1 --ops 1500 --out natural
expect_exit 1 run fragmentation_storm --target ./lying.so --capacity 72M --seed 1 --ops 1500 --out lying
expect_text out.txt "misaligned: answer"
finish
