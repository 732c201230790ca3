# SPDX-License-Identifier: BSD-3-Clause
"""aborts.py FOLDER: PyTorch changes a group's time-out, and aborts all groups after a rank has died. The others start again, without
it, in the same processes."""
import datetime
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from job import begin, end, outlive, refuses, same

outlive()
rank, size = begin()
value = torch.ones(1)
group = dist.new_group()
set_timeout = getattr(dist, "set_timeout", distributed_c10d._set_pg_timeout)
set_timeout(datetime.timedelta(seconds=1), group)
if rank == 0:
    refuses("a call without the others", ["all_reduce", "waited 1 s"], dist.all_reduce, value, group=group)
else:
    time.sleep(2)

dist.barrier()
victim = size - 1
if rank == victim:
    os.kill(os.getpid(), signal.SIGKILL)
refuses("a call with a dead rank", ["all_reduce"], dist.all_reduce, value)  # another survivor may abort first
distributed_c10d._abort_process_group()
assert not dist.is_initialized()
refuses("a call after the abort", ["init_process_group"], dist.all_reduce, value)
begin(init_method=f"file://{sys.argv[1]}/second", rank=rank, world_size=size - 1)
value.fill_(rank)
dist.all_reduce(value)
same("all_reduce of those that live", value, torch.full((1,), float(sum(range(size - 1)))))
end()
with open(f"{sys.argv[1]}/survivor.{rank}", "w") as out:
    out.write("ok\n")
