# SPDX-License-Identifier: BSD-3-Clause
"""The page of what coll_bench measured: of one run, plan by plan, with bounds; of several runs side by side, with the ratio of the first
one's times to those of each other. A row of the first may bring its ratio to the second, and the ratio's spread, as coll_compare writes it."""
from __future__ import annotations

import math
from collections import Counter

from pages import (MISSING, Axis, Column, Curve, Page, Plot, Refused, Section, Table, crossovers, elements, fixed, geometric_mean, job_facts,
                   plain, ranks_on_nodes, real, rows, shape, si_bytes, si_time, stem, text, whole)

MOST_RUNS = 8
INTRODUCTION = ("Sizes are bytes of the whole vector or output. Dotted vertical lines are crossovers: there the library changes its plan. "
                "The lower bound is the largest of the known terms; coll_bench --help tells them, and the method.")
VECTOR = Axis("vector", si_bytes)


def refused(document) -> str | None:
    """Why this is no document of coll_bench."""
    if not isinstance(document, dict) or not isinstance(document.get("rows"), list) or not text(document, "library"):
        return "this is no JSON document of coll_bench, coll_tune or coll_plan"
    for row in document["rows"]:
        if not text(row, "collective") or not real(row, "bytes") >= 0:
            return 'a row has no "collective" or no "bytes"'
    return None


class Run:
    """One run's rows of one collective."""

    def __init__(self, document, collective: str):
        self.library = text(document, "library")
        self.rows = [row for row in rows(document, "rows") if row["collective"] == collective]
        self.bytes = self.column("bytes")
        self.bound = Curve("lower bound", self.bytes, [v if v > 0 else math.nan for v in self.column("bound_us")], bound=True)
        self.plans = [text(row, "plan") for row in self.rows]

    def column(self, key: str) -> list[float]:
        return [real(row, key) for row in self.rows]

    def bounds(self) -> list[Curve]:
        return [self.bound] if any(v > 0 for v in self.bound.y) else []

    def times(self, name: str, keep=lambda i: True) -> Curve:
        """Medians, with whiskers from the least to the 99th percentile."""
        kept = [[v if keep(i) else math.nan for i, v in enumerate(self.column(key))] for key in ("median_us", "min_us", "p99_us")]
        return Curve(name, self.bytes, *kept)

    def median_at(self, size: float) -> float:
        return next((real(row, "median_us") for row in self.rows if real(row, "bytes") == size), math.nan)

    def ratio_to(self, other: Run, is_second: bool) -> list[tuple[float, float, float]]:
        """At each size, with its least and greatest value where the row tells them."""
        found = []
        for row in self.rows:
            told, theirs = real(row, "ratio") if is_second else math.nan, other.median_at(real(row, "bytes"))
            if told > 0:
                found.append((told, real(row, "ratio_min"), real(row, "ratio_max")))
            else:
                found.append((real(row, "median_us") / theirs if theirs > 0 else math.nan, math.nan, math.nan))
        return found


class Chapter:
    """A collective."""

    def __init__(self, documents, collective: str):
        self.collective, self.first = collective, documents[0]
        self.runs = [Run(document, collective) for document in documents]
        self.crossovers = crossovers(self.runs[0].bytes, self.runs[0].plans)
        ratios = [self.runs[0].ratio_to(run, i == 0) for i, run in enumerate(self.runs[1:])]
        self.ratios = [list(zip(*of_run)) or [(), (), ()] for of_run in ratios]

    def plot(self, what: str, y: Axis, caption: str, curves: list[Curve], level=None) -> Plot:
        about = f"{ranks_on_nodes(self.first)}, {elements(self.first)}"
        where = f"{shape(self.first)}; {text(self.first, 'machine')}"
        return Plot(stem(self.collective, what), f"{self.collective}: {what}", about, f"{caption} {where}.", VECTOR, y, curves, self.crossovers,
                    level)

    def plot_plans(self) -> Plot:
        """A curve per plan, each where it was the one that ran."""
        run = self.runs[0]
        names = [plan or run.library for plan in run.plans]
        curves = [run.times(name, lambda i, name=name: names[i] == name) for name, _ in Counter(names).most_common()]
        return self.plot("time", Axis("median time of a call", si_time), "Median time of a call against size, a curve for each plan; whiskers "
                         "reach from the least time to the 99th percentile.", curves + run.bounds())

    def plot_bandwidth(self) -> Plot:
        curve = Curve("bus bandwidth", self.runs[0].bytes, self.runs[0].column("bus_gbps"))
        return self.plot("bandwidth", Axis("bus bandwidth, GB/s", plain, log=False), "Bus bandwidth against size, 1 GB/s is 1e9 bytes a second.",
                         [curve])

    def plot_libraries(self) -> Plot:
        curves = [run.times(run.library) for run in self.runs]
        return self.plot("time", Axis("median time of a call", si_time), "Median time of a call against size; whiskers reach from the least "
                         "time to the 99th percentile.", curves + self.runs[0].bounds())

    def plot_ratios(self) -> list[Plot]:
        curves = []
        for run, (ratio, low, high) in zip(self.runs[1:], self.ratios):
            known = [r for r in ratio if r > 0]
            if known:  # else there is no size in common
                name = f"to {run.library}: geometric mean {geometric_mean(known):.3f}"
                curves.append(Curve(name, self.runs[0].bytes, list(ratio), list(low), list(high)))
        caption = f"Time of {self.runs[0].library} divided by the other's, below 1 it is faster; whiskers are the least and the greatest ratio."
        return [self.plot("ratio", Axis("ratio of times; below 1 the first is faster", plain), caption, curves, 1)] if curves else []

    def table_of_one(self) -> Table:
        heads = ["bytes", "median µs", "p99 µs", "min µs", "GB/s", "bound µs", "% bound", "bound by", "calls", "repetitions"]
        keys = (("median_us", 3), ("p99_us", 3), ("min_us", 3), ("bus_gbps", 3), ("bound_us", 3), ("bound_percent", 1))
        has_plans = any(self.runs[0].plans)
        table = Table(heads + ["rounds", "sent/rank", "plan"] * has_plans, "rrrrrrrlrr" + "rrl" * has_plans, [])
        for row in self.runs[0].rows:
            cells = [f"{real(row, 'bytes'):.0f}", *(fixed(real(row, key), digits) for key, digits in keys), text(row, "bound_term"),
                     str(whole(row, "iterations")), str(whole(row, "repetitions"))]
            table.rows.append(cells + [str(whole(row, "rounds")), str(whole(row, "sent_bytes")), text(row, "plan")] * has_plans)
        return table

    def table_of_several(self) -> Table:
        first, others = self.runs[0], self.runs[1:]
        heads = ["bytes", f"{first.library}, µs"]
        for run in others:
            heads += [f"{run.library}, µs", "ratio", "spread"]
        table = Table(heads + ["plan of the first"], "rr" + "rrl" * len(others) + "l", [])
        for i, row in enumerate(first.rows):
            cells = [f"{real(row, 'bytes'):.0f}", fixed(real(row, "median_us"), 3)]
            for run, (ratio, low, high) in zip(others, self.ratios):
                spread = f"{low[i]:.3f} .. {high[i]:.3f}" if low[i] > 0 and high[i] > 0 else MISSING
                cells += [fixed(run.median_at(real(row, "bytes")), 3), fixed(ratio[i], 3), spread]
            table.rows.append(cells + [text(row, "plan")])
        return table

    def section(self) -> Section:
        one, drawn = len(self.runs) == 1, len(self.runs[0].rows) > 1
        plots = [self.plot_plans(), self.plot_bandwidth()] if one and drawn else [self.plot_libraries(), *self.plot_ratios()] if drawn else []
        return Section(self.collective, plots, self.table_of_one() if one else self.table_of_several())


def facts(document) -> list[tuple[str, str]]:
    """What the run was, and what is known for the bound."""
    hop, wire, rate, one_way = (real(document, key) for key in ("hop_ns", "wire_us", "wire_gbps", "wire_one_way_gbps"))
    alpha, given = real(document, "alpha_us"), real(document, "node_gbps")
    tcp = [f"{wire:.3g} µs"] * (wire > 0) + [f"{rate:.3g} GB/s each way with all nodes at once"] * (rate > 0)
    return [*job_facts(document),
            ("elements", elements(document) + ", results of the last calls of each repetition compared with a reference" * bool(document.get("check"))),
            ("for the bound", f"a hop between cores {hop:.0f} ns, reading what another wrote {real(document, 'dirty_gbps'):.1f} GB/s"
             if hop > 0 else ""),
            ("plain TCP between nodes", ", ".join(tcp + [f"{one_way:.3g} GB/s one way"] * (one_way > 0))),
            ("network bound", f"{alpha:.3g} µs, {given:.4g} GB/s per node, as given" if alpha > 0 or given > 0 else "")]


def column(document) -> Column:
    warning = "This run was still under way, or was broken off: what follows is what it had measured."
    return Column(text(document, "library"), warning if document.get("complete") is False else "", facts(document))


def page(documents) -> Page:
    if len(documents) > MOST_RUNS:
        raise Refused(f"at most {MOST_RUNS} documents fit on a page")
    names = [text(document, "library") for document in documents]
    title = names[0] if len(names) == 1 else f"{names[0]} against {names[1]}{' and others' if len(names) > 2 else ''}"
    collectives = dict.fromkeys(row["collective"] for row in rows(documents[0], "rows"))
    return Page(f"{title}: {ranks_on_nodes(documents[0])}", [column(document) for document in documents], INTRODUCTION,
                [Chapter(documents, collective).section() for collective in collectives])
