# SPDX-License-Identifier: BSD-3-Clause
"""What the two elastic lessons share: the job's options, deaths that are planned, and the checks at the end."""
import argparse
import hashlib
import os
import signal

os.environ.setdefault("HX_PROGRESS_THREAD", "1")  # calls make progress while the program computes
# ruff: noqa: E402
import hierax
import hierax.elastic
import numpy
import torch
from lesson import SEQUENCES, TOLERANCE, Task

FALLS = 0.9  # the last loss is at most so much of the first one


def death(text):
    step, rank = map(int, text.split(":"))
    return step, rank


class Job(Task):
    def __init__(self, doc, steps):
        options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        options.add_argument("--steps", type=int, default=steps, help=f"how many the job takes (default: {steps})")
        options.add_argument("--die", type=death, nargs="*", default=[], metavar="STEP:RANK",
                             help="in that step, kill the process that has started as this rank")
        options.add_argument("--least", type=int, default=1, help="wait for others in every EVERY-th step if there are fewer ranks")
        options.add_argument("--every", type=int, default=5, help="steps after which processes that wait are let in (default: 5)")
        self.options = options.parse_args()
        torch.set_num_threads(1)
        super().__init__(small=True)

    def loop(self, tensors):
        """tensors: the state, by name. The loop adds the number of ranks and the loss of each step."""
        self.sizes, self.losses = numpy.zeros(self.options.steps, int), numpy.zeros(self.options.steps)
        self.state = {name: tensor.numpy() for name, tensor in tensors.items()} | {"sizes": self.sizes, "losses": self.losses}
        return hierax.elastic.Loop(self.state, self.options.steps, least=self.options.least, most=SEQUENCES, every=self.options.every)

    def may_die(self, step):
        if "HX_RANK" in os.environ and (step, int(os.environ["HX_RANK"])) in self.options.die:
            os.kill(os.getpid(), signal.SIGKILL)

    def share(self, step, comm):
        """The sequences of this rank, now."""
        return self.batch(step)[comm.rank::comm.size]

    def end(self, loop, first, words, difference=0.0):
        """Prints a line, and returns the exit status. first: the step with the first loss. difference: from what one process gets."""
        digest = hashlib.sha256(b"".join(array.tobytes() for array in self.state.values())).digest()
        digests = loop.comm.allgather(numpy.frombuffer(digest, numpy.uint8)).reshape(loop.comm.size, -1)
        equal, falls = (digests == digests[0]).all(), self.losses[-1] <= FALLS * self.losses[first]
        changes = [self.sizes[0], *(size for before, size in zip(self.sizes, self.sizes[1:]) if size != before)]
        print(f"rank {loop.comm.rank} of {loop.comm.size}, {'started' if 'HX_RANK' in os.environ else 'joined'}: {loop.revision} steps by "
              f"{', '.join(map(str, changes))} ranks, {loop.failures} failures, loss {self.losses[first]:.3f} to {self.losses[-1]:.3f}, "
              f"state {digest.hex()[:8]} {'on all ranks' if equal else 'here, WRONG: another one elsewhere'}; {words}", flush=True)
        return not (equal and falls and loop.revision == self.options.steps and self.sizes.all() and difference <= TOLERANCE)
