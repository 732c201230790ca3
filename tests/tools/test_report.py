#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""coll_report's parts: values as text, odd documents, and what is in a picture: at most six coloured curves, whiskers, titles, nothing outside the axes."""
import importlib.util
import math
import os
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree

SYSTEM = "/usr/bin/python3"  # which has the distribution's packages
LACKS = [module for module in ("matplotlib", "jinja2") if importlib.util.find_spec(module) is None]
if LACKS and os.path.exists(SYSTEM) and not os.path.samefile(SYSTEM, sys.executable):
    os.execv(SYSTEM, [SYSTEM, *sys.argv])
if LACKS:
    print(f"skipped: no {' and no '.join(LACKS)} (tools/setup tests)")
    sys.exit(77)

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("top_srcdir", "."), "tools", "report"))
import bench  # noqa: E402
import outputs  # noqa: E402
import pages  # noqa: E402
import plots  # noqa: E402
import tune  # noqa: E402
from pages import Axis, Curve, Plot, si_bytes, si_time  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
NAN, INF = math.nan, math.inf


def plot_of(curves, **more):
    fields = {"stem": "x", "title": "x < y", "about": "4 ranks", "caption": "what it shows", "x": Axis("vector", si_bytes), "y": Axis("time", si_time)}
    return Plot(**{**fields, "curves": curves, **more})


def drawn(plot, standalone=True):
    """As XML, which it must be."""
    text = plots.draw(plot, standalone)
    assert "nan" not in text.lower().replace("nano", "") and "inf" not in re.sub("[a-z]*info[a-z]*", "", text.lower()), text
    return text, tree.fromstring(text)


def words(svg):
    return ["".join(e.itertext()) for e in svg.iter(f"{SVG}text")]


def colours(svg, what="stroke"):
    return {found for e in svg.iter() for found in re.findall(f"{what}: (#[0-9a-f]+)", e.get("style") or "")}


class Values(unittest.TestCase):
    def test_units(self):
        for tell, value, expected in ((si_bytes, 8, "8 B"), (si_bytes, 1024, "1 KiB"), (si_bytes, 11585, "11.3 KiB"), (si_bytes, 1 << 30, "1 GiB"),
                                      (si_bytes, 1 << 44, "16 TiB"), (si_time, 0.2, "200 ns"), (si_time, 1, "1 µs"), (si_time, 999.7, "1 ms"),
                                      (si_time, 12345, "12.3 ms"), (si_time, 2.5e6, "2.5 s"), (si_time, 0, "0 ns"), (pages.plain, 0.85, "0.85")):
            self.assertEqual(tell(value), expected)

    def test_control_characters(self):
        for given, expected in (("tab\tbell\a\x7f", "tab?bell??"), ("half \ud800 a pair", "half ? a pair"), ("1 µs, 2 × 2, 𝛼", "1 µs, 2 × 2, 𝛼"), ("\uffff", "?")):
            self.assertEqual(pages.cleaned([{"a": given}]), [{"a": expected}])

    def test_poor_documents(self):
        """What is missing, or of another kind, is left out."""
        document = {"library": "x", "settings": 3, "rows": [{"collective": "a", "bytes": 8, "median_us": "<i>", "plan": 7}, {"collective": "a", "bytes": 1e300}]}
        self.assertIsNone(bench.refused(document))
        for documents in ([document], [document, document]):
            for plot in bench.page(documents).plots():
                drawn(plot)
        warm = {**document, "loop": "warm"}
        self.assertEqual([bench.Run(d, "a").library for d in (document, warm, {**document, "loop": "cold"})], ["x", "x, warm", "x"])
        self.assertIn(", warm loop", pages.elements(warm))
        self.assertIn("not a JSON document", bench.refused([]))
        self.assertIn("a row has no", bench.refused({"library": "x", "rows": [{"collective": "a"}]}))
        poor = {"hierax_tune": 1, "points": [{"collective": "a", "bytes": size, "ways": [{}, 3]} for size in (8, 16)]}
        self.assertIsNone(tune.refused(poor))
        for plot in tune.page([poor]).plots():
            drawn(plot)


class Pictures(unittest.TestCase):
    def test_plot(self):
        x, y, z = [8, 64, 512, 4096, 32768], [1, 1.5, 0, 20, 150], [2, NAN, 3, INF, 5]
        text, svg = drawn(plot_of([Curve("ring & $tree_1$", x, y, y, z), Curve("bound", x, z, bound=True)], level=1.0,
                                  markers=[(200, "200 B"), (1e9, "outside"), (-1, "nowhere")]))
        for expected in ("x < y", "4 ranks", "time", "vector", "8 B", "32 KiB", "100 µs", "200 B", "ring & $tree_1$", "bound"):
            self.assertIn(expected, words(svg))
        self.assertFalse({"outside", "nowhere"} & set(words(svg)))
        titles = [e.text for e in svg.iter(f"{SVG}title")]
        self.assertEqual(titles, [f"ring & $tree_1$: {size}, {us}" for size, us in (("8 B", "1 µs"), ("64 B", "1.5 µs"), ("4 KiB", "20 µs"), ("32 KiB", "150 µs"))])
        self.assertIn("prefers-color-scheme:dark", text)
        for light, dark in (plots.COLOURS[0], plots.INK, plots.PAPER):
            self.assertIn(light, text)
            self.assertIn(dark, text)
        self.assertNotIn("<style>", plots.draw(plot_of([Curve("a", x, y)])))
        self.assertEqual(text, plots.draw(plot_of([Curve("ring & $tree_1$", x, y, y, z), Curve("bound", x, z, bound=True)], level=1.0,
                                                  markers=[(200, "200 B"), (1e9, "outside"), (-1, "nowhere")]), True), "not the same again")

    def test_six_curves_are_highlighted(self):
        x = [8.0, 64.0, 512.0]
        curves = [Curve(f"plan {n}", x, [n + 1.0] * 3, [n + 0.5] * 3, [n + 1.5] * 3) for n in range(9)]
        for important, expected in ((6, 6), (2, 2)):
            _, svg = drawn(plot_of(curves, important=important))
            self.assertEqual(len(colours(svg) & {light for light, _ in plots.COLOURS}), expected)
            self.assertIn(plots.OTHER[0], colours(svg))
            self.assertIn(f"{9 - expected} more, in grey: point at one for its name", words(svg))
            self.assertEqual(sum(name.startswith("plan ") for name in words(svg)), expected)
            paths = [e.get("d") for e in svg.iter(f"{SVG}path") if "stroke-width: 1.1" in (e.get("style") or "")]
            whiskers = [found for d in paths for found in re.findall(r"M ([0-9.]+) [0-9.]+\s+L \1 [0-9.]+", d)]
            self.assertEqual(len(whiskers), 3 * expected)

    def test_nothing_is_outside_the_axes(self):
        box = (plots.LEFT, plots.WIDTH - plots.RIGHT)
        for y, log in (([1e-3, 5, 1e7], True), ([0.5, 3, 100], False), ([7, 7, 7], True), ([0, 0, 0], False), ([-4, 2, 1], False)):
            curve = Curve("a", [1, 1 << 10, 1 << 40], y, [v * 0.5 for v in y], [v * 3 for v in y])
            _, svg = drawn(plot_of([curve], y=Axis("time", si_time, log), level=2.0))
            seen = [(float(px), float(py)) for e in svg.iter(f"{SVG}path") if plots.COLOURS[0][0] in (e.get("style") or "") and not e.get("id")
                    for px, py in re.findall(r"[ML] ([-0-9.]+) ([-0-9.]+)", e.get("d")) if (e.get("clip-path") or "").startswith("url")]
            self.assertTrue(seen)
            tall = float(svg.get("viewBox").split()[3])
            for px, py in seen:
                self.assertTrue(box[0] <= px <= box[1] and 50 <= py <= tall - plots.FOOT, (px, py, y))

    def test_odd_plots(self):
        """Whatever there is to draw, it is a picture."""
        long = "a long name " * 20
        for x, y, name in (([1024], [7], "one"), ([0], [0], long), ([], [], "_nothing"), ([8, 16], [NAN, NAN], "<none>"), ([8, 16], [1e-30, 1e30], "far")):
            for log in (True, False):
                for count in (0, 1, 3):
                    _, svg = drawn(plot_of([Curve(name, x, y)] * count, x=Axis("", si_bytes, log), y=Axis("", si_time, log), title=long, about=long))
                    self.assertTrue(all(len(word) <= plots.TEXT_MOST for word in words(svg)))


class Files(unittest.TestCase):
    def test_as_a_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path, link = os.path.join(folder, "file"), os.path.join(folder, "link")
            os.symlink("file", link)
            outputs.write("html", link, "first")
            os.chmod(path, 0o640)
            outputs.write("html", link, "second")
            with open(path, encoding="utf-8") as f:
                self.assertEqual(f.read(), "second")
            self.assertTrue(os.path.islink(link))
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
            self.assertEqual(sorted(os.listdir(folder)), ["file", "link"])
            outputs.check("html", path)
            for bad in (folder, os.path.join(folder, "no", "such"), ""):
                with self.assertRaisesRegex(pages.Refused, "--html=.*: cannot write: "):
                    outputs.check("html", bad)
            self.assertEqual(sorted(os.listdir(folder)), ["file", "link"])


if __name__ == "__main__":
    unittest.main()
