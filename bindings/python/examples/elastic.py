#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training that goes on when ranks die. Every rank computes the gradient of its share of the data. When a rank dies,
the others share the data anew and repeat the step. At the end each rank compares its weights with those that one process computes alone.

    HX_SECRET=s HX_ROOT=localhost:20000 HX_SIZE=3 HX_RANK=0 python3 elastic.py &     # and ranks 1 and 2, which may die:
    HX_SECRET=s HX_ROOT=localhost:20000 HX_SIZE=3 HX_RANK=1 python3 elastic.py --die 7 &
    HX_SECRET=s HX_ROOT=localhost:20000 HX_SIZE=3 HX_RANK=2 python3 elastic.py
"""
import argparse
import os
import signal
import sys

import hierax
import hierax.elastic
import numpy

STEPS, SAMPLES, FEATURES, RATE = 40, 600, 20, 0.1


def data():
    random = numpy.random.default_rng(3)
    x = random.standard_normal((SAMPLES, FEATURES))
    return x, x @ random.standard_normal(FEATURES)


def gradient(x, y, w, rank, size):
    """Of this rank's share: the sum over all ranks is the same, however many they are."""
    mine = slice(SAMPLES * rank // size, SAMPLES * (rank + 1) // size)
    return x[mine].T @ (x[mine] @ w - y[mine]) / SAMPLES


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--die", type=int, default=-1, metavar="STEP", help="kill this rank in that step")
    parser.add_argument("--late", action="store_true", help="die after the step's all-reduce, not before it")
    options = parser.parse_args()
    x, y = data()
    w = numpy.zeros(FEATURES)
    loop = hierax.elastic.Loop({"w": w}, STEPS)
    first = loop.comm.size
    for step in loop:
        with step as comm:
            if loop.revision == options.die and not options.late:
                os.kill(os.getpid(), signal.SIGKILL)
            total = comm.allreduce(gradient(x, y, w, comm.rank, comm.size))
            if loop.revision == options.die:
                os.kill(os.getpid(), signal.SIGKILL)
            w -= RATE * total  # no call that can fail comes after this
    alone = numpy.zeros(FEATURES)
    for _ in range(STEPS):
        alone -= RATE * gradient(x, y, alone, 0, 1)
    equal = loop.comm.allreduce(w, hierax.MAX) == loop.comm.allreduce(w, hierax.MIN)
    print(f"rank {loop.comm.rank} of {loop.comm.size}, {first} at first: {loop.revision} steps, {loop.failures} failures, "
          f"weights differ from those of one process by {abs(w - alone).max():.1e}", flush=True)
    return not (equal.all() and numpy.allclose(w, alone, rtol=1e-9, atol=1e-12) and loop.revision == STEPS)


if __name__ == "__main__":
    sys.exit(main())
