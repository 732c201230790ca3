# SPDX-License-Identifier: BSD-3-Clause
"""What is looked at on each kind of page: see learn.py."""

import json
import os

from plan_reader import Reader

RANKS, SHAPES = 16, ("4,4", "3,1,2")


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
        demand(
            stripes in {len(ranks), min(len(ranks), 1)} and (not value or fill not in ("none", "rgba(0, 0, 0, 0)")),
            f"rank {rank}, {space}: {stripes} stripes of {fill} for {value!r}",
        )
        texts.setdefault((rank, space), []).append(value)
    return texts


def page_checks(browser, width, name):
    """Of every page, whatever is on it."""
    needs = browser.run("document.documentElement.scrollWidth")
    demand(needs <= width, f"{name}: needs {needs} of {width} pixels")
    demand(not browser.complaints, f"{name}: {browser.complaints}")
    nameless = browser.run("""[...document.querySelectorAll("button, input, select, a, svg[role]")].filter(e =>
        !e.closest("[hidden]") && !e.getAttribute("aria-label") && !e.textContent.trim() && ![...e.labels || []].some(l => l.textContent.trim()))
        .map(e => e.outerHTML.slice(0, 99))""")
    demand(not nameless, f"{name}: without a name: {nameless}")


def round_check(browser, reader, number, name):
    demand(not browser.complaints, f"{name}: {browser.complaints}")
    state, expected = browser.run(STATE), reader.states[number]
    demand(state[0] == number and state[2] == str(number), f"{name}: shows round {state}, not {number}")
    now = shown(browser)
    demand(now.keys() == {key for key in expected if expected[key]}, f"{name}: memories {sorted(now)}")
    for key, values in now.items():
        demand(
            values == expected[key],
            f"{name}, round {number}, {key[1]} of rank {key[0]}: shows {values}, the plan has {expected[key]}",
        )


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
    for act, number in (
        (lambda: browser.key("ArrowRight"), last),
        (lambda: browser.key("ArrowLeft"), last - 1),
        (lambda: browser.key("Home"), 0),
        (lambda: browser.key("ArrowLeft"), 0),
        (lambda: browser.key("End"), last),
        (lambda: browser.click("[data-do=home]"), 0),
        (lambda: browser.click("[data-do=end]"), last),
        (lambda: browser.click("[data-do=back]"), last - 1),
    ):
        act()
        round_check(browser, reader, number, name)
    browser.key("Home")
    browser.run("document.activeElement.blur()")
    for start in (lambda: browser.key(" "), lambda: browser.click("[data-do=play]")):
        before = browser.run(STATE)[0]
        start()
        demand(browser.run(STATE)[0] > before, f"{name}: it does not play")
        browser.until(f"document.querySelector('.player').dataset.round >= {before + 2}")
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
        seen = browser.run(
            "[document.querySelectorAll('.talk .edge-faint').length, "
            "document.querySelector('[data-do=cube]').offsetParent !== null]"
        )
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
        demand(
            len(found) == len({key[:2] for key in lines if key[2].split("x")[0].split("/")[0] == str(p) and "," not in key[2]}),
            f"the scorecard has {len(found)} rows of {p} ranks",
        )
        q = p.bit_length() - 1
        for name, rounds, vectors in (
            (("bcast", "flat"), p - 1, p - 1),
            (("bcast", "binomial"), q, q),
            (("allreduce", "ring"), 2 * (p - 1), 2 * (p - 1) / p),
            (("gather", "flat"), p - 1, (p - 1) / p),
            (("allreduce", "recursive_doubling"), q, q),
            (("allreduce", "tree"), 2 * q, 2 * q),
        ):
            shows = found[name]
            demand(
                shows[0] == str(rounds) and abs(float(shows[1]) - vectors) < 0.006,
                f"the scorecard, {name} of {p} ranks: {shows}, not {rounds}, {vectors}",
            )
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
        alpha, rate, crossing = browser.run(
            "['alpha', 'rate'].map(id => 10 ** document.getElementById(id).value)"
            ".concat(+document.querySelector('.answer').dataset.crossing)"
        )
        expected = (14 - 6) * alpha / ((6 - 7 / 4) * 1e-3 / rate)
        demand(abs(crossing / expected - 1) < 1e-6, f"ring-tree.html: they cross at {crossing}, not {expected}")
    browser.run("document.getElementById('ranks').focus()")
    browser.key("Home")
    demand(
        "2 α + 1 M β" in browser.run("document.querySelector('.formula').textContent"),
        "ring-tree.html: the ring of 2 ranks is another",
    )
    demand(browser.run("document.querySelectorAll('path.curve').length") == 2, "ring-tree.html: not two curves")
    page_checks(browser, width, "ring-tree.html")


def measured_check(browser, folder, width):
    browser.size(width)
    browser.open(os.path.join(folder, "measured.html"))
    seen = browser.run(
        "['path.curve', 'circle', 'tbody tr'].map(one => document.querySelectorAll(one).length)"
        ".concat(document.querySelector('.answer').textContent)"
    )
    demand(seen == [2, 8, 4, "The curves of our ring and our tree cross at about 64 KiB."], f"measured.html: {seen}")
    page_checks(browser, width, "measured.html")


POINTS = {
    "hierax_measured": 1,
    "ranks": 8,
    "nodes": "all on one node",
    "dtype": "float32",
    "date": "a date",
    "cpus": 8,
    "library": "a library",
    "machine": "a test",
    "notes": [],
    "pair": ["our ring", "our tree"],
    "curves": {
        "our ring": [[1024, 30], [8192, 40], [32768, 60], [131072, 100]],
        "our tree": [[1024, 10], [8192, 20], [32768, 50], [131072, 200]],
    },
}
