# SPDX-License-Identifier: BSD-3-Clause
"""The page of what coll_tune found: what was tried at each point, what won by how much, what was left out and why, where the time went."""
from __future__ import annotations

import math
from itertools import groupby

from pages import (MISSING, MOST_IMPORTANT, Axis, Column, Curve, Page, Plot, Section, Table, count, crossovers, elements, fixed, geometric_mean, job_facts, plain,
                   ranks_on_nodes, real, rows, shape, si_bytes, si_time, stem, text, whole)

VERSION = 1
VECTOR = Axis("vector", si_bytes)
POINT_HEADS = ["bytes", "default plan", "µs", "chosen plan", "µs", "gain", "time to the default's, 95 %", "rounds", "seconds", "raced", "left out"]
WAY_HEADS = ["plan", "predicted µs", "measured µs", "to the default", "95 %", "rounds", "what became of it"]


def refused(document) -> str | None:
    if document.get("hierax_tune") != VERSION or not isinstance(document.get("points"), list):
        return f"coll_report reads version {VERSION} of coll_tune's documents"
    if not all(text(point, "collective") and real(point, "bytes") >= 0 for point in document["points"]):
        return 'a point has no "collective" or no "bytes"'
    return None


def gain(point) -> float:
    us, default_us = real(point, "us"), real(point, "default_us")
    return default_us / us if us > 0 and default_us > 0 else math.nan


def percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %" if math.isfinite(ratio) else MISSING


def interval(row) -> str:
    low, high = real(row, "ratio_low"), real(row, "ratio_high")
    return f"{percent(low)} .. {percent(high)}" if low > 0 and math.isfinite(high) else MISSING


# ---- plots ----

def times_of(point) -> dict[str, tuple[float, float, float]]:
    """Of each plan that ran there: its time, and the interval of that."""
    found = {}
    for way in rows(point, "ways"):
        if way.get("raced"):
            us, ratio = real(way, "us"), real(way, "ratio")
            found[text(way, "plan")] = (us, us * real(way, "ratio_low") / ratio if ratio > 0 else math.nan,
                                        us * real(way, "ratio_high") / ratio if ratio > 0 else math.nan)
    found.setdefault(text(point, "default_plan"), (real(point, "default_us"), math.nan, math.nan))
    if text(point, "plan") not in found or whole(point, "slice_bytes"):
        found[text(point, "plan")] = (real(point, "us"), math.nan, math.nan)
    return found


def plans_ranked(points) -> tuple[list[str], int]:
    """Those chosen at most sizes first, then the defaults, then those that were the fastest at most sizes, then who else ran; and how many won anything."""
    chosen, defaults = ([text(point, key) for point in points] for key in ("plan", "default_plan"))
    times = [{name: us for name, (us, _, _) in times_of(point).items() if us > 0} for point in points]
    fastest = [min(of_point, key=of_point.get) for of_point in times if of_point]
    names = dict.fromkeys(chosen + defaults + [name for of_point in times for name in of_point])
    wins = {name: (chosen.count(name), defaults.count(name), fastest.count(name)) for name in names}
    return sorted(names, key=lambda name: wins[name], reverse=True), sum(any(won) for won in wins.values())


def plot_times(points, about: str, where: str, marks) -> Plot:
    sizes, times, missing = [real(point, "bytes") for point in points], [times_of(point) for point in points], (math.nan,) * 3
    names, important = plans_ranked(points)
    curves = [Curve(name, sizes, *map(list, zip(*(time.get(name, missing) for time in times)))) for name in names]
    bounds = [b if b > 0 else math.nan for b in (real(point, "bound_us") for point in points)]
    if any(b > 0 for b in bounds):
        curves.append(Curve("lower bound", sizes, bounds, bound=True))
    collective = text(points[0], "collective")
    return Plot(stem(collective, "time"), f"{collective}: time", about, "Median time of what was tried against size. In colour: plans that were chosen, "
                f"are the default or were the fastest somewhere; their whiskers hold the median ratio to the default with 95 %. {where}", VECTOR,
                Axis("median time of what was tried", si_time), curves, marks, important=min(important, MOST_IMPORTANT))


def plot_gains(points, about: str, where: str, marks) -> Plot:
    sizes, gains = [real(point, "bytes") for point in points], [gain(point) for point in points]
    sure = [real(point, "ratio_low") > 0 and not whole(point, "slice_bytes") for point in points]
    low, high = ([1 / real(point, key) if known else math.nan for point, known in zip(points, sure)] for key in ("ratio_high", "ratio_low"))
    collective = text(points[0], "collective")
    return Plot(stem(collective, "gain"), f"{collective}: gain", about, "How many times as fast as the default the chosen plan is, against size; "
                f"whiskers are the 95 % interval. {where}", VECTOR, Axis("times as fast as the default", plain, log=False),
                [Curve("chosen plan (whiskers: 95 %)", sizes, gains, low, high)], marks, 1)


# ---- tables ----

def point_row(point) -> list[str]:
    known = bool(point.get("known"))
    told = "from the table" if known else interval(point)
    work = [MISSING] * 4 if known else [str(whole(point, "rounds")), f"{real(point, 'seconds'):.1f}", str(whole(point, "raced")), str(whole(point, "left_out"))]
    return [str(whole(point, "bytes")), text(point, "default_plan"), fixed(real(point, "default_us"), 2),
            "the default" if point.get("is_default") else text(point, "choice"), fixed(real(point, "us"), 2), fixed(gain(point), 2), told, *work]


def way_row(way) -> list[str]:
    ran = whole(way, "rounds") > 0
    return [text(way, "plan"), fixed(real(way, "predicted_us"), 2), fixed(real(way, "us"), 2) if ran else MISSING,
            percent(real(way, "ratio")) if ran else MISSING, interval(way) if ran else MISSING, str(whole(way, "rounds")) if ran else MISSING,
            text(way, "fate")]


def story(point) -> tuple[str, Table]:
    ways = rows(point, "ways")
    raced = sum(bool(way.get("raced")) for way in ways)
    summary = (f"{si_bytes(real(point, 'bytes'))}: {raced} raced in {real(point, 'seconds'):.1f} s, {whole(point, 'pruned')} left out; "
               f"{whole(point, 'spoiled')} rounds dropped, which the hypervisor spoiled")
    return summary, Table(WAY_HEADS, "lrrrlrl", [way_row(way) for way in ways])


# ---- the page ----

def facts(document, points) -> list[tuple[str, str]]:
    changed = [gain(point) for point in points if not point.get("is_default") and gain(point) > 0]
    known = sum(bool(point.get("known")) for point in points)
    return [("found", f"another plan than the default's at {len(changed)} of {len(points)} points; there "
             f"{geometric_mean(changed) if changed else 1:.2f} times as fast as it (geometric mean)"),
            ("time", f"{real(document, 'elapsed_s'):.0f} s of a budget of {real(document, 'budget_s'):.0f} s; {len(points) - known} points measured, "
             f"{known} from the table, {whole(document, 'wanted') - len(points)} missing"),
            ("table", text(document, "table")), ("library", text(document, "library")), *job_facts(document), ("elements", elements(document))]


def section(document, points) -> Section:
    about = f"{ranks_on_nodes(document)}, {elements(document)}"
    where = f"{shape(document)}; {text(document, 'machine')}."
    marks = crossovers([real(point, "bytes") for point in points], [text(point, "plan") for point in points])
    plots = [plot_times(points, about, where, marks), plot_gains(points, about, where, marks)] if len(points) > 1 else []
    return Section(text(points[0], "collective"), plots, Table(POINT_HEADS, "rlrlrrlrrrr", [point_row(point) for point in points]),
                   [story(point) for point in points if not point.get("known")])


def page(documents) -> Page:
    document = documents[0]
    points = rows(document, "points")
    warning = ("" if document.get("complete") else f"{len(points)} of {count(whole(document, 'wanted'), 'point')} are there: the run was still under "
               "way, was broken off, or had no time left. --resume goes on.")
    introduction = ("Gain: times as fast as the default, the cost model's choice. A plan is chosen only where it was shown to be faster than the default "
                    f"by more than the least gain, {real(document, 'least_gain') * 100:.0f} %, twice, or once where it is kept from the size before; "
                    "intervals hold the median ratio with 95 %. Dotted vertical lines are crossovers. The lower bound has no term of memory here. "
                    "coll_tune --help tells the method.")
    return Page(f"coll_tune: {ranks_on_nodes(document)}", [Column("", warning, facts(document, points))], introduction,
                [section(document, list(of_one)) for _, of_one in groupby(points, key=lambda point: text(point, "collective"))])
