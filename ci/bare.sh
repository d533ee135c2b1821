# shellcheck shell=bash disable=SC2154 # the caller sets script
# Sourced by scripts that try something in a minimal Debian 12, made by debootstrap and entered with chroot. It needs root
# that may mount, and a Debian mirror that is reached without a proxy. The caller sets script, its own name.

give_up() {
    echo "$script: $*" >&2
    exit 4
}

bare_check() {
    command -v debootstrap >/dev/null || give_up "debootstrap is missing: apt-get install debootstrap"
    if [[ $(id -u) -ne 0 ]]; then give_up "only root can make a Debian and change into it"; fi
}

# bare_make ROOT: makes the Debian, unless it is there.
bare_make() {
    if [[ -x $1/usr/bin/apt-get ]]; then return; fi
    debootstrap --variant=minbase bookworm "$1" >"$1.log" 2>&1 ||
        { cat "$1.log" && give_up "debootstrap has failed"; }
}

# bare_open ROOT: makes it fit to run programs in.
bare_open() {
    chmod 755 "$1" # others than root enter it, too
    # Names of hosts are the machine's, not the project's.
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    cp /etc/hosts "$1/etc/hosts"
    mountpoint -q "$1/proc" || mount -t proc proc "$1/proc" || give_up "cannot mount $1/proc"
    mountpoint -q "$1/dev/pts" || mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts" ||
        give_up "cannot mount $1/dev/pts"
}

# bare_close ROOT: takes back what bare_open mounted. Fails when something stays mounted below.
bare_close() {
    local mounts
    umount "$1/proc" "$1/dev/pts" 2>/dev/null || :
    mounts=$(</proc/self/mounts)
    [[ $mounts != *" $(cd "$1" && pwd -P)/"* ]]
}

# bare_remove ROOT: closes and removes it, but nothing that is mounted below.
bare_remove() {
    if bare_close "$1"; then
        rm -rf --one-file-system "$1" "$1.log"
    else
        echo "$script: something is mounted below $1: it stays" >&2
    fi
}

# bare_inside ROOT USER COMMAND [WORD …]: runs the bash command there with nothing of the caller's environment, in the home of
# the user; the words are its arguments.
bare_inside() {
    local root=$1 user=$2 command=$3 home=/home/$2
    shift 3
    if [[ $user == root ]]; then home=/root; fi
    chroot --userspec="$user:$user" --groups= "$root" /usr/bin/env -i HOME="$home" USER="$user" LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd ~ && $command" bash "$@"
}
