# SPDX-License-Identifier: BSD-3-Clause
"""The plans of the catalogue: `coll_plan steps` lists them, this follows them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field

from . import score
from .follow import Follower

VERSION = 1
RANKS = 16
SHAPES = ("4,4", "3,1,2")
WHERE = {"intra": "inside nodes", "inter": "between nodes", "flat": "over all ranks"}


class Refused(Exception):
    """What the user must know, in one line."""


@dataclass
class Algorithm:
    """One page: an algorithm of a collective, and its plans by shape."""

    collective: str
    name: str
    about: str
    source: str
    flat: list[dict] = field(default_factory=list)
    shapes: list[dict] = field(default_factory=list)

    @property
    def page(self) -> str:
        return f"{self.collective}-{self.name}.html"

    @property
    def sentence(self) -> str:
        """What the row says, with a capital letter unless it begins with a formula."""
        first = self.about.split(" ")[0].rstrip(",:")
        return (self.about[0].upper() + self.about[1:] if first.isalpha() and len(first) > 1 else self.about) + "."


def tool_find(name: str, given: str | None = None) -> str:
    """The given program, else the one beside the build of this package, else the one in PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    above = [os.path.normpath(os.path.join(here, *[".."] * n)) for n in range(2, 8)]
    beside = [os.path.join(folder, part, name) for folder in above for part in ("tools", "build/tools", "bin")]
    for path in [given] if given else [*beside, shutil.which(name)]:
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Refused(
        f"{given}: no such program"
        if given
        else f"{name} is neither in PATH nor beside this package; add --{name.replace('_', '-')} FILE"
    )


def levels_of(plan: dict) -> list[dict]:
    """Where each level passes its data, and by which algorithms."""
    levels: dict[int, dict] = {}
    for rank in plan["ranks"]:
        for stage in rank["stages"]:
            level = levels.setdefault(stage["level"], {"where": WHERE[stage["scope"]], "names": []})
            if stage["algorithm"] not in level["names"]:
                level["names"].append(stage["algorithm"])
    one_node = len(set(plan["node_of"])) == 1
    return [
        {"where": "inside the node" if one_node else levels[i]["where"], "name": ", ".join(levels[i]["names"])}
        for i in sorted(levels)
    ]


def strip_row(strip, nelements: int) -> list:
    """[rank, space, cells], and the column of each cell if there are gaps: chunks of a slot are below those of the input."""
    row, columns = [strip.rank, strip.space, len(strip.place)], sorted(strip.place)
    return row + [columns] if strip.space == "slot" and len(columns) <= columns[-1] < nelements else row


def page_plan(plan: dict) -> dict:
    """All that a page shows of a plan."""
    f = Follower(plan)
    levels = sorted({stage["level"] for rank in plan["ranks"] for stage in rank["stages"]})  # some may be empty
    return {
        "shape": plan["shape"],
        "plan": plan["plan"],
        "nodes": plan["node_of"],
        "root": plan["root"],
        "levels": levels_of(plan),
        "strips": [strip_row(strip, f.nelements) for strip in f.strips.values()],
        "start": f.start(),
        "pairs": plan["gives"] == "pairs",
        "folds": plan["reduces"],
        "cube": score.is_cube(f),
        "score": score.score(f),
        "rounds": [
            [[levels.index(level) for level in a_round["levels"]], a_round["moves"], a_round["flags"]] for a_round in f.rounds
        ],
    }


def lines(coll_plan: str, *arguments: str):
    """The documents that coll_plan steps prints."""
    done = subprocess.run(
        [coll_plan, "steps", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise Refused(done.stderr.strip() or f"{coll_plan} ended with status {done.returncode}")
    for line in done.stdout.splitlines():
        plan = json.loads(line)
        if plan.get("hierax_steps") != VERSION:
            raise Refused(
                f"{coll_plan} writes version {plan.get('hierax_steps')} of its documents; this package reads version {VERSION}"
            )
        yield plan


def read(coll_plan: str, ranks: int = RANKS, shapes=SHAPES, words=()) -> list[Algorithm]:
    """Every algorithm with its plans. words: collectives, or options of coll_plan; none: all."""
    found: dict[tuple, Algorithm] = {}
    of_shapes = [word for shape in shapes for word in ("--shape", shape)]
    for plan in lines(coll_plan, *words, "--max-ranks", str(ranks)):
        key = plan["collective"], plan["algorithm"]
        algorithm = found.setdefault(key, Algorithm(*key, plan["about"], plan["source"]))
        algorithm.flat.append(page_plan(plan))
    for plan in lines(coll_plan, *words, *of_shapes) if of_shapes else ():
        key = plan["collective"], plan["algorithm"]
        if key in found:  # else it takes more ranks than these: a radix of 3 saves no round for 2
            found[key].shapes.append(page_plan(plan))
    return list(found.values())
