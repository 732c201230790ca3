# SPDX-License-Identifier: BSD-3-Clause
"""Elastic async DiLoCo: as diloco_async.py, but ranks may die, and other processes join.

    coll_run --elastic -n 3 --min 2 --max 4 -- python3 elastic_diloco.py --least 4 --die 6:1 12:0

A step of the loop is a round. While the sum of the changes of round r-1 travels, each rank computes round r: H steps of its own
optimizer. Then all ranks apply the mean to the common weights, and each begins round r+1 there, with its own change of round r added.
When a rank dies, its last change is lost, and the others repeat the sum only: they keep what they have computed. A process that joins
has no change yet, so the sum also counts how many ranks have one. The common weights and the outer momentum are the shared state.
Source: Douillard et al., "Streaming DiLoCo with overlapping communication", 2025; Keiblinger et al., "PCCL", 2025."""
import sys
import time

import numpy
import torch
from diloco import H, outer_optimizer
from elastic_lesson import Job
from lesson import Flat


class Worker:
    """This rank's own weights, and what it has for the others: its change of the last round, the loss in it, and 1; or zeros."""

    def __init__(self, job):
        self.job, self.model, self.round = job, job.model(), None
        self.flat = Flat(self.model.parameters(), 1)
        self.optimizer = job.optimizer(self.model.parameters())
        self.vector = numpy.zeros(self.flat.weights.numel() + 2, numpy.float32)

    def begin(self, common, round_idx):
        """If the last round is complete, also if only the other ranks have noticed it, begin the next one."""
        if round_idx == self.round:
            return
        change = torch.zeros_like(common)
        if self.round is not None:
            change = self.start - self.flat.weights
            self.vector[:-2], self.vector[-2:] = change, (self.loss, 1)
        self.start = common - change
        self.flat.weights.copy_(self.start)
        self.round, self.trained = round_idx, False

    def train(self, comm):
        if self.trained:
            return
        self.loss = 0
        for step in range(self.round * H, self.round * H + H):
            self.flat.gradient.zero_()
            loss = self.model(self.job.share(step, comm))
            loss.backward()
            self.optimizer.step()
            self.loss += loss.item() / H
            self.job.may_die(self.round)
        self.trained = True


def train(job):
    worker = Worker(job)
    common = worker.flat.weights.clone()
    outer, momentum = outer_optimizer(common), torch.zeros_like(common)
    outer.state[common] = {"momentum_buffer": momentum}
    loop = job.loop({"common": common, "momentum": momentum})
    total, waited, begun = numpy.zeros_like(worker.vector), 0.0, time.monotonic()
    for step in loop:
        worker.begin(common, loop.revision)
        with step as comm:
            travelling = comm.iallreduce(worker.vector, out=total)
            worker.train(comm)
            before = time.monotonic()
            travelling.wait()
            waited += time.monotonic() - before
            if total[-1] > 0:  # no call that can fail comes after this
                common.grad = torch.from_numpy(total[:-2] / total[-1])
                outer.step()
                job.losses[loop.revision] = total[-2] / total[-1]
            job.sizes[loop.revision] = comm.size
    return loop, waited, time.monotonic() - begun


def main():
    job = Job(__doc__, steps=20)
    loop, waited, seconds = train(job)
    return job.end(loop, 1, f"of {seconds:.1f} s it has waited {waited:.1f} s for changes of other ranks")


if __name__ == "__main__":
    sys.exit(main())
