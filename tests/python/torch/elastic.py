# SPDX-License-Identifier: BSD-3-Clause
"""elastic.py FOLDER: a worker is killed. The others' exceptions name it within 5 s. torchrun starts all again, and training goes on
from the last checkpoint: to the weights of a training that nothing has interrupted."""
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from job import begin, end, outlive

folder = sys.argv[1]
checkpoint = os.path.join(folder, "checkpoint")
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
outlive()
rank, size = begin()
STEPS, VICTIM, FATAL = 6, size - 1, 4
torch.manual_seed(0)
samples = torch.randn(STEPS, size, 8)


def train(model, steps, share, before=lambda step: None, after=lambda step: None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in steps:
        before(step)
        optimizer.zero_grad()
        model(samples[step][share]).square().mean().backward()
        optimizer.step()
        after(step)


def die(step):
    if attempt == 0 and step == FATAL and rank == VICTIM:
        with open(os.path.join(folder, "killed"), "w") as out:
            out.write(str(time.time()))
        os.kill(os.getpid(), signal.SIGKILL)


def save(step):
    if rank == 0:
        torch.save((step, model.state_dict()), checkpoint + ".new")
        os.rename(checkpoint + ".new", checkpoint)


model = torch.nn.Linear(8, 1)
first = 0
alone = torch.nn.Linear(8, 1)
alone.load_state_dict(model.state_dict())
if attempt > 0:
    step, state = torch.load(checkpoint)
    assert step == FATAL - 1, step
    model.load_state_dict(state)
    first = step + 1
try:
    train(DDP(model), range(first, STEPS), slice(rank, rank + 1), die, save)
except RuntimeError as error:
    took = time.time() - float(open(os.path.join(folder, "killed")).read())
    with open(os.path.join(folder, f"survivor.{rank}"), "w") as out:
        out.write(f"{'ok' if f'rank {VICTIM}' in str(error) and took < 5 else 'not ok'}: after {took:.1f} s: {error}\n")
    raise
train(alone, range(STEPS), slice(None))
torch.testing.assert_close(model.weight, alone.weight)
end()
os.write(1, f"rank {rank} has ended its training, attempt {attempt}\n".encode())  # in one piece, among other ranks' lines
