# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the scripts of this folder that plant faults: the transport with one file of inter/fabric in another version.
. "$(dirname "$0")/../system/common.sh"
: "${top_srcdir:?run me by make check}"
unset "${!EFA_@}" FI_EFA_FORK_SAFE
export FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs HX_PROVIDER=efa HX_LOG=error
dependency_libs=
eval "$(grep '^dependency_libs=' "$top_builddir/libhierax_internal.la")"

# plant PROGRAM SOURCE: PROGRAM's object, linked with SOURCE in the place of the library's file, becomes $tmp/planted
plant() {
    # shellcheck disable=SC2086
    (cd "$top_builddir" && $CC $TEST_CPPFLAGS -std=gnu11 -O1 -w -pthread $TEST_SANITIZER \
        -o "$tmp/planted" "$2" "$1.o" .libs/libhierax_internal.a $dependency_libs)
}

# change FILE SED: the file of inter/fabric, changed, in $tmp; fails if there is nothing to be changed
change() {
    sed "$2" "$top_srcdir/inter/fabric/$1" >"$tmp/$1" && ! cmp -s "$tmp/$1" "$top_srcdir/inter/fabric/$1"
}
