# SPDX-License-Identifier: BSD-3-Clause
"""Write the pages: one self-contained HTML file each."""

from __future__ import annotations

import json
import os
import subprocess

from . import catalogue
from .catalogue import Algorithm, Refused

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pages")
D3 = "/usr/share/nodejs"
PLAYER_PARTS = ("dispatch", "selection", "timer", "color", "interpolate", "ease", "transition")  # of D3, in this order
PLOT_PARTS = ("array", "collection", "format", "time", "time-format", "scale", "axis", "path", "shape")
DEBIAN = "node-d3-transition node-d3-scale node-d3-axis node-d3-shape"


def d3(*parts: str) -> str:
    """These modules of D3, as Debian installs them."""
    texts = []
    for part in parts:
        path = os.path.join(D3, f"d3-{part}", "dist", f"d3-{part}.min.js")
        if not os.path.exists(path):
            raise Refused(f"{path} is missing: install {DEBIAN} (Debian's names)")
        with open(path, encoding="utf-8") as file:
            texts.append(file.read().strip())
    return "\n".join(texts)


def part(name: str) -> str:
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def compact(value) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")


class Writer:
    def __init__(self, folder: str, version: str):
        try:
            import jinja2
            import markupsafe
        except ImportError:
            raise Refused("install python3-jinja2 (Debian's name)") from None
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.env = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined)
        self.safe = markupsafe.Markup
        self.version, self.style = version, self.safe(part("style.css"))
        self.player = [self.safe(text) for text in (d3(*PLAYER_PARTS), *map(part, ("plan.js", "picture.js", "player.js")))]
        self.plot = [self.safe(d3("color", "interpolate", "selection", *PLOT_PARTS)), self.safe(part("plot.js"))]

    def page(self, name: str, template: str, title: str, code: str, scripts=(), data=None, **words) -> None:
        more = {} if data is None else {"data": self.safe(compact(data))}
        text = self.env.get_template(template).render(
            title=title,
            version=self.version,
            style=self.style,
            scripts=scripts,
            code=self.safe(part(code) if code else ""),
            **more,
            **words,
        )
        path = os.path.join(self.folder, name)
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(path + ".part", path)


# ---- the pages


def algorithm_page(w: Writer, one: Algorithm, every: list[Algorithm]) -> None:
    others = [other for other in every if other.collective == one.collective and other is not one]
    w.page(
        one.page,
        "algorithm.html",
        f"{one.name} {one.collective}",
        "algorithm.js",
        w.player,
        {"flat": one.flat, "shapes": one.shapes},
        algorithm=one,
        others=others,
    )


def scorecard_rows(every: list[Algorithm]) -> list[dict]:
    return [
        {
            "collective": one.collective,
            "name": one.name,
            "page": one.page,
            "scores": {len(plan["nodes"]): plan["score"] for plan in one.flat},
        }
        for one in every
    ]


def scorecard_page(w: Writer, every: list[Algorithm]) -> None:
    w.page("scorecard.html", "scorecard.html", "Scorecard", "scorecard.js", (), scorecard_rows(every))


def race_page(w: Writer, every: list[Algorithm]) -> None:
    rows = [
        row
        for row in scorecard_rows(every)
        if row["collective"] == "allreduce" and any(s["between"]["rounds"] for s in row["scores"].values())
    ]
    if rows:
        w.page("ring-tree.html", "ring-tree.html", "Ring or tree", "ring-tree.js", w.plot, rows)


def measured_page(w: Writer, points: dict) -> None:
    w.page("measured.html", "measured.html", "Measured", "measured.js", w.plot, points, points=points)


def tour_page(w: Writer, every: list[Algorithm]) -> None:
    steps, found = json.loads(part("tour.json")), {(one.collective, one.name): one for one in every}
    for step in steps:
        one = found.get((step["collective"], step["algorithm"]))
        plans = [plan for plan in one.flat + one.shapes if plan["shape"] == step["shape"]] if one else []
        if not plans:
            raise Refused(f"tour.json: {step['collective']} {step['algorithm']} has no plan for the shape {step['shape']}")
        step.update(plan=plans[0], page=one.page)
    w.page("tour.html", "tour.html", "Tour", "tour.js", w.player, steps)


def points_read(path: str) -> dict:
    with open(path, encoding="utf-8") as file:
        try:
            points = json.load(file)
        except ValueError as e:
            raise Refused(f"--points={path}: not JSON: {e}") from None
    if not isinstance(points, dict) or points.get("hierax_measured") != 1:
        raise Refused(f"--points={path}: not a document of hierax.learn measure")
    return points


def write(a) -> None:
    points = points_read(a.points or os.path.join(HERE, "measured.json"))
    coll_plan = catalogue.tool_find("coll_plan", a.coll_plan)
    version = subprocess.run([coll_plan, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    if not 2 <= a.ranks <= 64:
        raise Refused(f"--ranks={a.ranks}: expected a whole number from 2 to 64")
    w = Writer(a.output, version)
    every = catalogue.read(coll_plan, a.ranks, words=a.only)
    for one in every:
        algorithm_page(w, one, every)
    scorecard_page(w, every)
    race_page(w, every)
    measured_page(w, points)
    if not a.only:
        tour_page(w, every if a.ranks >= catalogue.RANKS else catalogue.read(coll_plan))  # its steps say their ranks
    collectives = list(dict.fromkeys(one.collective for one in every))
    w.page("index.html", "index.html", "Collectives, step by step", "", every=every, collectives=collectives)
    print(f"hierax.learn: {len(os.listdir(a.output))} pages in {a.output}")
