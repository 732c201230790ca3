#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training that goes on when ranks die, and that other processes join. In each step every rank computes the gradient of its
own samples. When a rank dies, the others repeat the step without it, and soon let in the process that takes its place. At the end each rank
compares its weights with those that one process computes alone: the state has the number of ranks in each step.

    coll_run --elastic -n 3 --min 2 --max 4 -- python3 elastic.py --least 4 --die 7 --rank 1   # the rank 1 of the start dies

Without coll_run, processes can die, but none takes their place:

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

STEPS, SAMPLES, FEATURES, RATE = 40, 100, 20, 0.1


def gradient(w, step, rank):
    """Of this rank's samples in this step."""
    random = numpy.random.default_rng((step, rank))
    x = random.standard_normal((SAMPLES, FEATURES))
    return x.T @ (x @ (w - 1.0)) / SAMPLES


def alone(sizes):
    """The weights of one process that computes the gradients of all ranks."""
    w = numpy.zeros(FEATURES)
    for step, size in enumerate(sizes):
        w -= RATE * sum(gradient(w, step, rank) for rank in range(size)) / size
    return w


def train(options):
    w, sizes = numpy.zeros(FEATURES), numpy.zeros(STEPS, int)
    dies = options.rank is None or os.environ.get("HX_RANK") == str(options.rank)
    loop = hierax.elastic.Loop({"w": w, "sizes": sizes}, STEPS, least=options.least, every=options.every)
    for step in loop:
        with step as comm:
            if dies and loop.revision == options.die and not options.late:
                os.kill(os.getpid(), signal.SIGKILL)
            total = comm.allreduce(gradient(w, loop.revision, comm.rank))
            if dies and loop.revision == options.die:
                os.kill(os.getpid(), signal.SIGKILL)
            w -= RATE * total / comm.size  # no call that can fail comes after this
            sizes[loop.revision] = comm.size
    return loop, w, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--die", type=int, default=-1, metavar="STEP", help="kill this process in that step")
    parser.add_argument("--late", action="store_true", help="die after the step's all-reduce, not before it")
    parser.add_argument("--rank", type=int, help="only the process that starts as this rank dies")
    parser.add_argument("--least", type=int, default=1, help="wait for others in every EVERY-th step if there are fewer ranks")
    parser.add_argument("--every", type=int, default=10, help="steps after which processes that wait are let in")
    loop, w, sizes = train(parser.parse_args())
    equal = loop.comm.allreduce(w, hierax.MAX) == loop.comm.allreduce(w, hierax.MIN)
    changes = [sizes[0], *(size for before, size in zip(sizes, sizes[1:]) if size != before)]
    difference = abs(w - alone(sizes)).max()
    print(f"rank {loop.comm.rank} of {loop.comm.size}, {'started' if 'HX_RANK' in os.environ else 'joined'}: {loop.revision} steps by "
          f"{', '.join(map(str, changes))} ranks, {loop.failures} failures, weights differ from those of one process by {difference:.1e}",
          flush=True)
    return not (equal.all() and difference < 1e-12 and loop.revision == STEPS and sizes.all())


if __name__ == "__main__":
    sys.exit(main())
