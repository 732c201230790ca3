#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hierax under real launchers: srun over 4 hosts by PMI-1 and PMIx, in every placement; mpirun and hydra on one host.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/tools/coll_bench tools/coll_info tests/runtime/bootstrap/boot_ring
ring=$top_builddir/tests/runtime/bootstrap/boot_ring
bench=("$top_builddir/tests/tools/coll_bench" allreduce reduce_scatter_block allgather --check --max 64K --iterations 20
    --repetitions 3)

info_tells() { # MPI: coll_info prints once, with the ranks of every host
    "$lab" srun --mpi="$1" -N4 -n7 -m cyclic "$top_builddir/tools/coll_info" >"$scratch/info"
    cat "$scratch/info"
    [ "$(grep -c '^settings$' "$scratch/info")" = 1 ] && grep -Eq '^    0 +h1 +4 +0,4,5,6$' "$scratch/info" &&
        grep -Eq '^    3 +h4 +1 +3$' "$scratch/info"
}

check "lab up" "$lab" up 4
CASE_SECONDS=150 check "lab slurm up" "$lab" slurm up
for mpi in pmi2 pmix; do
    check "bootstrap, srun --mpi=$mpi -N4 -n7" "$lab" srun --mpi=$mpi -N4 -n7 "$ring" --expect 7
    check "coll_info, srun --mpi=$mpi" info_tells "$mpi"
    while read -r placement; do
        # shellcheck disable=SC2086
        check "srun --mpi=$mpi $placement" "$lab" srun --mpi=$mpi $placement "${bench[@]}"
    done <<'TXT'
-N4 -n8
-N4 -n8 --ntasks-per-node=2
-N4 -n8 -m cyclic
-N4 -n7
-N4 -n7 -m cyclic
-N4 -n4
TXT
done
check "bootstrap, mpirun over 4 hosts" "$lab" mpirun 4 2 -- "$ring" --expect 8
check "mpirun -n 4 on one host" "$lab" exec 1 -- mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 "${bench[@]}"
check "mpiexec.hydra -n 4 on one host" "$lab" exec 1 -- mpiexec.hydra -n 4 "${bench[@]}"
check "lab down" "$lab" down
finish
