#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_bench over Hierax: every collective, type and operation compared with the reference, on one node and on several.
set -uo pipefail
bench=$top_builddir/tests/tools/coll_bench
run=$top_builddir/tools/coll_run
[ -x "$run" ] || { echo "skipped: coll_run is not built"; exit 77; }

nodes=1
launch() {
    local n=$1
    shift
    if [ $nodes -gt 1 ]; then
        "$run" -n "$n" --nodes $((nodes < n ? nodes : n)) -- "$@"
    else
        "$run" -n "$n" -- "$@"
    fi
}
. "$top_srcdir/tests/tools/bench_cases.sh"

# the others: over MPI, which checks the benchmark, and in tests/system/collectives.sh
dtypes="int8 float16 bfloat16 complex128"
int_ops="min bxor lxor"
float_ops="prod avg"
preload="env LD_PRELOAD=$tmp/broken.so"
broken_flags="-I$top_srcdir/runtime"
broken_c='#include <dlfcn.h>
#include <hierax.h>
hx_status_t hx_allreduce(const void *in, void *out, size_t n, hx_dtype_t t, hx_op_t op, hx_comm_t *c)
{
    hx_status_t (*real)(const void *, void *, size_t, hx_dtype_t, hx_op_t, hx_comm_t *);
    real = dlsym(RTLD_NEXT, "hx_allreduce");
    BREAK(real(in, out, n, t, op, c));
}'
run_cases
[ -n "$(HX_LANES=many "$bench" --version 2>/dev/null)" ] && HX_LANES=many "$bench" --help >"$tmp/out" 2>&1 || fail "no --help where a setting is bad"
"$bench" barrier --repetitions 3 >"$tmp/out" 2>&1
grep -q '^# one rank sends nothing; .*: coll_run -n 4 -- coll_bench barrier --repetitions 3$' "$tmp/out" ||
    { fail "one rank gets no advice"; cat "$tmp/out" >&2; }
HX_LANES=many "$bench" allreduce >"$tmp/out" 2>&1
[ "$(cat "$tmp/out")" = 'hierax[0] error: HX_LANES=many: expected an integer from 0 to 1024' ] || { fail "a bad setting is not told once"; cat "$tmp/out" >&2; }
if [ -w /dev/full ]; then
    for options in "barrier" "--help" "--version"; do
        status=0
        launch 2 "$bench" $options >/dev/full 2>"$tmp/err" || status=$?
        [ $status = 1 ] && grep -qx 'coll_bench: standard output: No space left on device' "$tmp/err" || { fail "$options on a full disk: exit $status"; cat "$tmp/err" >&2; }
    done
fi
status=0
launch 2 "$bench" barrier >&- 2>"$tmp/err" || status=$? # no socket may get the number of standard output
[ $status = 1 ] && grep -qx 'coll_bench: standard output: Bad file descriptor' "$tmp/err" && ! grep -q '^hierax' "$tmp/err" ||
    { fail "without a standard output: exit $status"; cat "$tmp/err" >&2; }
passes 2 allreduce reduce_scatter_block allgather --dtype byte --op bxor --max 4K --factor 16 # no sums of bytes
passes 2 alltoall allgather --dtype byte --max 4K --factor 16 # and none are asked for
"$run" -n 2 -- "$bench" barrier --max 8 --repetitions 3 --csv /dev/stdout >"$tmp/both" 2>"$tmp/err" && grep -q '^# hierax' "$tmp/both" && grep -q '^library,' "$tmp/both" ||
    { fail "--csv /dev/stdout, a file"; cat "$tmp/both" "$tmp/err" >&2; }
# where the launcher does not look after its ranks
status=0
# shellcheck disable=SC2016
timeout 60 "$run" -n 2 -- bash -c '[ "$HX_RANK" = 0 ] && exec "$@"; "$@" & sleep 3; kill -9 $!; exec sleep 60' - "$bench" allreduce --check --min 4M --max 4M --repetitions 1000000 \
    >"$tmp/out" 2>"$tmp/err" || status=$?
[ $status = 1 ] && grep -Eq 'rank 1 (of the job, process [0-9]+, )?has (ended|died)' "$tmp/err" || { fail "a rank that was killed: exit $status"; cat "$tmp/err" >&2; }
for nodes in 2 3; do
    passes $((2 * nodes - 1)) allreduce reduce_scatter_block allgather barrier --max 256K --factor 32
done

# HX_EXPLAIN leaves out the calls by which the benchmark's ranks agree, also if only rank 0 has it
# shellcheck disable=SC2016
timeout 60 "$run" -n 2 -- bash -c '[ "$HX_RANK" = 1 ] || export HX_EXPLAIN=1; exec "$@"' - "$bench" gather --min 64 --max 64 --check \
    --repetitions 3 >"$tmp/out" 2>"$tmp/err" || fail "HX_EXPLAIN on rank 0: exit $?"
[ "$(grep -c '^hierax plan: [a-z]' "$tmp/err")" = 1 ] && grep -q '^hierax plan: gather of 64 B: ' "$tmp/err" &&
    grep -q '^hierax plan:  *us  *ratio .* not chosen$' "$tmp/err" || { fail "HX_EXPLAIN"; cat "$tmp/err" >&2; }
grep -Eq '^# checked: [1-9][0-9]* elements of the results of 1 row on 2 ranks, .* all are right$' "$tmp/out" ||
    { fail "the check is not told"; cat "$tmp/out" >&2; }

# Rounds and bytes are those of the books: a ring's 2 (p - 1) and 2 (p - 1) / p, one flag and the whole vector in shared memory.
counted() { # COLLECTIVE BYTES ROUNDS SENT PLAN: of rank 0's table
    local size=$4B
    (($4 % 1024)) || size=$(($4 / 1024))KiB
    launch 3 "$bench" "$1" --min "$2" --max "$2" --repetitions 3 --json "$tmp/j" --csv "$tmp/c" >"$tmp/out" || fail "$1: exit $?"
    awk -v c="$1" -v r="$3" -v s="$size" -v p="$5" '$1 == c { good = $13 == r && $14 $15 == s && $16 > 0 && $17 == p } END { exit !good }' "$tmp/out" ||
        { fail "$1 $2: not $3 rounds, $4 bytes, $5"; cat "$tmp/out" >&2; }
    awk '/^# measured \/ predicted over 1 row: median [0-9.]+, worst [0-9.]+ / { good = 1 } END { exit !good }' "$tmp/out" ||
        { fail "$1 $2: how far the prediction is off is not told"; cat "$tmp/out" >&2; }
    tail -n 1 "$tmp/c" | grep -q ",\"$5\",$3,$4\$" || { fail "$1 $2: CSV"; cat "$tmp/c" >&2; }
    tr -d ' \n' <"$tmp/j" | grep -q "\"plan\":\"$5\",\"rounds\":$3,\"sent_bytes\":$4[,}]" || { fail "$1 $2: JSON"; cat "$tmp/j" >&2; }
}
nodes=3
HX_ALLREDUCE=ring counted allreduce 12288 4 16384 "flat(ring)"
grep -q '^# libfabric .* provider ' "$tmp/out" || fail "the network is not told"
HX_ALLGATHER=mesh counted allgather 12288 1 8192 "flat(mesh)"
"$run" -n 6 --nodes 3,1,2 -- "$bench" allreduce --max 64 --check >"$tmp/out" || fail "nodes of 3, 1 and 2 ranks: exit $?"
grep -Eq '6 ranks.*3 nodes \(emulated\).*3' "$tmp/out" || { fail "nodes of 3, 1 and 2 ranks are not told"; cat "$tmp/out" >&2; }

launch 3 "$bench" barrier bcast gather allreduce alltoall --max 8 >"$tmp/out" || fail "3 nodes: exit $?"
grep -qx "# left out of the bound: the network's bandwidth for gather, alltoall (give --node-bandwidth)" "$tmp/out" ||
    { fail "nodes that talk to several others at once"; cat "$tmp/out" >&2; }
launch 3 "$bench" barrier --alpha 0.001 >"$tmp/out" || fail "--alpha: exit $?"
! grep -q 'plain TCP' "$tmp/out" || fail "measured where --alpha is given"
# a rank that has no endpoint does not know its interface
HX_ENDPOINTS=1 "$run" -n 4 --nodes 2 -- "$bench" barrier >"$tmp/out" || fail "ranks without endpoints: exit $?"
grep -q '^# plain TCP between nodes: ' "$tmp/out" || { fail "ranks without endpoints: plain TCP is not told"; cat "$tmp/out" >&2; }
printf '#include <errno.h>\nint accept4(void) { errno = EAGAIN; return -1; }\n' >"$tmp/refuse.c"
${CC:-cc} -shared -fPIC -o "$tmp/refuse.so" "$tmp/refuse.c" || fail "refuse.c"
launch 3 env LD_PRELOAD="$tmp/refuse.so" "$bench" barrier >"$tmp/out" || fail "refused connections: exit $?"
grep -q "^# left out of the bound: the network's terms" "$tmp/out" || { fail "refused connections"; cat "$tmp/out" >&2; }

# what went well before something failed is kept
printf '#include <errno.h>\n#include <sys/socket.h>\nssize_t send(int s, const void *b, size_t n, int f) { if (n == 262144) { errno = EPIPE; return -1; } return sendto(s, b, n, f, 0, 0); }\n' >"$tmp/refuse.c"
${CC:-cc} -shared -fPIC -o "$tmp/refuse.so" "$tmp/refuse.c" || fail "refuse.c"
launch 3 env LD_PRELOAD="$tmp/refuse.so" "$bench" allreduce --max 8 --html "$tmp/h" >"$tmp/out" || fail "refused streams: exit $?"
grep -Eq '^# plain TCP between nodes: [0-9.]+ us$' "$tmp/out" && grep -q "^# left out of the bound: the network's bandwidth for allreduce" "$tmp/out" &&
    grep -Eq '^allreduce .* latency ' "$tmp/out" || { fail "refused streams"; cat "$tmp/out" >&2; }
! grep -q 'GB/s each way with all' "$tmp/h" || fail "refused streams: told in the page"

nodes=1
HX_ALLREDUCE=nary counted allreduce 12288 1 12288 "flat(nary)"
! grep -q provider "$tmp/out" || fail "one node has no network"
[ $failures = 0 ]
