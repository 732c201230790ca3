#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make install into an empty place; a program built with what pkg-config says runs under the installed coll_run.
. "$(dirname "$0")/common.sh"
command -v pkg-config >/dev/null || skip "no pkg-config"

prefix=$tmp/usr
make -C "$top_builddir" install prefix="$prefix" exec_prefix="$prefix" >"$tmp/log" 2>&1 ||
    { tail -n 20 "$tmp/log" >&2; fail "make install"; finish; }
# The .pc file names the configured prefix: DESTDIR-like staging is pkg-config's --define-prefix. It needs no other .pc file.
export PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig
flags=$(pkg-config --define-prefix --cflags --libs hierax) || fail "pkg-config does not know hierax"
case "$flags" in *"$prefix"/lib*-lhierax*) ;; *) fail "pkg-config says \"$flags\"" ;; esac
for tool in coll_run coll_bench coll_compare coll_info coll_plan coll_report coll_trace coll_tune; do
    [ -x "$prefix/bin/$tool" ] || fail "$tool is not installed"
done
for page in 1/coll_run.1 1/coll_info.1 3/hierax_requests.3 3/hx_allreduce.3 7/hierax.7 7/hierax-tuning.7; do
    [ -s "$prefix/share/man/man$page" ] || fail "man page $page is not installed"
done
case "$(pkg-config --define-prefix --static --libs hierax)" in
    *-lhierax*-lhwloc*-lefa*-ljson-c*-lsodium*-lxxhash*) ;;
    *) fail "pkg-config --static says \"$(pkg-config --define-prefix --static --libs hierax)\"" ;;
esac
for file in LICENSE NEWS README.md; do
    [ -s "$prefix/share/doc/hierax/$file" ] || fail "$file is not installed"
done
[ "$(ls "$prefix/include")" = hierax.h ] || fail "installed headers: $(ls "$prefix/include")"
[ -z "$(ls "$prefix/bin" | grep -E 'actor|collectives')" ] || fail "test programs are installed"

# ---- README's commands, on the files that it names
# shellcheck disable=SC2086
gcc() { command ${CC:-cc} ${TEST_SANITIZER:-} -Wall -Wextra -Werror "$@"; }
pkg-config() { command pkg-config --define-prefix "$@"; }
coll_run() { timeout 60 "$prefix/bin/coll_run" "$@"; }
mpicc() { command mpicc.openmpi -Wall -Wextra -Werror "$@"; }
mpirun() { HX_NODES=2 timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe "$@"; }
export LD_LIBRARY_PATH=$prefix/lib
cp "$top_srcdir"/tests/examples/*.c "$tmp"
cd "$tmp" || exit
sed -n '/^    gcc -o sum /p; /^    coll_run .*-- .\/sum/p; /^<!-- commands:begin/,/^<!-- commands:end/p; /^<!-- mpi:begin/,/^<!-- mpi:end/p; /^<!-- preload:begin/,/^<!-- preload:end/p' \
    "$top_srcdir/README.md" | sed -n 's/^    \(gcc\|coll_run\|mpicc\|mpirun\) /\1 /p' | sed 's/ *# .*//; /--hosts/d' >commands # several hosts: tests/lab/pages_test.sh
[ "$(grep -Ec '^(gcc|mpicc)' commands)" = "$(ls -- *.c | wc -l)" ] || fail "README compiles not all examples: $(cat commands)"
[ "$(grep -Ec '^(coll_run|mpirun)' commands)" -ge "$(ls -- *.c | wc -l)" ] || fail "README runs not all examples: $(cat commands)"
if [ -n "${TEST_SANITIZER:-}" ] || ! command -v mpicc.openmpi >/dev/null; then # nor does Open MPI run under a sanitizer
    echo "the example for MPI is not tried here" >&2
    sed -i /^mpi/d commands
fi
[ -e "$prefix/lib/hierax/libhierax-openmpi.so" ] || sed -i /libhierax-openmpi/d commands # configure says why
while read -r command; do
    eval "$command" </dev/null >>out 2>err || { fail "$command: exit $?"; cat err >&2; }
    case "$command" in *libhierax-openmpi*) has err ": 1 of 1 collective calls served" "$command" ;; esac
done <commands
grep -qx 'rank 1 of 2: 3 30' out || { fail "sum's output is wrong"; cat out >&2; }
[ "$(grep -c ' of 4 ranks,.*: correct$' out)" = $((3 + 4 * $(grep -c ^mpirun commands))) ] || { fail "the examples' output is wrong"; cat out >&2; }

# ---- the CMake package, in C and C++17, with each compiler that is here
project() { # CC CXX option...: configure it
    CC=$1 CXX=$2 cmake -S "$top_srcdir/tests/packages" -B "cmake.$1" -DCMAKE_PREFIX_PATH="$prefix" "${@:3}" >log 2>&1
}

if command -v cmake >/dev/null; then
    for compilers in "gcc g++" "clang clang++"; do
        read -r c cxx <<<"$compilers"
        command -v "$cxx" >/dev/null || { echo "the CMake project is not tried with $cxx here" >&2; continue; }
        project "$c" "$cxx" && cmake --build "cmake.$c" >log 2>&1 || { fail "the CMake project with $c and $cxx"; cat log >&2; continue; }
        for program in sum_c sum_cxx; do
            coll_run -n 2 -- "cmake.$c/$program" >out || fail "$program of the CMake project with $c: exit $?"
            [ "$(sort out | tr '\n' ';')" = "rank 0 of 2: 3 30;rank 1 of 2: 3 30;" ] || { fail "$program of $c prints something else"; cat out >&2; }
        done
    done
    ! project gcc g++ -DWANTED=9.0 || fail "CMake takes this version for 9.0"
    has log "$prefix/lib/cmake/Hierax/HieraxConfig.cmake, version: " "another major version"
    ! project gcc g++ -DWANTED=0.1...0.2 || fail "CMake takes this version for one up to 0.2"
    ! project gcc g++ -DWANTED=0.1 -DCOMPONENTS="shared;nosuch" || fail "CMake finds a component nosuch"
    has log "the component nosuch is not installed; the components are shared" "an unknown component"
else
    echo "the CMake package is not tried here: apt-get install cmake" >&2
fi

# ---- a 32-bit host is refused by name; its libraries are not here, so the compiler links for this host
if [ "$(uname -m)" = x86_64 ]; then
    printf '#!/bin/sh\nfor a; do [ "$a" != -c ] || exec cc -m32 "$@"; done\nexec cc "$@"\n' >cc32
    chmod +x cc32
    ! "$top_srcdir/configure" -q --build=x86_64-pc-linux-gnu --host=i686-pc-linux-gnu CC="$tmp/cc32" >log 2>&1 ||
        fail "configure accepts a 32-bit host"
    has log "Hierax needs 64-bit pointers, but those of this host, i686-pc-linux-gnu, have 4 bytes" "a 32-bit host"
fi
finish
