# SPDX-License-Identifier: BSD-3-Clause
"""One rank of a job: python3 -m hierax.bench.rank ORDER.json. It measures the job's sides in turn, and writes its times.

ORDER: sides, cases (collective, dtype, elements, calls), rounds, meeting (a file for torch), out (a prefix: each rank has its own
file). In each round each side makes the calls of a case in a row; every second round has the sides in the opposite order."""
import gc
import json
import sys
import time

from .sides import open_side


def time_of(side, call, calls):
    """Microseconds of a call, the mean of several in a row."""
    side.barrier()
    begun = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begun) / calls * 1e6


def measured(sides, case, rounds):
    """For each side, the time in each round."""
    collective, dtype, n, calls = case
    prepared, times = [side.prepare(collective, dtype, n) for side in sides], [[] for _ in sides]
    for side, (call, check) in zip(sides, prepared):
        check()
        time_of(side, call, max(calls // 4, 2))
    for round_idx in range(rounds):
        for i in range(len(sides))[::-1 if round_idx % 2 else 1]:
            times[i].append(time_of(sides[i], prepared[i][0], calls))
    return times


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        order = json.load(f)
    sides = [open_side(name, order["meeting"]) for name in order["sides"]]
    gc.disable()
    times = [measured(sides, case, order["rounds"]) for case in order["cases"]]
    with open(f"{order['out']}.{sides[0].rank}", "w", encoding="utf-8") as f:
        json.dump(times, f)
    sides[0].barrier()


main()
