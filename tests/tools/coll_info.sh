#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_info: every algorithm of the tables is listed with what its description says; a job is told once; bad input is named.
set -u
build=${top_builddir:-build}
info=$build/tools/coll_info
run=$build/tools/coll_run
unset "${!HX_@}"
export XDG_CACHE_HOME=/dev/null # nothing is written to the user's cache
tool=$info
# shellcheck source=says.sh
. "$(dirname "$0")/says.sh"

does() { # COLLECTIVE ALGORITHM p rounds messages sent received
    local got
    got=$("$info" --algorithms "$1" -p "$3" | awk -v name="$2" '$2 == name' | sed 's/shared memory/shared_memory/' |
        awk '{print $5, $6, $7, $8}')
    [ "$got" = "$4 $5 $6 $7" ] || fault "$1 $2 on $3 ranks: '$got' is not '$4 $5 $6 $7'"
}

# ---- algorithms
# the rows' own text against the listing
sed -n -e 's/^    \.name = "\([a-z_]*\)", \.coll = HX_COLL_\([A-Z_]*\),.*/\2 \1/p' \
    -e 's/^    {HX_RADIX_NAMED("\([a-z_]*\)".*\.coll = HX_COLL_\([A-Z_]*\),.*/\2 \1/p' "$top_srcdir"/intra/algorithms/*.c \
    "$top_srcdir"/inter/algorithms/*.c | tr '[:upper:]' '[:lower:]' | sed 's/^reduce_scatter /reduce_scatter_block /' | sort >"$tmp/registered"
"$info" --algorithms | sed -n 's/^  \([a-z_]*\)  *\([a-z_]*\)[0-9]*  *in.*/\1 \2/p' | sort -u >"$tmp/listed"
[ "$(wc -l <"$tmp/registered")" -ge 50 ] || fault "only $(wc -l <"$tmp/registered") algorithms are found in the folders"
diff "$tmp/registered" "$tmp/listed" || fault "what is listed is not what is registered"

does allreduce ring 8 14 14 1.75 1.75
does allreduce ring 16 30 30 1.875 1.875
does allreduce recursive_doubling 6 4 3 3 3
does allreduce mesh_single 5 1 4 4 4
does allreduce kradix2 8 3 3 3 3
does allreduce kradix3 9 2 4 4 4
does allreduce kradix2 5 3 3 3 3
does allgather kbruck3 9 2 4 0.888889 0.888889
does allreduce nary 8 1 0 1 7
does allreduce nary_sliced 8 2 0 1 1.75
does allgather nary 8 1 0 0.125 0.875
does bcast flat 8 1 7 7 1
does bcast chain 8 7 1 1 1
does reduce binomial 8 3 3 1 3
does barrier flag_tree 8 2 0 - -
does barrier flag_tree 64 4 0 - -
does barrier flag_tree 80 6 0 - -
does barrier tree 8 6 3 - -
does alltoall bruck 8 3 3 1.5 1.5
does exscan exclusive_dissemination 9 4 4 4 4
does allreduce ring 1 0 0 0 0
"$info" --algorithms allreduce -p 5 | grep -q kradix6 && fault "a radix is listed that there are too few ranks for"
says 'arXiv 2410.14234' 0 --algorithms reduce_scatter_block allgather
says 'shared memory' 0 --algorithms barrier
[ "$("$info" --algorithms scan gather scan | grep -c nary)" = 2 ] || fault "a collective named twice is listed twice"

# ---- each collective is told as soon as it is counted
"$info" --algorithms -p 1024 >"$tmp/out" &
slow=$!
for ((i = 0; i < 300; i++)); do
    [ -s "$tmp/out" ] && grep -q '^  allreduce  *ring ' "$tmp/out" && break
    sleep 0.1
done
kill $slow 2>/dev/null || fault "nothing is told before all algorithms are counted"
wait $slow
grep -q '^  allreduce  *ring ' "$tmp/out" || fault "no allreduce within 30 s: $(head -c 400 "$tmp/out")"

# ---- the state of things
says "hierax                    $("$info" --version | sed 's/coll_info //')" 0
says 'with --algorithms: count rounds, messages' 0 --help
HX_TIMEOUT=7.5 "$info" >"$tmp/out" || fault "alone: status $?"
grep -Eq '^  HX_TIMEOUT +7.5 +environment +job +300 ' "$tmp/out" || fault "HX_TIMEOUT is not told: $(grep HX_TIMEOUT "$tmp/out")"
grep -Eq '^  HX_SPIN +-1 +default +local ' "$tmp/out" || fault "HX_SPIN is not told: $(grep HX_SPIN "$tmp/out")"
listed=$(env -i "$build/tests/runtime/base/print_env" | grep -c '^| .HX_') # where those of all collectives are three rows
more=$((3 * ($(grep -c '^HX_COLL(' "$top_srcdir/runtime/base/coll.def") - 1)))
[ "$(grep -c '^  HX_' "$tmp/out")" = $((listed + more)) ] || fault "not all settings"
grep -Eq '^  cpus allowed +[1-9]' "$tmp/out" || fault "no usable processing unit"
grep -Eq '^    [a-z].* (usable|loopback)$' "$tmp/out" || fault "no network interface"
grep -Eq '^    [a-z].* yes$' "$tmp/out" || fault "no network interface in use"
grep -qx '  ranks     1' "$tmp/out" || fault "no job of one rank"

# ---- in a job: told once, by rank 0
HX_LANES=2 "$run" -n 4 --nodes 2 -- "$info" >"$tmp/out" || fault "in a job: status $?"
[ "$(grep -c '^settings$' "$tmp/out")" = 1 ] || fault "told $(grep -c '^settings$' "$tmp/out") times"
grep -qx '  ranks     4' "$tmp/out" && grep -Eq '^    0 +[^ ]+ +2 +0,1$' "$tmp/out" && grep -Eq '^    1 +[^ ]+ +2 +2,3$' "$tmp/out" ||
    fault "nodes and ranks are not told: $(sed -n '/^job/,/^settings/p' "$tmp/out")"
grep -Eq '^  HX_LANES +2 +environment +job ' "$tmp/out" || fault "HX_LANES is not told"
grep -Eq '^  HX_SECRET +\(hidden\) ' "$tmp/out" || fault "the secret is not hidden"
grep -q 'between nodes  libfabric' "$tmp/out" || fault "the network in use is not told"
# the map, here and by HX_LOG=info, of which rank 0's value holds
# shellcheck disable=SC2016
"$run" -n 6 --nodes 3,1,2 -- bash -c '[ "$HX_RANK" != 0 ] || export HX_LOG=info; exec "$0"' "$info" >"$tmp/out" 2>"$tmp/err" ||
    fault "in a job of nodes of 3, 1 and 2 ranks: status $?"
for row in '0-2 0 0-2: shm(\+CMA)?; others: [^ ].* on ' '3 1 all: [^ ].* on ' '4-5 2 4-5: shm(\+CMA)?; others: [^ ].* on '; do
    read -r ranks node path <<<"$row"
    grep -Eq "^hierax\[0\] info: map: ranks $ranks on node $node \([^ ]+\), cores [0-9].*, NUMA ([0-9]+|several); path to $path" "$tmp/err" &&
        grep -Eq "^    $ranks +$node +[^ ]+ +[0-9].* +([0-9]+|several) +$path" "$tmp/out" ||
        fault "the map has no row of ranks $ranks: $(cat "$tmp/err"; sed -n '/^job/,/^settings/p' "$tmp/out")"
done
# shellcheck disable=SC2016
"$run" -n 2 -- bash -c '[ "$HX_RANK" != 1 ] || export HX_LOG=info; exec "$0" --algorithms scan' "$info" >"$tmp/one" 2>"$tmp/err" &&
    ! grep -q 'map:' "$tmp/err" || fault "HX_LOG=info on rank 1 alone: $(cat "$tmp/err")"
grep -Eq '^    2 +[^ ]+ +2 +4,5$' "$tmp/out" && grep -Eq '^  HX_NODES +3,1,2 +environment +job ' "$tmp/out" ||
    fault "nodes of 3, 1 and 2 ranks are not told: $(sed -n '/^job/,$p' "$tmp/out")"
"$run" -n 7 --nodes 5/2/2,2 -- "$info" >"$tmp/out" || fault "in a job of nodes with levels: status $?"
grep -Eq '^    0 .* 0 1 2 \| 3 4 +0 1 \| 2 \| 3 \| 4$' "$tmp/out" || fault "levels are not told: $(sed -n '/^job/,/^settings/p' "$tmp/out")"
if [ "$(nproc)" -ge 2 ]; then # as hwloc tells them of ranks that are bound; here, that two processors are sockets
    HWLOC_SYNTHETIC="pack:2 l3:1 core:1 pu:1" HWLOC_THISSYSTEM=1 "$run" -n 4 -- "$info" >"$tmp/out" || fault "on two sockets: status $?"
    grep -Eq '^    0 .* 0 1 \| 2 3$' "$tmp/out" || fault "sockets are not told: $(sed -n '/^job/,/^settings/p' "$tmp/out")"
fi
HX_RING_ORDER=auto "$run" -n 5 --nodes 4 -- "$info" >"$tmp/out" || fault "with measured links: status $?"
grep -Eq '^  ring order +0,(1,2,3|1,3,2|2,1,3)$' "$tmp/out" && [ "$(grep -Ec '^    [0-3] +[1-3] +[0-9.e+-]+ +[0-9.e+-]+$' "$tmp/out")" = 6 ] ||
    fault "ring order and links are not told: $(sed -n '/^job/,/^settings/p' "$tmp/out")"
"$run" -n 3 --nodes 2 -- "$info" --algorithms scan >"$tmp/out" || fault "algorithms in a job: status $?"
[ "$(grep -c ' nary ' "$tmp/out")" = 1 ] || fault "algorithms are not told once in a job"

# ---- JSON
if command -v python3 >/dev/null; then
    "$info" --json >"$tmp/all.json" || fault "--json: status $?"
    "$info" --algorithms allreduce --json -p 4 >"$tmp/algorithms.json" || fault "--algorithms --json: status $?"
    "$info" --algorithms --json -p 1024 >"$tmp/large.json" || fault "--algorithms -p 1024: status $?"
    python3 - "$tmp" <<'PYTHON' || fault "the JSON is not as it must be"
import json, sys
everything, algorithms, large = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("all", "algorithms", "large"))
assert everything["job"]["nodes"][0]["ranks"] == [0] and everything["machine"]["cpus_usable"] > 0
assert {"setting", "value", "from", "scope", "default", "range", "meaning"} == set(everything["settings"][0])
ring = next(row for row in algorithms["algorithms"] if row["algorithm"] == "ring")
assert ring["rounds"] == 6 and ring["sent"] == ring["received"] == 1.5 and ring["needs"] == ["commutative"]
for row in large["algorithms"]: # no list of steps grows with more than the number of ranks
    assert row["steps"] <= 8 * 1024 and row["plan"] <= 256 * 1024, row
PYTHON
fi

# ---- tables, and counters
cat >"$tmp/t.json" <<'JSON'
{"hierax_table": 1, "hierax": "0.1.0", "machine": {"cpu": "a hawk", "cpus": 4711}, "entries": [
 {"collective": "allreduce", "commutative": true, "nodes": 1, "ranks_per_node": [2, 2], "placement": "block", "provider": "",
  "bytes": [0, 64], "plan": "flat(nary)", "slice": 0, "us": 1.5, "default_us": 2, "default_plan": "flat(ring)"}]}
JSON
says 'holds here      no: ' 0 --table "$tmp/t.json"
says 'flat(nary)  -      1.5  2           flat(ring)' 0 --table "$tmp/t.json"
HX_TABLE=$tmp/t.json says 'a hawk' 0 --table
HX_TABLE=none says 'name a file or set HX_TABLE' 1 --table
says 'No such file' 1 --table "$tmp/nosuch.json"
HX_LANES=many says 'flat(nary)' 0 --table "$tmp/t.json"
HX_LANES=many says 'HX_LANES=many:' 2 --table
[ "$(HX_LANES=many "$info" --table 2>&1 | wc -l)" = 1 ] || fault "a bad setting is told more than once"
says '--table takes one argument, FILE[:FILE]...; "more.json" is a second one' 2 --table "$tmp/t.json" more.json
says '--table takes one argument, FILE[:FILE]...; "" names no file' 2 --table ""
HX_TABLE=: says 'name a file or set HX_TABLE' 1 --table
says 'choose only one of --algorithms, --constants, --doctor and --table' 2 --table --algorithms
says 'choose only one of --algorithms, --constants, --doctor and --table' 2 --doctor --table
cpu=$("$info" --table "$tmp/t.json" | sed -n 's/.*this machine has "\(.*\)"$/\1/p')
sed -i "s/a hawk/$cpu/" "$tmp/t.json"
cpus=$("$info" --table "$tmp/t.json" | sed -n 's/.*this machine has \([0-9]*\)$/\1/p')
sed -i "s/4711/$cpus/" "$tmp/t.json"
says 'holds here      yes' 0 --table "$tmp/t.json"
HX_TABLE=$tmp/t.json "$run" -n 2 -- "$info" >"$tmp/out" || fault "with a table: status $?"
grep -Eq '^  HX_ALLREDUCE +by size +table +job ' "$tmp/out" && grep -Eq '^  HX_BCAST +- +default +job ' "$tmp/out" ||
    fault "what the table sets is not told: $(grep -E 'HX_(ALLREDUCE|BCAST)' "$tmp/out")"
"$run" -n 2 --nodes 2 -- "$info" >"$tmp/out" || fault "counters in a job: status $?"
grep -Eq '^  net_messages_received +[1-9][0-9]* +messages received from other nodes$' "$tmp/out" || fault "counters are not told: $(grep net_ "$tmp/out")"

# ---- bad input
says 'did you mean allreduce?' 2 --algorithms alreduce
says 'choices: allreduce reduce_scatter_block' 2 --algorithms nonsense
says '--ranks=0: expected a whole number from 1 to 1024' 2 --algorithms -p 0
says '--ranks=8x' 2 --algorithms --ranks 8x
says 'did you mean json?' 2 --jsno
says 'option --ranks needs a value' 2 --algorithms -p
says '"barrier" needs --algorithms' 2 barrier
says '"--ranks" needs --algorithms' 2 -p 4
HX_LANES=many says 'HX_LANES=many: expected an integer from 0 to 1024' 2
HX_LANES=many says 'did you mean bcast?' 2 --algorithms bcst
"$run" -n 3 -- "$info" --nonsense >"$tmp/out" 2>&1
[ "$(grep -c 'coll_info: unknown option' "$tmp/out")" = 1 ] || fault "bad input is not told once in a job: $(cat "$tmp/out")"
if [ -w /dev/full ]; then
    "$info" >/dev/full 2>"$tmp/out"
    [ $? -eq 1 ] && grep -q 'standard output' "$tmp/out" || fault "a full disk is not told: $(cat "$tmp/out")"
fi
exit $failed
