#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# libhierax-mpi with many requests and communicators, and with programs that forget some or use them wrongly. See lifetimes.c.
. "$(dirname "$0")/jobs.sh"
inits=40000 # more than there are tags of persistent requests in a row

# ends MPI N NODES PART TEXT: the program is wrong, so it may fail; but it ends, and one line has TEXT
ends() {
    job "$1" "$2" "$3" -- "$here/lifetimes-$1" "$4"
    [ $? -lt 124 ] || why "$*: it hangs"
    grep -a '^hierax-mpi:' "$tmp/err" | grep -aqF -- "$5" || why "$*: no line with \"$5\""
}

for mpi in "${mpis[@]}"; do
    for nodes in 1 2; do
        for name in forgets_all forgets_some refused mixed; do
            part "$mpi" 3 $nodes $name lifetimes
        done
        part "$mpi" 3 $nodes early lifetimes
        ! grep -aq 'no blocking collective' "$tmp/err" || why "$mpi on $nodes nodes: early: MPI has made a first call"
        part "$mpi" 3 $nodes late lifetimes
        grep -aq 'no blocking collective' "$tmp/err" || why "$mpi on $nodes nodes: late: Hierax has made all first calls"
        job "$mpi" 3 $nodes -- "$here/lifetimes-$mpi" forgets_active
        [ $? -lt 124 ] || why "$mpi on $nodes nodes: forgets_active: it hangs"
        ends "$mpi" 3 $nodes starts_alone "MPI_Finalize was called before a collective was complete"
        ends "$mpi" 3 $nodes starts_alone_in_world "MPI_Finalize was called before a collective was complete"
    done
    job_seconds=600 job "$mpi" 2 1 -- "$here/lifetimes-$mpi" inits "$inits" || why "$mpi: inits: exit $?"
    inits=2000
    has "$tmp/out" "lifetimes: inits: good" "$mpi: inits"
done
finish
