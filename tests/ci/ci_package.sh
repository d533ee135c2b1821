#!/usr/bin/env bash
# The Debian packages of a build: what their control fields say, that each installed file is in exactly one of them, and that
# two rounds of packing give the same bytes. lintian is run by ci/package.
#
#     tests/ci/ci_package.sh BUILD_DIRECTORY
set -u
build=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/../..")
for tool in cpack dpkg-deb dpkg-shlibdeps file; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed" && exit 77; }
done
if grep -qE '^HBMSTRESS_SANITIZE:[A-Z]+=.' "$build/CMakeCache.txt"; then
    echo "skipped: sanitizers name files by whole paths" && exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}
# pack FOLDER UMASK
pack() {
    mkdir "$work/$1"
    if ! (umask "$2" && cpack --config "$build/CPackConfig.cmake" -B "$work/$1") >"$work/log" 2>&1; then
        cat "$work/log"
        echo "FAILED: cpack" >&2
        exit 1
    fi
}
# expect_field PACKAGE FIELD PATTERN
expect_field() {
    local got
    got=$(dpkg-deb --field "$work/first/$1"_*.deb "$2")
    [[ $got =~ $3 ]] || fail "$1 has $2 '$got', should be '$3'"
}

pack first 022
version=$(dpkg-deb --field "$work"/first/libhbm0_*.deb Version)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+.*-1$ ]] || fail "version $version"
architecture=$(dpkg --print-architecture)
names=(hbmstress libhbm-dev libhbm0)
wanted=$(printf "%s_${version}_$architecture.deb\n" "${names[@]}")
got=$(cd "$work/first" && printf '%s\n' *.deb)
[ "$got" = "$wanted" ] || fail "packages $got, should be $wanted"
for name in "${names[@]}"; do
    expect_field "$name" Package "^$name\$"
    expect_field "$name" Priority "^optional$"
    expect_field "$name" Maintainer '^hbmstress developers <[^ ]+@[^ ]+\.invalid>$'
    # A short line, and what it is for below.
    expect_field "$name" Description $'^[^\n]{20,80}\n .{40,}'
done
expect_field hbmstress Section '^devel$'
expect_field libhbm0 Section '^libs$'
expect_field libhbm-dev Section '^libdevel$'
expect_field hbmstress Depends '(^|, )libc6 \(>= .*libjansson4'
expect_field libhbm0 Depends '^libc6 \(>= [0-9.]+\)$'
got=$(dpkg-deb --field "$work"/first/libhbm-dev_*.deb Depends)
[ "$got" = "libhbm0 (= $version)" ] || fail "libhbm-dev depends on '$got'"

mkdir "$work/together"
for name in "${names[@]}"; do
    package=$(echo "$work/first/$name"_*.deb)
    dpkg-deb --raw-extract "$package" "$work/$name"
    control=$(cd "$work/$name/DEBIAN" && echo *)
    wanted="control md5sums"
    if [ "$name" = libhbm0 ]; then wanted+=" shlibs triggers"; fi
    [ "$control" = "$wanted" ] || fail "$name has the control files $control, should be $wanted"
    (cd "$work/$name" && md5sum --check --quiet DEBIAN/md5sums) || fail "sums of $name"
    [ "$(find "$work/$name" -type f -not -path '*/DEBIAN/*' | wc -l)" = "$(wc -l <"$work/$name/DEBIAN/md5sums")" ] ||
        fail "$name has files without a sum"
    bad=$(dpkg-deb --contents "$package" | grep -vE '^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x|lrwxrwxrwx) root/root ')
    [ -z "$bad" ] || fail "owners and modes in $name: $bad"
    bad=$(dpkg-deb --contents "$package" | grep '^-rwx' | grep -v ' \./usr/bin/')
    [ -z "$bad" ] || fail "$name has programs outside usr/bin: $bad"
    bad=$(grep -rlaF -e "$build" -e "$tree" -e "$work" "$work/$name")
    [ -z "$bad" ] || fail "the folder of the build is named in $bad"
    documents=$work/$name/usr/share/doc/$name
    zcat "$documents/changelog.Debian.gz" | grep -qF "hbmstress ($version) " || fail "$name has no changelog of $version"
    grep -q '^License: Apache-2.0' "$documents/copyright" || fail "$name has no copyright"
    grep -q 'Leon Sorokin' "$documents/copyright" || fail "$name does not name uPlot"
    rm -r "$work/$name/usr/share/doc/$name"/{changelog.Debian.gz,copyright}
    rm -f "$work/$name/usr/share/doc/$name/changelog.gz"
    (cd "$work/$name" && find . -not -type d -not -path './DEBIAN/*') >>"$work/packed"
done
grep -qxF "libhbm 0 libhbm0 (>= $version)" "$work/libhbm0/DEBIAN/shlibs" || fail "shlibs: $(cat "$work/libhbm0/DEBIAN/shlibs")"
grep -qx 'activate-noawait ldconfig' "$work/libhbm0/DEBIAN/triggers" || fail "libhbm0 does not trigger ldconfig"
while read -r program; do
    ! readelf --dynamic "$program" | grep -E 'R(UN)?PATH' || fail "$program has a path to libraries"
    ! readelf --sections "$program" | grep -E '\.(symtab|debug_info)' || fail "$program is not stripped"
done < <(find "$work"/{hbmstress/usr/bin,libhbm0} -type f \( -perm -u=x -o -name '*.so.*' \))

# Each file that `cmake --install` lays down is in one package, and nothing else is.
DESTDIR="$work/installed" cmake --install "$build" --prefix /usr >/dev/null || fail "cmake --install"
(cd "$work/installed" && find . -not -type d) | sort >"$work/laid"
sort "$work/packed" | diff "$work/laid" - >&2 || fail "what is installed (<) is not what is packed (>)"

# The bytes depend on neither the time nor the umask.
pack second 077
for path in "$work"/first/*.deb; do
    cmp "$path" "$work/second/${path##*/}" || fail "packed again, ${path##*/} is different"
done
[ "$failures" = 0 ]
