#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures how far the cost model's predictions are off: coll_bench runs every collective at several sizes on several shapes. The time of a row
# is the least median of RUNS short runs, because other work on the machine only makes a run longer. The model predicts a mix of cold and
# warm calls, so a row counts the geometric mean of both. The result is the factor by which measured and predicted times differ. It is a
# target, not a limit: without arguments the script only prints it.
#   tests/tools/predictions.sh [MEDIAN WORST]    with both: fail if the factor is larger at the median, or at the worst row
#   RUNS=3  SIZES=8,1K,64K,1M  SHAPES="1x2 1x4 2x1 2x2 4x2" (nodes x ranks)  COLLECTIVES="allreduce ..." (default: all)
#   TIME=median_us    or min_us: the least repetition of a run, if the machine has other work that the medians show
#   ROWS=FILE    write all rows: shape, collective, bytes, measured us, predicted us, plan
set -uo pipefail
: "${top_builddir:?run me by tools/check predictions}"
run=$top_builddir/tools/coll_run bench=$top_builddir/tests/tools/coll_bench
[ -x "$bench" ] || bench=$top_builddir/tools/coll_bench
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
collectives=${COLLECTIVES:-$("$bench" 2>&1 | sed -n "s/.*choices: *//p")}
export HX_ADAPT=0 XDG_CACHE_HOME=$tmp/cache # so that the predicted plan runs, and this run measures the node
for shape in ${SHAPES:-1x2 1x4 2x1 2x2 4x2}; do
    nodes=${shape%x*} ranks=$((${shape%x*} * ${shape#*x}))
    for ((i = 1; i <= ${RUNS:-3}; i++)); do
        for loop in "" --warm; do
            # shellcheck disable=SC2086
            timeout 300 "$run" -n "$ranks" --nodes "$nodes" -- "$bench" $collectives --sizes "${SIZES:-8,1K,64K,1M}" --repetitions 15 --iterations 20 \
                --warmup 5 $loop --json "$tmp/$shape.$i$loop.json" >"$tmp/out" 2>&1 || { echo "coll_bench on $shape: exit $?"; tail -n 5 "$tmp/out"; exit 1; }
        done
    done
done
python3 - "$tmp" "${ROWS:-}" "${TIME:-median_us}" "$@" <<'PYTHON'
import glob, json, statistics, sys
loops, predictions, sources = {}, {}, {}
for file in sorted(glob.glob(sys.argv[1] + "/*.json")):
    document, shape = json.load(open(file)), file.split("/")[-1].split(".")[0]
    sources[shape] = [document["node_constants"], document["network_constants"]]
    for row in document["rows"]:
        key = shape, row["collective"], row["bytes"], row["plan"]
        best = loops.setdefault(key, {})
        best[document["loop"]] = min(row[sys.argv[3]], best.get(document["loop"], row[sys.argv[3]]))
        predictions.setdefault(key, []).append(row["predicted_us"])
rows = {key: [statistics.geometric_mean(best.values()), statistics.median(predictions[key])] for key, best in loops.items() if len(best) == 2}
assert all(predicted > 0 for _, predicted in rows.values()), "there are rows without a prediction"
off = lambda row: max(row[0] / row[1], row[1] / row[0])
if sys.argv[2]:
    with open(sys.argv[2], "w") as out:
        for (shape, collective, size, plan), (measured, predicted) in rows.items():
            print(shape, collective, size, "%.2f %.2f %.2f" % (measured, predicted, measured / predicted), plan, file=out)
print("%-8s %5s  %8s %8s  %s" % ("shape", "rows", "median", "worst", "worst row: measured us, predicted us, plan"))
for shape in [*sources, "all"]:
    of = {key: row for key, row in rows.items() if shape in (key[0], "all")}
    worst = max(of, key=lambda key: off(of[key]))
    median, most = statistics.median(map(off, of.values())), off(of[worst])
    print("%-8s %5d  %8.2f %8.2f  %s of %d B on %s: %.1f, %.1f, %s" % (shape, len(of), median, most, worst[1], worst[2], worst[0], *of[worst], worst[3]))
if len(rows) < len(loops):
    print("# %d rows left out: their plan ran in cold calls only, or in warm calls only" % (len(loops) - len(rows)))
for shape, (node, network) in sources.items():
    print("# %s: constants of the node: %s; of the network: %s" % (shape, node or "not used", network or "not used"))
if len(sys.argv) == 6 and (median > float(sys.argv[4]) or most > float(sys.argv[5])):
    sys.exit("off by a factor of %.2f at the median and %.2f at the worst; expected at most %s and %s" % (median, most, *sys.argv[4:]))
PYTHON
