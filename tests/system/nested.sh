#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs inside jobs: a launcher that a rank starts makes a job of its own, whatever the outer launcher has left in the environment. A rank's
# plain child is refused at once, and the outer job goes on.
. "$(dirname "$0")/common.sh"
unset FI_LOG_LEVEL
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 HX_TIMEOUT=60
limit=50 # s, less than HX_TIMEOUT: none is waited for
inner="$here/actor starts"

launchers=("$run -n")
command -v mpirun.openmpi >/dev/null && launchers+=("mpirun.openmpi --oversubscribe --bind-to none -n")
command -v mpiexec.hydra >/dev/null && launchers+=("mpiexec.hydra -n")

# ranks FILE SIZE COUNT: COUNT ranks of jobs of SIZE ranks have ended well
ranks() { [ "$(grep -c "^rank [0-9] of $2\$" "$1")" = "$3" ]; }

case_number=0
cases=()
# one NAME: runs in the background what follows; its output is $tmp/NUMBER
one() {
    case_number=$((case_number + 1))
    "$@" "$tmp/$case_number" &
    cases+=($!)
    [ $((case_number % 3)) != 0 ] || settle
}
settle() {
    local pid
    for pid in "${cases[@]}"; do wait "$pid" || failures=$((failures + 1)); done
    cases=()
}

direct() { # OUTER INNER FILE: OUTER starts INNER as its program
    # shellcheck disable=SC2086
    timeout -k 1 $limit $1 1 $2 3 $inner >"$3" 2>&1 </dev/null || { fail "$1 1 $2 3: status $?: $(cat "$3")"; return 1; }
    ranks "$3" 3 3 || { fail "$1 1 $2 3: $(cat "$3")"; return 1; }
}
by_rank() { # OUTER INNER FILE: a rank of OUTER starts INNER
    # shellcheck disable=SC2086
    timeout -k 1 $limit $1 2 $inner "$2 3 $inner" >"$3" 2>&1 </dev/null || { fail "rank of $1 starts $2: status $?: $(cat "$3")"; return 1; }
    ranks "$3" 3 3 && ranks "$3" 2 2 || { fail "rank of $1 starts $2: $(cat "$3")"; return 1; }
}
child() { # OUTER FILE: a rank of OUTER starts a program of Hierax without a launcher
    # shellcheck disable=SC2086
    timeout -k 1 $limit $1 2 $inner "$inner" >"$2" 2>&1 </dev/null || { fail "child of a rank of $1: status $?: $(cat "$2")"; return 1; }
    ranks "$2" 2 2 && grep -qE "The child of a rank cannot join the job|this process is a child of a rank" "$2" && grep -q 'command ended with [1-9]' "$2" ||
        { fail "child of a rank of $1: $(cat "$2")"; return 1; }
}

for outer in "${launchers[@]}"; do
    one child "$outer"
    for nested in "${launchers[@]}"; do
        [ "$outer" = "$run -n" ] || [ "$nested" = "$run -n" ] || continue # others are theirs to arrange
        one direct "$outer" "$nested"
        one by_rank "$outer" "$nested"
    done
done
settle
finish
