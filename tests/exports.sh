#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# hierax.h, version.map and the built library name the same functions, and the library uses no function that it lacks. No function is newer
# than the version.
set -u
export LC_ALL=C
src=${top_srcdir:-$(dirname "$0")/..}
build=${top_builddir:-$src}
cc=${CC:-cc}
library=$build/.libs/libhierax.so
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
status=0
complain() { echo "$*"; status=1; }

# A declaration is the first hx_name( of a statement, once the attributes are gone.
$cc -E -P '-D__attribute__(x)=' "$src/runtime/hierax.h" | tr '\n' ' ' | sed 's/;/;\n/g' |
    sed -n '/^[[:space:]]*typedef/d; s/^[^(]*[^[:alnum:]_]\(hx_[[:alnum:]_]*\)[[:space:]]*(.*;$/\1/p' | sort >"$work/declared"
sed 's,/\*.*\*/,,' "$src/runtime/version.map" |
    sed -n 's/^[[:space:]]*\(hx_[[:alnum:]_]*\);.*/\1/p' | sort >"$work/mapped"
[ -s "$work/declared" ] || complain "no declaration found in hierax.h"
[ -e "$library" ] || { echo "$library is not built"; exit 1; }
nm -D --defined-only "$library" >"$work/symbols" || exit 99
awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' "$work/symbols" | sort >"$work/exported"
compare() { # name name: what the one has and the other lacks
    for name in $(comm -23 "$work/$1" "$work/$2"); do
        complain "$name is $1 but not $2"
    done
}
compare declared mapped
compare mapped declared
compare declared exported
compare exported declared
awk '$2 == "T" && $3 !~ /@@HIERAX_[0-9.]+$/' "$work/symbols" | while read -r _ _ name; do
    echo "$name is exported without a version"
done | { ! grep .; } || status=1
for name in $(nm -D --undefined-only "$library" | awk '$2 ~ /^hx_/ { print $2 }'); do
    complain "$name is used in the library but defined nowhere"
done
version=$(sed -n 's/^#define HX_VERSION_[A-Z]* *//p' "$src/runtime/hierax.h" | paste -sd .)
for node in $(sed -n 's/^HIERAX_\([0-9.]*\) {.*/\1/p' "$src/runtime/version.map"); do
    newest=$(printf '%s\n' "$node.0" "$version" | sort -V | tail -n 1)
    [ "$newest" = "$version" ] || complain "version.map has the node HIERAX_$node, but the version in hierax.h is $version"
    grep -qx " (symver)HIERAX_$node $node.0" "$src/tools/packaging/debian/libhierax0.symbols" ||
        complain "tools/packaging/debian/libhierax0.symbols has no line \" (symver)HIERAX_$node $node.0\""
done
exit $status
