# SPDX-License-Identifier: BSD-3-Clause
"""Elastic DDP: data-parallel training that goes on when ranks die, and that other processes join.

    coll_run --elastic -n 3 --min 2 --max 4 -- python3 elastic_ddp.py --least 4 --die 7:1 13:0

Every rank has all weights and the optimizer's state, and takes its share of the sequences of each step. The gradient travels in parts
while backward computes the next one. When a rank dies, the others repeat the step: the state changes only after the last call that can
fail. So the weights at the end do not depend on deaths: each rank compares them with those of one process that trains alone."""
import sys

import torch
from elastic_lesson import Job
from hierax import IN_PLACE
from lesson import SEQUENCES, Flat

PARTS = 3


class Parts:
    """Sums of the gradient over the ranks. The sum of a part starts when backward has computed all of it."""

    def __init__(self, flat):
        at, all_weights, ends, self.counts = 0, flat.gradient.numel(), {}, {}
        for weight in flat.parameters:
            at += weight.numel()
            part = min(at * PARTS // all_weights, PARTS - 1)
            self.counts[part], ends[part] = self.counts.get(part, 0) + 1, at
            weight.register_post_accumulate_grad_hook(lambda _, part=part: self.computed(part))
        self.vectors = {part: flat.gradient[begin:end].numpy() for (part, end), begin in zip(ends.items(), [0, *ends.values()])}

    def begin(self, comm):
        self.comm, self.requests, self.missing = comm, [], self.counts.copy()

    def computed(self, part):
        self.missing[part] -= 1
        if self.missing[part] == 0:
            self.requests.append(self.comm.iallreduce(IN_PLACE, out=self.vectors[part]))

    def wait(self):
        for request in self.requests:
            request.wait()


def adamw(job, flat):
    """PyTorch's optimizer over all weights as one vector, and its state."""
    whole = torch.nn.Parameter(flat.weights)
    whole.grad = flat.gradient
    optimizer = job.optimizer([whole])
    state = {"step": torch.zeros(1), "exp_avg": torch.zeros_like(flat.weights), "exp_avg_sq": torch.zeros_like(flat.weights)}
    optimizer.state[whole] = state
    return optimizer, {"weights": flat.weights, **state}


def train(job):
    model = job.model()
    flat = Flat(model.parameters(), 1)
    parts, (optimizer, state) = Parts(flat), adamw(job, flat)
    loop = job.loop(state)
    for step in loop:
        with step as comm:
            flat.gradient.zero_()
            parts.begin(comm)
            share = job.share(loop.revision, comm)
            loss = model(share) * (len(share) / SEQUENCES)  # so the sum over the ranks is the mean over all sequences
            loss.backward()
            job.may_die(loop.revision)
            total = comm.allreduce(loss.item())
            parts.wait()
            optimizer.step()  # no call that can fail comes after this
            job.losses[loop.revision], job.sizes[loop.revision] = total, comm.size
    return loop, flat


def alone(job):
    """One process that trains on the whole batches."""
    model = job.model()
    flat = Flat(model.parameters(), 1)
    optimizer, _ = adamw(job, flat)
    for step in range(job.options.steps):
        flat.gradient.zero_()
        model(job.batch(step)).backward()
        optimizer.step()
    return flat


def main():
    job = Job(__doc__, steps=20)
    loop, flat = train(job)
    difference = (flat.weights - alone(job).weights).abs().max().item()
    return job.end(loop, 0, f"the weights differ from those of one process by {difference:.0e}", difference)


if __name__ == "__main__":
    sys.exit(main())
