#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_plan draw and compare: there is an arrow for each message and each read of a slot, and pictures are XML that has them all; ratios and
# crossovers are those of coll_plan cost; bad input is named.
set -u
tool=$top_builddir/tools/coll_plan
# shellcheck source=says.sh
. "$(dirname "$0")/says.sh"

# Small, so that there is one slice, and a message is an arrow.
n=0
drawn() { # arguments...: in the background
    n=$((n + 1))
    echo "$*" >"$tmp/$n.what"
    { "$tool" draw "$@" --json >"$tmp/$n.draw" && "$tool" explain "$@" --all-ranks --json >"$tmp/$n.json" || echo "$*" >>"$tmp/failed"; } &
}
for shape in 5 4x1 3,1,2 2,3:cyclic; do
    for collective in $(sed -n 's/^HX_COLL([A-Z_]*, \([a-z_]*\),.*/\1/p' "$top_srcdir/runtime/base/coll.def"); do
        drawn $collective --shape $shape 240
    done
    wait
done
for algorithm in ring mesh mesh_single recursive_doubling rdh circulant tree double_tree kangaring; do
    drawn allreduce --shape 6x1 --algorithm $algorithm 240
    drawn allreduce --shape 3,2 --algorithm "flat($algorithm)" 240
    wait
done
drawn allreduce --shape 6 --algorithm nary_sliced 240
drawn barrier --shape 10 --algorithm flag_tree
drawn bcast --shape 3,1,2 --root 4 240
wait
lacks=$("$tool" draw barrier --shape 2 -o "$tmp/first.svg" 2>&1) || { echo "skipped: $lacks"; exit 77; }
for picture in 1 14 27 $n; do # of few: each takes a tenth of a second and more
    # shellcheck disable=SC2046
    "$tool" draw $(cat "$tmp/$picture.what") -o "$tmp/$picture.svg" || fault "draw $(cat "$tmp/$picture.what")"
done
[ ! -e "$tmp/failed" ] || fault "draw $(cat "$tmp/failed")"

python3 - "$tmp" <<'PYTHON' || fault "a picture is not the plan"
import glob, json, os, re, sys
import xml.etree.ElementTree as tree


def check(drawing, document):
    assert document["slices"]["fine"] == 1
    kinds = [arrow["kind"] for arrow in drawing["arrows"]]
    plans = document["plans"]
    messages = sum(p["counts"]["messages"] for p in plans)
    between = sum(p["counts"]["inter_messages"] for p in plans)
    reads = 0
    for stage in (s for p in plans for s in p["stages"]):
        for step in stage["steps"]:
            one = re.search(r"<- slot of (\d+)", step["text"])
            many = re.search(r"<- slots of (\d+)(?:\.\.(\d+))?(, own)?", step["text"])
            if not step.get("bytes"):
                continue
            if one:
                reads += int(one.group(1)) != stage["member"]
            elif many:
                first, last = int(many.group(1)), int(many.group(2) or many.group(1))
                reads += sum(m != stage["member"] for m in range(first, last + 1))
    got = [kinds.count(kind) for kind in ("between", "inside", "read", "flag")]
    if got[:3] != [between, messages - between, reads]:
        return "arrows between, inside, reads, flags: %s; by the plan %d %d %d" % (got, between, messages - between, reads)
    if document["collective"] == "barrier" and not sum(got):
        return "a barrier without arrows"
    assert sorted(sum(drawing["members"], [])) == list(range(document["ranks"]))


def check_picture(svg, drawing):
    arrows = [e for e in svg.iter() if (e.get("class") or "").startswith("arrow ")]
    assert sorted(e.get("class").split()[1] for e in arrows) == sorted(arrow["kind"] for arrow in drawing["arrows"])
    assert all(re.fullmatch(r".*: rank \d+ to rank \d+.*", next(iter(e)).text) for e in arrows)
    _, _, width, height = map(float, svg.get("viewBox").split())
    for e in svg.iter("{http://www.w3.org/2000/svg}line"):
        for key, most in (("x1", width), ("x2", width), ("y1", height), ("y2", height)):
            if not 0 <= float(e.get(key)) <= most:
                return "%s=%s is outside the picture" % (key, e.get(key))
    ranks = [e.text for e in svg.iter("{http://www.w3.org/2000/svg}text") if (e.text or "").startswith("rank ")]
    assert len(ranks) == sum(map(len, drawing["members"]))


files, failed, pictures = glob.glob(sys.argv[1] + "/*.what"), 0, 0
for what in files:
    drawing = json.load(open(what[:-4] + "draw"))
    fault = check(drawing, json.load(open(what[:-4] + "json")))
    if os.path.exists(what[:-4] + "svg"):
        pictures += 1
        fault = fault or check_picture(tree.parse(what[:-4] + "svg").getroot(), drawing)
    if fault:
        failed += 1
        print("draw", open(what).read().strip() + ":", fault)
print(len(files), "drawings,", pictures, "pictures")
sys.exit(failed > 0 or not files or pictures != 4)
PYTHON

says '<?xml' 0 draw allreduce --shape 2,2
says 'round 6: 4 arrows' 0 draw allreduce --shape 4x1 --algorithm ring
says 'in 9 slices' 0 draw allreduce --shape 8,8 1M --set HX_SINGLE_COPY=0
says 'of 1 MiB on 2,2:cyclic: ' 0 draw allreduce --shape 2,2:cyclic
[ "$("$tool" draw bcast --shape 8 --rank 0 | grep -c 'class="arrow')" = 7 ] || fault "draw --rank 0 has not the root's 7 arrows"
[ "$("$tool" draw bcast --shape 8 --rank 5 | grep -c 'class="arrow')" = 1 ] || fault "draw --rank 5 has not that rank's one arrow"
says '4x96 has 384 ranks, too many to draw (at most 64): choose a smaller shape of the same kind, for example --shape 4x4' 2 \
    draw allreduce --shape 4x96
says 'rounds, too many to draw (at most 64)' 2 draw allreduce --shape 40x1 --algorithm ring
says 'arrows, too many to draw (at most 4096): choose fewer ranks, or --rank R' 2 draw allreduce --shape 64x1 --algorithm mesh
says 'is out of range: the last rank of --shape 2,2 is 3' 2 draw allreduce --shape 2,2 --rank 4
says 'draw takes one collective, one --shape and one size' 2 draw allreduce --shape 2,2 --shape 3
says '/nowhere/plan.svg: cannot write: No such file or directory' 2 draw allreduce --shape 2,2 -o /nowhere/plan.svg
says 'did you mean output?' 2 draw allreduce --shape 2,2 --ouput x
says 'did you mean flat(ring)?' 2 draw allreduce --shape 4x1 --algorithm 'flat(rng)'
says 'hier(nary,ring,nary) x3' 0 draw allreduce --shape 2x8 --algorithm 'hier(nary,ring,nary) x3'
says 'did you mean hier(nary,ring,nary) x1?' 2 draw allreduce --shape 2x8 --algorithm 'hier(nary,ring,nary) x9'
says 'coll_plan draw has no option --svg' 2 draw allreduce --shape 2,2 --svg x

# compare: times are those of cost, crossovers lie between the sizes where the leader changes, where both take the same time
"$tool" compare allreduce mesh_single mesh --shape 8x1 --svg "$tmp/svg" >"$tmp/compare" || fault "compare: status $?"
"$tool" cost allreduce --table --shape 8x1 8 1K 64K 64M --algorithm mesh --algorithm mesh_single >"$tmp/table"
python3 - "$tmp/svg" "$tmp/compare" "$tmp/table" "$tool" <<'PYTHON' || fault "compare is not what cost says"
import re, subprocess, sys
import xml.etree.ElementTree as tree
text = open(sys.argv[2]).read()
units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
def rows_of(text, at): # by size, with the size as one field
    lines = (l.split() for l in text.splitlines())
    return {int(f[at]) * units[f[at + 1]]: f[:at] + f[at + 1:] for f in lines if len(f) > at + 3 and f[at].isdigit()}
rows = rows_of(text, 0)
assert sorted(rows) == [8 << i for i in range(24)], rows.keys()
table = open(sys.argv[3]).read()
columns = table.splitlines()[0].split()[3:]
compared = rows_of(table, 1)
assert len(compared) == 4, compared
for size, line in compared.items():
    row = rows[size]
    for column, side in (("flat(mesh_single)", 1), ("flat(mesh)", 2)):
        assert abs(float(line[2 + columns.index(column)].lstrip("*")) - float(row[side])) < 0.06, (line, row)
for row in rows.values():
    assert abs(float(row[1]) / float(row[2]) - float(row[3])) < 0.01 and (row[4] == "mesh_single") == (float(row[3]) < 1), row
crossing = re.findall(r"crossover: (\w+) is faster from (\d+ \w+)", text)
assert len(crossing) == 1 and crossing[0][0] == "mesh", crossing
at = crossing[0][1]
cost = subprocess.run([sys.argv[4], "compare", "allreduce", "mesh_single", "mesh", "--shape", "8x1", at], capture_output=True, text=True)
us = [float(x) for x in list(rows_of(cost.stdout, 0).values())[0][1:3]]
assert abs(us[0] - us[1]) < 0.02, us
svg = tree.parse(sys.argv[1]).getroot()
words = " ".join("".join(e.itertext()) for e in svg.iter("{http://www.w3.org/2000/svg}text"))
assert "mesh_single" in words and "allreduce on 8x1" in words, words
PYTHON
says '1.00  equal' 0 compare allreduce ring mesh --shape 1
says 'equal' 0 compare bcast 'hier(-,chain,nary) x1' best --shape 4x8 1M
says 'no crossover between these sizes' 0 compare allreduce ring circulant --shape 32x1 8 64
says 'hier(nary,mesh,nary) x4' 0 compare allreduce 'hier(nary,mesh,nary) x4' flat --shape 4x8 8 16M
says '<svg' 0 compare allreduce hier flat --shape 4x8 --svg -
says '(did you mean circulant?); choices: best flat nary' 2 compare allreduce ring circulent --shape 8
says 'did you mean flat(ring)?' 2 compare allreduce 'flat(rnig)' mesh --shape 8x1
says 'compare takes one collective, one --shape and two plans or algorithms' 2 compare allreduce ring --shape 8x1
says '"mesh" is a third' 2 compare allreduce ring rdh mesh --shape 8x1
says '/nowhere/x.svg: cannot write' 2 compare allreduce ring rdh --shape 8x1 --svg /nowhere/x.svg
cp "$tmp/svg" "$tmp/kept"
says 'did you mean circulant?' 2 compare allreduce ring circulent --shape 8 --svg "$tmp/kept"
says 'too many to draw' 2 draw allreduce --shape 4x96 -o "$tmp/kept"
cmp "$tmp/svg" "$tmp/kept" || fault "a picture that is refused has changed its file"
for command in draw compare; do
    says "Usage: coll_plan [OPTION...] $command" 0 $command --help
    says "coll_plan $command " 0 $command --help
done
exit $failed
