# SPDX-License-Identifier: BSD-3-Clause
"""Data parallel (DDP): every rank has all weights and a share of the batch; an all-reduce averages the gradients.

While backward still computes the gradients of the first layers, torch already sums those of the last ones, bucket by bucket.
Bytes: an all-reduce is a reduce-scatter and an all-gather, so each rank sends 2 (p-1)/p N numbers a step.
Memory of a rank: N weights, N gradients, 2 N numbers of AdamW.
Source: Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020."""
from lesson import run
from torch.nn.parallel import DistributedDataParallel


def main(lesson):
    model, losses, p = DistributedDataParallel(lesson.model()), [], lesson.size
    optimizer = lesson.optimizer(model.parameters())
    for step in range(lesson.steps):
        with lesson.step():
            loss = model(lesson.share(step))
            optimizer.zero_grad()
            loss.backward()  # all gradients are averages when it returns
            optimizer.step()
        losses.append(lesson.mean(loss))
    alone, alone_losses = lesson.alone()
    lesson.check(model.parameters(), losses, alone.parameters(), alone_losses,
                 2 * (p - 1) / p * 4 * lesson.numbers, "2 (p-1)/p N numbers of 4 bytes")


if __name__ == "__main__":
    run(main)
