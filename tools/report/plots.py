# SPDX-License-Identifier: BSD-3-Clause
"""A plot as SVG, by matplotlib. It is readable at the width of a phone, in light and in dark: the colours are those of a light page,
and STYLE gives each its dark twin. A point shows its numbers under the mouse."""
from __future__ import annotations

import html
import math
import re
import warnings
from io import StringIO

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from pages import Axis, Curve, Plot, si_bytes

COLOURS = [("#0072b2", "#4aa8e8"), ("#d55e00", "#ff8a3d"), ("#008a66", "#2fc79b"), ("#aa3377", "#e68fc0"), ("#8f6a00", "#f0c040"),
           ("#7f5f3f", "#c9a27a")]
INK, SOFT, GRID = ("#222222", "#e6e6e6"), ("#5a5f66", "#a9afb6"), ("#dcdfe3", "#33383f")
OTHER, PAPER = ("#b3b8be", "#5c636b"), ("#fefefe", "#16181c")
STYLE = "@media (prefers-color-scheme:dark){%s}" % "".join(
    f'svg [style*="{what}: {light}"]{{{what}:{dark}!important}}' for light, dark in [*COLOURS, INK, SOFT, GRID, OTHER, PAPER]
    for what in ("fill", "stroke"))
SYMBOLS = "os^Dv<"
WIDTH, HEIGHT, LEFT, RIGHT, FOOT, LINE = 400, 210, 56, 16, 38, 16  # pixels; the height is that between the axes
TEXT_MOST = 54  # characters of a line

matplotlib.rcParams.update({"svg.fonttype": "none", "text.parse_math": False, "font.family": "sans-serif", "font.size": 11,
                            "axes.linewidth": 0.8, "text.color": INK[0], "xtick.color": INK[0], "ytick.color": INK[0],
                            "path.simplify": False})
warnings.filterwarnings("ignore")  # a font that lacks a sign: the browser has its own


def shortened(text: str, most: int = TEXT_MOST) -> str:
    return text if len(text) <= most else text[:most - 1] + "…"


# ---- ticks ----

def ticks(axis: Axis, low: float, high: float) -> list[float]:
    """At most nine round values."""
    if not axis.log or (axis.tell is not si_bytes and high / low < 3):
        return [t for t in MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(low, high) if low <= t <= high]
    base = 2 if axis.tell is si_bytes else 10
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    if base == 10 and last - first < 2:
        values = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
        return [v for v in values if low <= v <= high]
    return [float(base)**k for k in range(first, last + 1, max(1, math.ceil((last - first) / 8)))]


def limits(axis: Axis, values: list[float], margin: float) -> tuple[float, float]:
    """Around all values, so that nothing is drawn outside."""
    low, high = min(values, default=1), max(values, default=1)
    if axis.log:
        room = (high / low)**margin if high > low * 1.2 else 2
        return low / room, high * room
    room = (high - low) * margin or abs(high) / 2 or 1
    return (0 if 0 <= low < high / 2 else low - room), high + room


# ---- the parts ----

def axes_make(figure: Figure, plot: Plot, box: list[float], whiskers: list[Curve]):
    axes = figure.add_axes(box)
    points = [p for curve in plot.curves for p in plot.points(curve)]
    values = [p[1] for p in points] + [v for curve in whiskers for p in plot.points(curve) for v in p[2:] if plot.y.holds(v)]
    values += [plot.level] * (plot.level is not None)
    for axis, name, around, margin in ((plot.x, "x", [p[0] for p in points], 0.03), (plot.y, "y", values, 0.06)):
        low_high = limits(axis, around, margin)
        getattr(axes, f"set_{name}scale")("log" if axis.log else "linear")
        getattr(axes, f"set_{name}lim")(*low_high)
        part = getattr(axes, f"{name}axis")
        part.set_major_locator(FixedLocator(ticks(axis, *low_high)))
        part.set_minor_locator(NullLocator())
        part.set_major_formatter(FuncFormatter(lambda value, _, axis=axis: axis.tell(value)))
    axes.grid(color=GRID[0], linewidth=0.8)
    axes.tick_params(length=0, pad=5)
    axes.set_axisbelow(True)
    axes.patch.set_visible(False)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(side == "bottom")
        axes.spines[side].set_color(SOFT[0])
    return axes


def curve_draw(axes, plot: Plot, curve: Curve, gid: str, look: dict) -> Line2D:
    """The line with gaps where there is no point, and above it the points."""
    x = [x for x, y in zip(curve.x, curve.y) if plot.x.holds(x)]
    y = [y if plot.y.holds(y) else math.nan for x, y in zip(curve.x, curve.y) if plot.x.holds(x)]
    return axes.plot(x, y, gid=gid, **look)[0]


def whiskers_draw(axes, plot: Plot, curve: Curve, look: dict) -> None:
    spread = [p for p in plot.points(curve) if plot.y.holds(p[2]) and plot.y.holds(p[3])]
    x, y = [v for p in spread for v in (p[0], p[0], math.nan)], [v for p in spread for v in (*p[2:], math.nan)]
    axes.plot(x, y, color=look["color"], linewidth=1.1, zorder=look["zorder"])


def looks(curves: list[Curve], important: int) -> list[dict]:
    """Important curves have colours and symbols of their own; the others are grey, below them; a bound is dashed."""
    found, n = [], 0
    for curve in curves:
        if curve.bound:
            found.append({"color": INK[0], "linestyle": (0, (5, 3)), "linewidth": 1.3, "zorder": 2.2})
        elif n < important:
            found.append({"color": COLOURS[n][0], "marker": SYMBOLS[n], "markersize": 5.2, "linewidth": 1.7,
                          "zorder": 2.9 - n / 100})
            n += 1
        else:
            found.append({"color": OTHER[0], "marker": ".", "markersize": 4, "linewidth": 1, "zorder": 2.1})
    return found


def markers_draw(axes, plot: Plot, per_character: float) -> None:
    """Dotted lines, with labels above them in two rows; a label that has no room is left out."""
    ends = [0.0, 0.0]
    for x, label in plot.markers:
        if not plot.x.holds(x) or not axes.get_xlim()[0] <= x <= axes.get_xlim()[1]:
            continue
        axes.axvline(x, color=SOFT[0], linestyle=(0, (1, 2)), linewidth=1.2, zorder=2.3)
        at, half = axes.transAxes.inverted().transform(axes.transData.transform((x, 1)))[0], len(label) * per_character / 2
        at = min(max(at, half), 1 - half)
        row = next((row for row in (0, 1) if ends[row] <= at - half), None)
        if row is not None:
            ends[row] = at + half + per_character
            axes.annotate(label, (at, 1), (0, 3 + row * (LINE - 3)), xycoords="axes fraction", textcoords="offset points",
                          ha="center", fontsize=10, color=SOFT[0])


def legend_entries(curves: list[Curve], lines: list[Line2D]) -> list[tuple[str, Line2D]]:
    """A line for each highlighted curve and bound, and one for all the others."""
    others = [line for line in lines if line.get_color() == OTHER[0]]
    named = [(shortened(curve.name.lstrip("_"), TEXT_MOST - 4), line) for curve, line in zip(curves, lines) if line not in others]
    return named + [(f"{len(others)} more, in grey: point at one for its name", line) for line in others[:1]]


def legend_rows(names: list[str]) -> list[int]:
    """How many columns, and so many rows."""
    columns = 2 if len(names) > 1 and max(map(len, names)) <= TEXT_MOST // 2 - 6 else 1
    return [columns, math.ceil(len(names) / columns)]


# ---- the whole ----

def tooltips(svg: str, plot: Plot) -> str:
    """Each point as matplotlib has drawn it, a use of its symbol, gets a title."""
    parts = re.split('(?=<g id="curve[0-9]+">)', svg)
    for i, part in enumerate(parts[1:], 1):
        curve = plot.curves[int(re.match('<g id="curve([0-9]+)', part)[1])]
        points = [f"{html.escape(curve.name)}: {plot.x.tell(x)}, {plot.y.tell(y)}" for x, y, _, _ in plot.points(curve)]
        if points and not curve.bound:
            parts[i] = re.sub("(<use [^>]*)/>", lambda use, at=iter(points): f"{use[1]}><title>{next(at)}</title></use>", part,
                              count=len(points))
    return "".join(parts)


def draw(plot: Plot, standalone: bool = False) -> str:
    """An svg element; standalone: a file, which has its own ground and style."""
    curves = sorted(plot.curves, key=lambda curve: curve.bound)  # bounds last in the legend
    order = looks(curves, plot.important)
    names = [name for name, _ in legend_entries(curves, [Line2D([], [], color=look["color"]) for look in order])]
    columns, legend_lines = legend_rows(names) if names else (1, 0)
    head = 50 + min(len(plot.markers), 2) * (LINE - 3) + 4
    foot = FOOT + legend_lines * LINE + 8
    tall = head + HEIGHT + foot
    figure = Figure(figsize=(WIDTH / 72, tall / 72), dpi=72, facecolor=PAPER[0])
    FigureCanvasSVG(figure)
    figure.patch.set_visible(standalone)
    wide = WIDTH - LEFT - RIGHT
    whiskers = {i: curve for i, curve in enumerate(curves[:plot.important]) if curve.low}
    axes = axes_make(figure, plot, [LEFT / WIDTH, foot / tall, wide / WIDTH, HEIGHT / tall], list(whiskers.values()))
    for i, curve in whiskers.items():
        whiskers_draw(axes, plot, curve, order[i])
    lines = [curve_draw(axes, plot, curve, f"curve{plot.curves.index(curve)}", look) for curve, look in zip(curves, order)]
    if plot.level is not None:
        axes.axhline(plot.level, color=INK[0], linestyle=(0, (4, 3)), linewidth=1.1, zorder=2)
    markers_draw(axes, plot, 6.2 / wide)
    for words, y, size, weight, colour in ((plot.title, 14, 13, "bold", INK), (plot.about, 29, 10, "normal", SOFT),
                                           (plot.y.title, 46, 11, "normal", INK)):
        figure.text(2 / WIDTH, 1 - y / tall, shortened(words), fontsize=size, fontweight=weight, color=colour[0])
    figure.text((WIDTH - RIGHT) / WIDTH, (foot - 33) / tall, plot.x.title, ha="right")
    if names:
        figure.legend([line for _, line in legend_entries(curves, lines)], names, loc="lower left", bbox_to_anchor=(0, 0),
                      ncol=columns, frameon=False, fontsize=11, borderpad=0.3, labelspacing=0.35, handlelength=2.2, columnspacing=1.5,
                      borderaxespad=0)
    return svg_of(figure, plot, standalone)


def svg_of(figure: Figure, plot: Plot, standalone: bool) -> str:
    out = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": plot.stem}):  # the same names in each run, and others in each plot of a page
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")), transparent=not standalone)
    svg = out.getvalue()
    svg = tooltips(svg[svg.index("<svg"):], plot)
    svg = re.sub(' id="(figure|axes|patch|line2d|text|legend|matplotlib|xtick|ytick|LineCollection|curve)[._0-9a-z]*"', "", svg)
    style = f"<style>{STYLE}</style>" if standalone else ""
    end = svg.index(">")
    return f'{svg[:end]} role="img" aria-label="{html.escape(plot.title)}">{style}{svg[end + 1:]}'
