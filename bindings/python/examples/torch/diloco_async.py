# SPDX-License-Identifier: BSD-3-Clause
"""Async DiLoCo: the all-reduce of a round's changes travels while the ranks compute the next round, so it costs no time.

The mean of round r arrives at the end of round r+1. Then a rank starts the next round at the common weights, with the mean of
round r in them, and its own change of round r+1, which still travels. The price: the mean is one round late.

    compute  | round 0 | round 1 | round 2 |
    travels            | mean 0  | mean 1  | mean 2

Bytes: as DiLoCo, 1/H of DDP's. Time: none, if a round takes longer than the all-reduce. The last one has nothing to hide behind.
Source: Douillard et al., "Streaming DiLoCo with overlapping communication", 2025; Kale et al., "Eager Updates For Overlapped
Communication and Computation in DiLoCo", 2025."""
import time

import torch
import torch.distributed as dist
from diloco import H, Worker, outer_optimizer
from lesson import run

COLUMNS = 60  # of the timeline


class Travelling:
    """A sum over the ranks that is under way. The times are for the timeline."""

    def __init__(self, vector):
        self.vector, self.begun, self.ended = vector, time.monotonic(), None
        self.work = dist.all_reduce(vector, async_op=True)
        self.noted = self.work.get_future().then(self.arrived)

    def arrived(self, _):
        self.ended = time.monotonic()

    def wait(self):
        before = time.monotonic()
        self.work.wait()
        self.waited = time.monotonic() - before
        self.noted.wait()  # the callback may run in another thread
        return self.vector


class Local:
    """In one process the sum is there at once."""

    def __init__(self, vector):
        self.vector = vector

    def wait(self):
        return self.vector


def train(lesson, workers, start_sum):
    """With the worker of this rank, or with all in one process: common weights, losses, sums, and times at which rounds ended."""
    common, losses, sums, ends = workers[0].flat.weights.clone(), [], [], [time.monotonic()]
    outer, begun = outer_optimizer(common), [common.clone() for _ in workers]

    def apply(mean):
        common.grad = mean.wait() / lesson.size
        outer.step()

    for step in range(lesson.steps):
        with lesson.step():
            losses.append(sum(worker.step(step) for worker in workers) / len(workers))
            if (step + 1) % H == 0:
                ends.append(time.monotonic())
                changes = [start - worker.flat.weights for start, worker in zip(begun, workers)]
                if sums:
                    apply(sums[-1])
                sums.append(start_sum(sum(changes)))
                for start, worker, change in zip(begun, workers, changes):
                    torch.sub(common, change if len(sums) else 0, out=start)
                    worker.flat.weights.copy_(start)
    apply(sums[-1])
    return common, losses, sums, ends


def timeline(lesson, sums, ends):
    """A digit for the round that is computed, and below it for the mean that travels."""
    begin, end = ends[0], max(ends[-1], *(some.ended for some in sums))
    at = lambda moment: min(int((moment - begin) / (end - begin) * COLUMNS), COLUMNS - 1)
    rows = {"compute": zip(ends, ends[1:]), "travels": ((some.begun, some.ended) for some in sums)}
    for name, spans in rows.items():
        row = [" "] * COLUMNS
        for digit, (first, last) in enumerate(spans):
            row[at(first):at(last) + 1] = str(digit % 10) * (at(last) + 1 - at(first))
        lesson.say(f"{name} |{''.join(row)}| {(end - begin) * 1e3:.0f} ms")
    for digit, some in enumerate(sums[:-1]):
        lesson.say(f"mean {digit} travelled {(some.ended - some.begun) * 1e3:.2f} ms, and the rank waited"
                   f" {some.waited * 1e3:.2f} ms for it")


def main(lesson):
    p = lesson.size
    common, losses, sums, ends = train(lesson, [Worker(lesson, lesson.rank)], Travelling)
    timeline(lesson, sums, ends)
    losses, sent = [lesson.mean(torch.tensor(loss)) for loss in losses], lesson.sent[:]
    alone, alone_losses, _, _ = train(lesson, [Worker(lesson, rank) for rank in range(p)], Local)
    lesson.sent = sent
    lesson.check([common], losses, [alone], alone_losses, 2 * (p - 1) / p * 4 * lesson.numbers / H,
                 f"2 (p-1)/p N/H numbers of 4 bytes, H={H}", period=H)


if __name__ == "__main__":
    run(main)
