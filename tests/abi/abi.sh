#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What was built with an earlier library of the same soname runs with this one: so0.x86-64 is kept as it was built (see so0.c). Its source
# still compiles, and what it calls is exported with the same version. hierax.h, the library, the tools and the packages have
# one version.
set -u
cd "${top_builddir:?run me by make check}" || exit 1
folder=$top_srcdir/tests/abi
library=.libs/libhierax.so
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0
fault() { echo "FAILED: $*"; failed=1; }

# ---- its symbols: "hx_init HIERAX_0.1"
readelf --dyn-syms -W "$folder/so0.x86-64" | sed -n 's/.*UND \(hx_[a-z0-9_]*\)@\(HIERAX_[0-9.]*\).*/\1 \2/p' | sort >"$work/used"
nm -D --defined-only "$library" | sed -n 's/.* T \(hx_[a-z0-9_]*\)@@\(HIERAX_[0-9.]*\)$/\1 \2/p' | sort >"$work/exported"
[ "$(wc -l <"$work/used")" -ge 70 ] || fault "so0.x86-64 uses only $(wc -l <"$work/used") functions"
gone=$(comm -23 "$work/used" "$work/exported")
[ -z "$gone" ] || fault "so0.x86-64 needs what this library does not export: $gone"
readelf -d "$library" | grep -q 'SONAME.*\[libhierax.so.0\]' || fault "the soname has changed: keep a program for the new one"
readelf -d "$folder/so0.x86-64" | grep -q 'NEEDED.*\[libhierax.so.0\]' || fault "so0.x86-64 is for another soname"

# ---- it runs, and so does its source
${CC:-cc} ${TEST_SANITIZER:-} -std=c11 -Wall -Wextra -Werror -I"$top_srcdir/runtime" -o "$work/so0" "$folder/so0.c" "$library" ||
    fault "so0.c does not compile"
programs=("$work/so0")
if [ -n "${TEST_SANITIZER:-}" ]; then
    echo "a build with sanitizers: only the source runs"
elif [[ $(readelf -h "$library") = *X86-64* ]]; then
    programs+=("$folder/so0.x86-64")
fi
for program in "${programs[@]}"; do
    for options in "-n 1" "-n 3" "-n 4 --nodes 2"; do
        for how in init config; do
            # shellcheck disable=SC2086
            timeout 100 tools/coll_run $options --env LD_LIBRARY_PATH="$PWD/.libs" --env LD_BIND_NOW=1 -- "$program" $how \
                >"$work/out" 2>"$work/err" || { fault "$program $how, $options: exit $?"; cat "$work/err"; }
            grep -q 'is right with version' "$work/out" || fault "$program $how, $options: it does not finish"
        done
    done
done

# ---- one version
cat >"$work/version.c" <<'C'
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int major = 0, minor = 0, patch = 0;
    int n = sscanf(hx_version(), "%d.%d.%d", &major, &minor, &patch);
    printf("%s\n", hx_version());
    return n != 3 || HX_VERSION != 10000 * major + 100 * minor + patch || HX_VERSION_MAJOR != major || HX_VERSION < 100;
}
C
${CC:-cc} ${TEST_SANITIZER:-} -I"$top_srcdir/runtime" -o "$work/version" "$work/version.c" "$library" || fault "version.c does not compile"
version=$(LD_LIBRARY_PATH=$PWD/.libs "$work/version") || fault "HX_VERSION is not hx_version(): $version"
for other in "$(tools/coll_info --version)" "$(grep ^Version hierax.pc)"; do
    [[ $other = *" $version" ]] || fault "the header has version $version, but: $other. Run autogen.sh and configure again"
done
packaging=$top_srcdir/tools/packaging
for place in "$top_srcdir/NEWS|Hierax $version" "$packaging/debian/changelog|hierax ($version-" \
    "$packaging/spack/spack_repo/hierax/packages/hierax/package.py|version(\"$version\")"; do
    grep -qF -- "${place#*|}" "${place%|*}" || fault "the header has version $version, but ${place%|*} has no \"${place#*|}\""
done
exit $failed
