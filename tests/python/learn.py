#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""coll_plan steps, and the pages that teach, in a headless Chromium.

Every round of a page shows the cells that a second interpreter finds in the plan.

All pages are made. Each kind of page is opened at 400 and 1400 pixels, and stepped by real keys and clicks. It must not complain,
ask the network or be wider than the window. The pages of some algorithms are opened; with the argument "all", every one (`tools/check
pages`). First, pages that are broken on purpose must be found.
Usage: learn.py [all]"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402
import learn_pages as look  # noqa: E402
from learn_faults import broken_check  # noqa: E402
from learn_pages import POINTS, RANKS, SHAPES, demand  # noqa: E402
from plan_reader import Reader  # noqa: E402

TOP = os.environ.get("top_srcdir") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("top_builddir", os.path.join(TOP, "build"))
COLL_PLAN = os.path.join(BUILD, "tools", "coll_plan")
LEARN = os.path.join(TOP, "bindings", "python", "hierax", "learn")
WIDTHS = (400, 1400)
SAMPLE = (  # collective, algorithm, shape: each way to move data, each way to fold it
    ("allreduce", "ring", "5x1"),
    ("allreduce", "recursive_doubling", "16x1"),
    ("allreduce", "last_arriver", "4"),
    ("allreduce", "ring", "3,1,2"),
    ("reduce_scatter_block", "single_copy", "6"),
    ("allgather", "kbruck4", "7x1"),
    ("bcast", "double_tree", "8x1"),
    ("reduce", "nary_levels", "6/2"),
    ("barrier", "tree", "6x1"),
    ("barrier", "nary", "4"),
    ("gather", "binomial", "7x1"),
    ("scatter", "flat", "4,4"),
    ("scan", "nary", "5"),
    ("exscan", "exclusive_dissemination", "9x1"),
    ("alltoall", "bruck", "6x1"),
    ("alltoallv", "pairwise", "4,4"),
)


# ---- all of it


def lines_read(*words):
    done = subprocess.run([COLL_PLAN, "steps", *words], stdout=subprocess.PIPE, text=True, check=True)
    return {(plan["collective"], plan["algorithm"], plan["shape"]): plan for plan in map(json.loads, done.stdout.splitlines())}


def skip(text):
    print(f"skipped: {text} (tools/setup tests)")
    sys.exit(77)


def plans_check(plans):
    """coll_plan steps tells the whole plan: what follows it gets the right result."""
    for plan in plans:
        wrong = Reader(plan).wrong()
        demand(wrong is None, f"coll_plan steps: {plan['collective']} {plan['algorithm']} on {plan['shape']}: {wrong}")


def pages_make(folder):
    points = os.path.join(folder, "points.json")
    with open(points, "w", encoding="utf-8") as file:
        json.dump(POINTS, file)
    site = os.path.join(folder, "site")
    python = next(
        (
            python
            for python in (sys.executable, "/usr/bin/python3")
            if subprocess.run([python, "-c", "import jinja2"], stderr=subprocess.DEVNULL, check=False).returncode == 0
        ),
        None,
    )
    if not python:
        skip("no python3-jinja2")
    done = subprocess.run(
        [python, "-B", LEARN, "-o", site, "--coll-plan", COLL_PLAN, "--points", points],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if "install node-d3" in done.stderr:
        skip(done.stderr.strip())
    demand(done.returncode == 0, f"hierax.learn: exit {done.returncode}: {done.stderr}")
    return site


def small_check(folder):
    """With fewer ranks than the tour has there is a tour all the same."""
    site = os.path.join(folder, "small")
    words = [sys.executable, "-B", LEARN, "-o", site, "--coll-plan", COLL_PLAN, "--ranks", "2"]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    demand(done.returncode == 0 and os.path.exists(os.path.join(site, "tour.html")), f"--ranks 2: {done.stderr}")


def package_check():
    """Debian's package suggests what the pages are made with."""
    control = open(os.path.join(TOP, "tools", "packaging", "debian", "control"), encoding="utf-8").read()
    suggested = re.search(r"^Package: python3-hierax\n(?:.+\n)*?Suggests: (.*)", control, re.M)[1].split(", ")
    source = open(os.path.join(TOP, "bindings", "python", "hierax", "learn", "site.py"), encoding="utf-8").read()
    for package in [*re.search(r'^DEBIAN = "(.*)"', source, re.M)[1].split(), "python3-jinja2"]:
        demand(package in suggested, f"tools/packaging/debian/control: python3-hierax does not suggest {package}")


def refused_check():
    for words, text in (
        (["--points", "/no/such/file"], "No such file"),
        (["--ranks", "1"], "--ranks=1: expected a whole number from 2 to 64"),
        (["--coll-plan", "/no/such/program"], "/no/such/program: no such program"),
        (["--only", "allredcue"], "allredcue"),
    ):
        words = [
            sys.executable,
            "-B",
            LEARN,
            "-o",
            os.path.join(tempfile.gettempdir(), "never-written"),
            "--coll-plan",
            COLL_PLAN,
            *words,
        ]
        done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
        demand(
            done.returncode == 2 and text in done.stderr or "python3-jinja2" in done.stderr,
            f"{words[3:]}: exit {done.returncode}, {done.stderr}",
        )


def every_animation(lines):
    """Every algorithm and shape, with few ranks, an odd number, and many: those that are likely to be too wide, on a phone."""
    widths = {2: (1400,), 7: WIDTHS, RANKS: (400,)}
    for key, plan in lines.items():
        for width in WIDTHS if "," in key[2] else widths.get(len(plan["ranks"]), ()):
            yield key, width


def main():
    every = sys.argv[1:] == ["all"]
    lines = {**lines_read("--max-ranks", str(RANKS)), **lines_read(*[word for shape in SHAPES for word in ("--shape", shape)])}
    plans_check([plan for plan in lines.values() if every or len(plan["ranks"]) <= 5 or "," in plan["shape"]])
    package_check()
    if not shutil.which("chromium"):
        skip("no chromium")
    with tempfile.TemporaryDirectory() as folder:
        site = pages_make(folder)
        refused_check()
        small_check(folder)
        pages = {f"{collective}-{algorithm}.html" for collective, algorithm, _ in lines} | {
            "index.html",
            "tour.html",
            "scorecard.html",
            "ring-tree.html",
            "measured.html",
        }
        demand(set(os.listdir(site)) == pages, f"pages: {set(os.listdir(site)) ^ pages}")
        for page in pages:
            text = open(os.path.join(site, page), encoding="utf-8").read()
            demand(not re.search(r'(src|href)="?(https?:|//|file:)|@import|url\([^#]', text), f"{page} is not self-contained")
        browser = Browser()
        try:
            broken_check(browser, site, lines)
            look.controls_check(browser, site, lines["allreduce", "rdh", "8x1"])
            look.cube_check(browser, site)
            for width in WIDTHS:
                look.index_check(browser, site, width, pages)
                look.tour_check(browser, site, width, lines)
                look.scorecard_check(browser, site, width, lines)
                look.race_check(browser, site, width)
                look.measured_check(browser, site, width)
            chosen = every_animation(lines) if every else [(key, WIDTHS[i % 2]) for i, key in enumerate(SAMPLE)]
            stepped = 0
            for key, width in chosen:
                stepped += 1
                look.algorithm_check(browser, site, lines[key], width, "key" if width == 400 else "mouse")
        finally:
            browser.close()
        moving = Browser(calm=False)
        try:
            moving.size(1400)
            moving.open(os.path.join(site, "bcast-binomial.html"), "#8x1")
            moving.key("ArrowRight")
            demand(moving.run("document.querySelectorAll('.memory svg > g:last-child path').length") == 1, "no chunk travels")
            moving.until("document.querySelector('.player').dataset.painted === '1'")
            look.round_check(moving, Reader(lines["bcast", "binomial", "8x1"]), 1, "a chunk that travels")
        finally:
            moving.close()
    print(f"{len(pages)} pages made, {stepped} animations stepped through, 11 faults found")


if __name__ == "__main__":
    main()
