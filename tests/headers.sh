#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The public header compiles alone, as strict C11 and as C++; every private header compiles alone, and twice.
set -u
export LC_ALL=C
src=${top_srcdir:-$(dirname "$0")/..}
build=${top_builddir:-$src}
cc=${CC:-cc}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
status=0
complain() { echo "$*"; status=1; }

# ---- the public header, without any include path or macro
printf '#include "%s"\n' "$src/runtime/hierax.h" "$src/runtime/hierax.h" >"$work/alone.c"
$cc -std=c11 -pedantic-errors -Wall -Wextra -Wstrict-prototypes -Werror -fsyntax-only "$work/alone.c" ||
    complain "hierax.h is not strict C11 by itself"
skipped=
cp "$work/alone.c" "$work/alone.cc"
echo 'const char *version() { return hx_version(); }' >>"$work/alone.cc"
if echo 'int i;' | $cc -x c++ -fsyntax-only - 2>/dev/null; then
    if $cc -x c++ -std=c++11 -pedantic-errors -Wall -Wextra -Werror -c -o "$work/alone.o" "$work/alone.cc"; then
        nm "$work/alone.o" | grep -q ' U hx_version$' || complain "hierax.h lacks extern \"C\""
    else
        complain "hierax.h is not C++"
    fi
else
    skipped="hierax.h as C++: $cc has no C++ front end (apt-get install g++)"
fi

# ---- a status that a program ignores
for language in c c++; do
    [ -z "$skipped" ] || [ $language = c ] || continue
    for call in 'hx_barrier(c)' 'hx_comm_free(c)'; do
        printf '#include "%s"\nvoid f(hx_comm_t *c) { %s; }\n' "$src/runtime/hierax.h" "$call" >"$work/ignores"
        said=$($cc -x $language -Wall -c -o "$work/ignores.o" "$work/ignores" 2>&1)
        case $call:$said in
        hx_barrier*:*unused-result* | hx_comm_free*:) ;;
        *) complain "$call without a look at its status, as $language: ${said:-no warning}" ;;
        esac
    done
done

# ---- private headers
for folder in topo runtime intra inter hier tools; do
    for header in $(cd "$src" && find $folder -name '*.h' | sort); do
        case $header in
        runtime/base/reduce_kernels.h | runtime/base/reduce_half.h | runtime/base/wire_kernels.h) continue ;; # templates: their includers set WIDE
        esac
        printf '#include "%s"\n' "$header" "$header" >"$work/private.c"
        # TEST_CPPFLAGS names the build's include paths, relative to the build folder
        (cd "$build" && $cc ${TEST_CPPFLAGS:-} -I"$src" -I"$src/runtime" -std=gnu11 -Wall -Wextra -Wno-unused -Werror \
            -fsyntax-only "$work/private.c") || complain "$header does not stand alone"
    done
done

if [ $status = 0 ] && [ -n "$skipped" ]; then
    echo "skipped: $skipped"
    exit 77
fi
exit $status
