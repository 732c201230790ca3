#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs in Fortran with libhierax-mpi, by both modules: results are right, and Hierax serves the calls. See fortran.f90.
. "$(dirname "$0")/jobs.sh"
command -v gfortran >/dev/null || skip "no gfortran"

# compile MPI [OPTION...]: compile the program
compile() {
    "mpifort.$1" "${@:2}" -cpp -O1 -o "$tmp/fortran" "$(dirname "$0")/fortran.f90" >"$tmp/log" 2>&1
}

for mpi in "${mpis[@]}"; do
    for module in mpi mpi_f08; do
        options=()
        [ $module = mpi ] || options=(-DF08)
        compile "$mpi" "${options[@]}" || { fail "$mpi: $module: the program does not compile"; head -n 5 "$tmp/log" >&2; continue; }
        for nodes in 1 2; do
            job "$mpi" 3 $nodes HXMPI_STATS=1 -- "$tmp/fortran" || why "$mpi $module on $nodes nodes: exit $?"
            has "$tmp/out" "fortran: good" "$mpi $module on $nodes nodes"
            # 20 rounds
            for calls in "MPI_Allreduce .* 40  served" "MPI_Bcast .* 20  served" "MPI_Allgather .* 20  served" "MPI_Iallreduce .* 40  served" \
                "MPI_Ibarrier .* 20  served"; do
                grep -q "$calls\$" "$tmp/err" || why "$mpi $module on $nodes nodes: not \"$calls\""
            done
        done
    done
done
finish
