#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The packages and the container, from the last commit to a user's program, in Debian systems where nothing is installed:
#   tests/packages.sh DIR [RELEASE]    in the new folder DIR; RELEASE builds the packages (default: bookworm, which is Debian 12)
#
#   RELEASE               Dockerfile, line by line: build the packages (tools/packaging/deb), install them in a second system
#   this machine          lintian; the CMake project of tests/packages and README's example with libhierax.a
#   the second system     ranks in containers (tests/packages/containers.sh)
#   Debian 12 and 13      install the packages, and gcc and pkg-config and nothing else: README's example compiles and runs
#
# Needs root and debootstrap, as tests/debian.sh. `rm -rf DIR` is all that is left to do.
set -uo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
recipe=$top/tools/packaging/container
passed=0
failed=0

die() {
    echo "packages.sh: $*" >&2
    exit 2
}

# within ROOT RELEASE command...: run it in that Debian, changed as earlier commands in ROOT have changed it
within() {
    local root=$dir/$1 release=$2
    shift 2
    [ -e "$dir/$release" ] || "$top/tests/debian.sh" "$release" "$dir/$release" true || return
    mkdir -p "$root"/{changes,work,root}
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child "$BASH" -c 'mount -t overlay -o "lowerdir=$2,upperdir=$1/changes,workdir=$1/work" overlay \
        "$1/root" && exec "$3" inside "$1/root" "${@:4}"' bash "$root" "$dir/$release" "$top/tests/debian.sh" "$@"
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
            RUN) within "$stage" "$release" sh -c "cd / && $rest" </dev/null || return ;;
            *) die "Dockerfile: $word is not known here" ;;
        esac
    done <"$recipe/Dockerfile"
}

spack_recipe() { # it is Python, and builds the version of hierax.h
    local file=$top/tools/packaging/spack/spack_repo/hierax/packages/hierax/package.py version
    version=$(sed -n 's/^#define HX_VERSION_[A-Z]* *//p' "$top/runtime/hierax.h" | paste -sd .)
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file" && grep -q "version(\"$version\"" "$file"
}

same_commands() { # the definition for Apptainer has the commands of the Dockerfile, with their default release
    diff <(sed -n 's/^RUN //p' "$recipe/Dockerfile") <(sed -n '/^%post/,/^$/s/^    //p' "$recipe/Apptainer") &&
        [ "$(sed -n 's/^ARG RELEASE=/From: debian:/p' "$recipe/Dockerfile")-slim" = "$(sed -n '/^From:/p' "$recipe/Apptainer" | sort -u)" ]
}

checked() { # lintian ends with an error or not; which overrides it has used
    ls "$packages"/*.deb && lintian --allow-root --fail-on error,warning --show-overrides "$packages"/*.changes
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
    mkdir -p "$dir/$1/changes/packages" && cp "$packages"/*.deb "$dir/$1/changes/packages" && within "$1" "$2" sh -c '
        apt-get -qq update && apt-get -qq install -y --no-install-recommends /packages/*hierax*.deb gcc libc6-dev pkg-config >/dev/null &&
        ! ls /usr/include/rdma/fabric.h /usr/include/infiniband /usr/include/hwloc.h 2>/dev/null && tools/packaging/debian/tests/example' </dev/null
}

containers() { # in the image
    gcc -o "$dir/image/changes/plant" "$top/tests/tools/plant.c" && within image "$release" tests/packages/containers.sh /plant </dev/null
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
[ ! -e "$dir" ] || die "$dir is there already"
mkdir -p "$dir"
packages=$dir/build/changes/packages
part "the Apptainer definition has the Dockerfile's commands" same_commands
part "Spack's recipe" spack_recipe
part "Dockerfile: packages built and installed in $release" image "$release"
if [ $failed = 0 ]; then
    mkdir "$dir/files"
    for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$dir/files"; done
    run=(env LD_LIBRARY_PATH="$(echo "$dir"/files/usr/lib/*-linux-gnu*)" "$dir/files/usr/bin/coll_run" -n 2 --)
    part "lintian" checked
    part "the CMake package and both libraries, gcc" cmake_project gcc g++
    part "the CMake package and both libraries, clang" cmake_project clang clang++
    part "pkg-config --static" static_program
    part "containers" containers
    for other in bookworm trixie; do
        part "README's example in a bare $other" example "bare-$other" "$other"
    done
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
