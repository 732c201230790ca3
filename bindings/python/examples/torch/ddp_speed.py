# SPDX-License-Identifier: BSD-3-Clause
"""The time of a step of DDP with hierax and with gloo, in turns in one run; and of a step without communication.

    coll_run -n 2 -- python3 ddp_speed.py --steps 60

Each step is that of ddp.py. Both trainings get the same batches, so they end with the same weights but for rounding."""
import statistics
import time

import torch.distributed as dist
from lesson import TOLERANCE, Wrong, run
from torch.nn.parallel import DistributedDataParallel


class Training:
    def __init__(self, lesson, group, talks=True):
        self.lesson, self.talks, self.seconds = lesson, talks, []
        self.model = DistributedDataParallel(lesson.model(), process_group=group)
        self.optimizer = lesson.optimizer(self.model.parameters())

    def step(self, number):
        dist.barrier()  # all ranks start together
        start = time.perf_counter()
        self.model.require_backward_grad_sync = self.talks
        loss = self.model(self.lesson.share(number))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.seconds.append(time.perf_counter() - start)


def main(lesson):
    gloo = dist.new_group(backend="gloo")
    names = (dist.get_backend(), "gloo", "no communication")
    trainings = [Training(lesson, None), Training(lesson, gloo), Training(lesson, None, talks=False)]
    for step in range(lesson.steps):
        for training in trainings:
            training.step(step)
    off = max((a - b).abs().max().item() for a, b in zip(trainings[0].model.parameters(), trainings[1].model.parameters()))
    if not off <= TOLERANCE:
        raise Wrong(f"the weights of {names[0]} and gloo differ by {off:.1e}; tolerance {TOLERANCE:.0e}")
    times = [1000 * statistics.median(training.seconds[1:]) for training in trainings]  # the first step makes the buckets
    lesson.say("median time of a step: " + ", ".join(f"{name} {ms:.1f} ms" for name, ms in zip(names, times)) +
               f"; {lesson.steps} steps of each in turns, {lesson.size} ranks, {lesson.numbers} weights")


if __name__ == "__main__":
    run(main)
