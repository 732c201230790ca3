# SPDX-License-Identifier: BSD-3-Clause
"""Tensor parallel: all ranks see the whole batch, and each has 1/p of every matrix of a block.

The first matrix of a pair is cut by outputs (heads of attention, columns of the MLP), the second by inputs. So nothing moves
between the two, and one sum over the ranks after them gives the result: x is needed by all (backward sums its gradients), y is
summed.

    x --copy--> first, 1/p of its outputs --> second, 1/p of its inputs --sum--> y

Bytes: four all-reduces of activations for each block, two forward and two backward. They grow with the batch, not with the
weights, and nothing hides them: this is for ranks of one node.
Source: Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism", 2019."""
import torch
import torch.distributed as dist
from lesson import HEADS, LENGTH, SEQUENCES, Block, run
from torch import nn


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return x.view_as(x)

    @staticmethod
    def backward(_, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient


class Sum(torch.autograd.Function):
    @staticmethod
    def forward(_, y):
        y = y.contiguous()
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(_, gradient):
        return gradient


class ParallelBlock(Block):
    def attention(self, x):
        return Sum.apply(super().attention(Copy.apply(x)))

    def mlp(self, x):
        return Sum.apply(super().mlp(Copy.apply(x)))


def cut(block, rank, p):
    """Leave a block the part of this rank."""
    width = block.out.weight.shape[0]
    if HEADS % p:
        raise SystemExit(f"tensor_parallel: {HEADS} heads cannot be shared by {p} ranks")
    with torch.no_grad():
        block.qkv.weight = nn.Parameter(block.qkv.weight.view(3, -1, width).chunk(p, dim=1)[rank].reshape(-1, width))
        block.up.weight = nn.Parameter(block.up.weight.chunk(p, dim=0)[rank].clone())
        for second in (block.out, block.down):
            second.weight = nn.Parameter(second.weight.chunk(p, dim=1)[rank].clone())


def main(lesson):
    model, losses, p = lesson.model(ParallelBlock), [], lesson.size
    for block in model.blocks:
        cut(block, lesson.rank, p)
    optimizer = lesson.optimizer(model.parameters())
    for step in range(lesson.steps):
        with lesson.step():
            loss = model(lesson.batch(step))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(lesson.mean(loss))
    alone, alone_losses = lesson.alone()
    for block in alone.blocks:
        cut(block, lesson.rank, p)
    activations = SEQUENCES * LENGTH * model.norm.weight.numel()
    lesson.check(model.parameters(), losses, alone.parameters(), alone_losses,
                 4 * len(model.blocks) * 2 * (p - 1) / p * 4 * activations, "4 a block x 2 (p-1)/p activations of 4 bytes")


if __name__ == "__main__":
    run(main)
