#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Neighbourhood collectives and MPI_Alltoallw of each MPI, with libhierax-mpi. See neighbors.c.
. "$(dirname "$0")/jobs.sh"
rounds=${TEST_ROUNDS:-6}
seed=${TEST_SEED:-$RANDOM}

# neighbors MPI N NODES
neighbors() {
    job "$@" HXMPI_STATS=1 -- "$here/neighbors-$1" "$rounds" "$seed" || why "$*: exit $?, seed $seed"
    has "$tmp/out" " 0 failures" "$*, seed $seed"
    [ "$(sed -n 's/^hierax-mpi: rank [0-9]*: \(MPI_[A-Za-z_]*\) .* served$/\1/p' "$tmp/err" | grep -aci 'neighbor\|alltoallw')" -ge 18 ] ||
        why "$*: not all 6 collectives are served in all 3 forms"
    ! grep -aq 'does not run\|could not make\|no blocking' "$tmp/err" || why "$*: calls went to MPI"
}

for mpi in "${mpis[@]}"; do
    neighbors "$mpi" 2 1
    neighbors "$mpi" 4 2
    neighbors "$mpi" 5 3,2
done
finish
