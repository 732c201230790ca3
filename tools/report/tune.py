# SPDX-License-Identifier: BSD-3-Clause
"""What coll_tune found: what it tried at each point, what won and by how much, and what it left out and why."""
from __future__ import annotations

import math
from itertools import groupby

from pages import (MOST_IMPORTANT, Axis, Curve, Page, Plot, Section, crossovers, elements, plain, ranks_on_nodes, real, rows, shape,
                   si_bytes, si_time, stem, text, whole)

VERSION = 1


def refused(document) -> str | None:
    if document.get("hierax_tune") != VERSION or not isinstance(document.get("points"), list):
        return f"coll_report reads version {VERSION} of coll_tune's documents"
    if not all(text(point, "collective") and real(point, "bytes") >= 0 for point in document["points"]):
        return 'a point has no "collective" or no "bytes"'
    return None


def gain(point) -> float:
    us, default_us = real(point, "us"), real(point, "default_us")
    return default_us / us if us > 0 and default_us > 0 else math.nan


def times_of(point) -> dict[str, tuple[float, float, float]]:
    """The time of each plan that ran there, and the interval of that time."""
    found = {}
    for way in rows(point, "ways"):
        if way.get("raced"):
            us, ratio = real(way, "us"), real(way, "ratio")
            scale = us / ratio if ratio > 0 else math.nan
            found[text(way, "plan")] = (us, scale * real(way, "ratio_low"), scale * real(way, "ratio_high"))
    found.setdefault(text(point, "default_plan"), (real(point, "default_us"), math.nan, math.nan))
    if text(point, "plan") not in found or whole(point, "slice_bytes"):
        found[text(point, "plan")] = (real(point, "us"), math.nan, math.nan)
    return found


def plans_ranked(points) -> tuple[list[str], int]:
    """The plans that were chosen most often first, then the defaults, then the fastest, then the rest; and how many won."""
    chosen, defaults = ([text(point, key) for point in points] for key in ("plan", "default_plan"))
    times = [{name: us for name, (us, _, _) in times_of(point).items() if us > 0} for point in points]
    fastest = [min(of_point, key=of_point.get) for of_point in times if of_point]
    names = dict.fromkeys(chosen + defaults + [name for of_point in times for name in of_point])
    wins = {name: (chosen.count(name), defaults.count(name), fastest.count(name)) for name in names}
    return sorted(names, key=lambda name: wins[name], reverse=True), sum(any(won) for won in wins.values())


def curves_of_times(points, sizes, names) -> list[Curve]:
    times, missing = [times_of(point) for point in points], (math.nan,) * 3
    curves = [Curve(name, sizes, *map(list, zip(*(time.get(name, missing) for time in times)))) for name in names]
    bounds = [b if b > 0 else math.nan for b in (real(point, "bound_us") for point in points)]
    return curves + [Curve("lower bound", sizes, bounds, bound=True)] * any(b > 0 for b in bounds)


def curve_of_gains(points, sizes) -> Curve:
    sure = [real(point, "ratio_low") > 0 and not whole(point, "slice_bytes") for point in points]
    low, high = ([1 / real(point, key) if known else math.nan for point, known in zip(points, sure)]
                 for key in ("ratio_high", "ratio_low"))
    return Curve("chosen plan (whiskers: 95 %)", sizes, [gain(point) for point in points], low, high)


def plots(document, points) -> list[Plot]:
    collective, sizes = text(points[0], "collective"), [real(point, "bytes") for point in points]
    about, where = f"{ranks_on_nodes(document)}, {elements(document)}", f"{shape(document)}; {text(document, 'machine')}."
    marks, vector = crossovers(sizes, [text(point, "plan") for point in points]), Axis("vector", si_bytes)
    names, important = plans_ranked(points)
    times = Plot(stem(collective, "time"), f"{collective}: time", about,
                 "Median time of each plan against size. Plans in colour were chosen, are the default or were the fastest "
                 f"somewhere. Whiskers hold the median ratio to the default with 95 %. {where}", vector,
                 Axis("median time of what was tried", si_time), curves_of_times(points, sizes, names), marks,
                 important=min(important, MOST_IMPORTANT))
    gains = Plot(stem(collective, "gain"), f"{collective}: gain", about,
                 f"Time of the default divided by that of the chosen plan. Whiskers are the 95 % interval. {where}", vector,
                 Axis("times as fast as the default", plain, log=False), [curve_of_gains(points, sizes)], marks, 1)
    return [times, gains]


def page(documents) -> Page:
    sections = []
    for collective, found in groupby(rows(documents[0], "points"), key=lambda point: text(point, "collective")):
        points = list(found)
        sections.append(Section(collective, plots(documents[0], points) if len(points) > 1 else [], points))
    return Page("tune.html", f"coll_tune: {ranks_on_nodes(documents[0])}", documents, sections)
