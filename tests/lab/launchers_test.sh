#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hierax under every launcher of this release, on one host and on four: a table at the end. Then srun in every placement.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/tools/coll_bench tools/coll_info tools/coll_run tests/runtime/bootstrap/boot_ring tests/lab/sum
ring=$top_builddir/tests/runtime/bootstrap/boot_ring
bench=("$top_builddir/tests/tools/coll_bench" allreduce reduce_scatter_block allgather --check --max 64K --iterations 20
    --repetitions 3)

# A row: launcher | its program | its package | command on one host, 4 ranks | on four hosts, 8 ranks
launchers="
srun pmi2     | srun           | slurm-wlm   | $lab srun --mpi=pmi2 -N1 -n4 | $lab srun --mpi=pmi2 -N4 -n8 --ntasks-per-node=2
srun pmix     | srun           | slurm-wlm   | $lab srun --mpi=pmix -N1 -n4 | $lab srun --mpi=pmix -N4 -n8 --ntasks-per-node=2
mpirun        | mpirun.openmpi | openmpi-bin | $lab mpirun 1 4 --           | $lab mpirun 4 2 --
mpiexec.hydra | mpiexec.hydra  | mpich       | $lab hydra 1 4 --            | $lab hydra 4 2 --
coll_run      | sh             | -           | $lab exec 1 -- $top_builddir/tools/coll_run -n 4 -- | $lab exec 1 -- $top_builddir/tools/coll_run --agent $agent --hosts h1,h2,h3,h4 -n 8 --
"

# RANKS COMMAND...: the store carries values of several kinds of length, and all ranks add up 1 to RANKS
starts() {
    local ranks=$1 sum
    shift
    sum="$((ranks * (ranks + 1) / 2)) $((ranks * (ranks + 1) * 5))"
    timeout -k 5 60 "$@" "$ring" --expect "$ranks" --bytes 20000 || return 1
    timeout -k 5 60 "$@" "$top_builddir/tests/lab/sum" >"$scratch/sum" || return 1
    cat "$scratch/sum"
    [ "$(grep -c "of $ranks: $sum\$" "$scratch/sum")" = "$ranks" ]
}

cell() { # LAUNCHER PROGRAM PACKAGE WHERE RANKS COMMAND...: appends to the table's line
    local before=$failed what="$1, $4" result=ok package=$3
    if command -v "$2" >/dev/null; then
        shift 4
        check "$what" starts "$@"
        [ "$failed" = "$before" ] || result=failed
    else
        result="not there"
        check "$what: apt-get install $package" false
    fi
    line+=$(printf ' %-10s' "$result")
}

version() { dpkg-query -W -f ' ${Package} ${Version}' "$@" 2>/dev/null | sed 's/[-+~][^ ]*//g'; }

info_tells() { # MPI: coll_info prints once, with the ranks of every host
    "$lab" srun --mpi="$1" -N4 -n7 -m cyclic "$top_builddir/tools/coll_info" >"$scratch/info"
    cat "$scratch/info"
    [ "$(grep -c '^settings$' "$scratch/info")" = 1 ] && grep -Eq '^    0 +h1 +4 +0,4,5,6$' "$scratch/info" &&
        grep -Eq '^    3 +h4 +1 +3$' "$scratch/info"
}

check "lab up" "$lab" up 4
CASE_SECONDS=150 check "lab slurm up" "$lab" slurm up
table=$(printf '%-14s %-10s %s' launcher 'one host' 'four hosts')
while IFS='|' read -r launcher program package one four; do
    [ -n "$four" ] || continue
    read -r launcher <<<"$launcher"
    read -r program <<<"$program"
    read -r package <<<"$package"
    line=$(printf '%-14s' "$launcher")
    # shellcheck disable=SC2086
    cell "$launcher" "$program" "$package" "one host" 4 $one
    # shellcheck disable=SC2086
    cell "$launcher" "$program" "$package" "four hosts" 8 $four
    table+=$'\n'$line
done <<<"$launchers"
for mpi in pmi2 pmix; do
    check "coll_info, srun --mpi=$mpi" info_tells "$mpi"
done
while read -r placement; do # who is where does not depend on the kind of PMI, so one of them has the long program
    # shellcheck disable=SC2086
    check "srun --mpi=pmix $placement" "$lab" srun --mpi=pmix $placement "$top_builddir/tests/lab/sum"
    # shellcheck disable=SC2086
    check "srun --mpi=pmi2 $placement" "$lab" srun --mpi=pmi2 $placement "${bench[@]}"
done <<'TXT'
-N4 -n8
-N4 -n8 --ntasks-per-node=2
-N4 -n8 -m cyclic
-N4 -n7
-N4 -n7 -m cyclic
-N4 -n4
TXT
check "lab down" "$lab" down
echo "Debian $(cat /etc/debian_version):$(version openmpi-bin mpich slurm-wlm libpmix2 libpmix2t64)"
echo "$table"
finish
