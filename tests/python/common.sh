# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For the scripts of this folder: jobs of Python. A script ends with `finish`.
. "$(dirname "$0")/../system/common.sh"
scripts=${top_srcdir:?run me by make check}/tests/python
python=${PYTHON_OF_HIERAX:-/usr/bin/python3}
export PYTHONPATH=$top_builddir/python PYTHONDONTWRITEBYTECODE=1 PYTHONFAULTHANDLER=1
"$python" -c "import numpy" 2>/dev/null || skip "$python has no numpy: apt-get install python3-numpy"

# job N NODES COMMAND...: run it, with its output in $tmp/out and $tmp/err. NODES is 1, or as coll_run --nodes takes it
job() {
    local n=$1 nodes=$2 options=(--kill-after=30)
    shift 2
    [ "$nodes" = 1 ] || options+=(--nodes "$nodes")
    timeout 200 "$run" -n "$n" "${options[@]}" -- "$@" >"$tmp/out" 2>"$tmp/err"
}

# ranks N NODES SCRIPT [X=Y...]: a job of the script ends well
ranks() {
    local n=$1 nodes=$2 script=$3
    shift 3
    job "$n" "$nodes" env "$@" "$python" "$scripts/$script" ||
        { fail "$script -n $n --nodes $nodes $*: exit $?"; tail -n 20 "$tmp/err" >&2; }
}
