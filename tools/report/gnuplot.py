# SPDX-License-Identifier: BSD-3-Clause
"""The plots of a page for gnuplot. PREFIX.dat has a block of values per curve, PREFIX.gp a page per plot. Times are microseconds in
the values. They are seconds in the script, so that gnuplot can give them a unit."""
from __future__ import annotations

import math

from pages import Axis, Curve, Page, Plot, si_bytes, si_time

COLOURS = ["#0072b2", "#d55e00", "#008a66", "#aa3377", "#8f6a00", "#7f5f3f"]
DATA_HEAD = """# {title}
# A block per curve, as the script beside numbers them: x (bytes), y (microseconds, or as the plot says), lowest, highest.
"""
SCRIPT_HEAD = """# {title}
# gnuplot {script} writes a page per plot; for the screen leave out the next two lines, and start it with -p.
set terminal pdfcairo size 6,4
set output {pdf}
values = {data}
set tmargin 4
set grid
set key outside below noenhanced
set bars small
"""


def quoted(text: str) -> str:
    """Between single quotes a quote is doubled."""
    return "'" + text.replace("'", "''") + "'"


def number(value: float) -> str:
    return f" {value:.6g}" if math.isfinite(value) else " NaN"


def axis(name: str, a: Axis) -> str:
    scale = f"set logscale {name} {2 if a.tell is si_bytes else 10}" if a.log else f"unset logscale {name}"
    form = "%.0b %BB" if a.tell is si_bytes else "%.0s %cs" if a.tell is si_time else "%g"
    return f"{scale}\nset format {name} '{form}'\nset {name}label {quoted(a.title)} noenhanced\n"


def markers(plot: Plot, unit: float) -> str:
    lines = ["unset arrow", "unset label"]
    for i, (x, label) in enumerate(plot.markers):
        lines += [f"set arrow from {x:.6g}, graph 0 to {x:.6g}, graph 1 nohead dashtype 3",
                  f"set label {quoted(label)} at {x:.6g}, graph {1.07 if i % 2 else 1.03} center noenhanced"]
    if plot.level is not None:
        level = f"first {plot.level * unit:.6g}"
        lines.append(f"set arrow from graph 0, {level} to graph 1, {level} nohead dashtype 2")
    return "\n".join(lines) + "\n"


def curve_lines(curve: Curve, index: int, unit: float, n: int) -> list[str]:
    """Its whiskers, then the curve."""
    rgb, at = COLOURS[n % len(COLOURS)], f"values index {index} using 1:($2*{unit:g})"
    if curve.bound:
        return [f"{at} with lines dashtype 2 linecolor 'black' title {quoted(curve.name)}"]
    whiskers = f"{at}:($3*{unit:g}):($4*{unit:g}) with yerrorbars pointtype 0 linecolor '{rgb}' notitle"
    points = f"{at} with linespoints pointtype {5 + n % 5 * 2} linecolor '{rgb}' title {quoted(curve.name)}"
    return [whiskers] * bool(curve.low) + [points]


def files(page: Page, prefix: str) -> dict[str, str]:
    """The text of each file."""
    data, script = [DATA_HEAD.format(title=page.title)], [SCRIPT_HEAD.format(
        title=page.title, script=prefix + ".gp", pdf=quoted(prefix + ".pdf"), data=quoted(prefix + ".dat"))]
    blocks = 0
    for plot in page.plots():
        unit, lines = 1e-6 if plot.y.tell is si_time else 1, []
        for n, curve in enumerate(c for c in plot.curves if c.x):  # gnuplot does not count a block of nothing
            data.append(f"\n\n# {blocks}: {curve.name}\n")
            points = zip(curve.x, curve.y, curve.low or curve.y, curve.high or curve.y)
            data += ["".join(map(number, point)) + "\n" for point in points]
            lines += curve_lines(curve, blocks, unit, n)
            blocks += 1
        if lines:
            script += [f"\nset title {quoted(plot.title)} noenhanced{' offset 0, 1.2' if plot.markers else ''}\n", axis("x", plot.x),
                       axis("y", plot.y), markers(plot, unit), "\nplot " + ", \\\n    ".join(lines) + "\n"]
    return {".dat": "".join(data), ".gp": "".join(script)}
