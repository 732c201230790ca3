# SPDX-License-Identifier: BSD-3-Clause
"""FSDP, torch's own ZeRO-3: a wrapper cuts each block into p parts, and gathers it when it is needed.

zero3.py shows how this works; here torch does it, and the bytes are the same.
Bytes: each block moves three times, (p-1)/p each: 1.5 times DDP's. What is outside the blocks stays gathered, and moves twice.
Memory of a rank: 4 N/p numbers, and the blocks that are in use.
Source: Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", VLDB 2023.
torch 2.6 has the newer fully_shard too, but its CPU streams lack what that needs."""
import torch
from lesson import Block, run
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import ModuleWrapPolicy


def main(lesson):
    model, losses, p = lesson.model(), [], lesson.size
    in_blocks = sum(weight.numel() for weight in model.blocks.parameters())
    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.device("cpu"))
    optimizer = lesson.optimizer(model.parameters())
    for step in range(lesson.steps):
        with lesson.step():
            loss = model(lesson.share(step))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(lesson.mean(loss))
    alone, alone_losses = lesson.alone()
    with FullyShardedDataParallel.summon_full_params(model):
        lesson.check(model.parameters(), losses, alone.parameters(), alone_losses,
                     (p - 1) / p * 4 * (2 * lesson.numbers + in_blocks), "(p-1)/p (3 N of blocks + 2 N of others), of 4 bytes")


if __name__ == "__main__":
    run(main)
