# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the lab's test scripts: one lab per script, one line per case, at the end "N passed, N failed". Sourced.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top_builddir=${top_builddir:-$(cd "$here/../.." && pwd)/build}
lab=$here/lab
export LAB_NAME=${LAB_NAME:-test$$}
agent=/run/hierax-$LAB_NAME/agent # as ssh
passed=0
failed=0
scratch=$(mktemp -d)
chmod 755 "$scratch"

"$lab" able || { # not a failure of what is tested, unless somebody counts on it
    echo "# SKIP:  1 ($(basename "$0"))"
    rm -rf "$scratch"
    exit 77
}
trap '"$lab" down; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

need() { # PROGRAM...: that the build must have
    local program
    for program; do
        [ -x "$top_builddir/$program" ] && continue
        echo "no $top_builddir/$program: make all check-lab builds it; or set top_builddir" >&2
        exit 2
    done
}

result() { # STATUS WHAT LOG: counts a case and says how it went
    if [ "$1" = 0 ]; then
        echo "ok     $2"
        passed=$((passed + 1))
    else
        echo "FAILED $2 (status $1)"
        tail -n 30 "$3" | sed 's/^/       | /'
        failed=$((failed + 1))
    fi
}

run() { # command...: a program within CASE_SECONDS, or a function of the script
    if [ "$(type -t "$1")" = function ]; then
        "$@"
    else
        timeout -k 5 "${CASE_SECONDS:-60}" "$@"
    fi
}

check() { # WHAT command...: a case that passes if the command succeeds
    local status=0 what=$1
    shift
    run "$@" >"$scratch/log" 2>&1 </dev/null || status=$?
    result $status "$what" "$scratch/log"
}

prints() { # WHAT EXPECTED command...: a case that passes if the command prints EXPECTED (words, one a line, any order)
    local status=0 what=$1 expected got
    expected=$(tr ' ' '\n' <<<"$2" | LC_ALL=C sort)
    shift 2
    run "$@" >"$scratch/out" 2>"$scratch/log" </dev/null || status=$?
    got=$(LC_ALL=C sort "$scratch/out")
    if [ $status = 0 ] && [ "$got" != "$expected" ]; then
        status=different
        printf 'expected:\n%s\ngot:\n%s\n' "$expected" "$got" >>"$scratch/log"
    fi
    result $status "$what" "$scratch/log"
}

finish() {
    echo "$passed passed, $failed failed"
    [ $failed = 0 ] && [ $passed -gt 0 ]
    exit
}
