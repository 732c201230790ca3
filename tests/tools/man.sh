#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every tool (which tells its version), option, public function, setting and counter has its place in a man page, and the pages are clean.
set -u
cd "${top_builddir:-build}" || exit 1
failed=0

fault() {
    echo "FAILED: $*"
    failed=1
}

plain() { sed 's/\\-/-/g; s/\\e/\\/g; s/\\&//g' "$1"; }

# ---- tools
tools=0
for tool in tools/coll_* "$top_srcdir"/tools/coll_*; do
    name=$(basename "$tool")
    case $name in *.* | coll_bench_mpi) continue ;; esac
    [ -x "$tool" ] && [ ! -d "$tool" ] || continue
    tools=$((tools + 1))
    [ -s "man/$name.1" ] || { fault "no page of $name"; continue; }
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS; do
        grep -qx ".SH $section" "man/$name.1" || fault "$name.1 has no $section"
    done
    options=$(env -i PATH="$PATH" "$tool" --help 2>/dev/null | sed -n 's/^  *\(-., \)*\(--[a-z-]*\).*/\2/p' | sort -u)
    [ "$(wc -w <<<"$options")" -ge 2 ] || fault "$name --help tells fewer than two options"
    env -i PATH="$PATH" "$tool" --version 2>/dev/null | grep -q '[0-9]\.[0-9]' || fault "$name --version tells none"
    for option in $options; do
        plain "man/$name.1" | grep -q -- "^.fB.*$option" || fault "$name.1 does not tell $option"
    done
done
[ $tools -ge 8 ] || fault "only $tools tools"

# ---- functions
functions=$(sed -n 's/^HX_[A-Z]* .*\(hx_[a-z0-9_]*\)(.*/\1/p' "$top_srcdir/runtime/hierax.h")
[ "$(wc -w <<<"$functions")" = "$(grep -c '^HX_[A-Z]* ' "$top_srcdir/runtime/hierax.h")" ] || fault "the functions of hierax.h are not all found"
for function in $functions; do
    page=$(sed -n 's/^.so man3.//p' "man/$function.3" 2>/dev/null)
    plain "man/${page:-$function.3}" | grep -q "^.fB.*[ *]$function(" || fault "$function has no page, or is not on it"
done
for page in $(grep -L '^.so' man/hx_*.3); do
    [ "$(grep -cE '^.SH (SYNOPSIS|DESCRIPTION|RETURN VALUE|ERRORS|EXAMPLES)$' "$page")" = 5 ] || fault "$page lacks a section"
    sed -n '/^.SH EXAMPLES/,/^.fi/p' "$page" | grep -q "^ *[^.]*hx_" || fault "$page has no example (tests/tools/man_examples.c)"
done
# shellcheck disable=SC2086
${CC:-cc} -Wall -Wextra -Werror -I"$top_srcdir/runtime" -c -o "man/examples$$.o" "$top_srcdir/tests/tools/man_examples.c" || fault "the examples do not compile"
rm -f "man/examples$$.o"
[ "$(ls man/hx_*.3 | wc -l)" = "$(wc -w <<<"$functions")" ] || fault "links that are no functions"
for word in HX_ERR_PEER_DEAD HX_BFLOAT16 HX_MAXLOC HX_IN_PLACE hx_bootstrap_t hx_reduce_fn_t; do
    cat man/hierax_*.3 | grep -q $word || fault "no page tells $word"
done
grep -q 'bitwise' man/hx_allreduce.3 || fault "hx_allreduce's comment is not on its page"

# ---- the causes that leave a call of an MPI program to its MPI
causes=$(sed -n 's/^    ROW([A-Z]*, "\(.*\)").*/\1/p' "$top_srcdir/bindings/mpi/hxmpi.h" | grep -vx served)
[ "$(wc -l <<<"$causes")" -ge 8 ] || fault "the causes of hxmpi.h are not all found"
while read -r cause; do
    plain man/hierax-mpi.7 | grep -qF "$cause" || fault "hierax-mpi.7 does not tell the cause \"$cause\""
done <<<"$causes"

# ---- settings and counters
for setting in $(env -i tests/runtime/base/print_env | sed -n 's/^| `\(HX_[A-Z_]*\)`.*/\1/p') \
    $(sed -n 's/^HX_COUNTER(\([a-z_]*\),.*/\1/p' "$top_srcdir/runtime/base/counter.def"); do
    grep -qxF ".TP" man/hierax.7 && grep -qx "\\\\fB$setting\\( to HX_[A-Z_]*\\)\\?\\\\fR" man/hierax.7 || fault "hierax.7 does not tell $setting"
done

# ---- clean, and the same again
[ "${CI:-}" != true ] || command -v groff >/dev/null || fault "no groff (tools/setup tests)"
for page in man/*.[137]; do
    if command -v groff >/dev/null; then
        warnings=$(cd man && groff -man -ww -z -Tutf8 "../$page" 2>&1 | grep -v "can't open 'man3/")
        [ -z "$warnings" ] || fault "$page: $warnings"
        wide=$(cd man && groff -man -Tutf8 -rLL=80n -P-c -P-b -P-u "../$page" 2>/dev/null | LC_ALL=C.UTF-8 grep '.\{81\}')
        [ -z "$wide" ] || fault "$page is wider than 80 columns: $wide"
    fi
    if command -v mandoc >/dev/null; then
        warnings=$(mandoc -Tlint -W warning "$page" 2>&1 | grep -v 'missing date\|cannot open\|so is fragile')
        [ -z "$warnings" ] || fault "$page: $warnings"
    fi
done
mkdir "man/again$$" && awk -v version="$(tools/coll_info --version | sed 's/.* //')" -v kind=api -v "dir=man/again$$" \
    -f "$top_srcdir/tools/man/manpages.awk" "$top_srcdir/runtime/hierax.h" "$top_srcdir/tests/tools/man_examples.c"
for page in "man/again$$"/*; do
    cmp "$page" "man/$(basename "$page")" || fault "$page is not the same when it is made again"
done
rm -rf "man/again$$"
exit $failed
