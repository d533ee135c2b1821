#!/usr/bin/env bash
# What `cmake --install` lays down serves strangers, wherever it is moved to: programs and plug-ins in C and C++ find it by
# pkg-config and by CMake, link it and run; jobs are found by name; nothing names the folders of the build.
#
#     tests/ci/installed_prefix.sh SOURCE BUILD C_COMPILER CXX_COMPILER
#
# Skipped (77) for a build with sanitizers, whose libraries no stranger links.
set -u
source=$(realpath "$1")
build=$(realpath "$2")
export CC=$3 CXX=$4
if ! grep -q '^HBMSTRESS_SANITIZE:STRING=$' "$build/CMakeCache.txt"; then
    echo "skipped: this build has sanitizers"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
prefix="$work/a moved place"

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# attempt CLAIM COMMAND...: the command succeeds.
attempt() {
    local claim=$1
    shift
    "$@" >said.txt 2>&1 || fail "$claim: $* says $(tail -n 3 said.txt)"
}

# A relative prefix, from another folder, which is then moved away from where it was installed.
install_and_move() {
    attempt "a relative prefix" cmake --install "$build" --prefix "first place"
    mv "first place" "$prefix"
    libraries=$(dirname "$(find "$prefix" -name libhbm.a)")
    export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries PATH=$prefix/bin:$PATH
}

# DESTDIR is put in front of the prefix, and the components make up the whole.
install_components() {
    local component
    for component in hbmstress libhbm0 libhbm-dev; do
        DESTDIR=$work/root attempt "DESTDIR" cmake --install "$build" --prefix /usr --component $component
    done
    diff <(cd root/usr && find . | sort) <(cd "$prefix" && find . | sort) >said.txt ||
        fail "the components are not the whole: $(cat said.txt)"
    find root -name 'libhbm.so.0' | grep -q . || fail "libhbm0 has no libhbm.so.0"
    rm -r root
}

names_no_folder_of_the_build() {
    local folder
    for folder in "$source" "$build"; do
        grep -rlaF "$folder" "$prefix" >said.txt && fail "$folder stands in $(cat said.txt)"
    done
}

declared_names() {
    printf '#include <hbm/hbm.h>\n#include <hbm/hbm_shape.h>\n' |
        "$CC" -std=c17 -I"$prefix/include" -E -P -x c - | grep -oE '\bhbm_[a-z0-9_]+\(' | tr -d '(' | sort -u
}

# Both libraries let others see what the headers declare, and no more.
exports_what_headers_declare() {
    declared_names >declared.txt
    [ "$(wc -l <declared.txt)" -gt 30 ] || fail "the headers declare only $(wc -l <declared.txt) names"
    nm -D --defined-only "$libraries/libhbm.so" | awk '{ print $3 }' | sort -u >shared.txt
    readelf -W --symbols "$libraries/libhbm.a" |
        awk '$5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | sort -u >static.txt
    diff declared.txt shared.txt >said.txt || fail "libhbm.so exports other names: $(cat said.txt)"
    diff declared.txt static.txt >said.txt || fail "libhbm.a exports other names: $(cat said.txt)"
    readelf -d "$libraries/libhbm.so" | grep -q 'SONAME.*\[libhbm\.so\.0\]' || fail "the soname is not libhbm.so.0"
}

headers_compile_alone() {
    local header
    for header in hbm/hbm.h hbm/hbm_shape.h hbmstress/target.h hbmstress/kit.h; do
        echo "#include <$header>" >unit.c
        attempt "$header in C" "$CC" -std=c17 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -c unit.c
        attempt "$header in C++" "$CXX" -std=c++17 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -x c++ -c unit.c
    done
    echo "#include <hbmstress/target.hpp>" >unit.cpp
    attempt "target.hpp" "$CXX" -std=c++17 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -c unit.cpp
}

write_cpp_program() {
    cat >chip.cpp <<'CPP'
#include <hbm/hbm.h>
#include <hbm/hbm_shape.h>
#include <cstdio>
int main()
{
    std::puts(hbm_chip_find("v5e")->name);
    return hbm_element_bits(HBM_F32) == 32 ? 0 : 1;
}
CPP
}

# Of pkg-config: the shared library, and the static one.
programs_by_pkg_config() {
    local examples=$prefix/share/hbmstress/examples shared static
    # shellcheck disable=SC2162 # blanks of the prefix come with a backslash
    read -a shared < <(pkg-config --cflags --libs libhbm)
    # shellcheck disable=SC2162
    read -a static < <(pkg-config --static --cflags --libs libhbm)
    attempt "C, shared" "$CC" -std=c17 -o shared_c "$examples/buffers.c" "${shared[@]}"
    attempt "C++, shared" "$CXX" -std=c++17 -o shared_cpp chip.cpp "${shared[@]}"
    attempt "C, static" "$CC" -std=c17 -static -o static_c "$examples/buffers.c" "${static[@]}"
    attempt "C++, static" "$CXX" -std=c++17 -static -o static_cpp chip.cpp "${static[@]}"
    readelf -d shared_c | grep -q 'NEEDED.*libhbm\.so\.0' || fail "shared_c does not need libhbm.so.0"
    for program in shared_c shared_cpp static_c static_cpp; do
        attempt "pkg-config" ./$program
    done
}

programs_by_cmake() {
    mkdir consumer
    cp "$prefix/share/hbmstress/examples/buffers.c" chip.cpp consumer
    cat >consumer/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C CXX)
set(CMAKE_C_STANDARD 17)
set(CMAKE_CXX_STANDARD 17)
find_package(hbm 0.1 REQUIRED)
foreach(library IN ITEMS hbm hbm_static)
    add_executable(${library}_c buffers.c)
    add_executable(${library}_cpp chip.cpp)
    target_link_libraries(${library}_c PRIVATE hbm::${library})
    target_link_libraries(${library}_cpp PRIVATE hbm::${library})
endforeach()
CMAKE
    attempt "find_package(hbm)" cmake -S consumer -B consumer/build "-DCMAKE_PREFIX_PATH=$prefix"
    attempt "hbm::hbm" cmake --build consumer/build
    for program in hbm_c hbm_cpp hbm_static_c hbm_static_cpp; do
        attempt "CMake" ./consumer/build/$program
    done
    readelf -d consumer/build/hbm_c | grep -q 'libhbm\.so\.0' || fail "hbm::hbm is not the shared library"
    ! readelf -d consumer/build/hbm_static_c | grep -q 'libhbm' || fail "hbm::hbm_static is not the static library"
}

# plugins_run FOLDER: each of the examples there keeps its promises.
plugins_run() {
    local plugin
    for plugin in example reaper my_target my_class; do
        attempt "$1/$plugin.so" hbmstress run fragmentation_storm --target "./$1/$plugin.so" \
            --capacity 64M --seed 1 --ops 500 --lanes none --out out
    done
}

examples_build_by_both() {
    local examples=$prefix/share/hbmstress/examples
    attempt "CMakeLists.txt of the examples" cmake -S "$examples" -B by-cmake "-DCMAKE_PREFIX_PATH=$prefix"
    attempt "the examples by CMake" cmake --build by-cmake
    plugins_run by-cmake
    attempt "buffers by CMake" by-cmake/buffers
    cp -r "$examples" by-make
    attempt "the examples by make" make -C by-make
    plugins_run by-make
    attempt "buffers by make" by-make/buffers
    grep -q "the device copies" said.txt || fail "buffers moved nothing"
}

jobs_run_by_name() {
    local name
    for name in nightly pull-request smoke traces; do
        hbmstress list jobs | grep -q "^job  $name " || fail "list jobs has no $name"
    done
    attempt "the job smoke" hbmstress run --job smoke --seeds 1 --ops 100 --out out
    attempt "the job traces" hbmstress run --job traces --seeds 1 --out out
    # A file here comes first.
    printf '[slow_leak]\nops = 50\n' >smoke
    hbmstress run --job smoke --seeds 1 --out out --json | grep -q '"name":"smoke\|crowded' &&
        fail "the job smoke hides the file of that name"
    rm smoke
}

# Another folder of libraries, programs and data; the libraries alone need no package.
other_folders() {
    attempt "other folders" cmake -S "$source" -B alone -DCMAKE_BUILD_TYPE=Release -DHBMSTRESS_LIBRARIES_ALONE=ON \
        -DCMAKE_INSTALL_LIBDIR=libraries/deep/down -DCMAKE_INSTALL_INCLUDEDIR=headers
    attempt "the libraries alone" cmake --build alone --parallel 2
    attempt "the libraries alone" cmake --install alone --prefix elsewhere
    read -ra flags < <(PKG_CONFIG_PATH=elsewhere/libraries/deep/down/pkgconfig pkg-config --cflags --libs libhbm)
    attempt "another folder of libraries" "$CXX" -std=c++17 -o other chip.cpp "${flags[@]}"
    LD_LIBRARY_PATH=elsewhere/libraries/deep/down attempt "another folder of libraries" ./other
}

# The pages that messages name lie where packages keep documents; no link leads out of them into a tree that is not there.
has_the_pages() {
    local documents=$prefix/share/doc/hbmstress page link
    strings -n 8 "$prefix/bin/hbmstress" | grep -oE 'docs/[a-z_/-]+\.md' | sort -u >named.txt
    [ "$(wc -l <named.txt)" -gt 10 ] || fail "the program names only $(wc -l <named.txt) pages"
    while read -r page; do [ -f "$documents/$page" ] || fail "$page is named and not installed"; done <named.txt
    while IFS=: read -r page link; do
        [ -e "$(dirname "$page")/$link" ] || fail "$page links to $link, which is not installed"
    done < <(grep -roE '\]\([a-zA-Z0-9_./-]+' "$documents" --include='*.md' | grep -v '](https$' | sed 's|](||')
}

install_and_move
install_components
names_no_folder_of_the_build
exports_what_headers_declare
headers_compile_alone
write_cpp_program
programs_by_pkg_config
programs_by_cmake
examples_build_by_both
jobs_run_by_name
has_the_pages
other_folders
[ "$failures" = 0 ]
