# SPDX-License-Identifier: BSD-3-Clause
"""Groups of any members, in any order, made by their members only, and destroyed one by one."""
import torch
import torch.distributed as dist

import hierax.torch
from job import begin, end, same

rank, size = begin()
for members in ([0, 1], [size - 1, 0], [1], list(range(size))):
    group = dist.new_group(members, use_local_synchronization=True) if rank in members else None
    if group:
        value = torch.full((3,), float(rank))
        dist.all_reduce(value, group=group)
        same(f"all_reduce of {members}", value, torch.full((3,), float(sum(members))))
        dist.destroy_process_group(group)
dist.barrier()
before = len([group for group in range(20) if dist.new_group([0, 1])])
assert before == 20
memory = hierax.torch.empty(1000, 10)
assert memory.shape == (1000, 10) and memory.eq(0).all()
memory.fill_(rank)
dist.all_reduce(memory)
same("all_reduce in memory of hx_alloc", memory, torch.full((1000, 10), float(sum(range(size)))))
del memory
end()
