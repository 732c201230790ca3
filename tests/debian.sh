#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The README's two commands on a Debian 12 where nothing is installed: what a machine that has everything would hide.
#   tests/debian.sh DIR [command...]    make DIR by debootstrap; run tools/quickstart and tools/check, or command, in it
# Needs root and debootstrap. Mirror, proxies and certificates are this machine's own. Mounts live in a namespace that
# ends with the run, so `rm -rf DIR` is all that is left to do.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
release=bookworm

die() {
    echo "debian.sh: $*" >&2
    exit 2
}

# shellcheck disable=SC2016
mirror() { # where apt finds that release here, else where it finds any Debian
    apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
        awk -v want=$release '$1 == want {exact = $2} $1 !~ /-/ {other = $2} END {print exact ? exact : other}'
}

copy() { # FILE...: of this machine to the same place in the new one, where there is such a file
    local file
    for file; do
        [ -e "$file" ] || continue
        mkdir -p "$root$(dirname "$file")"
        cp -rL --remove-destination -T "$file" "$root$file"
    done
}

make_root() {
    local from
    from=$(mirror)
    [ -n "$from" ] || die "apt knows no Debian mirror on this machine"
    debootstrap --variant=minbase $release "$root" "$from" >"$root.log" 2>&1 || {
        tail -n 20 "$root.log" >&2
        die "debootstrap failed: $root.log"
    }
    copy /etc/apt/apt.conf /etc/apt/apt.conf.d /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/preferences.d \
        /etc/apt/keyrings /etc/apt/trusted.gpg.d /etc/ssl/certs/ca-certificates.crt /etc/resolv.conf /etc/hosts
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # packages start no services here
    chmod +x "$root/usr/sbin/policy-rc.d"
    mkdir "$root/hierax"
    git -C "$top" archive HEAD | tar -x -C "$root/hierax"
}

run_inside() { # in namespaces of our own: proc, sys, dev, and the commands
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CI="${CI:-}" \
        ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} \
        ${no_proxy+no_proxy="$no_proxy"} sh -c 'cd /hierax && exec "$@"' sh "$@"
}

[ $# -ge 1 ] || die "usage: tests/debian.sh DIR [command...]"
[ "$(id -u)" = 0 ] || die "needs root"
if [ "$1" = inside ]; then
    root=$2
    shift 2
    run_inside "$@"
    exit
fi
command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"
root=$(readlink -m "$1")
shift
[ ! -e "$root" ] || die "$root is there already"
start=$SECONDS
mkdir -p "$(dirname "$root")"
make_root
echo "debian.sh: $release in $root after $((SECONDS - start)) s"
status=0
[ $# -gt 0 ] || set -- sh -c 'tools/quickstart && tools/check'
unshare --mount --pid --fork --kill-child "$BASH" "$0" inside "$root" "$@" || status=$?
echo "debian.sh: '$*' ended with status $status after $((SECONDS - start)) s"
exit $status
