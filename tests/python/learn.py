#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""coll_plan steps, and the pages that teach, in a headless Chromium.

Every round of a page shows the cells that a second interpreter finds in the plan.

All pages are made. Each kind of page is opened at 400 and 1400 pixels, stepped by real keys and clicks, and must not complain, ask the
network or be wider than the window. The pages of some algorithms are opened; with the argument "all", every one (`tools/check pages`).
First, pages that are broken on purpose must be found.
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
from plan_reader import Reader  # noqa: E402

TOP = os.environ.get("top_srcdir") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("top_builddir", os.path.join(TOP, "build"))
COLL_PLAN = os.path.join(BUILD, "tools", "coll_plan")
LEARN = os.path.join(TOP, "bindings", "python", "hierax", "learn")
WIDTHS = (400, 1400)
RANKS, SHAPES = 16, ("4,4", "3,1,2")
SAMPLE = (  # collective, algorithm, shape: each way to move data, each way to fold it
    ("allreduce", "ring", "5x1"), ("allreduce", "recursive_doubling", "16x1"), ("allreduce", "last_arriver", "4"), ("allreduce", "ring", "3,1,2"),
    ("reduce_scatter_block", "single_copy", "6"), ("allgather", "kbruck", "7x1"), ("bcast", "double_tree", "8x1"), ("reduce", "nary_levels", "6/2"),
    ("barrier", "tree", "6x1"), ("barrier", "nary", "4"), ("gather", "binomial", "7x1"), ("scatter", "flat", "4,4"), ("scan", "nary", "5"),
    ("exscan", "exclusive_dissemination", "9x1"), ("alltoall", "bruck", "6x1"), ("alltoallv", "pairwise", "4,4"))


class Wrong(AssertionError):
    """A page is not as it must be."""


def demand(condition, text):
    if not condition:
        raise Wrong(text)


# ---- what is shown

SHOWN = """[...document.querySelectorAll(".memory g.cell")].map(g => [+g.dataset.rank, g.dataset.space, g.dataset.value,
    (g.querySelector("path").getAttribute("d").match(/M/g) || []).length, getComputedStyle(g.querySelector("path")).fill])"""
STATE = """(({dataset}) => [+dataset.round, dataset.shape, dataset.painted])(document.querySelector(".player"))"""


def shown(browser):
    """(rank, space) to values. The stripes that are drawn must be those of the value."""
    texts = {}
    for rank, space, value, stripes, fill in browser.run(SHOWN):
        ranks = value.partition(":")[2].split(".") if value else []
        demand(stripes in {len(ranks), min(len(ranks), 1)} and (not value or fill not in ("none", "rgba(0, 0, 0, 0)")),
               f"rank {rank}, {space}: {stripes} stripes of {fill} for {value!r}")
        texts.setdefault((rank, space), []).append(value)
    return texts


def page_checks(browser, width, name):
    """Of every page, whatever is on it."""
    needs = browser.run("document.documentElement.scrollWidth")
    demand(needs <= width, f"{name}: needs {needs} of {width} pixels")
    demand(not browser.complaints, f"{name}: {browser.complaints}")
    nameless = browser.run("""[...document.querySelectorAll("button, input, select, a, svg[role]")].filter(e => !e.closest("[hidden]") &&
        !(e.getAttribute("aria-label") || e.textContent.trim() || (e.labels && [...e.labels].some(l => l.textContent.trim())))).map(e => e.outerHTML.slice(0, 99))""")
    demand(not nameless, f"{name}: without a name: {nameless}")


def round_check(browser, reader, number, name):
    demand(not browser.complaints, f"{name}: {browser.complaints}")
    state, expected = browser.run(STATE), reader.states[number]
    demand(state[0] == number and state[2] == str(number), f"{name}: shows round {state}, not {number}")
    now = shown(browser)
    demand(now.keys() == {key for key in expected if expected[key]}, f"{name}: memories {sorted(now)}")
    for key, values in now.items():
        demand(values == expected[key], f"{name}, round {number}, {key[1]} of rank {key[0]}: shows {values}, the plan has {expected[key]}")


# ---- the page of an algorithm

def algorithm_check(browser, folder, plan, width, by="key"):
    page, shape = f"{plan['collective']}-{plan['algorithm']}.html", plan["shape"]
    name, reader = f"{page} {shape} at {width}", Reader(plan)
    demand(reader.wrong() is None, f"{name}: {reader.wrong()}")
    last = len(reader.states) - 1
    browser.size(width)
    browser.open(os.path.join(folder, page), "#" + shape)
    demand(browser.run(STATE)[1] == shape, f"{name}: shows {browser.run(STATE)[1]}")
    round_check(browser, reader, 0, name)
    for number in range(1, last + 1):
        browser.key("ArrowRight") if by == "key" else browser.click("[data-do=forward]")
        round_check(browser, reader, number, name)
    rounds = browser.run("document.querySelector('.facts dd').textContent")
    demand(rounds == str(reader.rounds), f"{name}: tells {rounds} rounds, the plan has {reader.rounds}")
    page_checks(browser, width, name)
    return reader, last


def controls_check(browser, folder, plan):
    """Every key and every button, and other ranks."""
    reader, last = algorithm_check(browser, folder, plan, 1400)
    name = f"the controls of {plan['algorithm']}"
    for act, number in ((lambda: browser.key("ArrowRight"), last), (lambda: browser.key("ArrowLeft"), last - 1), (lambda: browser.key("Home"), 0),
                        (lambda: browser.key("ArrowLeft"), 0), (lambda: browser.key("End"), last), (lambda: browser.click("[data-do=home]"), 0),
                        (lambda: browser.click("[data-do=end]"), last), (lambda: browser.click("[data-do=back]"), last - 1)):
        act()
        round_check(browser, reader, number, name)
    browser.key("Home")
    browser.run("document.activeElement.blur()")
    for start in (lambda: browser.key(" "), lambda: browser.click("[data-do=play]")):
        before = browser.run(STATE)[0]
        start()
        demand(browser.run(STATE)[0] > before, f"{name}: it does not play")
        browser.run("new Promise(done => { const look = () => document.querySelector('.player').dataset.round >= %d ? done() : setTimeout(look, 20); look(); })" % (before + 2))
        start()
        label = browser.run("document.querySelector('[data-do=play]').getAttribute('aria-label')")
        demand(label == "play", f"{name}: it does not stop")
        round_check(browser, reader, browser.run(STATE)[0], name)
    browser.run("document.querySelector('[data-do=seek]').focus()")
    browser.key("End")
    round_check(browser, reader, last, name)
    browser.run("document.getElementById('ranks').focus()")
    browser.key("Home")
    demand(browser.run(STATE)[:2] == [0, "2x1"], f"{name}: the ranks' slider shows {browser.run(STATE)}")
    browser.click("#shapes button:last-child")
    demand(browser.run(STATE)[1] == SHAPES[-1], f"{name}: the button of a shape shows {browser.run(STATE)}")
    for _ in range(30):
        browser.key("Tab")
        if browser.run("document.activeElement.dataset.do") == "play":
            break
    demand(browser.run("document.activeElement.dataset.do") == "play", f"{name}: Tab does not reach play")
    page_checks(browser, 1400, name)


def cube_check(browser, folder):
    """XOR pairing is drawn as a hypercube, and others are not."""
    for page, is_cube in (("allreduce-recursive_doubling.html", True), ("allreduce-ring.html", False)):
        browser.open(os.path.join(folder, page), "#8x1@1")
        seen = browser.run("[document.querySelectorAll('.talk .edge-faint').length, document.querySelector('[data-do=cube]').offsetParent !== null]")
        demand(seen == [12 if is_cube else 0, is_cube], f"{page}: edges of a cube and its button: {seen}")
    browser.open(os.path.join(folder, "allreduce-recursive_doubling.html"), "#8x1@1")
    browser.click("[data-do=cube]")
    demand(browser.run("document.querySelectorAll('.talk .edge-faint').length") == 0, "the button does not leave the hypercube")


# ---- the other pages

def index_check(browser, folder, width, pages):
    browser.size(width)
    browser.open(os.path.join(folder, "index.html"))
    links = set(browser.run("[...document.querySelectorAll('main a')].map(a => a.getAttribute('href'))"))
    demand(links == pages - {"index.html"}, f"index.html: links differ from the pages: {links ^ (pages - {'index.html'})}")
    page_checks(browser, width, "index.html")


def tour_check(browser, folder, width, lines):
    browser.size(width)
    browser.open(os.path.join(folder, "tour.html"))
    steps = json.loads(browser.run("document.getElementById('data').textContent"))
    demand(len(steps) == 10, f"the tour has {len(steps)} steps")
    for i, step in enumerate(steps):
        reader = Reader(lines[step["collective"], step["algorithm"], step["shape"]])
        demand(browser.run("document.getElementById('title').textContent") == step["title"], f"step {i + 1} has another title")
        round_check(browser, reader, 0, f"step {i + 1} of the tour")
        browser.key("End")
        round_check(browser, reader, len(reader.states) - 1, f"step {i + 1} of the tour")
        page_checks(browser, width, f"step {i + 1} of the tour")
        if i < 9:
            browser.click("#later")


def scorecard_check(browser, folder, width, lines):
    browser.size(width)
    browser.open(os.path.join(folder, "scorecard.html"))
    browser.run("document.getElementById('ranks').focus()")
    for key, p in (("Home", 2), ("End", RANKS)):
        browser.key(key)
        rows = browser.run("[...document.querySelectorAll('tbody tr')].map(tr => [...tr.cells].map(td => td.innerText.trim()))")
        found = {tuple(reversed(row[0].split())): row[1:] for row in rows}
        demand(len(found) == len({key[:2] for key in lines if key[2].split("x")[0].split("/")[0] == str(p) and "," not in key[2]}),
               f"the scorecard has {len(found)} rows of {p} ranks")
        q = p.bit_length() - 1
        for name, rounds, vectors in ((("bcast", "flat"), p - 1, p - 1), (("bcast", "binomial"), q, q), (("allreduce", "ring"), 2 * (p - 1), 2 * (p - 1) / p),
                                      (("gather", "flat"), p - 1, (p - 1) / p), (("allreduce", "recursive_doubling"), q, q), (("allreduce", "tree"), 2 * q, 2 * q)):
            shows = found[name]
            demand(shows[0] == str(rounds) and abs(float(shows[1]) - vectors) < .006, f"the scorecard, {name} of {p} ranks: {shows}, not {rounds}, {vectors}")
    browser.click("thead th:nth-child(2) button")
    rounds = browser.run("[...document.querySelectorAll('tbody tr')].map(tr => +tr.cells[1].textContent)")
    demand(rounds == sorted(rounds), "the scorecard is not sorted by rounds")
    page_checks(browser, width, "scorecard.html")


def race_check(browser, folder, width):
    """alpha 14 + beta 7/4 M against 6 and 6, on 8 ranks, with the sliders as they are at first and then moved."""
    browser.size(width)
    browser.open(os.path.join(folder, "ring-tree.html"))
    for key in ("", "Home"):
        if key:
            browser.run("document.getElementById('alpha').focus()")
            browser.key(key)
        alpha, rate, crossing = browser.run("['alpha', 'rate'].map(id => 10 ** document.getElementById(id).value).concat(+document.querySelector('.answer').dataset.crossing)")
        expected = (14 - 6) * alpha / ((6 - 7 / 4) * 1e-3 / rate)
        demand(abs(crossing / expected - 1) < 1e-6, f"ring-tree.html: they cross at {crossing}, not {expected}")
    browser.run("document.getElementById('ranks').focus()")
    browser.key("Home")
    demand("2 α + 1 M β" in browser.run("document.querySelector('.formula').textContent"), "ring-tree.html: the ring of 2 ranks is another")
    demand(browser.run("document.querySelectorAll('path.curve').length") == 2, "ring-tree.html: not two curves")
    page_checks(browser, width, "ring-tree.html")


def measured_check(browser, folder, width):
    browser.size(width)
    browser.open(os.path.join(folder, "measured.html"))
    seen = browser.run("[document.querySelectorAll('path.curve').length, document.querySelectorAll('circle').length, document.querySelectorAll('tbody tr').length, document.querySelector('.answer').textContent]")
    demand(seen == [2, 8, 4, "The curves of our ring and our tree cross at about 64 KiB."], f"measured.html: {seen}")
    page_checks(browser, width, "measured.html")


POINTS = {"hierax_measured": 1, "ranks": 8, "nodes": "all on one node", "dtype": "float32", "date": "a date", "cpus": 8, "library": "a library", "machine": "a test",
          "notes": [], "pair": ["our ring", "our tree"],
          "curves": {"our ring": [[1024, 30], [8192, 40], [32768, 60], [131072, 100]], "our tree": [[1024, 10], [8192, 20], [32768, 50], [131072, 200]]}}


# ---- pages that are broken on purpose

def broken_check(browser, folder, lines):
    """Each fault must be found. What follows is a change of a page, and what the complaint says."""
    plan, page = lines["allreduce", "ring", "5x1"], "allreduce-ring.html"
    text = open(os.path.join(folder, page), encoding="utf-8").read()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    five = next(one for one in data["flat"] if one["shape"] == "5x1")
    move = json.dumps(five["rounds"][2][1][0], separators=(",", ":"))
    other = json.dumps([*five["rounds"][2][1][0][:2], five["rounds"][2][1][0][2] + 1, *five["rounds"][2][1][0][3:]], separators=(",", ":"))
    in_place = text.index(json.dumps(five["rounds"], separators=(",", ":")))
    faults = {
        "a move": (text[:in_place] + text[in_place:].replace(move, other, 1), "shows"),
        "a color": (text.replace('this.hue(value(one)) : "none"', '"none" : "none"'), "stripes of none"),
        "stripes": (text.replace("return value.ranks.map(rank", "return value.ranks.slice(1).map(rank"), "stripes"),
        "a key": (text.replace('ArrowRight: "forward"', 'ArrowUp: "forward"'), "shows round"),
        "a script": (text.replace("choose([...data.flat", "nothing.there = 1; choose([...data.flat"), ""),
        "a warning": (text.replace("choose([...data.flat", "console.warn('a warning'); choose([...data.flat"), "a warning"),
        "the width": (text.replace("<main>", '<main><div style="width:700px">wide</div>'), "needs 7"),
        "the network": (text.replace("<main>", '<main><img alt="x" src="http://127.0.0.1:9/x.png">'), "network"),
        "a name": (text.replace('aria-label="one round forward"', ""), "without a name"),
        "the rounds": (text.replace('["rounds", s.rounds, ""]', '["rounds", s.rounds + 1, ""]'), "tells"),
    }
    for fault, (changed, complaint) in faults.items():
        demand(changed != text, f"the fault in {fault} changes nothing")
        with tempfile.TemporaryDirectory() as other_folder:
            with open(os.path.join(other_folder, page), "w", encoding="utf-8") as file:
                file.write(changed)
            try:
                algorithm_check(browser, other_folder, plan, 400)
            except (Wrong, RuntimeError) as e:
                demand(complaint in str(e), f"the fault in {fault} is found as: {e}")
            else:
                raise Wrong(f"a fault in {fault} is not found")
    lines_broken = json.loads(json.dumps(plan))
    reduce_at = next(i for i, step in enumerate(lines_broken["ranks"][1]["stages"][0]["steps"]) if step[0] == "reduce")
    del lines_broken["ranks"][1]["stages"][0]["steps"][reduce_at]
    try:
        demand(Reader(lines_broken).wrong(), "a plan without one of its sums is called right")
    except KeyError:
        pass  # it reads what nobody wrote


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
    python = next((python for python in (sys.executable, "/usr/bin/python3") if subprocess.run([python, "-c", "import jinja2"], stderr=subprocess.DEVNULL, check=False).returncode == 0), None)
    if not python:
        skip("no python3-jinja2")
    done = subprocess.run([python, "-B", LEARN, "-o", site, "--coll-plan", COLL_PLAN, "--points", points], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    if "install node-d3" in done.stderr:
        skip(done.stderr.strip())
    demand(done.returncode == 0, f"hierax.learn: exit {done.returncode}: {done.stderr}")
    return site


def refused_check():
    for words, text in ((["--points", "/no/such/file"], "No such file"), (["--ranks", "1"], "--ranks=1: expected a whole number from 2 to 64"),
                        (["--coll-plan", "/no/such/program"], "/no/such/program: no such program"), (["--only", "allredcue"], "allredcue")):
        words = [sys.executable, "-B", LEARN, "-o", os.path.join(tempfile.gettempdir(), "never-written"), "--coll-plan", COLL_PLAN, *words]
        done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
        demand(done.returncode == 2 and text in done.stderr or "python3-jinja2" in done.stderr, f"{words[3:]}: exit {done.returncode}, {done.stderr}")


def main():
    every = sys.argv[1:] == ["all"]
    lines = {**lines_read("--max-ranks", str(RANKS)), **lines_read(*[word for shape in SHAPES for word in ("--shape", shape)])}
    plans_check([plan for plan in lines.values() if every or len(plan["ranks"]) <= 5 or "," in plan["shape"]])
    if not shutil.which("chromium"):
        skip("no chromium")
    with tempfile.TemporaryDirectory() as folder:
        site = pages_make(folder)
        refused_check()
        pages = {f"{collective}-{algorithm}.html" for collective, algorithm, _ in lines} | {
            "index.html", "tour.html", "scorecard.html", "ring-tree.html", "measured.html"}
        demand(set(os.listdir(site)) == pages, f"pages: {set(os.listdir(site)) ^ pages}")
        for page in pages:
            text = open(os.path.join(site, page), encoding="utf-8").read()
            demand(not re.search(r'(src|href)="?(https?:|//|file:)|@import|url\([^#]', text), f"{page} is not self-contained")
        browser = Browser()
        try:
            broken_check(browser, site, lines)
            controls_check(browser, site, lines["allreduce", "rdh", "8x1"])
            cube_check(browser, site)
            for width in WIDTHS:
                index_check(browser, site, width, pages)
                tour_check(browser, site, width, lines)
                scorecard_check(browser, site, width, lines)
                race_check(browser, site, width)
                measured_check(browser, site, width)
            chosen = [key for key in lines if every and (key[2].split("x")[0].split("/")[0] in ("2", "7", "16") or "," in key[2])] or SAMPLE
            for i, key in enumerate(chosen):
                for width in WIDTHS if every else (WIDTHS[i % 2],):
                    algorithm_check(browser, site, lines[key], width, "key" if width == 400 else "mouse")
        finally:
            browser.close()
        moving = Browser(calm=False)
        try:
            moving.size(1400)
            moving.open(os.path.join(site, "bcast-binomial.html"), "#8x1")
            moving.key("ArrowRight")
            demand(moving.run("document.querySelectorAll('.memory svg > g:last-child path').length") == 1, "no chunk travels")
            moving.run("new Promise(done => { const look = () => document.querySelector('.player').dataset.painted === '1' ? done() : setTimeout(look, 20); look(); })")
            round_check(moving, Reader(lines["bcast", "binomial", "8x1"]), 1, "a chunk that travels")
        finally:
            moving.close()
    print(f"{len(pages)} pages made, {len(chosen)} animations stepped through, 11 faults found")


if __name__ == "__main__":
    main()
