# SPDX-License-Identifier: BSD-3-Clause
"""What coll_plan predicts: the picture of a plan, round by round, and two plans over sizes."""
from __future__ import annotations

from pages import Axis, Curve, Page, Plot, Section, count, real, rows, si_bytes, si_time, stem, text, whole

VERSION = 1
LEFT, TOP, COLUMN, GAP, NODE_GAP, LINE = 128, 120, 118, 18, 8, 17  # pixels
KINDS = {"between": "message between nodes", "inside": "message inside a node", "read": "read of another rank's memory",
         "flag": "flag: waits for that rank, reads nothing"}


def refused(document) -> str | None:
    if VERSION not in (document.get("hierax_rounds"), document.get("hierax_compare")):
        return f"coll_report reads version {VERSION} of coll_plan's documents"
    return None


# ---- draw: rows are ranks, by nodes; columns are rounds, by levels ----

class Canvas:
    """The place of everything. rounds.svg draws it."""
    left, top, column, gap, line = LEFT, TOP, COLUMN, GAP, LINE

    def __init__(self, document):
        self.document, self.kinds = document, KINDS
        self.arrows, self.levels, self.rounds = (rows(document, key) for key in ("arrows", "levels", "rounds"))
        ranks = whole(document, "ranks")
        self.row_height = 26 if ranks <= 16 else 20 if ranks <= 32 else 15
        self.row_y, self.nodes, y = {}, [], TOP
        for members in document["members"]:
            self.nodes.append((y, len(members) * self.row_height))
            for rank in members:
                self.row_y[rank] = y + self.row_height // 2
                y += self.row_height
            y += NODE_GAP
        self.legend_y = y + NODE_GAP
        self.counts = {kind: sum(arrow["kind"] == kind for arrow in self.arrows) for kind in KINDS}
        self.most_bytes = max((whole(arrow, "bytes") for arrow in self.arrows), default=0)
        self.notes = ["Arrows leave a rank at its left dot of a round and arrive at a right dot.",
                      "A thicker arrow has more bytes. Point at an arrow to see its numbers."]
        if whole(document, "fine_slices") > 1:
            self.notes.append("Bytes are those of all slices. Slices follow one another through the rounds.")
        self.width = max(640, self.column_x(len(self.rounds) - 1) + COLUMN + GAP if self.rounds else 0)
        self.height = self.legend_y + LINE * (sum(n > 0 for n in self.counts.values()) + len(self.notes)) + NODE_GAP

    def column_x(self, column: int) -> int:
        return LEFT + column * (COLUMN + GAP) + self.rounds[column]["level"] * GAP

    def title(self) -> str:
        d = self.document
        return f"{text(d, 'collective')} of {si_bytes(real(d, 'bytes'))} on {text(d, 'shape')}: {text(d, 'plan')}"

    def subtitle(self) -> str:
        d = self.document
        between = f", {whole(d, 'coarse_slices')} between nodes" if whole(d, "nodes") > 1 else ""
        return (f"{count(whole(d, 'ranks'), 'rank')}, {count(whole(d, 'nodes'), 'node')}; predicted {si_time(real(d, 'us'))}; "
                f"{count(whole(d, 'fine_slices'), 'slice')} in shared memory{between}")

    def columns(self):
        """For each round its place, the level if it is the first there, and the texts on its arrows and their bytes."""
        before, in_level = None, 0
        for i, a_round in enumerate(self.rounds):
            in_level = in_level + 1 if a_round["level"] == before else 1
            arrows = [arrow for arrow in self.arrows if arrow["round"] == i]
            sizes = [si_bytes(size) for size in sorted(whole(arrow, "bytes") for arrow in arrows if arrow["kind"] != "flag")]
            yield (self.column_x(i), self.levels[a_round["level"]] if in_level == 1 else None,
                   f"round {in_level}: {count(len(arrows), 'arrow')}", " to ".join(dict.fromkeys(sizes[:1] + sizes[-1:])))
            before = a_round["level"]

    def thickness(self, arrow) -> str:
        """By bytes. Many ranks have many arrows."""
        share = whole(arrow, "bytes") / self.most_bytes if self.most_bytes else 0
        return f"{1 + (2.5 if whole(self.document, 'ranks') <= 8 else 1) * share:.1f}"

    def told(self, arrow) -> str:
        parts = [f"{KINDS[arrow['kind']]}: rank {arrow['from']} to rank {arrow['to']}"]
        if arrow["kind"] in ("between", "inside"):
            parts.append(f"round {whole(arrow, 'order')}")
        slices = f" in {arrow['messages']} slices" if whole(arrow, "messages") > 1 else ""
        return ", ".join(parts + [si_bytes(arrow["bytes"])] * (arrow["bytes"] > 0)) + slices


def page_of_rounds(document) -> Page:
    canvas = Canvas(document)
    return Page("rounds.html", canvas.title(), [document], [Section("rounds and arrows", [], canvas)])


# ---- compare ----

def page_of_comparison(document) -> Page:
    sides, points = document["sides"], rows(document, "points")
    title = f"{text(document, 'collective')} on {text(document, 'shape')}, predicted"
    sizes = [real(point, "bytes") for point in points]
    curves = [Curve(side, sizes, [float(point["us"][i]) for point in points]) for i, side in enumerate(sides)]
    marks = [(real(crossover, "bytes"), text(crossover, "faster")) for crossover in rows(document, "crossovers")]
    plot = Plot(stem(text(document, "collective"), "time"), title, " and ".join(sides),
                "Time against size, as the cost model predicts it.", Axis("vector", si_bytes), Axis("predicted time", si_time), curves,
                marks)
    return Page("compare.html", title, [document], [Section(" and ".join(sides), [plot], document)])


def page(documents) -> Page:
    return page_of_rounds(documents[0]) if "hierax_rounds" in documents[0] else page_of_comparison(documents[0])
