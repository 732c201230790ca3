#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make install into an empty place; a program built with what pkg-config says runs under the installed coll_run.
. "$(dirname "$0")/common.sh"
command -v pkg-config >/dev/null || skip "no pkg-config"

prefix=$tmp/usr
make -C "$top_builddir" install prefix="$prefix" exec_prefix="$prefix" >"$tmp/log" 2>&1 ||
    { tail -n 20 "$tmp/log" >&2; fail "make install"; finish; }
# the .pc file names the configured prefix: DESTDIR-like staging is pkg-config's --define-prefix
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cat >"$tmp/sum.c" <<'C'
#include <hierax.h>
#include <stdio.h>
int main(void)
{
    hx_comm_t *world;
    double mine, sum;
    if (hx_init(&world) != HX_SUCCESS) {
        fprintf(stderr, "%s\n", hx_error_detail(NULL));
        return 1;
    }
    mine = hx_rank(world) + 1;
    if (hx_allreduce(&mine, &sum, 1, HX_FLOAT64, HX_SUM, world) != HX_SUCCESS || sum != 3)
        return 1;
    if (hx_rank(world) == 0)
        printf("hierax %s: %g\n", hx_version(), sum);
    return hx_finalize() != HX_SUCCESS;
}
C
flags=$(pkg-config --define-prefix --cflags --libs hierax) || fail "pkg-config does not know hierax"
case "$flags" in *"$prefix"/lib*-lhierax*) ;; *) fail "pkg-config says \"$flags\"" ;; esac
# shellcheck disable=SC2086
${CC:-cc} ${TEST_SANITIZER:-} -Wall -Werror -o "$tmp/sum" "$tmp/sum.c" $flags || fail "compile with \"$flags\""
for tool in coll_run coll_bench coll_info coll_plan; do
    [ -x "$prefix/bin/$tool" ] || fail "$tool is not installed"
done
[ "$(ls "$prefix/include")" = hierax.h ] || fail "installed headers: $(ls "$prefix/include")"
[ -z "$(ls "$prefix/bin" | grep -E 'actor|collectives')" ] || fail "test programs are installed"
LD_LIBRARY_PATH=$prefix/lib timeout 20 "$prefix/bin/coll_run" -n 2 -- "$tmp/sum" >"$tmp/out" 2>"$tmp/err" ||
    { fail "exit $?"; cat "$tmp/err" >&2; }
grep -Eq '^hierax [0-9.]+: 3$' "$tmp/out" || { fail "wrong output"; cat "$tmp/out" >&2; }
LD_LIBRARY_PATH=$prefix/lib timeout 20 "$prefix/bin/coll_run" -n 2 --nodes 2 -- "$tmp/sum" >/dev/null || fail "two nodes: exit $?"
finish
