#!/usr/bin/env bash
# doctor: made-up programs, drivers, limits and plug-ins, each with one thing wrong; what is said of it, and the exit code.
# shellcheck source=tests/cli/cli_common.sh
. "$(dirname "$0")/cli_common.sh"
bad_target=$2
bad_plugins=$3
fakes=$4
loading=$(dirname "$bad_target")
export LC_ALL=C

# find_row FILE NAME: that row and what stands below it, blanks squeezed.
find_row() {
    awk -v name="$2" '/^  [a-z]/ { is_in = index(substr($0, 12), name " ") == 1 || substr($0, 12) == name }
        /^[^ ]/ || /^$/ { is_in = 0 } is_in' "$1" | tr -s ' \n' ' '
}
# expect_row NAME TEXT
expect_row() {
    local row
    row=$(find_row out.txt "$1")
    case $row in
    *"$2"*) ;;
    *) fail "doctor says of $1: '$row', which has no '$2'" ;;
    esac
}

# --- all of it ---

expect_exit 0 doctor
for group in program machine engines "tools for tests and builds" "drivers and devices" adapters; do
    grep -qxF "$group" out.txt || fail "doctor has no group $group"
done
expect_row version " ok version $("$hbmstress" --version | cut -d ' ' -f 2)"
expect_row processes " ok processes can be started"
expect_row "malloc:glibc" " ok malloc:glibc /"
grep -q "^hbmstress can do its work here; [0-9]* ok" out.txt || fail "the last line is: $(tail -n 1 out.txt)"
left=$(find . -mindepth 1 ! -name out.txt ! -name err.txt)
[ -z "$left" ] || fail "doctor left files: $left"
[ ! -s err.txt ] || fail "doctor prints on standard error: $(head -c 300 err.txt)"

# As JSON the same rows, and their sum.
lines=$(grep -cE '^  (ok|limited|missing|broken|unknown) ' out.txt)
expect_exit 0 doctor --json
[ "$(grep -c '^{"type":"doctor","group":"' out.txt)" = "$lines" ] || fail "--json has other rows than the $lines of the text"
tail -n 1 out.txt | grep -q '^{"type":"doctor_end","ok":[0-9]*,"limited":[0-9]*,"missing":[0-9]*,"broken":[0-9]*,"unknown":[0-9]*,"exit":0}$' ||
    fail "--json ends with $(tail -n 1 out.txt)"
expect_unread 0 doctor

# --- programs ---

mkdir bin
# make_program NAME: with standard input as its text.
make_program() {
    { echo '#!/bin/sh' && cat; } >"bin/$1"
    chmod +x "bin/$1"
}
make_program clang <<'END'
[ "$1" != -print-resource-dir ] || { echo /nowhere/14.0.6; exit; }
echo 99.1.2
END
make_program cmake <<<'echo cmake version 3.9.1'
make_program ninja <<<'exit 3'
make_program jq <<<'/bin/sleep 60'
make_program apt-get <<<'exit 1'
make_program gcov <<<'printf "gcov \033[31m12.2.0\n"'
mkdir bin/valgrind
touch bin/afl-fuzz
PATH=$work/bin expect_exit 0 doctor
expect_row clang " ok clang 99.1.2, $work/bin/clang"
expect_row libFuzzer " missing libFuzzer nothing of it in /nowhere/14.0.6/lib skipped: fuzzing with libFuzzer to mend it: "
expect_row libFuzzer "apt-get install libclang-rt-14-dev"
expect_row cmake " limited cmake 3.9.1, older than 3.25"
expect_row ninja " broken ninja $work/bin/ninja fails"
expect_row jq " broken jq $work/bin/jq does not answer"
expect_row gcov " ok gcov 12.2.0, "
expect_row valgrind " missing valgrind skipped: ci/instructions to mend it: "
expect_row AFL++ " missing AFL++ skipped: fuzzing with AFL++ to mend it: "
expect_row check " unknown check pkg-config is missing"
rm bin/apt-get bin/jq
PATH=$work/bin expect_exit 0 doctor
expect_no_text out.txt "apt-get install"
# What follows is quicker without them.
rm -r bin/*
quick=$work/bin
doctor() { PATH=$quick expect_exit "$@"; }

# --- limits and folders ---

(ulimit -Sn 128 && PATH=$quick "$hbmstress" doctor >out.txt 2>err.txt)
expect_row "open files" " limited open files 128 "
expect_row "open files" "to mend it: ulimit -n 256"
(ulimit -n 20 && PATH=$quick "$hbmstress" doctor >out.txt 2>err.txt)
[ $? = 4 ] || fail "with 20 open files the exit code is not 4"
grep -q "^hbmstress cannot do its work here: open files; " out.txt || fail "with 20 open files it says: $(tail -n 1 out.txt)"
(ulimit -Sc unlimited 2>/dev/null && PATH=$quick "$hbmstress" doctor >out.txt 2>err.txt &&
    { ! grep -q '^  limited  core files  *are written' out.txt || expect_row "core files" "to mend it: ulimit -c 0"; })

# Root may start as many processes as it likes.
as_user=()
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups); fi
if [ "$(id -u)" != 0 ] || [ ${#as_user[@]} != 0 ]; then
    chmod 755 .
    cp "$hbmstress" own_copy
    mkdir -m 777 open
    (cd open && ulimit -Su 1 && ASAN_OPTIONS=detect_leaks=0 exec "${as_user[@]}" ../own_copy doctor) >out.txt 2>err.txt
    [ $? = 4 ] || fail "without another process the exit code is not 4: $(head -c 300 err.txt)"
    expect_row processes " broken processes cannot start another process: Resource temporarily unavailable"
    expect_row processes "to mend it: ulimit -u "
    expect_row malloc:glibc " unknown malloc:glibc no process to ask it: "
    grep -q "^hbmstress cannot do its work here: processes; " out.txt || fail "without another process it says: $(tail -n 1 out.txt)"
fi

touch file
doctor 4 doctor --out file/out
expect_row "output folder" " broken output folder file/out: it cannot be written to: Not a directory"
expect_text out.txt "hbmstress cannot do its work here: output folder; "
[ ! -s err.txt ] || fail "an output folder that is none is told on standard error, too"
doctor 4 doctor --out file/out --json
tail -n 1 out.txt | grep -q '"exit":4}$' || fail "--json does not end with the exit code 4"
mkdir deep
doctor 0 doctor --out deep/a/b/c
expect_row "output folder" " ok output folder $work/deep, "
[ -z "$(ls -A deep)" ] || fail "doctor left something in the folder of --out"
if [ "$(id -u)" != 0 ]; then
    chmod a-w deep
    doctor 4 doctor --out deep
fi
TMPDIR=$work/file doctor 0 doctor
expect_row TMPDIR " broken TMPDIR $work/file: it cannot be written to: Not a directory"

# --- drivers ---

cuda() { LD_LIBRARY_PATH=$fakes/nothing doctor 0 doctor "$@"; }
cuda
expect_row CUDA ' ok CUDA version 12.4, 1 device: Fake \x1b[31mGPU, 3.0 GiB; '
expect_row cuda:pool " ok cuda:pool $(realpath "$fakes")/nothing/libcuda.so.1"
doctor 0 doctor --json
FAKE_CUDA_NO_DEVICE=1 cuda
expect_row CUDA " missing CUDA version 12.4, 0 devices: the driver cannot be initialised: CUDA_ERROR_NO_DEVICE; "
expect_row cuda:pool " missing cuda:pool the driver cannot be initialised: CUDA_ERROR_NO_DEVICE --target cuda:pool cannot be opened"
FAKE_CUDA_CRASHES=1 cuda
expect_row CUDA " broken CUDA libcuda.so.1 ends its process: SIGABRT"
expect_row cuda:pool " broken cuda:pool libcuda.so.1 ends its process: SIGABRT"
FAKE_CUDA_HANGS=1 cuda --trial-timeout 1s
expect_row CUDA " broken CUDA libcuda.so.1 does not answer within 1s"
expect_row cuda:pool " broken cuda:pool libcuda.so.1 does not answer within 1s"
# A driver that hangs does not hold up ctrl-C.
FAKE_CUDA_HANGS=1 LD_LIBRARY_PATH=$fakes/nothing PATH=$quick:/usr/bin "$hbmstress" doctor --json >out.txt 2>err.txt &
process=$!
# Not by timeout(1): the SIGCONT that it sends as well can undo the stop in which the sanitizer looks for leaks.
sleep 1
kill -INT "$process"
wait "$process"
[ $? = 4 ] || fail "interrupted, the exit code is not 4"
expect_text err.txt "hbmstress: interrupted"
mkdir text
echo "no library" >text/libpmemobj.so.1
LD_LIBRARY_PATH=$work/text doctor 0 doctor
expect_row pmemobj " broken pmemobj libpmemobj.so.1 cannot be loaded: "
# Whoever opens an adapter that cannot be used is sent here.
export FAKE_CUDA_NO_DEVICE=1
LD_LIBRARY_PATH=$fakes/nothing expect_refusal 2 "CUDA_ERROR_NO_DEVICE; see hbmstress doctor" run slow_leak --target cuda:pool
unset FAKE_CUDA_NO_DEVICE

# --- one target ---

expect_exit 0 doctor --target hbm
expect_row "ABI version" " ok ABI version 1"
expect_row defrag " ok defrag DEFRAG_REPACK"
expect_row "optional calls" "hold and release"
expect_exit 0 doctor --target plant_overlap
expect_row "breaks on purpose" "overlap"
expect_exit 0 doctor --target "$bad_plugins/loose.so"
expect_row "ABI version" " ok ABI version 1"
expect_exit 0 doctor --target malloc:glibc --json
grep -q '^{"type":"doctor","group":"target","name":"capacity","state":"ok","found":"at most 4G, a multiple of 16"}$' out.txt ||
    fail "the limits of malloc:glibc: $(grep '"capacity"' out.txt)"
expect_exit 0 doctor --target "$bad_target" --capacity 8M
expect_row "opened with" "8M"

expect_refusal 2 "it is a directory; build it as a shared object" doctor --target ./bin
expect_refusal 2 "it cannot be loaded as a shared object: " doctor --target ./file
expect_refusal 2 "it does not export the symbol hbmstress_target, which KIT_TARGET defines; it needs default visibility" doctor --target "$bad_plugins/bad_no_symbol.so"
expect_refusal 2 "it was built for ABI version 0, but this program loads" doctor --target "$bad_plugins/bad_no_abi.so"
expect_refusal 2 "the header to build it with is hbmstress/target.h" doctor --target "$bad_plugins/bad_abi.so"
expect_refusal 2 "has hold() but not release(); they belong together; docs/targets.md" doctor --target "$bad_plugins/bad_hold.so"
expect_refusal 2 "undefined symbol: function_that_nothing_defines; link what defines that symbol into it" \
    doctor --target "$loading/loading_lacks.so"
expect_refusal 2 "ends its process when it is loaded: SIGABRT" doctor --target "$loading/loading_crashes.so"
expect_refusal 2 "loading_hangs.so hangs when it is loaded" doctor --target "$loading/loading_hangs.so" --trial-timeout 1s
expect_refusal 1 "ends its process when it is opened: SIG" doctor --target "$bad_target" --target-option fails=open
expect_refusal 2 "is loaded, but refuses to open: " doctor --target "$bad_target" --target-option fails=never
# Bytes 18 and 19 of an ELF file are its machine.
cp "$bad_target" foreign.so
printf '\xf3\xff' | dd of=foreign.so bs=1 seek=18 conv=notrunc 2>dd.txt
expect_refusal 2 "it is for another machine: number 65523 of ELF" doctor --target ./foreign.so
expect_text err.txt "; build it for this machine"
expect_refusal 2 "it is for another machine" run slow_leak --target ./foreign.so
finish
