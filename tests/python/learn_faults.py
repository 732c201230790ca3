# SPDX-License-Identifier: BSD-3-Clause
"""Pages that are broken on purpose: each fault must be found, and named."""

import json
import os
import re
import tempfile

from learn_pages import Wrong, algorithm_check, demand
from plan_reader import Reader


def broken_check(browser, folder, lines):
    """Each fault must be found. What follows is a change of a page, and what the complaint says."""
    plan, page = lines["allreduce", "ring", "5x1"], "allreduce-ring.html"
    text = open(os.path.join(folder, page), encoding="utf-8").read()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    five = next(one for one in data["flat"] if one["shape"] == "5x1")
    move = json.dumps(five["rounds"][2][1][0], separators=(",", ":"))
    other = json.dumps(
        [*five["rounds"][2][1][0][:2], five["rounds"][2][1][0][2] + 1, *five["rounds"][2][1][0][3:]], separators=(",", ":")
    )
    in_place = text.index(json.dumps(five["rounds"], separators=(",", ":")))
    faults = {
        "a move": (text[:in_place] + text[in_place:].replace(move, other, 1), "shows"),
        "a color": (text.replace('(value(one) ? this.hue(value(one)) : "none")', '"none"'), "stripes of none"),
        "stripes": (text.replace("return value.ranks\n", "return value.ranks.slice(1)\n"), "stripes"),
        "a key": (text.replace('ArrowRight: "forward"', 'ArrowUp: "forward"'), "shows round"),
        "a script": (text.replace("choose(\n", "nothing.there = 1; choose(\n"), ""),
        "a warning": (text.replace("choose(\n", "console.warn('a warning'); choose(\n"), "a warning"),
        "the width": (text.replace("<main>", '<main><div style="width:700px">wide</div>'), "needs 7"),
        "the network": (text.replace("<main>", '<main><img alt="x" src="http://127.0.0.1:9/x.png">'), "network"),
        "a name": (text.replace('aria-label="one round forward"', ""), "without a name"),
        "the rounds": (text.replace('["rounds", s.rounds, ""]', '["rounds", s.rounds + 1, ""]'), "tells"),
    }
    for fault, (changed, complaint) in faults.items():
        demand(changed != text, f"the fault in {fault} changes nothing")
        with tempfile.TemporaryDirectory() as other_folder:
            with open(os.path.join(other_folder, page), "w", encoding="utf-8") as file:
                file.write(changed)
            try:
                algorithm_check(browser, other_folder, plan, 400)
            except (Wrong, RuntimeError) as e:
                demand(complaint in str(e), f"the fault in {fault} is found as: {e}")
            else:
                raise Wrong(f"a fault in {fault} is not found")
    lines_broken = json.loads(json.dumps(plan))
    reduce_at = next(i for i, step in enumerate(lines_broken["ranks"][1]["stages"][0]["steps"]) if step[0] == "reduce")
    del lines_broken["ranks"][1]["stages"][0]["steps"][reduce_at]
    try:
        demand(Reader(lines_broken).wrong(), "a plan without one of its sums is called right")
    except KeyError:
        pass  # it reads what nobody wrote
