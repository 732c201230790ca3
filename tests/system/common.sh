# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the scripts of this folder: a place for files, messages, and jobs that cannot hang. A script ends with `finish`.
set -u
: "${top_builddir:?run me by make check}"
here=$top_builddir/tests/system
run=$top_builddir/tools/coll_run
failures=0
tmp=$(mktemp -d)
export TMPDIR=$tmp # launchers of Open MPI that start at the same time fail in a common folder
trap 'rm -rf "$tmp"' EXIT
unset "${!HX_@}" COLUMNS # tools fold to it
[ -z "${TEST_ENDPOINTS:-}" ] || export HX_ENDPOINTS=$TEST_ENDPOINTS # 1: most ranks open their endpoints at first need
export HX_CONSTANTS=none # plans do not depend on what is measured
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}

fail() { echo "FAIL: $*" >&2; failures=$((failures + 1)); }
skip() { echo "skipped: $*" >&2; exit 77; }
finish() { [ $failures = 0 ] || echo "$failures failures" >&2; exit $((failures > 0)); }

# Is this a build of that sanitizer?
sanitizer() { case "${TEST_SANITIZER:-}" in *"$1"*) return 0 ;; *) return 1 ;; esac; }

# has FILE TEXT WHERE: FILE contains TEXT
has() { grep -qF -- "$2" "$1" || { fail "$3: no \"$2\" in:"; sed 's/^/    /' "$1" >&2; }; }

# now: milliseconds
now() { echo $(($(date +%s%N) / 1000000)); }

# ended PID SECONDS: the process has ended, or does within that time
ended() {
    local i
    for ((i = 0; i < $2 * 50; i++)); do
        [ -e "/proc/$1" ] && [ "$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null)" != Z ] || return 0
        sleep 0.02
    done
    return 1
}

# await_file FILE LINES: FILE has that many lines within 60 s
await_file() {
    local i
    for ((i = 0; i < 3000; i++)); do
        [ "$(wc -l 2>/dev/null <"$1" || echo 0)" -ge "$2" ] && return 0
        sleep 0.02
    done
    fail "$1 has not $2 lines within 60 s"
    return 1
}

# passes PROGRAM N NODES ARGUMENT [X=Y...]: a job of PROGRAM ends well
passes() {
    local program=$1 n=$2 nodes=$3 argument=$4 options=()
    shift 4
    [ "$nodes" = 1 ] || options=(--nodes "$nodes")
    timeout 200 env "$@" "$run" -n "$n" "${options[@]}" -- "$here/$program" "$argument" >"$tmp/out" 2>"$tmp/err" ||
        { fail "$program -n $n --nodes $nodes $argument $*: exit $?"; tail -n 5 "$tmp/err" >&2; }
}
