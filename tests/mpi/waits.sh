#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every call of MPI that may wait makes progress on Hierax's collectives: see waits.c. And no call is overlooked: each function of MPI's library
# is one of libhierax-mpi, or local_calls.txt has it.
. "$(dirname "$0")/jobs.sh"

functions() { nm -D --defined-only "$1" | sed -nE 's/.* [TWi] (MPIX?_([A-Z][a-z]|T_)[A-Za-z0-9_]*)(@.*)?$/\1/p' | sort -u; }

# the patterns of local_calls.txt, as one for grep
local_calls=$(sed 's/#.*//' "$(dirname "$0")/local_calls.txt" | tr -s ' \n' '\n' | sed '/^$/d; s/.*/^&$/' | paste -sd '|')
for mpi in "${mpis[@]}"; do
    of_mpi=$(ldd "$(library "$mpi")" | sed -nE 's/.*libmpi(ch)?\.so.* => (\S+).*/\2/p' | head -n 1)
    functions "$(library "$mpi")" >"$tmp/own"
    functions "$of_mpi" >"$tmp/all"
    [ "$(wc -l <"$tmp/all")" -gt 300 ] || fail "$mpi: few functions in $of_mpi"
    left=$(comm -23 "$tmp/all" "$tmp/own" | grep -vE "$local_calls")
    [ -z "$left" ] || fail "$mpi: neither in libhierax-mpi nor in local_calls.txt: ${left//$'\n'/ }"
    for nodes in 1 2; do
        job "$mpi" 3 $nodes -- "$here/waits-$mpi" || why "$mpi on $nodes nodes: exit $?, in the last call of this list"
        has "$tmp/out" "waits: good" "$mpi on $nodes nodes"
    done
done
finish
