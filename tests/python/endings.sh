#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How ranks end: by exceptions, signals, fork, without finalize. Each other rank ends too, and says why.
. "$(dirname "$0")/common.sh"

# ends STATUS WHAT TEXT...: the job ends with that status ("any": but 0, 124), and its output has each text
ends() {
    local wanted=$1 what=$2 text got=0
    shift 2
    job 2 1 "$python" "$scripts/endings.py" "$what" "$tmp/flag" || got=$?
    [ "$got" = "$wanted" ] || { fail "$what: exit $got, not $wanted"; tail -n 20 "$tmp/err" >&2; }
    cat "$tmp/out" "$tmp/err" >"$tmp/both"
    for text in "$@"; do has "$tmp/both" "$text" "$what"; done
}

# count N TEXT WHAT: the output has the text N times
count() {
    local n
    n=$(grep -cF -- "$2" "$tmp/both")
    [ "$n" = "$1" ] || { fail "$3: \"$2\" $n times, not $1"; cat "$tmp/both" >&2; }
}

ends 1 uncaught "KeyError: 'no input'" "rank 1" "hx_abort"
count 1 "Traceback" uncaught
ends 1 own_hook mine "KeyError: 'no input'"
ends 1 raising_hook "the hook itself"
ends 0 implicit end
count 0 "hierax:" implicit
ends 0 held end
count 0 "hierax:" held
ends 3 leaves True
ends 137 dies "dead True HX_ERR_PEER_DEAD" later
count 3 "dead True" dies
ends 0 forks parent
count 1 "SystemError: only the child ends" forks
ends 1 operation "ZeroDivisionError: in the function" "ZeroDivisionError in the function of a hierax.Op"
ends 130 interrupt "KeyboardInterrupt in the function of a hierax.Op"
ends 1 exit_in_operation "SystemExit in the function of a hierax.Op"
ends 1 wrong_result "3 elements of float64, expected 10 of float64"
ends 1 number_result "returned a number"
ends 0 calls_in_operation True
ends 0 outlive kept
ends 0 second_init "first works"
ends 0 bad_setting True
ends 0 finalize_in_thread "refused True"
ends 7 aborts "no more data"
"$python" -c 'import _xxsubinterpreters' 2>/dev/null && ends 0 subinterpreter True
env -u HX_ROOT HX_TIMEOUT=7 "$python" -m hierax.info >"$tmp/info" || fail "hierax.info: exit $?"
for text in "launcher     none: a job of one rank" "HX_TIMEOUT   7" "numpy"; do has "$tmp/info" "$text" hierax.info; done
"$python" -m hierax.info --foo 2>"$tmp/err" && fail "hierax.info --foo"
has "$tmp/err" "unrecognized arguments: --foo" "hierax.info --foo"
finish
