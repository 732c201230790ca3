#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_plan cost and explain --json: the catalogue's table comes out, terms add up, every algorithm is a candidate or told why not, the
# JSON is what the text says, bad input is named.
set -u
tool=$top_builddir/tools/coll_plan
# shellcheck source=says.sh
. "$(dirname "$0")/says.sh"

# 18 us, 12.5 GB/s, 0.3 us per extra message: the table of the catalogue, in us
"$tool" cost allreduce --table --shape 8x1 --shape 32x1 8K 64K 1M 16M --model net_alpha_us=18 --model net_gb_s=12.5 \
    --model stream_gb_s=12.5 --model message_us=0.3 >"$tmp/table" || fault "cost --table: status $?"
python3 - "$tmp/table" <<'PYTHON' || fault "the catalogue's table does not come out"
import sys
columns = ["mesh_single", "mesh", "recursive_doubling", "circulant", "ring"]
wanted = {("8x1", 8192): [25, 41, 56, 109, 253], ("8x1", 65536): [57, 49, 70, 117, 261], ("32x1", 8192): [48, 56, 93, 181, 1117],
          ("32x1", 1 << 20): [2628, 217, 509, 343, 1279], ("32x1", 16 << 20): [41635, 2655, 6801, 2780, 3716]}
lines = open(sys.argv[1]).read().splitlines()
head, good = lines[0].split()[3:], True
units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
got = {(f[0], int(f[1]) * units[f[2]]): dict(zip(head, f[3:])) for f in map(str.split, lines[1:-1])}
assert lines[-1].startswith("constants of the network: defaults for provider efa; from --model: net_alpha_us, "), lines[-1]
assert len(got) == 8, got
for row, values in wanted.items():
    for column, us in zip(columns, values):
        text = got[row]["flat(%s)" % column]
        if abs(float(text.lstrip("*")) - us) > 0.05 * us:
            print(row, column, text, "us, the catalogue has", us)
            good = False
    least = min(columns, key=lambda column: float(got[row]["flat(%s)" % column].lstrip("*")))
    if least != columns[values.index(min(values))]:
        print(row, least, "is the fastest of these")
        good = False
sys.exit(not good)
PYTHON

# Everything that cost tells of a point, for all collectives and every kind of shape.
"$top_builddir/tools/coll_info" --algorithms --json >"$tmp/registry" || fault "coll_info --algorithms --json"
collectives=$("$tool" --help | sed -n '/^Collectives:/,/^$/p' | sed 's/Collectives://')
for collective in $collectives; do
    for more in "--dtype float32" "--dtype int32 --ordered" "--cpus 1 --set HX_LANES=1"; do
        # shellcheck disable=SC2086
        "$tool" cost "$collective" --json --shape 5/2 --shape 6x1 --shape 3/2,1,2 --shape 2,2:cyclic 8 64K 16M $more \
            >"$tmp/$collective.${more// /_}" || fault "cost $collective --json $more: status $?"
    done
done
python3 - "$tmp" <<'PYTHON' || fault "cost --json is not as it says"
import glob, json, re, sys
registry = json.load(open(sys.argv[1] + "/registry"))
names = {}
for a in registry["algorithms"]:
    names.setdefault(a["collective"], set()).add(re.sub(r"[0-9]+$", "", a["algorithm"]))  # a family, whatever its radices
files, candidates, good = glob.glob(sys.argv[1] + "/*.--*"), 0, True
assert len(files) == 3 * len(names), (len(files), len(names))
for file in files:
    document = json.load(open(file))
    assert document["hierax_cost"] == 1 and len(document["points"]) == 12 and len(document["model"]) == 13
    for point in document["points"]:
        us = [c["us"] for c in point["candidates"]]
        where = (document["collective"], point["shape"], point["bytes"], file)
        assert us == sorted(us) and point["fastest"] == point["candidates"][0]["plan"], where
        assert [c["why"] is None for c in point["candidates"]] == [i == 0 for i in range(len(us))], where
        used = {i["algorithm"] for i in point["impossible"]}
        for c in point["candidates"]:
            candidates += 1
            used |= set(c["plan"].split("(")[1].split(")")[0].split(","))
            rest = c["us"] - sum(c["terms_us"].values())
            if abs(rest) > 1e-4 * c["us"] or c["terms_us"]["rest"] != 0 or min(c["terms_us"].values()) < 0:
                print(where, c)
                good = False
        used = {re.sub(r"[0-9]+$", "", name) for name in used}
        if names[document["collective"]] - used:
            print(where, "neither candidates nor impossible:", names[document["collective"]] - used)
            good = False
        if not all(i["why"] for i in point["impossible"]):
            good = False
print(candidates, "candidates")
sys.exit(not good)
PYTHON

# The steps that the JSON has are those of the text, and its counts are those of its steps.
explains() { # arguments...
    "$tool" explain "$@" --all-ranks >"$tmp/text" && "$tool" explain "$@" --all-ranks --json >"$tmp/json" || fault "explain $*: status $?"
    python3 - "$tmp/text" "$tmp/json" <<'PYTHON' || fault "explain $* --json is not what the text says"
import json, re, sys
text, document = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
steps = [m.group(1) for m in re.finditer(r"^ +\d+  (\w.*)$", text, re.M)]
assert document["hierax_plan"] == 1 and len(document["plans"]) == document["ranks"]
stages = [s for p in document["plans"] for s in p["stages"]]
assert steps and steps == [t["text"] for s in stages for t in s["steps"]]
assert "chosen: " + document["chosen"] in text
once = document["slices"]["fine"] == document["slices"]["coarse"] == 1
for s in stages:
    sends = [t for t in s["steps"] if t["op"] == "send" and t["bytes"]]
    assert s["counts"]["sent_bytes"] == sum(t["bytes"] for t in sends)
    assert not once or s["counts"]["messages"] == len(sends)
    assert s["ranks"][s["member"]] in range(document["ranks"])
    for t in s["steps"]:
        assert t["text"].split()[0] == t["op"]
        assert ("peer" in t and "round" in t) == (t["op"] in ("send", "recv"))
for p in document["plans"]:
    for key in ("messages", "sent_bytes", "inter_messages", "inter_sent_bytes", "steps", "slot_bytes_written", "slot_bytes_read"):
        assert p["counts"][key] == sum(s["counts"][key] for s in p["stages"]), key
PYTHON
}
explains allreduce --shape 3,1,2 1K
explains allreduce --shape 4,4 16M
explains alltoall --shape 2,2 64K
explains barrier --shape 2,2
explains reduce --shape 5x1 --root 3 --set HX_INTER_REDUCE=binomial 1K
explains allreduce --dtype bfloat16 --shape 3 100

says '* flat(mesh_single)' 0 cost allreduce --shape 5x1 64
says '2 rounds between nodes against 1' 0 cost allreduce --shape 5x1 64
says 'needs an exact' 0 explain allreduce --shape 2,2 --set HX_INTER_ALLREDUCE=exclusive_dissemination
says 'exclusive_dissemination  needs an exact operation' 0 cost allreduce --shape 5x1
says 'single_copy  works only inside a node; every node has one rank' 0 cost bcast --shape 5x1
says 'ring                     needs a commutative operation' 0 cost allreduce --shape 2,2:cyclic --ordered
says 'the HX_* settings name another' 0 cost allreduce --shape 5x1 --set HX_ALLREDUCE=ring
says 'single_copy              ranks may not read each other' 0 cost allreduce --shape 3 --set HX_SINGLE_COPY=0
for coll in scatter allgather; do
    says 'single copy is not usable on several nodes: ' 0 cost $coll --shape 2,2
    says 'single copy is not usable on several nodes: ' 0 explain $coll --shape 2,2 --set HX_INTRA_${coll^^}=single_copy
done
says 'hier(nary_sliced,' 0 cost reduce --shape 2,2 --set HX_INTRA_REDUCE=nary_sliced
says 'hier(-,flat,binomial) x1' 0 cost bcast --shape 2,2 --set HX_INTRA_BCAST=binomial 64
says 'planned in ' 0 cost allreduce --shape 4x96 --time
says 'did you mean net_alpha_us?' 2 cost allreduce --shape 2,2 --model net_alpha=3
says '--model net_gb_s=fast: expected a number above 0' 2 cost allreduce --shape 2,2 --model net_gb_s=fast
says '--model net_gb_s=0: expected a number above 0' 2 cost allreduce --shape 2,2 --model net_gb_s=0
says 'expected NAME=VALUE' 2 cost allreduce --shape 2,2 --model 3
says 'cost takes one collective and a --shape' 2 cost allreduce 1M
says 'cost takes one collective and a --shape' 2 cost allreduce bcast --shape 2,2
says '"4x8" is not a size; to give a shape, write --shape before it' 2 cost allreduce 4x8
says '"4,4,3" is not a size; to give a shape, write --shape before it' 2 explain allreduce 4,4,3
says '12Q' 2 cost allreduce --shape 2,2 1K 12Q
says 'no plan for bcast on 2,2 uses rdh' 2 cost bcast --shape 2,2 --algorithm rdh
says 'did you mean circulant?' 2 cost allreduce --shape 2,2 --algorithm circulent
says 'choose only one of --json and --table' 2 cost allreduce --shape 2,2 --json --table
says 'coll_plan explain has no option --table' 2 explain allreduce --shape 2,2 --table
says 'explain takes one collective, one --shape and one size' 2 explain allreduce --shape 2,2 1K 2K
says 'did you mean cost?' 2 cots allreduce
# By a table, if it is of this machine; its warning tells what machine this is.
table() { # CPU CPUS
    printf '{"hierax_table": 1, "hierax": "%s", "machine": {"cpu": "%s", "cpus": %s}, "entries": [{"collective": "allreduce", "commutative": true, "nodes": 2, "ranks_per_node": [2, 2], "placement": "block", "provider": "tcp", "bytes": [1, null], "plan": "flat(ring)", "slice": 0, "us": 7.5, "default_plan": "flat(mesh)", "default_us": 9.5}]}\n' \
        "$("$tool" --version | cut -d' ' -f2)" "$1" "$2" >"$tmp/table.json"
}
table none 1
cpu=$("$tool" explain allreduce --shape 2,2 --set HX_TABLE="$tmp/table.json" 2>&1 | sed -n 's/.*this machine has "\(.*\)".*/\1/p')
[ -n "$cpu" ] || fault "explain does not tell that a table is foreign"
table "$cpu" "$(getconf _NPROCESSORS_CONF)"
says 'chosen: flat(ring)' 0 explain allreduce --shape 2,2 --provider tcp --set HX_TABLE="$tmp/table.json"
says 'from the table: measured 7.5 us; the default flat(mesh) took 9.5 us' 0 explain allreduce --shape 2,2 --provider tcp --set HX_TABLE="$tmp/table.json"
says '"by_table": true' 0 explain allreduce --shape 2,2 --provider tcp --json --set HX_TABLE="$tmp/table.json"
says '"by_table": false' 0 explain allreduce --shape 2,2 --json --set HX_TABLE="$tmp/table.json"
says 'on 2,2: flat(ring)' 0 draw allreduce --shape 2,2 --provider tcp --set HX_TABLE="$tmp/table.json"
says 'the table says flat(ring), which this job cannot use' 0 explain allreduce --shape 2,2 --provider tcp --set HX_TABLE="$tmp/table.json" \
    --set HX_ALLREDUCE=mesh
says 'chosen: flat(mesh)' 0 explain allreduce --shape 2,2 --provider tcp --set HX_TABLE="$tmp/table.json" --algorithm 'flat(mesh)'
says 'ignores this table' 0 explain allreduce --shape 2,2 --set HX_TABLE="$tmp/none.json"
says 'none.json' 2 explain allreduce --shape 2,2 --set HX_TABLE="$tmp/none.json" --set HX_TABLE_STRICT=1
says 'big does not use a table' 2 big --shape 2,2 --set HX_TABLE="$tmp/table.json"
# Constants of a node: where they say that single copy is fast it is chosen, warm and cold mixed, and where slots are fast, they are. The
# first are about those of a machine on which single copy won, the second those of an AMD EPYC with cores far apart.
node() { # FILE HAND-OFF LINE CALL FETCH-COLD FETCH-WARM SLOT-COLD SLOT-WARM OWN FOLD
    printf 'hierax_constants 1\nmachine %s\nhand_off_ns %d\nline_ns %d\ncall_ns %d\nfetch_cold_mb_s %d\nfetch_warm_mb_s %d\nslot_cold_mb_s %d\nslot_warm_mb_s %d\nown_mb_s %d\nfold_mb_s %d\nend\n' "$@" >"$tmp/$1"
}
node single 70 45 450 16000 28000 9500 9500 40000 18000
node slots 390 130 1600 3900 15200 20000 21000 56000 25000
for coll in bcast allgather alltoall gather scatter reduce allreduce; do
    for bytes in 64K 512K 4M; do
        "$tool" cost $coll $bytes --shape 2 --llc 16M --constants "$tmp/single" | grep -q '^\* flat(single_copy' || fault "$coll of $bytes: no single copy though it is fast"
        "$tool" cost $coll $bytes --shape 2 --llc 16M --constants "$tmp/slots" | grep -q '^\* flat(nary' || fault "$coll of $bytes: no slots though they are fast"
    done
done
says 'constants of the node: file, hash ' 0 cost bcast 64K --shape 2 --constants "$tmp/slots"
sed -i 's/^call_ns .*/call_ns fast/' "$tmp/slots"
says 'slots:5: expected "call_ns" and an integer from 0 to 1000000000' 2 cost bcast --shape 2 --constants "$tmp/slots"
says 'none: there is no such file' 2 cost bcast --shape 2 --constants "$tmp/none"
says 'not a regular file' 2 cost bcast --shape 2 --constants /dev/null
says '--model fetch_us and --constants both set parameters of the node' 2 cost bcast --shape 2 --constants "$tmp/single" --model fetch_us=1

# Without a table, coll_plan uses the defaults for the provider, and names them. An unknown provider is an error.
predicted() { "$tool" cost allreduce 1M --shape 2,2 --algorithm ring --json "$@" | python3 -c "import json, sys; print(json.load(sys.stdin)[\"points\"][0][\"candidates\"][0][\"us\"])"; }
[ "$(predicted --provider tcp)" != "$(predicted --provider efa)" ] || fault "tcp is predicted as efa"
[ "$(predicted --provider tcp)" = "$(predicted --provider sockets)" ] || fault "sockets is not predicted as tcp"
[ "$(predicted --provider tcp)" != "$(predicted --provider tcp --set HX_NODES=2)" ] || fault "emulated nodes are predicted as others"
says 'constants of the network: defaults for provider tcp' 0 cost allreduce --shape 2,2 --provider tcp
says 'constants of the node: built in' 0 cost allreduce --shape 2,2
says '"network": "defaults for provider efa"' 0 explain allreduce --shape 2,2 --json
says '"network": null' 0 explain allreduce --shape 4 --json
says 'unknown provider "warp"; choices: efa cxi psm3 opx verbs;ofi_rxm tcp net tcp;ofi_rxm sockets' 2 explain allreduce --shape 2,2 --provider warp
says 'constants of the node: file, hash ' 0 cost bcast --shape 2 --set HX_CONSTANTS="$tmp/single"
says 'a job would measure' 0 cost bcast --shape 2 --set HX_CONSTANTS="$tmp/none"

# Its cost model, of that provider only; once for all points.
sed -i 's/"entries": .*/"models": [{"provider": "tcp", "net_alpha_us": 777, "net_gb_s": 2, "stream_gb_s": 2, "core_gb_s": 3, "message_us": 9, "points": 5}], "entries": []}/' "$tmp/table.json"
export HX_TABLE=$tmp/table.json
says "constants of the network: table $tmp/table.json, fitted to 5 points" 0 cost allreduce --shape 2x1 8 1M --provider tcp
"$tool" cost bcast --shape 2x1 8 --provider tcp --algorithm chain | grep -Eq '^\* flat\(chain\) +77[7-9]' || fault "cost does not go by the table's model"
"$tool" cost bcast --shape 2x1 8 --algorithm chain | grep -Eq '^\* flat\(chain\) +1[0-9]\.' || fault "cost goes by another provider's model"
export HX_TABLE=$tmp/none.json
[ "$("$tool" compare allreduce ring rdh --shape 2x1 2>&1 >/dev/null | grep -c 'none.json.*ignores this table')" = 1 ] || fault "compare tells of a missing table not once"
unset HX_TABLE
for command in explain cost verify big; do
    says "Usage: coll_plan [OPTION...] $command" 0 $command --help
    says "coll_plan $command " 0 $command --help
done
exit $failed
