# SPDX-License-Identifier: BSD-3-Clause
"""Communication hooks of DistributedDataParallel."""
import torch
import torch.distributed as dist


def bf16_hook(group, bucket):
    """Average the gradients as bfloat16: half the bytes. Hierax adds them in float32 and rounds once in each step of the reduction.

    model.register_comm_hook(None, hierax.torch.bf16_hook)
    group: the process group; None: the default one."""
    buffer = bucket.buffer()
    small = buffer.to(torch.bfloat16)
    work = dist.all_reduce(small, op=dist.ReduceOp.AVG, group=group, async_op=True)
    return work.get_future().then(lambda done: buffer.copy_(done.value()[0]))
