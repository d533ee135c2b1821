#!/usr/bin/env bash
# ci/mutants and ci/branches in a tree of their own: one file, one test that notices some changes and not others.
#
#     tests/ci/ci_mutants.sh TREE
# shellcheck disable=SC2016 # backticks are part of what is printed
set -u
tree=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

cd "$work" || exit 1
mkdir -p room tests
cp -r "$tree/ci" .
cp -r "$tree/tests/mutants" tests
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES C)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
enable_testing()
add_library(room STATIC room/room.c)
add_executable(test_room test.c)
target_link_libraries(test_room room)
add_test(NAME test_room COMMAND test_room)
END
cat >CMakePresets.json <<'END'
{"version": 6, "configurePresets": [{"name": "mutants", "generator": "Ninja", "binaryDir": "${sourceDir}/build/mutants",
                                     "cacheVariables": {"CMAKE_BUILD_TYPE": "Release"}},
                                    {"name": "coverage", "generator": "Ninja", "binaryDir": "${sourceDir}/build/coverage",
                                     "cacheVariables": {"CMAKE_C_FLAGS": "--coverage"}},
                                    {"name": "dev", "generator": "Ninja", "binaryDir": "${sourceDir}/build/dev",
                                     "cacheVariables": {"CMAKE_C_FLAGS": "-fsanitize=address"}}],
 "buildPresets": [{"name": "mutants", "configurePreset": "mutants"}, {"name": "coverage", "configurePreset": "coverage"},
                  {"name": "dev", "configurePreset": "dev"}]}
END
cat >room/room.c <<'END'
#include <stdbool.h>
#include <stdio.h>

#define CHECK(condition) ((condition) ? (void)0 : (void)puts("wrong"))

/* Is the number less than 10? < this is no operator */
bool is_small(int number)
{
    CHECK(number > -1000);
    printf("%d < 10\n", number);
    return number < 10;
}

unsigned count_bits(unsigned bits)
{
    unsigned count = 0;
    if (bits == 12345) {
        return 6;
    }
    while (bits != 0) {
        count += bits & 1;
        bits >>= 1;
    }
    return count;
}

bool has_number(const int *numbers, int count, int wanted)
{
    for (int i = 0; i < count; i++) {
        if (numbers[i] == wanted) {
            return true;
        }
    }
    return false;
}
END
cat >test.c <<'END'
#include <stdbool.h>
#include <stdlib.h>
bool is_small(int number);
unsigned count_bits(unsigned bits);
bool has_number(const int *numbers, int count, int wanted);
int main(void)
{
    int *numbers = calloc(4, sizeof *numbers);
    numbers[0] = 5;
    const bool is_right = has_number(numbers, 4, 5) && !has_number(numbers, 4, 77);
    free(numbers);
    return is_right && is_small(3) && !is_small(12) && count_bits(0) == 0 && count_bits(7) == 3 ? 0 : 1;
}
END
printf '[room]\nfiles = room/*.c\ntests = test_room\n' >tests/mutants/rooms.ini
list() { printf '%s\n' "$@" >tests/mutants/listed.txt; }
list '== equivalent' '' '== open'

fail() {
    echo "FAILED: $*" >&2
    sed 's/^/    /' out.txt err.txt >&2
    failures=$((failures + 1))
}

# expect STATUS ARGUMENT...: leaves what it printed in out.txt and err.txt.
script=mutants
expect() {
    local wanted=$1 got
    shift
    timeout -s KILL 120 "ci/$script" "$@" >out.txt 2>err.txt
    got=$?
    [ "$got" = "$wanted" ] || fail "ci/$script $*: exit $got, should be $wanted"
}
expect_line() { grep -qxF -- "$1" out.txt || fail "no line '$1'"; }
expect_no() { ! grep -qF -- "$1" out.txt || fail "a line with '$1'"; }
expect_error() { grep -qxF -- "ci/$script: $1" err.txt || fail "does not say '$1'"; }

expect 2 nowhere
expect_error "there is no room 'nowhere'; the rooms are: room"
expect 2 --count 0
expect_error "argument --count: '0' is not a number from 1 to 999999999; ci/mutants --help lists the arguments"
expect 2 --counts 3
expect_error "unrecognized arguments: --counts; ci/mutants --help lists the arguments"
expect 0 --list
grep -qE '^room +1 +[0-9]+ +1$' out.txt || fail "the list has not the room"
[ ! -e build ] || fail "what only asks has built"

# All of them: what the test misses is told, and a loop that does not end is ended.
expect 1 room --count 1000 --check
expect_line 'new: room/room.c:11: `return number < 10;` -> `return number <= 10;`'
expect_line 'new: room/room.c:11: `return number < 10;` -> `return number < 11;`'
expect_line 'new: room/room.c:11: `return number < 10;` -> `return number < 9;`'
expect_no '`return number >= 10;`'
expect_no 'room.c:9:'
expect_no 'room.c:10:'
expect_no '`bits >>= 1;`'
expect_line 'new: room/room.c:18: `return 6;` -> `return 7;`, which no test reaches'
grep -qE '^room +[0-9]+ +[0-9]+ +[1-9][0-9]* +[1-9][0-9]* +0 +[0-9]+ +[1-9]' out.txt ||
    fail "no row with some that hang, some that only a sanitizer sees and some unreached"
expect_no '`for (int i = 0; i < count; i++) {` -> `for (int i = 0; i <= count; i++) {`'

# The same seed makes the same choice, another one another.
expect 0 room --count 5 --seed 7
cp out.txt first.txt
expect 0 room --count 5 --seed 7 --jobs 1
cmp -s first.txt out.txt || fail "the same seed, another result"

# What is listed is known; what is not, and what cannot be made, is wrong.  Each mutant that hangs takes seconds, so there are
# no loops here.
sed -i '/bits == 12345/,/}/d' room/room.c
cp room/room.c loops.c
awk '/^unsigned count_bits/ { print "unsigned count_bits(unsigned bits)\n{\n    return bits == 7 ? 3 : 0;\n}\n"; skips = 1 }
    /^bool has_number/ { print "bool has_number(const int *numbers, int count, int wanted)\n{\n    return count == 4 && numbers[0] == wanted;\n}"; skips = 1 }
    !skips { print }' room/room.c >no_loops.c
cp no_loops.c room/room.c
equal='- return number < 10;'
list '== equivalent' room/room.c "$equal" '+ return number <= 10;' 'nobody asks for 10' '' \
    '== open' room/room.c "$equal" '+ return number < 11;' "$equal" '+ return number < 9;'
expect 0 room --count 1000 --check
expect_line 'equivalent: room/room.c:11: `return number < 10;` -> `return number <= 10;`'
expect_line 'open: room/room.c:11: `return number < 10;` -> `return number < 9;`'
expect_no new:
list '== open' room/room.c "$equal" '+ return number >= 10;' '' room/room.c '- return number < 12;' '+ return 0;'
expect 1 room --count 1000 --check
expect_line 'listed, but no mutant: room/room.c: `return number < 12;` -> `return 0;`'
grep -q '^listed as open, but test_room kills it: .* -> `return number >= 10;`$' out.txt || fail "a listed one is killed unseen"
list '== equivalent' room/room.c "$equal" '+ return number <= 10;'
expect 2 room
list '== open' room/room.c "$equal" '+ return number < 9;' "$equal"
expect 2 room
grep -qF 'tests/mutants/listed.txt:2: no "+ " stands behind a "- "' err.txt || fail "a pair without its second half"
list '== equivalent' '' '== open'
cp loops.c room/room.c

# The branches that the test takes, without those of a check; a reason for the one that it does not.
script=branches
expect 2 nowhere
expect_error "there is no room 'nowhere'; the rooms are: room"
expect 0 room --lines
grep -qE '^room +[0-9]+ +[0-9]+ +100.0 % +6 +6 +0 +100.0 %$' out.txt || fail "not all branches are taken"
sed -i 's/bits != 0/bits != 0 \&\& count < 100/' room/room.c
expect 1 room --lines --check
expect_line 'new: room/room.c:17: `while (bits != 0 && count < 100) {`, 1 of 4 not taken'
printf '%s\n' '== unreachable' room/room.c '- while (bits != 0 && count < 100) {' '+ 1 of 4 not taken' 'there are 32 bits' \
    >tests/mutants/branches.txt
expect 0 room --check
grep -qE '^room .* 8 +7 +1 +100.0 %$' out.txt || fail "what is unreachable counts"
sed -i 's/count < 100/count < 2/' room/room.c
expect 0 room
expect_line 'test_room has failed in the build with counters, so what it takes may be missing'
sed -i 's/ && count < 2//' room/room.c
expect 1 room --check
expect_line 'listed, but no longer so: room/room.c: `while (bits != 0 && count < 100) {`, 1 of 4 not taken'
script=mutants

# Only what a change touches.
if ! command -v git >/dev/null; then
    echo "without git: --change is not tested"
else
    git init -q . && git add room && git -c user.name=n -c user.email=e commit -qm room
    sed -i 's/unsigned count = 0/unsigned count = 1 - 1/' room/room.c
    expect 0 --change HEAD
    grep -qE '^room +[1-9]' out.txt || fail "a changed line has no mutants"
    grep -qE '^all +[1-9]' out.txt || fail "a changed line has no mutants"
    expect_no 'room.c:11:'
    git checkout -q room
    expect 0 --change HEAD
    grep -qE '^all +0' out.txt || fail "nothing changed, and there are mutants"
    expect 4 --change no_such_revision
fi

# A test that fails by itself would kill everything.
sed -i 's/return is_right/return !is_right/' test.c
expect 4 room
expect_error 'test_room has failed without a mutant'
[ "$failures" = 0 ]
