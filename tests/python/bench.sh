#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# python3 -m hierax.bench: it refuses bad input in one line, and measures the peers that this machine has, with tiny sizes.
. "$(dirname "$0")/common.sh"
bench() { timeout --kill-after=5 200 "$python" -m hierax.bench "$@" >"$tmp/out" 2>"$tmp/err"; }

refuses() { # TEXT OPTION...
    local text=$1 status=0
    shift
    bench "$@" || status=$?
    [ $status = 1 ] && [ "$(wc -l <"$tmp/err")" = 1 ] || { fail "$*: exit $status, and not one line:"; cat "$tmp/err" >&2; }
    has "$tmp/err" "$text" "$*"
}

refuses '--against: "glo" is unknown; choices: gloo mpi4py' --against glo
refuses '--sizes: "3x" is not a size: expected 1 to 1024M bytes' --sizes 8,3x
refuses '--collectives: "sum" is unknown; choices: all_reduce' --collectives sum
mkdir -p "$tmp/bare/torch" "$tmp/bare/mpi4py"
touch "$tmp/bare/torch/__init__.py" "$tmp/bare/mpi4py/__init__.py" # so that only the option is wrong
PYTHONPATH=$tmp/bare:$PYTHONPATH refuses '--ranks 1 is out of range: 2 to 64' --ranks 1
PYTHONPATH=$tmp/bare:$PYTHONPATH refuses '--against mpi4py: MPI cannot emulate nodes; leave out --nodes 2' \
    --against mpi4py --nodes 2

# measured PEER MODULE COMPARISONS OPTION...: both sides run, and the JSON document has ratios; or a line names what to install
measured() {
    local peer=$1 module=$2 points=$3
    shift 3
    "$python" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$module') is None)" || {
        refuses "--against $peer: no module $module for " --against "$peer" "$@"
        return
    }
    bench --against "$peer" --sizes 8,1K --rounds 2 --launches 1 --json "$tmp/json" "$@" ||
        { fail "--against $peer $*: exit $?"; tail -n 20 "$tmp/out" "$tmp/err" >&2; return; }
    [ "$(grep -c ' x  [0-9.]* \.\. [0-9.]*$' "$tmp/out")" = "$points" ] ||
        { fail "$peer: not $points points:"; cat "$tmp/out" >&2; }
    grep -q "all_to_all: [0-9.]* times as fast as $peer, the geometric mean of" "$tmp/out" || fail "$peer: no geometric mean"
    "$python" - "$tmp/json" "$peer" "$points" <<'END' || fail "$peer: the documents"
import json, sys
ours, theirs = json.load(open(sys.argv[1]))
assert ours["library"] == "hierax" and theirs["library"] == sys.argv[2], "libraries"
assert len(ours["rows"]) == len(theirs["rows"]) == int(sys.argv[3]), "rows"
for row, other in zip(ours["rows"], theirs["rows"]):
    ratio, low, high = row["ratios"][sys.argv[2]]
    assert 0 < low <= ratio <= high and row["median_us"] > 0 and other["median_us"] > 0, row
END
}

pages=
if "$python" -c 'import matplotlib, jinja2' 2>/dev/null; then pages=yes; fi
measured gloo torch 10 --ranks 2 --nodes 2 ${pages:+-o "$tmp/page.html"}
if [ -n "$pages" ] && [ -e "$tmp/json" ]; then
    [ "$(grep -c '<figure>' "$tmp/page.html")" = 10 ] ||
        fail "the page has not a plot of times and one of ratios for each of 5 chapters"
    has "$tmp/page.html" 'to gloo: geometric mean' 'the page'
fi
rm -f "$tmp/json"
measured mpi4py mpi4py 8 --ranks 2
finish
