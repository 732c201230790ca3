# SPDX-License-Identifier: BSD-3-Clause
"""From times to ratios, to the table on the screen, and to the documents from which coll_report draws the page.

A ratio belongs to one round: Hierax's time divided by the peer's. Both ran within the same second or so, so noise of the machine
that is slower than that leaves the ratio alone. The figure is the median of all rounds, the spread the least and the greatest."""
import math
import os
import platform
import socket
import statistics
import time

from .sides import ITEM


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def si_bytes(value):
    for unit in ("B", "KiB", "MiB"):
        if value < 1024 or unit == "MiB":
            return f"{value:.4g} {unit}"
        value /= 1024
    return ""


class Point:
    """A case with one peer: the times of all rounds of all launches, in the same order for both."""

    def __init__(self, peer, case, ours, theirs):
        self.peer, self.case, self.ours, self.theirs = peer, case, ours, theirs
        self.collective, self.bytes = f"{peer.about}: {case[0]} {case[1]}", case[2] * ITEM[case[1]]
        self.ratios = [a / b for a, b in zip(ours, theirs)]
        self.ratio = statistics.median(self.ratios)

    def line(self):
        times = (statistics.median(self.ours), statistics.median(self.theirs))
        return (f"{self.collective:34}{si_bytes(self.bytes):>9} {times[0]:>10.1f} {times[1]:>11.1f} {1 / self.ratio:>9.2f} x  "
                f"{1 / max(self.ratios):.2f} .. {1 / min(self.ratios):.2f}")


def heading(peer):
    return f"{'':34}{'':>9} {'hierax, µs':>10} {peer + ', µs':>11} {'faster by':>11}  least and greatest"


def summary(points):
    """For each collective of each peer: how many times as fast as the peer."""
    groups = {}
    for point in points:
        groups.setdefault((point.peer.name, point.peer.about, point.case[0]), []).append(point)
    for (peer, about, collective), some in groups.items():
        gains = [1 / point.ratio for point in some]
        yield (f"{about}: {collective}: {geometric_mean(gains):.2f} times as fast as {peer}, the geometric mean of"
               f" {len(gains)} points; the least is {min(gains):.2f}")


def row(point, times, ratio):
    made = {"collective": point.collective, "bytes": point.bytes, "median_us": statistics.median(times), "min_us": min(times),
            "p99_us": max(times)}
    return made | ({"ratios": {point.peer.name: [point.ratio, min(point.ratios), max(point.ratios)]}} if ratio else {})


def documents(points, options, command):
    """One for Hierax, and one for each peer."""
    each = [int(n) for n in options.nodes.split("/")[0].split(",")]
    ranks_of = each if len(each) > 1 else [-(-options.ranks // max(each[0], 1))] * max(each[0], 1)
    common = {"ranks": options.ranks, "nodes": len(ranks_of), "machines": 1, "max_ranks_per_node": max(ranks_of), "op": "sum",
              "dtype": " and ".join(sorted({point.case[1] for point in points})), "machine": f"{os.cpu_count()} CPUs, "
              f"Linux {platform.release()}, Python {platform.python_version()}", "host": socket.gethostname(), "command": command,
              "launches": f"{options.launches}, each of {options.rounds} rounds; whiskers and spreads are over all rounds",
              "begun": time.strftime("%Y-%m-%d %H:%M:%S"), "complete": True}
    yield common | {"library": "hierax", "rows": [row(point, point.ours, True) for point in points]}
    for peer in dict.fromkeys(point.peer.name for point in points):
        yield common | {"library": peer, "rows": [row(point, point.theirs, False) for point in points if point.peer.name == peer]}
