# SPDX-License-Identifier: BSD-3-Clause
"""Time-outs of groups, shorter and longer than that of the first one, and of single waits. An abort by another thread, and a dropped
receive. All of it again after a new start."""
import contextlib
import datetime
import threading
import time

import torch
import torch.distributed as dist

import hierax.torch
from job import begin, end, refuses, same

TWICE, FIRST = 2, 6
for turn in range(TWICE):
    rank, size = begin(timeout=datetime.timedelta(seconds=60 if turn else FIRST))
    brief = dist.new_group(timeout=datetime.timedelta(seconds=1))
    value = torch.ones(1)
    dist.all_reduce(value, group=brief)
    same("all_reduce in time", value, torch.full((1,), float(size)))
    if rank == 0:
        refuses("a call without the others", ["all_reduce", "waited 1 s", "1"], dist.all_reduce, value, group=brief)
    else:
        time.sleep(2)
        with contextlib.suppress(RuntimeError): # it may still get what rank 0 gave
            dist.all_reduce(value, group=brief)
        refuses("a call after that", ["all_reduce", "waited 1 s"], dist.all_reduce, value, group=brief)
    dist.destroy_process_group(brief)

    patient = dist.new_group(timeout=datetime.timedelta(seconds=60))
    if rank == 0 and turn == 0:
        time.sleep(FIRST + 2)
    dist.all_reduce(value, group=patient)
    dist.destroy_process_group(patient)

    aborted = dist.new_group()
    work = dist.irecv(torch.empty(1), (rank + 1) % size, group=aborted)
    refuses("a short wait", ["recv", "time-out of 0.1 s"], work.wait, datetime.timedelta(seconds=0.1))
    if rank == 0:
        threading.Timer(0.2, hierax.torch.abort, [aborted]).start()
    refuses("a call that is aborted", ["hx_comm_revoke"], work.wait)
    dist.destroy_process_group(aborted)

    group = dist.new_group(timeout=datetime.timedelta(seconds=1))
    dropped = dist.irecv(torch.empty(1), (rank + 1) % size, group=group) # nobody sends it
    del dropped
    dist.destroy_process_group(group)
    dist.barrier()
    dist.destroy_process_group() if turn + 1 < TWICE else end()
