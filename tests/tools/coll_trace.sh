#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HX_TRACE and coll_trace: traces of real jobs hold what trace_check.py says, whatever the clocks; what is lost is counted; what cannot
# be written is told at once; a call that fails leaves a trace that shows whom it waited for; probes are in the library.
# shellcheck source=tests/system/common.sh
. "$top_srcdir/tests/system/common.sh"
traced=$here/traced
tool=$top_builddir/tools/coll_trace
holds() { python3 "$top_srcdir/tests/tools/trace_check.py" "$@" >"$tmp/said" || { fail "trace_check ${*:1:2}:"; cat "$tmp/said" >&2; }; }

# of each rank in ROUNDS rounds
calls() {
    echo "hx_allreduce=$((3 * $1)),hx_bcast=$1,hx_gatherv=$1,hx_allgather=$1,hx_barrier=$1,hx_iallreduce=$1,hx_ialltoall=$1,hx_allreduce_init=$1"
}

# job FILE option... -- program...
job() { HX_TRACE=$1 timeout 60 "$run" "${@:2}" >"$tmp/out" 2>"$tmp/err"; }

# ---- shapes; 40 rounds of rooted calls need a barrier in between
for shape in "-n 4 --nodes 2" "-n 3 --nodes 2,1" "-n 2" "-n 1"; do
    # shellcheck disable=SC2086
    job "$tmp/t" $shape --env HX_TRACE_BYTES=64M -- "$traced" 40 || { fail "$shape: exit $?"; cat "$tmp/err" >&2; }
    n=$(cut -d' ' -f2 <<<"$shape")
    holds "$n" "$(calls 40)" "$tmp"/t.*
    "$tool" merge "$tmp/all" "$tmp"/t.* || fail "$shape: merge: exit $?"
    holds "$n" "$(calls 40)" "$tmp/all"
    "$tool" summary "$tmp/all" >"$tmp/sum" 2>&1 || fail "$shape: summary: exit $?"
    "$tool" summary "$tmp"/t.* 2>&1 | diff - "$tmp/sum" >&2 || fail "$shape: the summary of the merged trace is another"
    # 2 floats and 100000 floats of the main thread, 1 integer of the other
    for line in "allreduce 8 40" "allreduce 400000 40" "allreduce 4 40" "gatherv $((4 * (n - 1))) 40" "ialltoall 40 40" "barrier 1 40"; do
        awk '{ print $1, $2, $3 }' "$tmp/sum" | grep -qx "$line" || { fail "$shape: no \"$line\""; cat "$tmp/sum" >&2; }
    done
    rm -f "$tmp"/t.* "$tmp/all"
done

# ---- the progress thread, and %r in the name
job "$tmp/r%r.json" -n 4 --nodes 2 --env HX_PROGRESS_THREAD=1 --env HX_TRACE_BYTES=64M -- "$traced" 20 || { fail "progress thread: exit $?"; cat "$tmp/err" >&2; }
holds 4 "$(calls 20)" "$tmp"/r[0-3].json

# ---- clocks that differ by 1000 s: each rank of node 1 is in a time namespace of its own
if unshare --time --monotonic 1000 --fork true 2>/dev/null; then
    # shellcheck disable=SC2016
    job "$tmp/c" -n 4 --nodes 2 --env HX_TRACE_BYTES=64M -- bash -c \
        '[ "$HX_RANK" -lt 2 ] && exec "$@" || exec unshare --time --monotonic 1000 --fork "$@"' - "$traced" 5 || { fail "clocks: exit $?"; cat "$tmp/err" >&2; }
    holds 4 "$(calls 5)" "$tmp"/c.*
    python3 - "$tmp"/c.* <<'END' || fail "two ranks' clocks are not 1000 s before rank 0's, as nearly as they are known"
import json, sys
traces = [json.load(open(path))["otherData"]["traces"][0] for path in sys.argv[1:]]
late = [t for t in traces if abs(t["clock_offset_ns"] + 1e12) <= t["clock_error_ns"] < 1e9]
sys.exit([t["rank"] for t in late] != [2, 3])
END
elif [ "${CI:-}" = true ]; then
    fail "no time namespaces here"
else
    echo "no time namespaces here: clocks that differ are not tried" >&2
fi

# ---- a small ring
job "$tmp/s" -n 2 --nodes 2 --env HX_TRACE_BYTES=64K -- "$traced" 100 || fail "small ring: exit $?"
has "$tmp/err" "records: raise HX_TRACE_BYTES (65536)" "small ring"
holds 2 "" "$tmp"/s.*
kept=$(grep -c '"ph":"X"' "$tmp/s.0")
lost=$(sed -n 's/.*"dropped":\([0-9]*\).*/\1/p' "$tmp/s.0")
[ "$kept" -ge 100 ] && [ "$kept" -le 1000 ] && [ "${lost:-0}" -gt "$kept" ] || fail "small ring: $kept spans are kept, ${lost:-none} lost"
grep -q "rank 0 lost the oldest $lost of $((lost + kept)) records" "$tmp/err" || { fail "small ring: kept and lost do not add up"; cat "$tmp/err" >&2; }
has "$tmp/s.0" "$lost earlier records lost" "small ring"
"$tool" summary "$tmp"/s.* | grep -q "records are lost" || fail "the summary does not say that records were lost"

# ---- why ranks waited: made-up traces, and a rank that sleeps before its calls
python3 "$top_srcdir/tests/tools/trace_cases.py" "$tool" "$tmp" >&2 || fail "a cause is not told as it must be"
job "$tmp/l" -n 4 --nodes 2 -- "$traced" 10 late 3 || fail "late: exit $?"
"$tool" summary "$tmp"/l.* >"$tmp/sum" || fail "late: summary: exit $?"
grep -Eq 'rank 3 \(node 1\) came late: [2-9][0-9.]+ ms after' "$tmp/sum" || { fail "the late rank is not told:"; cat "$tmp/sum" >&2; }

# ---- a call that never ends: the others' traces show whom they waited for
job "$tmp/h" -n 3 --env HX_TIMEOUT=3 --timeout 30 -- "$traced" 1 absent 2
for r in 0 1; do
    python3 - "$tmp/h.$r" <<'END' || fail "rank $r's trace does not show the call that failed"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
call = [e for e in events if e.get("args", {}).get("unfinished") and e["name"] == "hx_allreduce"]
waits = [e for e in events if e.get("cat") == "wait" and e["dur"] > 2.5e6 and e["args"]["rank"] == 2]
sys.exit(not (len(call) == 1 and call[0]["dur"] > 2.5e6 and waits))
END
done
"$tool" summary "$tmp"/h.[01] >/dev/null 2>"$tmp/err" || fail "summary of what a failed job left: exit $?"
has "$tmp/err" "1 of 3 traces are missing (the first is of rank 2)" "missing rank"

# ---- a rank dies, the others shrink and grow: each generation has files of its own, and the dead rank's can be read too
export HX_SECRET=trace
for nodes in 1 2; do
    rm -f "$tmp"/e.*
    HX_TRACE=$tmp/e HX_TIMEOUT=60 timeout 100 "$run" --elastic -n 3 --min 2 --nodes $nodes -- "$here/grown" elastic 50 >"$tmp/out" 2>"$tmp/err" ||
        { fail "elastic, $nodes nodes: exit $?"; cat "$tmp/out" "$tmp/err" >&2; }
    [ "$(cd "$tmp" && echo e.*)" = "e.0 e.0.g1 e.1 e.1.g1 e.2 e.2.g1" ] || fail "elastic, $nodes nodes: files are $(cd "$tmp" && echo e.*)"
    holds 3 "hx_bcast=1,hx_allreduce=40" "$tmp"/e.*.g1
    "$tool" summary "$tmp"/e.* >"$tmp/sum" 2>"$tmp/err" || { fail "elastic, $nodes nodes: summary: exit $?"; cat "$tmp/err" >&2; }
    has "$tmp/err" "rank 1 ended without hx_finalize" "elastic, $nodes nodes"
    [ "$(grep -c "ended without" "$tmp/err")" = 1 ] || { fail "elastic, $nodes nodes: who ended without hx_finalize?"; cat "$tmp/err" >&2; }
    for line in "generation 0" "generation 1" "  rank 0 was rank 0 of generation 0" "  rank 1 was rank 2 of generation 0" "  rank 2 is new"; do
        grep -qx "$line" "$tmp/sum" || { fail "elastic, $nodes nodes: no \"$line\""; cat "$tmp/sum" >&2; }
    done
    grep -q '"name":"wait for rank 1"' "$tmp/e.0" || fail "elastic, $nodes nodes: the trace of rank 0 does not show the wait for the rank that died"
    "$tool" merge "$tmp/all" "$tmp"/e.* 2>"$tmp/err" || { fail "elastic, $nodes nodes: merge: exit $?"; cat "$tmp/err" >&2; }
    "$tool" summary "$tmp/all" 2>/dev/null | diff - "$tmp/sum" >&2 || fail "elastic, $nodes nodes: the summary of the merged trace is another"
    "$tool" summary "$tmp"/e.*.g1 2>&1 | grep -q "^3 ranks" || fail "elastic, $nodes nodes: no summary of generation 1 alone"
    python3 - "$tmp/all" <<'END' || fail "elastic, $nodes nodes: the merged trace mixes its generations"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
generation = {e["pid"]: e["args"]["name"].split(",")[0] for e in events if e.get("name") == "process_name"}
of = {"generation 0": [], "generation 1": []}
for e in events:
    of[generation[e["pid"]]].append(e)
tracks = [{e["tid"] for e in part if "tid" in e} for part in of.values()]
calls = [[e["ts"] for e in part if e.get("cat") == "call"] for part in of.values()]
ids = [e["id"] for e in events if e["ph"] == "s"]
steps = [t for e in of["generation 0"] if e.get("name") == "hx_allreduce" and e.get("cat") == "call" for t in [e["ts"]]]
sys.exit(bool(tracks[0] & tracks[1]) or len(ids) != len(set(ids)) or not all(calls) or min(calls[1]) <= max(steps))
END
done

# ---- bad input
job "$tmp/no/such" -n 2 -- "$traced" 1 && fail "a trace that cannot be written is no error"
has "$tmp/err" "HX_TRACE: cannot write $tmp/no/such.0: No such file or directory" "unwritable trace"
refuses() { # STATUS TEXT arguments...: or warns, where STATUS is 0
    "$tool" "${@:3}" >"$tmp/out" 2>"$tmp/err"
    [ $? = "$1" ] || fail "coll_trace ${*:3}: exit status is not $1"
    has "$tmp/err" "$2" "coll_trace ${*:3}"
}
refuses 2 'unknown command "merg" (did you mean merge?)' merg a b
refuses 2 'unknown option "verson" (did you mean version?)' --verson
refuses 2 "merge: no files; name" merge out
cp "$tmp/h.0" "$tmp/before"
refuses 2 "merge: $tmp/h.0 is a trace; name the file to write first" merge "$tmp/h.0" "$tmp/h.1"
echo "as it was" >"$tmp/out.json"
refuses 1 "another job" merge "$tmp/out.json" "$tmp/h.0" "$tmp/s.1"
cmp "$tmp/h.0" "$tmp/before" && [ "$(cat "$tmp/out.json")" = "as it was" ] || fail "a merge that is refused has written"
! ls "$tmp"/out.json.*new >/dev/null 2>&1 || fail "a merge that is refused leaves something beside OUT"
refuses 1 "$tmp/none: No such file" summary "$tmp/none"
refuses 1 "another file is also from rank 0" summary "$tmp/s.0" "$tmp/s.0"
refuses 1 "another job" summary "$tmp/s.0" "$tmp/h.1"
refuses 1 "cannot write $tmp/no/out: No such file" merge "$tmp/no/out" "$tmp/s.0"
[ ! -w /dev/full ] || refuses 1 "cannot write /dev/full: No space left on device" merge /dev/full "$tmp/s.0"
: >"$tmp/empty"
refuses 0 "$tmp/empty: the file is empty: its rank ended without hx_finalize" summary "$tmp/s.0" "$tmp/empty"
refuses 0 "$tmp/empty: the file is empty" merge "$tmp/out" "$tmp/empty" "$tmp/s.0"
has "$tmp/out" '"traceEvents"' "a merge beside an empty trace"
refuses 1 "these files have no trace" merge "$tmp/out" "$tmp/empty"
echo "more" | cat "$tmp/s.0" - >"$tmp/longer"
refuses 1 "not JSON" summary "$tmp/longer"
head -c 5000 "$tmp/s.0" >"$tmp/cut"
refuses 1 "$tmp/cut:$(($(wc -l <"$tmp/cut") + 1)):" summary "$tmp/cut"
has "$tmp/err" "not JSON: it ends too early" "a part of a trace"
echo '{"otherData":{"ranks":1}}' >"$tmp/foreign"
refuses 1 'not a trace of Hierax: it has no valid member "origin_ns"' merge "$tmp/out" "$tmp/foreign"
"$tool" --help | grep -q "coll_trace summary" || fail "--help does not teach"

# ---- probes
if grep -q "HAVE_SDT" "$top_builddir/Makefile"; then
    readelf -n "$top_builddir/.libs/libhierax.so" | grep -A1 "Provider: hierax" | sed -n 's/.*Name: //p' | sort -u >"$tmp/probes"
    sed -n '/^ \*   probe /,/^ \* A call/s/^ \*   \([a-z]*_[a-z]*\) .*/\1/p' "$top_srcdir/runtime/base/probe.h" | sort >"$tmp/documented"
    [ "$(wc -l <"$tmp/documented")" = 10 ] || fail "probe.h documents $(wc -l <"$tmp/documented") probes, not 10"
    diff "$tmp/documented" "$tmp/probes" >&2 || fail "probes documented and in the library differ"
fi
finish
