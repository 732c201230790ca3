#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One fault, one message: if a job cannot start because of a bad setting, one rank says why, and the tools do not say it again.
. "$(dirname "$0")/common.sh"
unset FI_LOG_LEVEL

# said WHAT TEXT ARGUMENT...: coll_run with these fails; one line has TEXT, a pattern, and no other line is there but coll_run's about a rank
said() {
    local what=$1 text=$2
    shift 2
    ! timeout -k 1 60 "$run" "$@" >"$tmp/out" 2>&1 </dev/null || fail "$what: the job starts"
    [ "$(grep -cE "$text" "$tmp/out")" = 1 ] && [ "$(grep -vcE '^coll_run: rank [0-9]+ .* with status|^$' "$tmp/out")" = 1 ] ||
        fail "$what: not one message of $text: $(cat "$tmp/out")"
}
bench="$top_builddir/tests/tools/coll_bench barrier"
info=$top_builddir/tools/coll_info
tune="$top_builddir/tools/coll_tune -o $tmp/table --budget 1s"
for tool in "$bench" "$info" "$tune"; do
    # shellcheck disable=SC2086
    said "${tool%% *}: a setting" 'hierax\[[0-3]\] error: HX_LANES=-3: expected an integer from 0 to 1024' -n 4 --nodes 2 --env HX_LANES=-3 $tool
    # shellcheck disable=SC2086
    said "${tool%% *}: a plan" 'hierax\[0\] error: HX_ALLREDUCE=foo: not an algorithm .*choose one of' -n 4 --env HX_ALLREDUCE=foo $tool
done
for nodes in 1 2 4; do
    # shellcheck disable=SC2086
    said "$nodes nodes, HX_LOG" 'hierax\[[0-3]\] error: HX_LOG=loud: expected one of error, warn' -n 4 --nodes $nodes --env HX_LOG=loud $bench
    # shellcheck disable=SC2016
    said "$nodes nodes, on two ranks" 'hierax\[[23]\] error: HX_LOG=bad[23]: expected one of' -n 4 --nodes $nodes -- \
        bash -c '[ $HX_RANK -lt 2 ] || export HX_LOG=bad$HX_RANK; exec "$@"' bash "$info"
    # shellcheck disable=SC2086
    said "$nodes nodes, HX_NIC" 'hierax\[[0-3]\] error: HX_NIC=eth77: there is no usable interface eth77' -n 4 --nodes $nodes --env HX_NIC=eth77 $bench
    # shellcheck disable=SC2086
    [ $nodes = 1 ] || said "$nodes nodes, HX_RING_ORDER" 'hierax\[0\] error: HX_RING_ORDER=qq: choose rank, auto' -n 4 --nodes $nodes --env HX_RING_ORDER=qq $bench
    # shellcheck disable=SC2086
    said "$nodes nodes, HX_PROVIDER" 'hierax\[[0-3]\] error: HX_PROVIDER=zzz: libfabric has no usable provider' -n 4 --nodes $nodes --env HX_PROVIDER=zzz $bench
done
finish
