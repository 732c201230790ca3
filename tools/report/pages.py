# SPDX-License-Identifier: BSD-3-Clause
"""What a report is made of: a page, its sections and plots. Documents are read here, and values become text."""
from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

MISSING = "-"
MOST_IMPORTANT = 6  # curves of a plot that a reader tells apart


class Refused(Exception):
    """The command line or a document is wrong."""
    status = 2


# ---- values ----

def si_bytes(value: float) -> str:
    """8 B, 11.3 KiB, 1 MiB"""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value /= 1024
    else:
        unit = "TiB"
    return f"{value:.4g} {unit}" if value == math.floor(value) else f"{value:.3g} {unit}"


def si_time(us: float) -> str:
    """Microseconds as 200 ns, 1.5 µs, 12.3 ms"""
    value = us * 1e3
    for unit in ("ns", "µs", "ms"):
        if value < 999.5:
            break
        value /= 1e3
    else:
        unit = "s"
    return f"{value:.3g} {unit}"


def plain(value: float) -> str:
    return f"{value:.3g}"


def fixed(value, digits: int = 0) -> str:
    """For a table's cell: a dash stands for 0, and for a value that is missing."""
    value = number(value)
    return f"{value:.{digits}f}" if math.isfinite(value) and value > 0 else MISSING


def percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %" if math.isfinite(ratio) else MISSING


def interval(row) -> str:
    low, high = real(row, "ratio_low"), real(row, "ratio_high")
    return f"{percent(low)} .. {percent(high)}" if low > 0 and math.isfinite(high) else MISSING


def count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


# ---- documents: from files, so what is missing or of another kind is left out ----

def number(value) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def real(row, key: str) -> float:
    return number(row.get(key)) if isinstance(row, dict) else math.nan


def whole(row, key: str) -> int:
    value = real(row, key)
    return int(value) if math.isfinite(value) else 0


def text(row, key: str) -> str:
    value = row.get(key) if isinstance(row, dict) else None
    return value if isinstance(value, str) else ""


def rows(document, key: str) -> list[dict]:
    value = document.get(key) if isinstance(document, dict) else None
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def cleaned(value):
    """The same document without the control characters that neither HTML nor SVG may hold."""
    if isinstance(value, str):
        return re.sub("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]", "?", value)
    if isinstance(value, list):
        return [cleaned(v) for v in value]
    return {cleaned(k): cleaned(v) for k, v in value.items()} if isinstance(value, dict) else value


# ---- the page ----

@dataclass
class Axis:
    title: str
    tell: callable  # a value as text: si_bytes, si_time, plain
    log: bool = True

    def holds(self, value: float) -> bool:
        return math.isfinite(value) and (not self.log or value > 0)


@dataclass
class Curve:
    """A value for each x; NaN: none there. low and high, of each point, are a whisker. A bound is a thin dashed line."""
    name: str
    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None
    bound: bool = False


@dataclass
class Plot:
    """Curves, the most important first. A picture highlights those, at most six. A marker is a dotted vertical line at x, with a
    label."""
    stem: str  # its name among files
    title: str
    about: str  # on what machine, in what shape
    caption: str  # what was measured, in what units
    x: Axis
    y: Axis
    curves: list[Curve]
    markers: list[tuple[float, str]] = field(default_factory=list)
    level: float | None = None  # a dashed horizontal line
    important: int = MOST_IMPORTANT  # so many of the curves

    def points(self, curve: Curve) -> list[tuple[float, float, float, float]]:
        """x, y, low, high of what has a place on the axes."""
        low, high = curve.low or curve.y, curve.high or curve.y
        return [p for p in zip(curve.x, curve.y, low, high) if self.x.holds(p[0]) and self.y.holds(p[1])]


@dataclass
class Section:
    """A heading, plots, and what the template makes a table of."""
    title: str
    plots: list[Plot]
    data: object


@dataclass
class Page:
    template: str
    title: str
    documents: list[dict]
    sections: list[Section]

    def plots(self) -> list[Plot]:
        return [plot for section in self.sections for plot in section.plots]


def stem(*parts: str) -> str:
    return re.sub("[^a-z0-9_-]", "_", "-".join(p[:40] for p in parts))


# ---- what a job of coll_bench or coll_tune was ----

def shape(document) -> str:
    """4 ranks on 2 nodes (emulated), at most 2 per node"""
    emulated = " (emulated)" if whole(document, "nodes") > whole(document, "machines") else ""
    return f"{ranks_on_nodes(document)}{emulated}, at most {whole(document, 'max_ranks_per_node')} per node"


def ranks_on_nodes(document) -> str:
    return f"{count(whole(document, 'ranks'), 'rank')} on {count(whole(document, 'nodes'), 'node')}"


def elements(document) -> str:
    more = (("in_place", ", in place"), ("alloc", ", in memory of the library"))
    loop = f", {document['loop']} loop" if text(document, "loop") else ""
    return f"{text(document, 'dtype')}, {text(document, 'op')}{loop}" + "".join(words for key, words in more if document.get(key))


def crossovers(sizes: list[float], plans: list[str]) -> list[tuple[float, str]]:
    """Where the plan changes: half-way between two sizes, as they are drawn."""
    pairs = zip(sizes, sizes[1:], plans, plans[1:])
    found = [math.sqrt(a * b) for a, b, before, after in pairs if before and after and before != after and a > 0]
    return [(x, si_bytes(x)) for x in found]
