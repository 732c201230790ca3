#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Hierax is started again and again in the same processes: see again.c. TEST_ROUNDS=1000 makes so many worlds of each
# kind, and takes ten minutes.
. "$(dirname "$0")/common.sh"
kib=${TEST_KIB:-4000}
sanitizer . && kib=1000000 # which keep what has been freed

# again NAME WORLDS COMMAND...: a job of the same ranks each time
again() {
    local name=$1 worlds=${TEST_ROUNDS:-$2}
    shift 2
    timeout 600 "$@" "$here/again" same "$worlds" "$kib" >"$tmp/out" 2>"$tmp/err" || { fail "$name: exit $?"; tail -n 5 "$tmp/err" >&2; }
    cat "$tmp/out"
}

again "coll_run, one node" 60 "$run" -n 2 --
again "coll_run, two nodes" 20 "$run" -n 2 --nodes 2 --
again "coll_run, with a progress thread" 16 env HX_PROGRESS_THREAD=1 "$run" -n 2 --nodes 2 --
passes again 2 1 wrong

# drawn N: N processes, of which each world has some
drawn() {
    local i pids=() seed=$RANDOM
    for ((i = 0; i < $1; i++)); do
        HX_SECRET=again timeout 600 "$here/again" drawn "${TEST_ROUNDS:-30}" "$kib" "$i" "$1" $seed >"$tmp/out.$i" 2>"$tmp/err.$i" &
        pids+=($!)
    done
    for ((i = 0; i < $1; i++)); do
        wait "${pids[i]}" || { fail "drawn worlds, process $i of $1, seed $seed: exit $?"; tail -n 5 "$tmp/err.$i" >&2; }
        cat "$tmp/out.$i"
    done
}
drawn 4

# launcher PROGRAM COMMAND...: where it is installed
launcher() {
    local program=$1
    shift
    command -v "$program" >/dev/null && again "$program" 16 "$@"
}
launcher mpiexec.hydra mpiexec.hydra -n 2
launcher mpirun.openmpi env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --oversubscribe -n 2
finish
