# SPDX-License-Identifier: BSD-3-Clause
"""DiLoCo: ranks train by themselves for H steps (here 3), and only then compare notes.

A rank's change in H steps counts as a gradient of the common weights. An all-reduce averages the changes, and an outer optimizer,
SGD with Nesterov's momentum, applies the mean. This is for ranks that are far apart: data centres rather than nodes.
Bytes: one all-reduce in H steps: 1/H of DDP's.
Memory of a rank: as DDP, and 2 N numbers of the outer optimizer.
Source: Douillard et al., "DiLoCo: Distributed Low-Communication Training of Language Models", 2023."""
import torch
import torch.distributed as dist
from lesson import Flat, run

H = 3


class Worker:
    """One rank's copy of the model, with its inner optimizer."""

    def __init__(self, lesson, rank):
        self.lesson, self.rank, self.model = lesson, rank, lesson.model()
        self.flat = Flat(self.model.parameters(), lesson.size)
        self.optimizer = lesson.optimizer(self.model.parameters())

    def step(self, step):
        self.flat.gradient.zero_()
        loss = self.model(self.lesson.share(step, self.rank))
        loss.backward()
        self.optimizer.step()
        return loss.item()


def outer_optimizer(common):
    return torch.optim.SGD([common], lr=0.7, momentum=0.9, nesterov=True)


def train(lesson, workers, add):
    """With the worker of this rank, or with all workers in one process. add: the sum of a vector over the workers of all
    ranks."""
    common, losses = workers[0].flat.weights.clone(), []
    outer = outer_optimizer(common)
    for step in range(lesson.steps):
        with lesson.step():
            losses.append(sum(worker.step(step) for worker in workers) / len(workers))
            if (step + 1) % H == 0:
                common.grad = add(sum(common - worker.flat.weights for worker in workers)) / lesson.size
                outer.step()
                for worker in workers:
                    worker.flat.weights.copy_(common)
    return common, losses


def all_reduce(vector):
    dist.all_reduce(vector)
    return vector


def main(lesson):
    p = lesson.size
    common, losses = train(lesson, [Worker(lesson, lesson.rank)], all_reduce)
    losses, sent = [lesson.mean(torch.tensor(loss)) for loss in losses], lesson.sent[:]
    alone, alone_losses = train(lesson, [Worker(lesson, rank) for rank in range(p)], lambda vector: vector)
    lesson.sent = sent
    lesson.check([common], losses, [alone], alone_losses, 2 * (p - 1) / p * 4 * lesson.numbers / H,
                 f"2 (p-1)/p N/H numbers of 4 bytes, H={H}", period=H)


if __name__ == "__main__":
    run(main)
