#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A provider without event queues works, as psm3 and opx. A provider that some rank, or every rank, cannot open is replaced by the next one
# on all ranks, with one warning. If HX_PROVIDER names it, the job ends, and the error says why.
. "$(dirname "$0")/../system/common.sh"
unset "${!EFA_@}"
export EFA_SEED=${TEST_SEED:-1} FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs
bench=("$top_builddir/tools/coll_bench" allreduce alltoall --check --max 16K --factor 16 --iterations 5 --repetitions 2)

# job RANKS NODES SCRIPT [X=Y...]: SCRIPT runs before each rank's benchmark, which checks every element
job() {
    local ranks=$1 nodes=$2 script=$3
    shift 3
    timeout 120 env "$@" "$run" -n "$ranks" --nodes "$nodes" -- bash -c "$script"$'\n''exec "$@"' - "${bench[@]}" >"$tmp/out" 2>"$tmp/err"
}

# uses PROVIDER RANKS NODES SCRIPT: all ranks use it, and nothing is warned of
uses() {
    job "$2" "$3" "$4" HX_LOG=info || { fail "$4: exit $?: $(tail -n 3 "$tmp/err")"; return; }
    [ "$(grep -cE "info: libfabric [0-9.]+ provider $1 " "$tmp/err")" = "$2" ] || { fail "$4: not $1 on all ranks:"; cat "$tmp/err" >&2; }
    ! grep warn: "$tmp/err" >&2 || fail "$4: warns"
}

# falls RANKS NODES SCRIPT REASON: all ranks use TCP, and one line says why
falls() {
    job "$1" "$2" "$3" || { fail "$3: exit $?: $(tail -n 3 "$tmp/err")"; return; }
    [ "$(grep -c warn: "$tmp/err")" = 1 ] || { fail "$3: not one warning but:"; cat "$tmp/err" >&2; }
    grep -Eq "^hierax\[0\] warn: libfabric cannot open $4: all ranks use (net|tcp)\." "$tmp/err" || { fail "$3: no \"$4\" in:"; cat "$tmp/err" >&2; }
}

# no event queues: fi_ep_bind refuses one (psm3), or fi_eq_open (opx); one rank of several too, or devices of several interfaces
uses efa 4 2 'export EFA_REFUSES=bind'
uses efa 3 3 'export EFA_REFUSES=events EFA_NICS=2'
uses efa 3 2,1 '[ $HX_RANK != 1 ] || export EFA_REFUSES=bind'

# what cannot be opened, and on which ranks
for what in fabric domain endpoint; do
    falls 2 2 "export EFA_REFUSES=$what" "efa \(fi_$what on rank 0: Permission denied\)"
done
falls 3 3 'export EFA_REFUSES=domain EFA_NICS=3' 'efa \(fi_domain on rank 0: Permission denied\)'
for who in 0 1 3; do # the first of a node and not, of this node and the other
    falls 4 2 "[ \$HX_RANK != $who ] || export EFA_REFUSES=domain" "efa \(fi_domain on rank $who: Permission denied\)"
done
falls 6 3,1,2 '[ $HX_RANK = 3 ] || export EFA_REFUSES=endpoint' 'efa \(fi_endpoint on rank 0: Permission denied\)'

# with a second provider, cxi: it is the next one; or each of the two is refused by another rank, so both are left out
mkdir "$tmp/two"
cp "$FI_PROVIDER_PATH/libefa-fi.so" "$tmp/two"
cp "$FI_PROVIDER_PATH/libefa-fi.so" "$tmp/two/libcxi-fi.so"
FI_PROVIDER_PATH=$tmp/two job 4 2 '[ $HX_RANK != 2 ] || export EFA_REFUSES=domain' || fail "cxi: $(tail -n 3 "$tmp/err")"
has "$tmp/err" "cannot open efa (fi_domain on rank 2: Permission denied): all ranks use cxi." cxi
FI_PROVIDER_PATH=$tmp/two falls 4 2 '[ $HX_RANK != 1 ] || export EFA_REFUSES=domain; [ $HX_RANK != 2 ] || export CXI_REFUSES=fabric' \
    'efa \(fi_domain on rank 1: Permission denied\), cxi \(fi_fabric on rank 2: Permission denied\)'

# nothing is left: the error has all reasons
! job 2 2 'export EFA_REFUSES=domain' FI_PROVIDER=efa || fail "no provider: starts"
has "$tmp/err" "no libfabric provider can be opened on all ranks: efa (fi_domain on rank" "no provider"

# what the user named is not replaced
for who in 0 1 2; do
    ! job 3 3 "[ \$HX_RANK != $who ] || export EFA_REFUSES=domain" HX_PROVIDER=efa || fail "HX_PROVIDER, rank $who: starts"
    has "$tmp/err" "hierax[$who] error: HX_PROVIDER=efa: fi_domain of libfabric provider efa on rdmap0s6-rdm: Permission denied; libfabric has: efa " \
        "HX_PROVIDER, rank $who"
    [ "$(grep -c 'error:' "$tmp/err")" = 1 ] || { fail "HX_PROVIDER, rank $who: not one error:"; cat "$tmp/err" >&2; }
done

# the tools show what was refused
EFA_REFUSES=domain timeout 20 "$run" -n 2 --nodes 2 -- "$top_builddir/tools/coll_info" >"$tmp/out" 2>"$tmp/err"
has "$tmp/out" "efa (fi_domain on rank 0: Permission denied)" coll_info
grep -Eq '^ *rdmap0s6-rdm +efa +not opened' "$tmp/out" || fail "coll_info: the interface of efa is not shown: $(grep rdma "$tmp/out")"
EFA_REFUSES=domain timeout 20 "$top_builddir/tools/coll_info" --doctor >"$tmp/out" 2>"$tmp/err"
grep -Eq '^warn  provider  +(net|tcp) is used, because libfabric cannot open efa \(fi_domain on rank 0: Permission denied\)' "$tmp/out" ||
    fail "doctor: $(grep provider "$tmp/out")"
finish
