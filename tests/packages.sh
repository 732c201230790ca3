#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The packages and the container, from the last commit to a user's program, in Debian systems where nothing is installed:
#   tests/packages.sh DIR [RELEASE]    in the new folder DIR; RELEASE builds the packages: bookworm (Debian 12, default) or trixie (13)
#
#   RELEASE               Dockerfile, line by line: build the packages (tools/packaging/deb), install them in a second system
#   this machine          lintian; the CMake project of tests/packages and README's example with libhierax.a, if this machine can link
#                         libraries of RELEASE
#   the second system     ranks in containers (tests/packages/containers.sh)
#   Debian 13, and 12     install the packages, and gcc and pkg-config and nothing else: README's example compiles and runs, and
#                         so does Python, if the release is the one that built
#
# Needs root and debootstrap, or is skipped (status 77). `rm -rf DIR` is all that is left to do.
set -uo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
recipe=$top/tools/packaging/container
passed=0
failed=0

die() {
    echo "packages.sh: $*" >&2
    exit 2
}

# within ROOT RELEASE command...: run it in that Debian, changed as earlier commands in ROOT have changed it. By pivot_root, as containers do:
# in a chroot there are no user namespaces.
within() {
    local root=$dir/$1 release=$2
    shift 2
    mkdir -p "$root"/{changes,work,root}
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child "$BASH" -c 'set -e
        mount -t overlay -o "lowerdir=$2,upperdir=$1/changes,workdir=$1/work" overlay "$1/root"
        cd "$1/root"
        mount -t proc proc proc
        mount --rbind /sys sys
        mount --rbind /dev dev
        mount -t tmpfs tmpfs dev/shm
        pivot_root . mnt
        umount -l /mnt
        cd /hierax
        exec "${@:3}"' bash "$root" "$dir/$release" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} \
        ${no_proxy+no_proxy="$no_proxy"} "$@" </dev/null
}

# image RELEASE: what Docker would do. The stages are roots of their own.
image() {
    local release=$1 word rest stage='' from
    # shellcheck disable=SC2016
    local base='debian:${RELEASE}-slim'
    while read -r word rest; do
        case $word in
            '' | '#' | ARG) ;;
            FROM)
                [ "${rest%% AS *}" = "$base" ] || die "Dockerfile: FROM $rest"
                stage=image
                [ "$rest" = "$base" ] || stage=${rest##* } ;;
            COPY)
                if [ "$rest" = ". /src" ]; then
                    mkdir -p "$dir/$stage/changes/src" && git -C "$top" archive HEAD | tar -x -C "$dir/$stage/changes/src" || return
                else
                    [[ $rest =~ ^--from=(.*)\ (/.*)\ (/.*/)$ ]] || die "Dockerfile: COPY $rest"
                    from=$dir/${BASH_REMATCH[1]}/changes
                    mkdir -p "$dir/$stage/changes${BASH_REMATCH[3]}"
                    # shellcheck disable=SC2086
                    cp "$from"${BASH_REMATCH[2]} "$dir/$stage/changes${BASH_REMATCH[3]}" || return
                fi ;;
            RUN) within "$stage" "$release" sh -c "cd / && $rest" || return ;;
            *) die "Dockerfile: $word is not known here" ;;
        esac
    done <"$recipe/Dockerfile"
}

spack_recipe() { # it is Python
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$top/tools/packaging/spack/spack_repo/hierax/packages/hierax/package.py"
}

same_commands() { # the definition for Apptainer has the commands of the Dockerfile, with their default release
    diff <(sed -n 's/^RUN //p' "$recipe/Dockerfile") <(sed -n '/^%post/,/^$/s/^    //p' "$recipe/Apptainer") &&
        [ "$(sed -n 's/^ARG RELEASE=/From: debian:/p' "$recipe/Dockerfile")-slim" = "$(sed -n '/^From:/p' "$recipe/Apptainer" | sort -u)" ]
}

checked() {
    lintian --allow-root --fail-on error,warning --info "$packages"/*.changes
}

says() { # command...: it prints what README's example prints with two ranks
    [ "$("${run[@]}" "$@" | sort | tr '\n' ';')" = "rank 0 of 2: 3 30;rank 1 of 2: 3 30;" ]
}

cmake_project() { # CC CXX: both kinds of library, in C and C++17
    CC=$1 CXX=$2 cmake -S "$top/tests/packages" -B "$dir/cmake.$1" -DCMAKE_PREFIX_PATH="$dir/files/usr" && cmake --build "$dir/cmake.$1" &&
        says "$dir/cmake.$1/sum_c" && says "$dir/cmake.$1/sum_cxx" && says "$dir/cmake.$1/sum_c_static" && says "$dir/cmake.$1/sum_cxx_static"
}

static_program() { # what pkg-config says, with the static library: it needs the libraries of others, but not libhierax.so
    local flags
    mkdir "$dir/static" && cp "$dir"/files/usr/lib/*/libhierax.a "$dir/static" || return
    read -ra flags <<<"$(PKG_CONFIG_SYSROOT_DIR=$dir/files PKG_CONFIG_PATH=$(echo "$dir"/files/usr/lib/*/pkgconfig) \
        pkg-config --static --cflags --libs hierax)"
    gcc -o "$dir/static/sum" "$top/tests/examples/sum.c" -L"$dir/static" "${flags[@]/-lhierax/-l:libhierax.a}" &&
        ! ldd "$dir/static/sum" | grep libhierax && says "$dir/static/sum"
}

example() { # ROOT RELEASE: README's example, with nothing installed but the packages, gcc and pkg-config
    mkdir -p "$dir/$1/changes/packages" && cp "$packages"/*.deb "$dir/$1/changes/packages" || return
    # the module for Python is for the Python of the release that built it
    [ "$2" = "$release" ] || rm "$dir/$1"/changes/packages/python3-hierax_*.deb
    within "$1" "$2" sh -c '
        apt-get -qq update && apt-get -qq install -y --no-install-recommends /packages/*hierax*.deb gcc libc6-dev pkg-config >/dev/null &&
        ! ls /usr/include/rdma/fabric.h /usr/include/infiniband /usr/include/hwloc.h 2>/dev/null && tools/packaging/debian/tests/example &&
        { [ ! -e /packages/python3-hierax_*.deb ] || tools/packaging/debian/tests/python; }'
}

containers() { # in the image
    gcc -o "$dir/image/changes/plant" "$top/tests/tools/plant.c" && within image "$release" tests/packages/containers.sh /plant
}

part() { # WHAT command...
    local what=$1 start=$SECONDS
    shift
    if "$@" >"$dir/log" 2>&1; then
        passed=$((passed + 1))
        echo "PASS: $what ($((SECONDS - start)) s)"
    else
        failed=$((failed + 1))
        echo "FAIL: $what"
        tail -n 60 "$dir/log"
    fi
}

[ $# = 1 ] || [ $# = 2 ] || die "usage: tests/packages.sh DIR [RELEASE]"
dir=$(readlink -m "$1")
release=${2:-bookworm}
[[ $release = bookworm || $release = trixie ]] || die "RELEASE is bookworm or trixie, not $release"
[ ! -e "$dir" ] || die "$dir is there already"
bares=(trixie)
[ "$release" = trixie ] || bares+=("$release") # what is built on 13 needs libraries of 13
for bare in "${bares[@]}"; do
    "$top/tests/debian.sh" "$bare" "$dir/$bare" true || exit # 77: it is skipped
done
packages=$dir/build/changes/packages
part "the Apptainer definition has the Dockerfile's commands" same_commands
part "Spack's recipe" spack_recipe
part "Dockerfile: packages built and installed in $release" image "$release"
if [ $failed = 0 ]; then
    mkdir "$dir/files"
    for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$dir/files"; done
    run=(env LD_LIBRARY_PATH="$(echo "$dir"/files/usr/lib/*-linux-gnu*)" "$dir/files/usr/bin/coll_run" -n 2 --)
    part "lintian" checked
    if [ "$release" = bookworm ] || grep -qx "VERSION_CODENAME=$release" /etc/os-release; then
        part "the CMake package and both libraries, gcc" cmake_project gcc g++
        part "the CMake package and both libraries, clang" cmake_project clang clang++
        part "pkg-config --static" static_program
    else
        echo "not run: the CMake package and pkg-config --static: on this machine nothing links libraries of $release"
    fi
    part "containers" containers
    for bare in "${bares[@]}"; do
        part "README's example in a bare $bare" example "bare-$bare" "$bare"
    done
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
