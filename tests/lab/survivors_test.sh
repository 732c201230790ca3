#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Under a real Slurm, on four hosts: ranks are killed at random moments, also all of a host, and the others go on. See tests/system/survivors.c.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/system/survivors
export HX_TIMEOUT=30 HX_LOG=error

# goes_on SEED: 8 ranks, until two are left. srun reports the ranks that were killed, so its status says nothing
goes_on() {
    rm -f "$scratch/deaths"
    timeout -k 5 60 "$lab" srun --mpi=pmi2 --no-kill --kill-on-bad-exit=0 -N4 -n8 --ntasks-per-node=2 \
        "$top_builddir/tests/system/survivors" "$1" "$scratch/deaths" 2 >"$scratch/went" 2>&1
    cat "$scratch/went"
    grep "^round" "$scratch/went" >>"$scratch/rounds"
    grep -q "is well" "$scratch/went" && ! grep -q "line [0-9]" "$scratch/went"
}

check "lab up" "$lab" up 4
CASE_SECONDS=150 check "lab slurm up" "$lab" slurm up
chmod 777 "$scratch"
for seed in 1 2 3 4; do
    check "ranks die under srun --mpi=pmi2, seed $seed" goes_on $seed
done
sed -n 's/.* \([0-9]*\) us$/\1/p' "$scratch/rounds" | sort -n | awk '{ t[NR] = $1 }
    END { printf "%d rounds: from death to the next all-reduce median %.0f ms, longest %.0f ms\n", NR, t[int((NR + 1) / 2)] / 1e3, t[NR] / 1e3 }'
finish
