#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_tune: a short run writes a table that check accepts and jobs use; it goes on where it was interrupted; tables merge, differ and are
# confirmed by another job.
. "$(dirname "$0")/../system/common.sh"
tune=$top_builddir/tools/coll_tune
bench=$top_builddir/tests/tools/coll_bench
some="--collectives allreduce,bcast,barrier --max 32K --factor 64"
cd "$tmp" || exit 1

# tunes RANKS NODES arguments...: succeeds; what it says is in out and err
tunes() {
    local n=$1 nodes=$2
    shift 2
    # shellcheck disable=SC2086
    timeout 240 "$run" -n "$n" --nodes "$nodes" -- "$tune" "$@" >out 2>err </dev/null || { fail "coll_tune $* on $n ranks: exit $?"; cat err >&2; }
}

says() { # TEXT STATUS arguments...: a single process exits with STATUS and prints TEXT
    local text=$1 expected=$2 status=0
    shift 2
    timeout 60 "$tune" "$@" >out 2>err </dev/null || status=$?
    [ $status = "$expected" ] || fail "coll_tune $*: exit $status, expected $expected"
    cat out err >both
    has both "$text" "coll_tune $*"
}

job_says() { # the same of a job of two ranks
    local text=$1 expected=$2 status=0
    shift 2
    timeout 60 "$run" -n 2 -- "$tune" "$@" >out 2>err </dev/null || status=$?
    [ $status = "$expected" ] || fail "coll_tune $* on two ranks: exit $status, expected $expected"
    cat out err >both
    has both "$text" "coll_tune $* on two ranks"
}

plan_of() { # TABLE RANKS NODES COLLECTIVE BYTES: the plan that coll_bench shows
    HX_TABLE=$1 "$run" -n "$2" --nodes "$3" -- "$bench" "$4" --min "$5" --max "$5" --repetitions 3 --check 2>err |
        awk -v c="$4" '$1 == c { sub(/.*  /, ""); print }'
}

entries() { grep -c '"collective"' "$1"; }

# ---- a run on one node, and one on two, in the same table
# shellcheck disable=SC2086
tunes 2 1 $some --budget 40s --force -o t.json
[ "$(entries t.json)" = 7 ] || { fail "not 7 entries, for 3 + 3 sizes and a barrier"; cat t.json err >&2; }
has out "7 points measured, 0 from the table" "the summary"
says "7 entries" 0 check t.json
! grep -q warning both || fail "a fresh table has a warning: $(cat both)"
# shellcheck disable=SC2086
tunes 4 2 $some --budget 60s --force -o t.json
[ "$(entries t.json)" = 14 ] || { fail "the entries for another shape are not kept"; cat t.json >&2; }
[ "$(grep -c '"loop": "mixed"' t.json)" = 14 ] || fail "the table does not say that calls were cold and warm"
sed 's/"loop": "mixed", //' t.json >older.json
says "14 entries were measured with cold calls only" 0 check older.json
grep -q '"nodes": 2, "ranks_per_node": \[2, 2\]' t.json || fail "no entry for 2 nodes of 2 ranks"
says "14 entries" 0 check t.json
! grep -q warning both || fail "a fresh table has a warning: $(cat both)"

# ---- the cost model: of the node and of the network, from runs and by itself; jobs go by it
grep -q '"provider": "", "intra_alpha_us"' t.json || fail "no model of the node"
grep -q '"net_alpha_us"' t.json || fail "no model of the network"
says "cost model of the node, fitted to 7 points" 0 check t.json
tunes 4 2 model --collectives allreduce,bcast --max 64K --budget 3s --force -o model.json
[ "$(entries model.json)" = 0 ] || fail "coll_tune model adds entries"
sed 's/"net_alpha_us": [0-9.e+-]*/"net_alpha_us": 777/' model.json >planted.json
HX_TABLE=planted.json "$run" -n 4 --nodes 2 -- "$top_builddir/tools/coll_info" >out 2>err || fail "coll_info with a model: $(cat err)"
grep -Eq 'net_alpha_us +777 .*table' out || { fail "the planted model is not in force"; cat out >&2; }
HX_TABLE=planted.json HX_EXPLAIN=1 "$run" -n 4 --nodes 2 -- "$bench" bcast --min 8 --max 8 --repetitions 3 >out 2>err
# What the node adds to that was measured, beside whatever else was going on.
sed -n '/plan: bcast of 8 B: /{n;s/.* predicted \([0-9.]*\) us.*/\1/p}' err | awk '$1 >= 777 { found = 1 } END { exit !found }' ||
    { fail "the planner does not go by the model"; cat err >&2; }

# ---- judge: every candidate measured; what was measured serves to judge and to fit without a job
tunes 2 1 judge --collectives allreduce,barrier --max 64K --budget 10s -o judged.json
has out "# 4 points: time of the chosen plan / best time" "judge"
says "# 4 points: time of the chosen plan / best time" 0 judge judged.json
says "# model of the node: intra_alpha_us" 0 model judged.json --force -o fitted.json
says "cost model of the node, fitted to 4 points" 0 check fitted.json
HX_TABLE=fitted.json "$tune" judge judged.json >out 2>err || fail "judge with a table: $(cat err)"
HX_TABLE=no_such.json HX_TABLE_STRICT=1 "$tune" judge judged.json >out 2>err && fail "judge with a strict table that is not there"
has err "HX_TABLE: no_such.json: No such file" "judge with a strict table that is not there"
says "not a file that coll_tune judge has written" 2 judge t.json
sed 's/"points": 4}/"points": 999}/' fitted.json >known.json # a model of the node by many points, and none of the network
tunes 2 1 judge --budget 0.1s
has err "the budget is used up: the result has " "judge with too little time"
tunes 2 1 model --budget 0.1s -o known.json
has err "the budget is used up: the result has " "model with too little time"
has out "# model of the node: kept, because it was fitted to 999 points; this run has only" "model with too little time"
tunes 4 2 --collectives bcast --max 8 --budget 4s --force -o known.json
grep -q '"net_alpha_us"' known.json && grep -q '"points": 999}' known.json || { fail "a network's first model"; cat known.json out >&2; }
"$tune" model judged.json --force -o - >piped.json 2>err && says "cost model of the node, fitted to 4 points" 0 check piped.json || fail "model -o -: no table: $(cat err)"
mkfifo judge.pipe
timeout 60 cat judge.pipe >piped.json &
tunes 2 1 judge --collectives barrier --budget 2s -o judge.pipe
wait $!
says "# 1 points: time of the chosen plan / best time" 0 judge piped.json
tunes 4 4/2 judge --collectives allreduce --max 8 --budget 5s -o domains.json # levels inside the node
chosen_of() { awk '$1 == "allreduce" { print $7, $9 }' out; } # times are rounded in the file
chosen_of >here
grep -q nary_levels domains.json || { fail "judge: no levels"; cat domains.json >&2; }
says "# 1 points: time of the chosen plan / best time" 0 judge domains.json
[ -s here ] && chosen_of | diff here - >&2 || fail "judge of a file chooses otherwise than the job did"
tunes 2 2 judge --collectives barrier --budget 2s -o nodes.json
tr -d ' \n' <nodes.json | grep -Eq '"alpha_us":([0-9.]+),.*"message_us":\1}' || fail "emulated nodes have a link's latency: $(cat nodes.json)"
for provider in efa tcp; do
    printf '{"hierax_judgement": 1, "machine": {"cpu": "x", "cpus": 2}, "shape": "2x1", "provider": "%s", "ranks_per_cpu": 1, "network": %s, "points": []}' \
        $provider '{"alpha_us": 18, "gb_s": 12, "stream_gb_s": 12, "core_gb_s": 1000, "message_us": 0.3}' >$provider.json
done
says "# 0 points" 0 judge efa.json

# ---- a model claims only what was measured: enough points, times that fit, and parameters on which they depend
for kind in right noisy few; do # right: times as the model predicts; noisy: some are 30 times as long; few: one size
    sizes="8 1K 64K 1M 16M"
    [ $kind != few ] || sizes=8
    for coll in allreduce bcast; do
        # shellcheck disable=SC2086
        "$top_builddir/tools/coll_plan" cost $coll --shape 4x1 $sizes --json >$coll.cost || fail "coll_plan cost $coll: exit $?"
    done
    python3 - $kind efa.json allreduce.cost $([ $kind = few ] || echo bcast.cost) >$kind.judged <<'PYTHON' || fail "$kind.judged"
import json, sys
document, points = json.load(open(sys.argv[2])), []
for file in sys.argv[3:]:
    cost = json.load(open(file))
    for i, point in enumerate(cost["points"]):
        points.append({"collective": cost["collective"], "bytes": point["bytes"], "plans": [
            {"plan": c["plan"], "us": c["us"] * (30 if sys.argv[1] == "noisy" and (i + k) % 2 else 1)}
            for k, c in enumerate(point["candidates"])]})
document.update(shape="4x1", points=points)
print(json.dumps(document))
PYTHON
done
says "# model of efa: 10 points for 4 parameters" 0 model right.judged -o right.json
has both "# model of efa: core_gb_s was not measured: no plan of this run depends on it" "a device's model"
says "cost model of efa, fitted to 10 points" 0 check right.json
! grep -q core_gb_s right.json || fail "a parameter that was not measured is in the table: $(cat right.json)"
! grep -q '"provider": ""' right.json || fail "there is a model of a node on which one rank runs: $(cat right.json)"
says "coll_tune: the model of efa is from too noisy times, and not written: predictions are off by a factor of" 1 model noisy.judged -o noisy.json
says "coll_tune: the model of efa is from too few points, and not written: 1 for 2 parameters" 1 model few.judged -o few.json
[ ! -e noisy.json ] && [ ! -e few.json ] || fail "a poor model is written without --force"
cp right.json kept.json
says "and not written" 1 model noisy.judged -o kept.json
cmp right.json kept.json || fail "a poor model takes the place of a good one"
says "coll_tune: the model of efa is from too noisy times: " 0 model noisy.judged --force -o noisy.json
says "cost model of efa, fitted to 10 points" 0 check noisy.json
says "tcp.json was measured with provider tcp, efa.json with efa: fit them separately" 2 model efa.json tcp.json -o apart.json
says "different kinds of machines" 2 model judged.json efa.json -o apart.json
says "t.json: this table is for Hierax" 2 model efa.json -o t.json
[ ! -e apart.json ] || fail "a refused fit is written"
job_says "is a table: name another file" 2 judge --collectives barrier -o t.json
job_says "cannot write" 2 judge --collectives barrier -o /no/such/folder/x
job_says "within --min=3145728 and --max=4194304" 2 judge --collectives allreduce --min 3M --max 4M
says "coll_tune model has no option --resume" 2 model --resume
says "--min=32 MiB is above --max=16 MiB" 2 --min 32M
job_says "--max: allreduce of 1024 GiB takes 16384.0 GiB" 2 --collectives barrier,allreduce --min 1024G --max 1024G -o large.json
[ ! -e large.json ] || fail "a refused run writes a table"
head -c 200 judged.json >cut.json
says "cut.json:$(($(wc -l <cut.json) + 1)):" 2 judge cut.json
has both "not JSON: it ends too early" "judge of a part of a file"
sed 's/"shape": "[^"]*"/"shape": "50000x1"/; s/"points": \[\]/"points": [{"collective": "alltoall", "bytes": 8, "plans": [{"plan": "flat(mesh)", "us": 1}]}]/' efa.json >wide.json
says "wide.json: point 1 is not valid" 2 judge wide.json # of so many ranks there is no plan

# ---- jobs go by the table: plant other plans. Which was the fastest all-reduce here is luck, so it is said.
sed -i '/"allreduce"/s/"plan": "[^"]*", "slice": [0-9]*/"plan": "flat(mesh)", "slice": 0/' t.json
[ "$(grep -c '"flat(mesh)", "slice": 0' t.json)" -ge 6 ] || { fail "no plans of all-reduces are found"; cat t.json >&2; }
plan_of "" 2 1 allreduce 512 >default
[ "$(cat default)" = "flat(nary)" ] || fail "the default is $(cat default)"
sed -e '/"allreduce".*"nodes": 1,/s/"plan": "[^"]*"/"plan": "flat(ring)"/' \
    -e '/"bcast".*"nodes": 2,/s/"plan": "[^"]*"/"plan": "flat(binomial)"/' t.json >planted.json
[ "$(plan_of planted.json 2 1 allreduce 512)" = "flat(ring)" ] || { fail "the planted all-reduce is not used"; cat err >&2; }
[ "$(plan_of planted.json 2 1 allreduce 1M)" = "flat(ring)" ] || { fail "the last entry has no open end"; cat err >&2; }
[ "$(plan_of planted.json 4 2 bcast 8)" = "flat(binomial)" ] || { fail "the planted broadcast is not used"; cat err >&2; }
HX_EXPLAIN=1 plan_of planted.json 3 1 allreduce 512 >out # the table's cost model holds there, not its entries
grep -q 'hierax plan: allreduce' err && ! grep -q "from the table" err || { fail "the table is used for another shape"; cat err >&2; }
HX_TABLE=planted.json HX_EXPLAIN=1 "$run" -n 2 -- "$bench" allreduce --min 512 --max 512 --repetitions 3 >out 2>err
has err "from the table" "HX_EXPLAIN"

# ---- confirm: what is slower than the default goes back to it, what is faster stays; entries for other shapes are left alone
sed -e '/"allreduce".*"nodes": 1,.*"bytes": \[0,/s/"plan": "[^"]*"\(.*\)"default_plan": "[^"]*"/"plan": "flat(nary)"\1"default_plan": "flat(ring)"/' \
    -e '/"allreduce".*"nodes": 1,.*"bytes": \[65,/s/"default_plan": "[^"]*"/"default_plan": "flat(nary)"/' planted.json >confirm.json
[ "$(grep -c '"flat(ring)", "slice"' confirm.json)" = 2 ] || { fail "no plans to confirm"; cat confirm.json >&2; }
cp confirm.json unconfirmed.json
for try in 1 2 3; do # beside other tests both plans may take as long as it takes to get a core
    cp unconfirmed.json confirm.json
    tunes 2 1 confirm --collectives allreduce --max 512 -o confirm.json
    grep -q "1 kept, 1 replaced" out && break
done
has out "2 choices were measured against the default; 1 kept, 1 replaced" "confirm"
grep -q '"bytes": \[0,.*"plan": "flat(nary)".*"default_plan": "flat(ring)"' confirm.json || { fail "confirm: the faster one is gone"; cat out confirm.json >&2; }
grep -q '"bytes": \[65,.*"plan": "flat(nary)".*"default_plan": "flat(nary)"' confirm.json || { fail "confirm: the slower one stays"; cat out confirm.json >&2; }
[ "$(grep -c '"nodes": 2,.*"flat(binomial)"' confirm.json)" = "$(grep -c '"nodes": 2,.*"flat(binomial)"' planted.json)" ] || fail "confirm: another shape's entries"
has err "allreduce of 512 B: flat(ring) took" "confirm tells what it takes back"
cp confirm.json much.json
tunes 2 1 confirm --collectives allreduce --max 8 --gain 1000 -o much.json # flat(ring) takes no eleven times as long
has out "0 kept, 1 replaced" "confirm with a gain that nobody reaches"
says "14 entries" 0 check confirm.json
tunes 2 1 confirm --collectives allreduce --max 8 -o confirm.json # of two plans of which one is no candidate nothing is known
sed '/"allreduce".*"nodes": 1,.*"bytes": \[0,/s/"plan": "[^"]*"/"plan": "flat(rnig)"/' confirm.json >unknown.json
tunes 2 1 confirm --collectives allreduce --max 8 -o unknown.json
has err "flat(rnig) is not among the plans of this job" "confirm of an unknown plan"
has out "0 choices were measured against the default" "confirm of an unknown plan"
grep -q rnig unknown.json || fail "confirm: an entry that it cannot race is gone"
sed 's/"measured": [0-9]*, //' planted.json >unknown.json
tunes 2 1 confirm --collectives allreduce -o unknown.json
has err "3 entries do not say at which size they were measured" "confirm of a table without sizes"
tunes 3 1 confirm --collectives allreduce -o confirm.json
has err "the table has no entry for 3 ranks on 1 nodes" "confirm on another shape"
cp planted.json two.json
tunes 4 2 confirm --budget 5s -o two.json # over the network too
has out "kept," "confirm on two nodes"
job_says "no_such.json: there is no table to confirm" 2 confirm -o no_such.json
sed '/"allreduce".*"nodes": 1,.*null/s/"measured": [0-9]*/"measured": 9223372036854775807/' planted.json >far.json # none has the memory
grep -q 9223372036854775807 far.json || fail "no entry that has no end"
tunes 2 1 confirm --collectives allreduce --budget 1s -o far.json
says '"t.json": confirm takes its table with -o: coll_tune confirm -o FILE' 2 confirm t.json
says 'coll_tune confirm has no option --resume' 2 confirm --resume -o t.json

# ---- --resume measures what is missing, and only that
grep -v '"bcast".*"nodes": 1,.*"bytes": \[65,' planted.json >part.json
[ "$(entries part.json)" = 13 ] || fail "the entry to remove is not there"
# shellcheck disable=SC2086
tunes 2 1 $some --budget 25s -o part.json --resume
has out "1 points measured, 6 from the table" "--resume"
[ "$(entries part.json)" = 14 ] || fail "--resume: $(entries part.json) entries"
grep -q '"flat(ring)"' part.json || fail "--resume has measured anew what was there"
# shellcheck disable=SC2086
tunes 2 1 $some --budget 25s -o part.json
has out "7 points measured, 0 from the table" "without --resume"
grep -q '"bcast".*"nodes": 2,.*"flat(binomial)"' part.json || fail "entries for another shape are not kept"
cp part.json kept.json
tunes 2 1 --collectives allreduce --max 16M --factor 2 --budget 0.1s -o kept.json
has err "entries from before. To keep these" "a run begun anew with too small a budget"
grep -q '"allreduce".*"nodes": 1,.*"bytes": \[[0-9]*, null\]' kept.json || fail "what a run does not come to is lost"
says "entries" 0 check kept.json

# ---- from the largest size down by the factor; the smallest too
tunes 2 1 --collectives allreduce --max 1K --factor 8 --budget 4s -o down.json
for size in 8 16 128 1024; do grep -q "\"measured\": $size," down.json || fail "not measured at $size bytes"; done
[ "$(entries down.json)" = 4 ] || fail "8 bytes to 1 KiB by 8: $(entries down.json) entries"

# ---- between sizes that are far apart and have unlike plans it measures one more, once; not where --factor names the step
tunes 2 1 --collectives allreduce --max 512 --factor 4 --budget 15s -o between.json
sed -i -e 's/"plan": "[^"]*", "slice"/"plan": "flat(nary)", "slice"/' -e '/"bytes": \[0,/s/"plan": "[^"]*", "slice"/"plan": "flat(ring)", "slice"/' between.json
tunes 2 1 --collectives allreduce --max 512 --factor 4 --budget 15s -o between.json --resume
has out "0 points measured, 4 from the table" "--factor"
tunes 2 1 --collectives allreduce --max 512 --budget 15s -o between.json --resume
has out "1 points measured, 4 from the table" "between 8 and 32 bytes"
grep -q '"bytes": \[12, 22\]' between.json || { fail "no entry for the sizes around 16 bytes"; cat between.json >&2; }
[ "$(entries between.json)" = 5 ] || fail "between: $(entries between.json) entries"
tunes 2 1 --collectives allreduce --max 512 --budget 15s -o between.json --resume
has out "0 points measured, 4 from the table" "between, resumed"
says "5 entries" 0 check between.json

# ---- --resume measures what is beyond the sizes of before, and between them, and leaves no hole
tunes 2 1 --collectives allreduce --max 32 --factor 4 --budget 8s -o wider.json
tunes 2 1 --collectives allreduce --max 512 --factor 4 --budget 8s -o wider.json --resume
has out "2 points measured, 2 from the table" "--resume with a larger --max"
for size in 8 32 128 512; do grep -q "\"measured\": $size," wider.json || fail "not measured at $size bytes"; done
tunes 2 1 --collectives allreduce --max 2K --factor 2 --budget 8s -o wider.json --resume
has out "5 points measured, 4 from the table" "--resume with a smaller --factor"
sed -n 's/.*"bytes": \[\([0-9]*\), \([0-9a-z]*\)\].*/\1 \2/p' wider.json | awk 'NR > 1 && $1 != end + 1 { exit 1 } { end = $2 }' ||
    { fail "a hole between the entries"; cat wider.json >&2; }

# ---- what a run of other sizes does not measure stays, from its sizes half-way on; with --resume or without
cp wider.json further.json
tunes 2 1 --collectives allreduce --min 8K --max 8K --budget 4s -o further.json
tunes 2 1 --collectives allreduce --min 200 --max 200 --budget 4s -o further.json --resume
for size in 8 16 32 64 128 200 256 512 1024 2048 8192; do
    grep -q "\"measured\": $size," further.json || { fail "other sizes: $size bytes are gone"; cat further.json >&2; }
done
sed -n 's/.*"bytes": \[\([0-9]*\), \([0-9a-z]*\)\].*/\1 \2/p' further.json | awk 'NR > 1 && $1 != end + 1 { exit 1 } { end = $2 }' ||
    { fail "other sizes: a hole between the entries"; cat further.json >&2; }
grep -q '"bytes": \[4097, null\], "measured": 8192' further.json || { fail "other sizes: not from half-way on"; cat further.json >&2; }

# ---- interrupted
rm -f err # of the run before: its lines are not to be counted
"$run" -n 2 --kill-after 30 -- "$tune" --collectives allreduce,bcast --factor 2 --budget 10m -o broken_off.json >out 2>err </dev/null &
pid=$!
await_file err 3
kill -TERM $pid # SIGINT is ignored in the background
wait $pid
status=$?
[ $status = 143 ] || fail "interrupted: exit $status, expected 143"
has err "--resume" "interrupted"
says "entries" 0 check broken_off.json
[ "$(entries broken_off.json)" -ge 2 ] || fail "interrupted: $(entries broken_off.json) entries"
tunes 2 1 --collectives allreduce --max 8 --budget 5s -o broken_off.json --resume
has out "0 points measured, 1 from the table" "resumed after the interruption"

# ---- merge, diff
says "14 the same, 0 others" 0 diff t.json t.json
! grep -q against both || fail "diff tells parameters that are the same: $(grep against both)"
says "flat(ring) slice 0" 1 diff t.json planted.json
grep '"collective": "allreduce"\|^[^ ]\|^  [^ ]' t.json | sed 's/"default_us": \([0-9.]*\)},$/"default_us": \1},/' >only.json
sed -i -z 's/},\n  \]/}\n  ]/' only.json
says "only in t.json: bcast, 1 x 2 ranks" 1 diff t.json only.json
says "14 entries" 0 merge t.json planted.json -o merged.json
says "14 the same, 0 others" 0 diff merged.json planted.json
says "14 entries" 0 merge planted.json only.json -o merged.json
! grep -q 'flat(ring)' merged.json || fail "the later file's entries do not hold"
sed 's/"cpus": [0-9]*/"cpus": 4097/' t.json >foreign.json
says "warning: jobs on this machine will not use it" 0 check foreign.json
says "A table must be for one version and one kind of machine" 2 merge t.json foreign.json -o merged.json

# ---- a link stays and leads to the new table, which has the old one's mode; a pipe and a device are written as they are
cp t.json real.json
chmod 640 real.json
ln -s real.json link.json
says "14 entries" 0 merge planted.json only.json -o link.json
[ -L link.json ] && [ "$(stat -c '%F %a' real.json)" = "regular file 640" ] && cmp real.json merged.json || { fail "-o a link"; ls -l >&2; }
mkfifo pipe
timeout 60 cat pipe >piped.json &
says "14 entries" 0 merge planted.json only.json -o pipe
wait $!
[ -p pipe ] && cmp piped.json merged.json || { fail "-o a pipe"; ls -l >&2; }
if [ -w /dev/full ]; then
    ln -s /dev/full full
    says "coll_tune: --output=full: No space left on device" 2 merge planted.json only.json -o full
    [ "$(readlink full)" = /dev/full ] || fail "-o a device replaces it"
fi
says "pipe: it is not a regular file" 2 check pipe
says ".: it is a folder" 2 check .
"$tune" merge planted.json only.json -o - >piped.json 2>err && cmp piped.json merged.json || fail "-o -: something else than a table"
for from in 1 10001; do # two that can be read, but not both in one
    awk -v from=$from '/"collective"/ && !n++ { sub(/,$/, ""); sub(/"nodes": [0-9]*/, "\"nodes\": @")
            for (i = from; i < from + 9000; i++) { line = $0; sub(/@/, i, line); print line (i < from + 8999 ? "," : "") } }
        !/"collective"/' planted.json >many.$from
done
says "; jobs read at most 4194304" 2 merge many.1 many.10001 -o large.json
[ ! -e large.json ] || fail "a table that no job reads is written"

# ---- two runs write the same table at once
pids=
for nodes in 1 2; do
    timeout 120 "$run" -n 2 --nodes $nodes -- "$tune" -o shared.json --collectives allreduce --max 32K --factor 64 --budget 8s >/dev/null 2>err.$nodes </dev/null &
    pids="$pids $!"
done
for pid in $pids; do wait "$pid" || { fail "two runs write one table: exit $?"; cat err.? >&2; }; done
says "shared.json: 6 entries" 0 check shared.json
! ls shared.json.* >/dev/null 2>&1 || fail "two runs leave something beside their table"

# ---- check asks the planner
sed '0,/"plan": "[^"]*"/s//"plan": "flat(rnig)"/' t.json >wrong.json
line=$(grep -n rnig wrong.json | sed 's/:.*//')
says "wrong.json:$line: unknown plan \"flat(rnig)\" (did you mean flat(ring)?)" 2 check wrong.json
sed '/"allreduce".*"nodes": 1,/s/"plan": "[^"]*"/"plan": "hier(nary,ring,nary) x1"/' t.json >wrong.json
says "hier(nary,ring,nary) x1 is not possible for allreduce on 1 nodes of 2 to 2 ranks" 2 check wrong.json
sed 's/"nodes": 1, "ranks_per_node": \[2, 2\]/"nodes": 1, "ranks_per_node": [2, 3]/' t.json >wrong.json
says "no job can have 1 nodes, 2 to 3 ranks on each" 2 check wrong.json
sed 's/"slice": 0/"slice": 1/' t.json >wrong.json
says "slice is out of range: 0, or 512 to 1073741824" 2 check wrong.json

sed '/"allreduce".*"nodes": 1,/s/\[2, 2\]\(.*\)"plan": "[^"]*"/[4, 4]\1"plan": "flat(nary_levels)"/' t.json >levels.json # of a machine with domains
says "14 entries" 0 check levels.json

# ---- as many lanes as the table says, at all sizes that it says it for
provider=$(sed -n 's/.*"provider": "\([^"]\{1,\}\)".*/\1/p' t.json | head -n 1)
last=$(grep -n '"allreduce".*"nodes": 2,.*null' t.json | sed 's/:.*//')
sed "$last"'s/"ranks_per_node": \[2, 2\]/"ranks_per_node": [16, 16]/; '"$last"'s/"bytes": \[[0-9]*, null\], "measured": [0-9]*, "plan": "[^"]*"/"bytes": [524289, 2097152], "measured": 1048576, "plan": "hier(nary,mesh,nary) x8"/' t.json >lanes.json
for bytes in 600K 900000 1M 2M; do
    HX_TABLE=lanes.json "$top_builddir/tools/coll_plan" explain allreduce --shape 2x16 --provider "$provider" $bytes >out 2>err
    has out "chosen: hier(nary,mesh,nary) x8" "$bytes: lanes by the table"
done
# libfabric 1.17 calls native TCP net, and an older table may do so too
sed 's/"provider": "tcp"/"provider": "net"/' lanes.json >older.json
for name in tcp net; do
    HX_TABLE=older.json "$top_builddir/tools/coll_plan" explain allreduce --shape 2x16 --provider $name 1M >out 2>err
    has out "chosen: hier(nary,mesh,nary) x8" "a table over net, for $name"
done
[ ! -s err ] || fail "a table over net, for tcp: $(cat err)"
HX_TABLE=older.json "$top_builddir/tools/coll_plan" explain allreduce --shape 2x16 --provider efa 1M >out 2>err
has err "HX_TABLE=older.json has no entries for provider efa, but" "a table of another provider"
HX_TABLE=lanes.json HX_LANES=2 "$top_builddir/tools/coll_plan" explain allreduce --shape 2x16 --provider "$provider" 1M >out 2>err
has out "which this job cannot use" "HX_LANES above the table"
says "14 entries" 0 check lanes.json

tunes 8 2 judge --collectives allreduce --min 1M --max 1M --budget 3s -o lanes.judged
for lanes in 1 2 4; do
    grep -q "\"hier(nary,ring,nary) x$lanes\"" lanes.judged || { fail "all-reduces on $lanes lanes are not measured"; cat lanes.judged >&2; }
done

# ---- the gain that a plan needs: more where ranks share cores, or as asked
gain_of() { # arguments...: of two ranks; what the page says
    tunes 2 1 --collectives barrier --budget 1s -o gain.json --html gain.html "$@"
    sed -n 's/.*by more than the least gain, \([0-9]*\) %.*/\1/p' gain.html
}
[ "$(gain_of --gain 7)" = 7 ] || { fail "--gain is not told"; cat gain.html >&2; }
core=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
[ "$(taskset -cp "$core" "$BASHPID" >/dev/null; gain_of)" = 15 ] || { fail "two ranks on a core need no greater gain"; cat gain.html >&2; }

# ---- README's commands, in less time
sed -n '/^<!-- tune:begin/,/^<!-- tune:end/s/^    //p' "$top_srcdir/README.md" | sed 's/ *# .*//; s/--budget 2m/--budget 2s/' >commands
[ "$(wc -l <commands)" -ge 4 ] || fail "README has no commands to tune"
while read -r command; do
    PATH=$(cd "$top_builddir/tools" && pwd):$PATH bash -c "$command" >out 2>err </dev/null || { fail "README: $command: exit $?"; cat err >&2; }
done <commands

# ---- other numbers and memory have entries of their own; what floats have serves them where they have none
tunes 2 1 --collectives allreduce,bcast --dtype int32 --min 1K --max 1K --budget 2s -o kinds.json
tunes 2 1 --collectives allreduce,bcast --dtype float16 --min 1K --max 1K --budget 2s -o kinds.json
tunes 2 1 --collectives allreduce,bcast --alloc --min 1K --max 1K --budget 2s -o kinds.json
[ "$(sed -n 's/.*"datatype": "\([a-z]*\)".*/\1/p' kinds.json | tr '\n' ' ')" = "float half integer " ] || { fail "classes of datatypes"; cat kinds.json >&2; }
[ "$(grep -c '"alloc": true' kinds.json)" = 2 ] && [ "$(grep -c '"bcast"' kinds.json)" = 2 ] || { fail "memory of hx_alloc"; cat kinds.json >&2; }
says "5 entries" 0 check kinds.json
sed -e '/"half"/s/"plan": "[^"]*"/"plan": "flat(ring)"/' -e '/"integer"/s/"plan": "[^"]*"/"plan": "flat(mesh)"/' \
    -e '/"float", "alloc"/s/"plan": "[^"]*"/"plan": "flat(nary_sliced)"/' kinds.json >planted.json
for kind in "float16:flat(ring)" "int64:flat(mesh)" "float32 --alloc:flat(nary_sliced)"; do
    # shellcheck disable=SC2086
    HX_TABLE=planted.json "$run" -n 2 -- "$bench" allreduce --dtype ${kind%:*} --min 1K --max 1K --repetitions 3 --check >out 2>err
    has out "${kind#*:}" "the table's plan for $kind"
done
tunes 2 1 judge --collectives allreduce --dtype int32 --alloc --max 1K --budget 2s -o kinds.judged
says "# 2 points: time of the chosen plan / best time" 0 judge kinds.judged
says "kinds.judged was measured with memory of hx_alloc: the model uses only floats" 2 model kinds.judged -o kinds.json
HX_SINGLE_COPY=0 job_says "no rank can read another rank's memory here" 2 --alloc -o alone.json
tunes 2 1 confirm -o kinds.json
has err "entries are for another class of datatypes or other memory than --dtype=" "confirm without the kinds of the table"
tunes 2 1 --dtype int32 --max 8 --budget 4s -o reductions.json
! grep -q '"bcast"' reductions.json && grep -q '"integer".*"bytes": \[4, 17\]' reductions.json || { fail "of integers, reductions at these sizes"; cat reductions.json >&2; }
says "--dtype=float16: the cost model is fitted only to integers and to floats of 32 bits" 2 model --dtype float16
says "this job has one rank, so there is nothing to tune" 2 -o alone.json
[ ! -e alone.json ] || fail "a refused run writes a table"

# ---- a job tells of plans that it does not know, and counts those that it has not
sed '/"half"/s/"plan": "[^"]*"/"plan": "flat(rnig)"/; /"integer"/s/"plan": "[^"]*"/"plan": "flat(rnig)"/' kinds.json >unknown.json
line=$(grep -n -m 1 rnig unknown.json | sed 's/:.*//')
HX_TABLE=unknown.json "$run" -n 2 -- "$bench" barrier --repetitions 3 >out 2>err || fail "a job with an unknown plan: $(cat err)"
has err "unknown.json:$line: this version of Hierax has no plan \"flat(rnig)\": Hierax ignores this entry" "an unknown plan"
has err "unknown.json: Hierax ignores 1 more entries" "an unknown plan"
HX_TABLE=unknown.json HX_TABLE_STRICT=1 "$run" -n 2 -- "$bench" barrier --repetitions 3 >out 2>err && fail "a strict job with an unknown plan"
has err "unknown.json:$line: this version of Hierax has no plan" "a strict job with an unknown plan"
sed '/"half"/s/"plan": "[^"]*"/"plan": "flat(single_copy)"/' kinds.json >fetching.json
HX_TABLE=fetching.json HX_SINGLE_COPY=0 HX_STATS=1 "$run" -n 2 -- "$bench" allreduce --dtype float16 --min 1K --max 1K --repetitions 3 >out 2>err
grep -Eq 'fallbacks +[1-9]' err || { fail "a plan of the table that cannot be had is no fallback"; cat err >&2; }

# ---- bad input
says 'did you mean check?' 2 chekc t.json
says 'did you mean allreduce?' 2 --collectives bcast,allredcue
says 'did you mean budget?' 2 --bugdet 5m
says 'needs a value' 2 --budget
says 'unknown option "t.json"' 2 check -t.json
says 'unknown option "xyz"' 2 --resume -xyz
says '--budget=5x: expected a time such as 90s, 5m or 1h' 2 --budget 5x
says '--gain=x' 2 --gain x
says '--gain=1001' 2 --gain 1001
says 'coll_tune judge has no option --gain' 2 judge --gain 5
says 'coll_tune judge has no option --factor' 2 judge --factor 2
says '--min=64 B is above --max=8 B' 2 --min 64 --max 8
says '--factor=1' 2 --factor 1
says '--output=-: name a file, because coll_tune writes the table after every point' 2 -o -
says '--output and --html both write to "same"' 2 -o same --html same
says '--output and --html both write to "./same"' 2 -o same --html ./same
says '--output and --html both write to "hierax_table.json"' 2 --html hierax_table.json
says '--op=band is not defined for --dtype=float32' 2 --op band
says 'coll_tune check has no option --budget' 2 check t.json --budget 5m
says 'check takes tables' 2 check
says 'merge takes two tables or more, and a new one' 2 merge t.json planted.json
says 'diff takes two tables' 2 diff t.json
says 'no_such.json: No such file' 2 check no_such.json
job_says '--output=/no/such/folder/t.json: No such file or directory' 2 -o /no/such/folder/t.json
! grep -q ' of .*: ' err || fail "measured before the output was found to be bad"
head -c 600 t.json >cut.json
says "cut.json:$(($(wc -l <cut.json) + 1)):$(($(tail -n 1 cut.json | wc -c) + 1)): not JSON: it ends too early" 2 check cut.json t.json
has out "t.json: 14 entries" "a bad table and a good one"
job_says 'cut.json: the file exists and is not a table' 2 -o cut.json
job_says 'foreign.json: it was made on' 2 -o foreign.json --resume
job_says 'choose another --output' 2 -o foreign.json
for setting in HX_ALLREDUCE=ring HX_INTRA_BCAST=nary HX_LANES=2 HX_SLICE=4K; do
    status=0
    env $setting "$run" -n 2 -- "$tune" --collectives bcast --max 8 -o forced.json >out 2>err || status=$?
    [ "$status $(grep -c "^coll_tune: unset ${setting%=*}: it forces" err)" = "2 1" ] && [ ! -e forced.json ] || { fail "$setting: exit $status"; cat err >&2; }
done
status=0
"$run" -n 2 -- "$tune" --factro 3 >out 2>err || status=$?
[ "$status $(grep -c '^coll_tune:' err)" = "2 1" ] || { fail "a job tells a bad option not exactly once"; cat err >&2; }
says '"$schema"' 0 --schema
if command -v python3 >/dev/null && python3 -c 'import json' 2>/dev/null; then
    "$tune" --schema | python3 -c 'import json, sys; json.load(sys.stdin)' || fail "the schema is not JSON"
fi
says 'HX_TABLE=' 0 --help
finish
