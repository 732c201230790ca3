# SPDX-License-Identifier: BSD-3-Clause
"""Pages of what coll_plan predicts: the picture of a plan, round by round, and two plans over sizes."""
from __future__ import annotations

from pages import MISSING, Axis, Column, Page, Plot, Curve, Section, Table, count, fixed, real, rows, si_bytes, si_time, stem, text, whole

VERSION = 1
LEFT, TOP, COLUMN, GAP, NODE_GAP, LEGEND_LINE = 128, 120, 118, 18, 8, 17  # pixels
KINDS = {"between": "message between nodes", "inside": "message inside a node", "read": "read of another rank's memory",
         "flag": "flag: waits for that rank, reads nothing"}


def refused(document) -> str | None:
    if VERSION not in (document.get("hierax_rounds"), document.get("hierax_compare")):
        return f"coll_report reads version {VERSION} of coll_plan's documents"
    return None


# ---- draw: rows are ranks, by nodes; columns are rounds, by levels ----

class Canvas:
    """Where everything stands; rounds.svg draws it."""

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
        self.notes = ["In each round a rank has a dot at the left, where arrows leave, and one at the right, where they arrive.",
                      "A thicker arrow has more bytes. Point at one for its numbers."]
        if whole(document, "fine_slices") > 1:
            self.notes.append("Bytes are of all slices, which follow one another through the rounds.")
        self.width = max(640, self.column_x(len(self.rounds) - 1) + COLUMN + GAP if self.rounds else 0)
        self.height = self.legend_y + LEGEND_LINE * (sum(n > 0 for n in self.counts.values()) + len(self.notes)) + NODE_GAP

    def column_x(self, column: int) -> int:
        return LEFT + column * (COLUMN + GAP) + self.rounds[column]["level"] * GAP

    def title(self) -> str:
        return f"{text(self.document, 'collective')} of {si_bytes(real(self.document, 'bytes'))} on {text(self.document, 'shape')}: {text(self.document, 'plan')}"

    def subtitle(self) -> str:
        d = self.document
        between = f", {whole(d, 'coarse_slices')} between nodes" if whole(d, "nodes") > 1 else ""
        return (f"{count(whole(d, 'ranks'), 'rank')}, {count(whole(d, 'nodes'), 'node')}; predicted {si_time(real(d, 'us'))}; "
                f"{count(whole(d, 'fine_slices'), 'slice')} in shared memory{between}")

    def columns(self):
        """Of each round: where it stands, its number within the level, the level where it begins, what it says of its arrows and their bytes."""
        before, in_level = None, 0
        for i, a_round in enumerate(self.rounds):
            in_level = in_level + 1 if a_round["level"] == before else 1
            arrows = [arrow for arrow in self.arrows if arrow["round"] == i]
            sizes = [si_bytes(whole(arrow, "bytes")) for arrow in sorted(arrows, key=lambda a: whole(a, "bytes")) if arrow["kind"] != "flag"]
            yield (self.column_x(i), self.levels[a_round["level"]] if in_level == 1 else None, f"round {in_level}: {count(len(arrows), 'arrow')}",
                   " to ".join(dict.fromkeys(sizes[:1] + sizes[-1:])))
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


def arrows_table(document) -> Table:
    cells = [[str(arrow["round"] + 1), KINDS[arrow["kind"]], str(arrow["from"]), str(arrow["to"]), str(arrow["bytes"] or MISSING)]
             for arrow in rows(document, "arrows")]
    return Table(["column", "arrow", "from rank", "to rank", "bytes"], "rlrrr", cells)


def page_of_rounds(document, template) -> Page:
    canvas = Canvas(document)
    introduction = "A row is a rank, a column a round; rounds stand by levels. Times are predicted by the cost model: nothing was measured."
    return Page(canvas.title(), [Column("", "", [("plan", text(document, "plan")), ("shape", canvas.subtitle())])], introduction,
                [Section("arrows", [], arrows_table(document))], template.render(canvas=canvas, left=LEFT, top=TOP, column=COLUMN, gap=GAP, line=LEGEND_LINE))


# ---- compare ----

def page_of_comparison(document) -> Page:
    collective, shape, sides, points = text(document, "collective"), text(document, "shape"), document["sides"], rows(document, "points")
    title, sizes = f"{collective} on {shape}, predicted", [real(point, "bytes") for point in points]
    curves = [Curve(side, sizes, [float(point["us"][i]) for point in points]) for i, side in enumerate(sides)]
    marks = [(real(crossover, "bytes"), text(crossover, "faster")) for crossover in rows(document, "crossovers")]
    caption = ("Time against size as the cost model predicts it: nothing was measured. A dotted vertical line is a crossover, with the name of the one "
               "that is faster from there on.")
    plot = Plot(stem(collective, "time"), title, f"{sides[0]} and {sides[1]}", caption, Axis("vector", si_bytes), Axis("predicted time", si_time), curves, marks)
    table = Table(["bytes", *(f"{side}, µs" for side in sides), "ratio", *(f"plan of {side}" for side in sides)], "rrrrll", [])
    for point, first, second in zip(points, curves[0].y, curves[1].y):
        table.rows.append([str(whole(point, "bytes")), fixed(first, 2), fixed(second, 2), fixed(first / second if second > 0 else 1, 2), *point["plans"]])
    return Page(title, [Column("", "", [("collective", collective), ("shape", shape)])], caption, [Section(f"{sides[0]} and {sides[1]}", [plot], table)])


def page(documents, template) -> Page:
    return page_of_rounds(documents[0], template) if "hierax_rounds" in documents[0] else page_of_comparison(documents[0])
