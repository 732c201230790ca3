# SPDX-License-Identifier: BSD-3-Clause
"""ZeRO-1: as DDP, but each rank has the optimizer's state of 1/p of the weights only, and updates only those.

A rank needs the mean gradient of its own part only. So the two halves of the all-reduce move apart: a reduce-scatter before the
update, and an all-gather after it, of weights rather than gradients.
Bytes: (p-1)/p N for each half, together the same as DDP.
Memory of a rank: N weights, N gradients, 2 N/p numbers of AdamW.
Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC 2020."""
import torch.distributed as dist
from lesson import Flat, run
from torch import nn


def main(lesson):
    model, losses, p = lesson.model(), [], lesson.size
    flat = Flat(model.parameters(), p)
    part = nn.Parameter(flat.weights.chunk(p)[lesson.rank].clone())
    part.grad = part.detach().clone()
    optimizer = lesson.optimizer([part])
    for step in range(lesson.steps):
        with lesson.step():
            flat.gradient.zero_()
            loss = model(lesson.share(step))
            loss.backward()
            dist.reduce_scatter_tensor(part.grad, flat.gradient)
            part.grad /= p
            optimizer.step()
            dist.all_gather_into_tensor(flat.weights, part.detach())
        losses.append(lesson.mean(loss))
    state = sum(vector.numel() for vector in optimizer.state[part].values() if vector.dim())
    lesson.say(f"the optimizer's state of a rank: {4 * state / 1e6:.3g} MB; DDP's: {8 * lesson.numbers / 1e6:.3g} MB")
    alone, alone_losses = lesson.alone()
    lesson.check(model.parameters(), losses, alone.parameters(), alone_losses,
                 2 * (p - 1) / p * 4 * lesson.numbers, "(p-1)/p N gradients + (p-1)/p N weights, of 4 bytes")


if __name__ == "__main__":
    run(main)
