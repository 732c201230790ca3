# SPDX-License-Identifier: BSD-3-Clause
"""Communication hooks of DistributedDataParallel."""
import torch
import torch.distributed as dist

import hierax.torch


def bf16_hook(group, bucket):
    """Average the gradients as bfloat16: half the bytes. Hierax adds them in float32 and rounds once in each step of the reduction.

    model.register_comm_hook(None, hierax.torch.bf16_hook)
    group: the process group; None: the default one."""
    buffer = bucket.buffer()
    small = buffer.to(torch.bfloat16)
    work = dist.all_reduce(small, op=dist.ReduceOp.AVG, group=group, async_op=True)
    return work.get_future().then(lambda done: buffer.copy_(done.value()[0]))


def wire_hook(format, group=None):
    """A hook that averages the gradients in fewer bits between nodes: "bf16", "fp16", "fp8" or "int8". Inside nodes sums stay exact. All
    ranks get the same bits.

    model.register_comm_hook(None, hierax.torch.wire_hook("int8"))
    group: the model's process group; None: the default one. All its ranks call it: it creates a group of these ranks for the gradients, so
    other sums of the program stay exact."""
    own = dist.new_group(dist.get_process_group_ranks(group or dist.group.WORLD), backend="hierax", use_local_synchronization=True)
    hierax.torch.set_wire(format, own)

    def hook(_state, bucket):
        work = dist.all_reduce(bucket.buffer(), op=dist.ReduceOp.AVG, group=own, async_op=True)
        return work.get_future().then(lambda done: done.value()[0])
    return hook
