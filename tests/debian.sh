#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A command in a Debian where nothing is installed: what a machine that has everything would hide.
#   tests/debian.sh RELEASE DIR command...    make DIR by debootstrap, with the last commit in DIR/hierax; run the command there
# RELEASE is bookworm (Debian 12), trixie (13), or another that debootstrap knows. Without root, debootstrap or a checkout the test is
# skipped (status 77). Mirror, proxies and certificates are this machine's own. Mounts live in a namespace that ends with the run,
# so `rm -rf DIR` is all that is left to do.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)

die() {
    echo "debian.sh: $*" >&2
    exit 2
}

skip() {
    echo "# SKIP:  1 (debian.sh $release: $*)"
    exit 77
}

# shellcheck disable=SC2016
sources() { # this machine's Debian package sources, for that release: those of the release, else those of another one renamed
    apt-get indextargets --format '$(CODENAME) $(REPO_URI) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u |
        awk -v want="$release" '{ name = $1; sub(/-.*/, "", name); line[++n] = $0; of[n] = name; if (name == want || base != want) base = name }
            END { for (i = 1; i <= n; i++) if (of[i] == base) { $0 = line[i]; sub("^" base, want, $1); print "deb", $2, $1, $3 } }'
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
    from=$(sources | awk -v want="$release" '$3 == want { print $2; exit }')
    [ -n "$from" ] || die "apt knows no Debian mirror on this machine"
    debootstrap --variant=minbase "$release" "$root" "$from" >"$root.debootstrap.log" 2>&1 || {
        tail -n 20 "$root.debootstrap.log" >&2
        die "debootstrap failed: $root.debootstrap.log"
    }
    copy /etc/apt/apt.conf /etc/apt/apt.conf.d /etc/apt/keyrings /etc/apt/trusted.gpg.d /etc/ssl/certs/ca-certificates.crt \
        /etc/resolv.conf /etc/hosts
    sources >"$root/etc/apt/sources.list"
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

if [ "${1:-}" = inside ]; then
    root=$2
    shift 2
    run_inside "$@"
    exit
fi
[ $# -ge 3 ] || die "usage: tests/debian.sh RELEASE DIR command..."
release=$1
root=$(readlink -m "$2")
shift 2
[ "$(id -u)" = 0 ] || skip "needs root"
command -v debootstrap >/dev/null || skip "needs debootstrap: apt-get install debootstrap"
git -C "$top" rev-parse -q HEAD >/dev/null || skip "needs git, and a checkout that it trusts"
[ ! -e "$root" ] || die "$root is there already"
start=$SECONDS
mkdir -p "$(dirname "$root")"
make_root
echo "debian.sh: $release in $root after $((SECONDS - start)) s"
status=0
unshare --mount --pid --fork --kill-child "$BASH" "$0" inside "$root" "$@" || status=$?
echo "debian.sh: '$*' ended with status $status after $((SECONDS - start)) s"
exit $status
