#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# boot_ring under every launcher there is on one machine: coll_run and a bare shell (TCP store), mpirun (PMIx),
# mpiexec.hydra (PMI-1). Short and long values, 1 to 7 ranks. A launcher that is not installed is named, and makes this test a skip.
set -u
ring=${top_builddir:-.}/tests/runtime/bootstrap/boot_ring
run=${top_builddir:-.}/tools/coll_run
work=$(mktemp -d) || exit 1
export TMPDIR=$work # launchers of Open MPI that start at the same time fail in a common folder
trap 'rm -rf "$work"' EXIT
failed=0 missing=
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 IPATH_NO_BACKTRACE=1
unset HX_ROOT HX_RANK HX_SIZE HX_SECRET HX_BOOTSTRAP PMI_FD PMI_RANK PMI_SIZE PMIX_NAMESPACE PMIX_RANK

# expect RANKS KIND COMMAND...: every rank 0 .. RANKS-1 says ok, by KIND.
expect()
{
    ranks=$1 kind=$2
    shift 2
    timeout 60 "$@" >"$work/out" 2>"$work/err"
    status=$?
    rank=0
    while [ $rank -lt $ranks ]; do
        grep -q "boot_ring: rank $rank of $ranks by $kind: ok" "$work/out" || status="$status, rank $rank is not ok"
        rank=$((rank + 1))
    done
    [ "$status" = 0 ] && return
    echo "FAILED ($status): $*"
    cat "$work/out" "$work/err"
    failed=1
}

# shell RANKS: rank 0 serves the store itself.
shell()
{
    port=$((20000 + $$ % 10000))
    while grep -qi ":$(printf %04x $port) " /proc/net/tcp /proc/net/tcp6; do port=$((port + 1)); done
    rank=$(($1 - 1))
    while [ $rank -ge 0 ]; do # rank 0 last: the others have to wait for it
        HX_ROOT=localhost:$port HX_RANK=$rank HX_SIZE=$1 HX_SECRET=s "$ring" --bytes 70000 &
        rank=$((rank - 1))
    done
    wait
}

expect 1 single "$ring"
for ranks in 1 2 7; do
    for bytes in 100 100000; do
        expect $ranks tcp "$run" -n $ranks "$ring" --bytes $bytes
        if command -v mpirun.openmpi >/dev/null; then
            expect $ranks pmix mpirun.openmpi --oversubscribe -n $ranks "$ring" --bytes $bytes
        fi
        if command -v mpiexec.hydra >/dev/null; then
            expect $ranks pmi1 mpiexec.hydra -n $ranks "$ring" --bytes $bytes --missing 1
        fi
    done
done
if command -v mpirun.openmpi >/dev/null; then # a value that is not there: the server searches for HX_TIMEOUT / 4
    HX_TIMEOUT=4 expect 2 pmix mpirun.openmpi --oversubscribe -n 2 "$ring" --missing 1
fi
if command -v mpirun.openmpi >/dev/null && command -v mpiexec.hydra >/dev/null; then # one inside a job of the other's: the nearer one counts
    expect 2 pmi1 mpirun.openmpi -n 1 mpiexec.hydra -n 2 "$ring"
    expect 2 pmix mpiexec.hydra -n 1 mpirun.openmpi --oversubscribe -n 2 "$ring"
fi
command -v mpirun.openmpi >/dev/null || missing="$missing mpirun (openmpi-bin)"
command -v mpiexec.hydra >/dev/null || missing="$missing mpiexec.hydra (mpich)"
shell 4 >"$work/shell" 2>&1
expect 4 tcp cat "$work/shell"

# Where nobody listens, Linux may connect a socket to itself: there is no store, however many of the few ports are tried.
if unshare -n true 2>/dev/null; then
    unshare -n sh -c 'ip link set lo up; echo 40000 40007 >/proc/sys/net/ipv4/ip_local_port_range
        HX_ROOT=127.0.0.1:40004 HX_RANK=1 HX_SIZE=2 HX_TIMEOUT=6 exec "$0"' "$ring" >"$work/out" 2>&1
    grep -q 'no store answers at HX_ROOT=127.0.0.1:40004 after 6 s: Connection refused' "$work/out" || {
        echo "FAILED: it took its own echo for a store: $(cat "$work/out")"
        failed=1
    }
fi
# A port that is taken by who does not serve there: told by rank 0.
HX_ROOT=127.0.0.1:$port HX_RANK=0 HX_SIZE=1 HX_TIMEOUT=2 perl -e 'use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0);
    bind($s, sockaddr_in('"$port"', inet_aton("127.0.0.1"))) or die; system(@ARGV)' "$ring" >"$work/out" 2>&1
grep -q 'rank 0 cannot listen there itself: Address already in use' "$work/out" || {
    echo "FAILED: a port in use: $(cat "$work/out")"
    failed=1
}
# Another process listens at another address: the host's own is free.
perl -e 'use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0); bind($s, sockaddr_in('"$port"', inet_aton("127.0.0.9"))) or die;
    listen($s, 1); system(@ARGV)' sh -c "$(command -v true)
    export HX_SIZE=2 HX_TIMEOUT=20
    HX_ROOT=localhost:$port HX_RANK=1 '$ring' & HX_ROOT=localhost:$port HX_RANK=0 '$ring'; wait" >"$work/shell" 2>&1
expect 2 tcp cat "$work/shell"
HX_BOOTSTRAP=single expect 1 single "$ring"

# A warning for ranks that believe to be alone.
SLURM_STEP_NUM_TASKS=8 "$ring" 2>&1 >/dev/null | grep -q 'srun --mpi=pmix or srun --mpi=pmi2' || {
    echo "FAILED: no warning under srun without PMI"
    failed=1
}
[ $failed = 0 ] || exit 1
[ -z "$missing" ] || { echo "skipped, because not installed:$missing"; exit 77; }
