#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of each MPI, with libhierax-mpi: its collectives give what MPI's own give, and it serves them. See alike.c.
. "$(dirname "$0")/jobs.sh"
rounds=${TEST_ROUNDS:-4}
seed=${TEST_SEED:-$RANDOM}

# alike MPI N NODES
alike() {
    job "$@" HXMPI_STATS=1 -- "$here/alike-$1" "$rounds" "$seed" || why "$*: exit $?, seed $seed"
    has "$tmp/out" "seed $seed: 0 failures" "$*"
    # of all ranks, because mpirun may mix two lines
    [ "$(sed -n 's/^hierax-mpi: rank [0-9]*: \(MPI_[A-Za-z_]*\) .* served$/\1/p' "$tmp/err" | sort -u | wc -l)" = 48 ] ||
        why "$*: not all 16 collectives are served in all 3 forms"
    ! grep -aq 'does not run\|could not make' "$tmp/err" || why "$*: calls went to MPI"
}

for mpi in "${mpis[@]}"; do
    alike "$mpi" 2 1
    alike "$mpi" 2 2
    alike "$mpi" 5 2
done
finish
