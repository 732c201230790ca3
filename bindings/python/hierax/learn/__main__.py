# SPDX-License-Identifier: BSD-3-Clause
"""Make the pages, or measure for them."""

from __future__ import annotations

import argparse
import os
import sys

if not __package__:  # python3 bindings/python/hierax/learn: run it as the package learn
    import runpy

    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    runpy.run_module("learn", run_name="__main__", alter_sys=True)

from . import catalogue, measure, site  # noqa: E402

EPILOG = """examples:
  python3 -m hierax.learn -o site/
  python3 -m hierax.learn measure --points measured.json
  python3 -m hierax.learn -o site/ --points measured.json"""


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(
        prog="hierax.learn",
        description="Make pages that show every collective algorithm step by step, from its plan.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument(
        "command",
        nargs="?",
        choices=["pages", "measure"],
        default="pages",
        help="pages (default): write the pages; measure: measure all-reduces for the page measured.html",
    )
    p.add_argument("-o", "--output", metavar="FOLDER", default="site", help="pages: the folder to write (default: site)")
    p.add_argument(
        "--points",
        metavar="FILE",
        help="the measured points: to show (pages; default: those that come with the package), or to write "
        "(measure; default: measured.json)",
    )
    p.add_argument(
        "--only",
        metavar="COLLECTIVE",
        action="append",
        default=[],
        help="pages: only the pages of these collectives, and the index. May be repeated",
    )
    p.add_argument(
        "--ranks", metavar="N", type=int, default=catalogue.RANKS, help="pages: animations of 2 to N ranks (default: 16)"
    )
    p.add_argument("--coll-plan", metavar="FILE", help="the program coll_plan (default: beside this package, or in PATH)")
    p.add_argument("--coll-run", metavar="FILE", help="measure: the program coll_run")
    p.add_argument("--coll-bench", metavar="FILE", help="measure: the program coll_bench")
    p.add_argument(
        "--max", metavar="BYTES", type=int, default=measure.MAX_BYTES, help="measure: the largest vector (default: 64 MiB)"
    )
    return p.parse_args()


def main() -> int:
    a = arguments()
    try:
        if a.command == "measure":
            measure.run(a)
        else:
            site.write(a)
    except catalogue.Refused as e:
        print(f"hierax.learn: {e}", file=sys.stderr)
        return 2
    except OSError as e:
        print(f"hierax.learn: {e.filename}: {e.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
