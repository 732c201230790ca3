#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HX_EXPLAIN of a job and coll_plan predict the same time from the same constants, and name these: of the provider, and of the node.
# shellcheck source=../system/common.sh
. "$(dirname "$0")/../system/common.sh"
plan=$top_builddir/tools/coll_plan bench=$top_builddir/tests/tools/coll_bench
[ -x "$bench" ] || bench=$top_builddir/tools/coll_bench
printf '%s\n' 'hierax_constants 1' 'machine a test' 'hand_off_ns 250' 'line_ns 50' 'call_ns 900' 'fetch_cold_mb_s 3000' \
    'fetch_warm_mb_s 12000' 'slot_cold_mb_s 7000' 'slot_warm_mb_s 9000' 'own_mb_s 30000' 'fold_mb_s 15000' end >"$tmp/constants"
HX_LOG=info "$run" -n 4 --nodes 2 -- "$top_builddir/tools/coll_info" --json >"$tmp/info" 2>"$tmp/err" || fail "coll_info: exit $?"
facts() { # of the machine, as coll_plan takes them: provider, cores, last-level cache, and how many of these
    python3 - "$tmp/info" "$tmp/err" <<'PYTHON'
import json, re, sys
info = json.load(open(sys.argv[1]))
provider = re.search(r" provider (\S+)", info["network"]["between_nodes"])[1]
machine = info["machine"]
print(provider, machine["cpus_usable"], machine["last_level_cache_bytes"], machine["l3_caches"])
PYTHON
}
read -r provider cpus llc l3 <<<"$(facts)"
[ -n "$l3" ] || { fail "coll_info --json has no facts: $(head -c 2000 "$tmp/info")"; finish; }

# compare COLLECTIVE: the plan of the job and its time, and those of coll_plan
compare() {
    python3 - "$1" "$tmp/job" "$tmp/plan" <<'PYTHON'
import re, sys
job, plan = open(sys.argv[2]).read(), open(sys.argv[3]).read()
name, us = re.search(r"^hierax plan: %s.*: (.+)\n.*predicted ([0-9.]+) us" % sys.argv[1], job, re.M).groups()
chosen = re.search(r"^chosen: (.*)$", plan, re.M)[1]
predicted = re.search(r"^[* ] %s +([0-9.]+) " % re.escape(chosen), plan, re.M)[1]
sys.exit(name != chosen or abs(float(us) - float(predicted)) > 0.06)
PYTHON
}

# same NODES [HX_X=Y...]: for all collectives and sizes, the plan and its predicted time
same() {
    local nodes=$1 shape settings=() lines coll size
    shift
    case $nodes/$l3 in
    1/2 | 1/4) shape=1x4/$l3 ;; # domains
    1/*) shape=4 ;;
    *) shape=2,2 ;;
    esac
    for setting in "$@"; do settings+=(--set "$setting"); done
    [ "$nodes" = 1 ] || settings+=(--set HX_NODES=2)
    for coll in allreduce bcast allgather reduce alltoall scan barrier; do
        for size in 8 64K 1M; do
            [ $coll != barrier ] || [ $size = 8 ] || continue
            env "$@" HX_EXPLAIN=1 timeout 100 "$run" -n 4 --nodes "$nodes" -- "$bench" $coll --sizes $size --repetitions 1 --iterations 1 --warmup 0 >/dev/null 2>"$tmp/job" ||
                { fail "$coll of $size, $nodes nodes, $*: exit $?"; continue; }
            "$plan" explain $coll $size --shape $shape --provider "$provider" --cpus "$cpus" --llc "$llc" "${settings[@]}" >"$tmp/plan" ||
                fail "coll_plan explain $coll $size, $nodes nodes, $*: exit $?"
            compare $coll || fail "$coll of $size, $nodes nodes, $*: the job says $(grep -m 1 -A 1 "^hierax plan: $coll" "$tmp/job"), coll_plan $(cat "$tmp/plan")"
            grep "^constants of the" "$tmp/plan" | sed 's/^/hierax plan:   /' >"$tmp/sources"
            [ -s "$tmp/sources" ] || fail "coll_plan explain names no constants"
            while read -r line; do has "$tmp/job" "$line" "the sources of $coll of $size, $nodes nodes, $*"; done <"$tmp/sources"
        done
    done
}
same 1
same 1 HX_CONSTANTS="$tmp/constants"
same 2
same 2 HX_CONSTANTS="$tmp/constants" HX_RAILS=2
finish
