# SPDX-License-Identifier: BSD-3-Clause
"""What coll_bench measured. The page of one run shows its plans and bounds. The page of several runs shows them side by side, with
the ratio of the first one's times to each other's. A row of the first run may bring its ratio to the second and the ratio's spread,
as coll_compare writes it; or, by the name of each other library, the ratio, its least and its greatest value ("ratios")."""
from __future__ import annotations

import math
from collections import Counter

from pages import (Axis, Curve, Page, Plot, Refused, Section, crossovers, elements, geometric_mean, number, plain, ranks_on_nodes,
                   real, rows, shape, si_bytes, si_time, stem, text)

MOST_RUNS = 8
TIME = Axis("median time of a call", si_time)
WHISKERS = "Whiskers reach from the least time to the 99th percentile."


def refused(document) -> str | None:
    """Why this is not a document of coll_bench."""
    if not isinstance(document, dict) or not isinstance(document.get("rows"), list) or not text(document, "library"):
        return "not a JSON document of coll_bench, coll_tune or coll_plan"
    for row in document["rows"]:
        if not text(row, "collective") or not real(row, "bytes") >= 0:
            return 'a row has no "collective" or no "bytes"'
    return None


class Run:
    """One run's rows of one collective."""

    def __init__(self, document, collective: str):
        loop = text(document, "loop")
        self.library = text(document, "library") + (f", {loop}" if loop not in ("", "cold") else "")
        self.rows = [row for row in rows(document, "rows") if row["collective"] == collective]
        self.bytes = self.column("bytes")
        self.plans = [text(row, "plan") for row in self.rows]

    def column(self, key: str) -> list[float]:
        return [real(row, key) for row in self.rows]

    def bounds(self) -> list[Curve]:
        bound = [v if v > 0 else math.nan for v in self.column("bound_us")]
        return [Curve("lower bound", self.bytes, bound, bound=True)] if any(v > 0 for v in bound) else []

    def times(self, name: str, keep=lambda i: True) -> Curve:
        columns = (self.column(key) for key in ("median_us", "min_us", "p99_us"))
        return Curve(name, self.bytes, *([v if keep(i) else math.nan for i, v in enumerate(column)] for column in columns))

    def median_at(self, size: float) -> float:
        return next((real(row, "median_us") for row in self.rows if real(row, "bytes") == size), math.nan)

    def ratio_to(self, other: Run, is_second: bool) -> list[tuple[float, float, float]]:
        """At each size, with its least and greatest value if the row has them."""
        found = []
        for row in self.rows:
            given, theirs = real(row, "ratio") if is_second else math.nan, other.median_at(real(row, "bytes"))
            named = row["ratios"].get(other.library) if isinstance(row.get("ratios"), dict) else None
            if isinstance(named, list) and len(named) == 3:
                found.append(tuple(map(number, named)))
            elif given > 0:
                found.append((given, real(row, "ratio_min"), real(row, "ratio_max")))
            else:
                found.append((real(row, "median_us") / theirs if theirs > 0 else math.nan, math.nan, math.nan))
        return found


class Chapter:
    """A collective."""

    def __init__(self, documents, collective: str):
        self.collective, self.document = collective, documents[0]
        self.first, *others = [Run(document, collective) for document in documents]
        self.others = [run for run in others if run.rows]
        self.ratios = [self.first.ratio_to(run, run is others[0]) for run in self.others]

    def plot(self, what: str, y: Axis, caption: str, curves: list[Curve], level=None) -> Plot:
        return Plot(stem(self.collective, what), f"{self.collective}: {what}",
                    f"{ranks_on_nodes(self.document)}, {elements(self.document)}",
                    f"{caption} {shape(self.document)}; {text(self.document, 'machine')}.", Axis("vector", si_bytes), y, curves,
                    crossovers(self.first.bytes, self.first.plans), level)

    def plots_of_one(self) -> list[Plot]:
        """A curve per plan at the sizes where it ran; and the bandwidth."""
        names = [plan or self.first.library for plan in self.first.plans]
        plans = [self.first.times(name, lambda i, name=name: names[i] == name) for name, _ in Counter(names).most_common()]
        bandwidth = Curve("bus bandwidth", self.first.bytes, self.first.column("bus_gbps"))
        return [self.plot("time", TIME, f"Median time of a call against size, a curve per plan. {WHISKERS}",
                          plans + self.first.bounds()),
                self.plot("bandwidth", Axis("bus bandwidth, GB/s", plain, log=False),
                          "Bus bandwidth against size. 1 GB/s is 1e9 bytes per second.", [bandwidth])]

    def plots_of_several(self) -> list[Plot]:
        times = [run.times(run.library) for run in (self.first, *self.others)] + self.first.bounds()
        plots, curves = [self.plot("time", TIME, f"Median time of a call against size. {WHISKERS}", times)], []
        for run, ratios in zip(self.others, self.ratios):
            known = [r for r, _, _ in ratios if r > 0]
            if known:  # else there is no size in common
                name = f"to {run.library}: geometric mean {geometric_mean(known):.3f}"
                curves.append(Curve(name, self.first.bytes, *map(list, zip(*ratios))))
        if curves:
            plots.append(self.plot("ratio", Axis("ratio of times; below 1 the first is faster", plain),
                                   f"Time of {self.first.library} divided by the other's time. Whiskers are the least and the "
                                   "greatest ratio.", curves, 1))
        return plots

    def section(self) -> Section:
        drawn = len(self.first.rows) > 1
        return Section(self.collective, (self.plots_of_several() if self.others else self.plots_of_one()) if drawn else [], self)


def page(documents) -> Page:
    if len(documents) > MOST_RUNS:
        raise Refused(f"at most {MOST_RUNS} documents fit on a page")
    names = [text(document, "library") for document in documents]
    title = names[0] if len(names) == 1 else f"{names[0]} against {names[1]}{' and others' if len(names) > 2 else ''}"
    collectives = dict.fromkeys(row["collective"] for row in rows(documents[0], "rows"))
    return Page("bench.html", f"{title}: {ranks_on_nodes(documents[0])}", documents,
                [Chapter(documents, collective).section() for collective in collectives])
