# SPDX-License-Identifier: BSD-3-Clause
"""What the nine lessons share: a text, a transformer, the process group, the count of bytes, and the comparison with one process.

A lesson is a function main(lesson). It trains with all ranks, then compares its weights with those of one process that trained on
the whole batches: lesson.check. The bytes of a step are counted at one place: torch sends each collective call through an
operator of its namespace c10d, also the calls that DDP and FSDP make in C++, and Watch sees them all."""
import argparse
import contextlib
import copy
import datetime
import hashlib
import os
import random
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

HEADS = 12  # of attention: 2, 3, 4, 6 and 12 ranks share them evenly
SEQUENCES, LENGTH = 12, 32  # of a batch: 2, 3, 4, 6 and 12 ranks share it evenly
TOLERANCE = 1e-4  # of weights and losses; the weights are about 0.1. Sums in another order change about 1e-6


# ---- the model ----

class Block(nn.Module):
    """Attention and two layers, each added to the stream x of shape [sequences, length, width]."""

    def __init__(self, width):
        super().__init__()
        self.head = width // HEADS
        self.norm1, self.norm2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def attention(self, x):
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, -1, self.head).permute(2, 0, 3, 1, 4)
        heads = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(heads.transpose(1, 2).flatten(2))

    def mlp(self, x):
        return self.down(functional.gelu(self.up(x)))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """It predicts the next character; forward returns the mean loss of a batch of sequences."""

    def __init__(self, letters, width, depth, block=Block):
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(block(width) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width, bias=False), nn.Linear(width, letters, bias=False)

    def forward(self, batch):
        x = self.letter(batch[:, :-1]) + self.place.weight
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), batch[:, 1:].flatten())


def text(sentences=400):
    """The same on every rank and in every run."""
    words, chance = (("one", "every", "this", "some"), ("small", "red", "quiet", "quick"), ("hawk", "rank", "node", "ring"),
                     ("sees", "sends", "finds", "keeps")), random.Random(7)
    return "".join(" ".join(chance.choice(kind) for kind in (*words, *words[:3])) + ". " for _ in range(sentences))


class Flat:
    """Parameters as one vector, padded with zeros to a multiple of p: they become views of it. Likewise their gradients."""

    def __init__(self, parameters, p):
        self.parameters = list(parameters)
        n = sum(weight.numel() for weight in self.parameters)
        self.weights, self.gradient = torch.zeros(2, n + -n % p)
        at = 0
        for weight in self.parameters:
            part = slice(at, at + weight.numel())
            self.weights[part] = weight.detach().flatten()
            weight.data, weight.grad = self.weights[part].view_as(weight), self.gradient[part].view_as(weight)
            at += weight.numel()


# ---- bytes ----

class Watch(TorchDispatchMode):
    """Adds the bytes that each rank must send at least, by the bounds in Chan et al., "Collective communication" (2007).
    LESSON_LOSE=1 loses what the last rank adds to each sum: each lesson must notice it."""

    def __init__(self, rank, size):
        super().__init__()
        self.rank, self.size, self.sent, self.lose = rank, size, 0, os.environ.get("LESSON_LOSE") == "1"

    def least(self, name, args):
        p, length = self.size, lambda tensor: tensor.numel() * tensor.element_size()
        if name == "allreduce_":
            return sum(map(length, args[0])) * 2 * (p - 1) / p
        if name == "broadcast_":
            return sum(map(length, args[0])) * (p - 1) / p
        if name == "allgather_":  # of this rank's part
            return sum(map(length, args[1])) * (p - 1)
        if name in ("_allgather_base_", "_reduce_scatter_base_"):  # of the whole vector; it is the longer one
            return max(map(length, args[:2])) * (p - 1) / p
        if name == "alltoall_base_":  # args[4]: rows for each rank; empty: the same for all
            return length(args[1]) * (1 - (args[4][self.rank] / max(sum(args[4]), 1) if args[4] else 1 / p))
        if name == "barrier":
            return 0
        raise NotImplementedError(f"lesson.py has no rule for the bytes of c10d.{name}")

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        if call.namespace == "c10d":
            name = call._schema.name.split("::")[1]
            self.sent += self.least(name, args)
            if self.lose and self.rank == self.size - 1 and name in ("allreduce_", "_reduce_scatter_base_"):
                for tensor in args[0] if name == "allreduce_" else args[1:2]:
                    tensor.zero_()
        return call(*args, **(kwargs or {}))


# ---- a lesson ----

class Wrong(Exception):
    """The training differs from that of one process, or its bytes from theory."""


class Task:
    """The text, its batches, and the model: the same on every rank."""

    def __init__(self, small):
        self.small, written = small, text()
        self.letters = sorted(set(written))
        self.tokens = torch.tensor([self.letters.index(letter) for letter in written])

    def model(self, block=Block):
        """With the same weights on every rank."""
        torch.manual_seed(1)
        model = Transformer(len(self.letters), *((36, 2) if self.small else (144, 4)), block)
        self.numbers = sum(weight.numel() for weight in model.parameters())
        return model

    def optimizer(self, parameters):
        return torch.optim.AdamW(parameters, lr=1e-3, eps=1e-6, foreach=False)

    def batch(self, step):
        """[SEQUENCES, LENGTH + 1], the same on every rank."""
        choose = torch.Generator().manual_seed(step)
        starts = torch.randint(len(self.tokens) - LENGTH, (SEQUENCES,), generator=choose)
        return torch.stack([self.tokens[start:start + LENGTH + 1] for start in starts])


class Lesson(Task):
    trained = {}  # what alone has trained for another lesson of this job

    def __init__(self, name, options):
        super().__init__(options.small)
        self.name, self.steps = name, options.steps
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        if SEQUENCES % self.size:
            raise SystemExit(f"{name}: {SEQUENCES} sequences cannot be shared by {self.size} ranks; choices: 1 2 3 4 6 12")
        self.watch, self.sent = Watch(self.rank, self.size), []

    def share(self, step, rank=None):
        """The sequences of this rank, or of another."""
        return self.batch(step).chunk(self.size)[self.rank if rank is None else rank]

    def say(self, words):
        if self.rank == 0:
            print(f"{self.name}: {words}", flush=True)

    @contextlib.contextmanager
    def step(self):
        """The communication in here belongs to one step."""
        before = self.watch.sent
        with self.watch:
            yield
        self.sent.append(self.watch.sent - before)

    def mean(self, loss):
        """Of all ranks; not counted."""
        loss = loss.detach().clone()
        dist.all_reduce(loss)
        return loss.item() / self.size

    def alone(self, block=Block):
        """One process trains on the whole batches: the model, and the loss of each step."""
        if block not in self.trained:
            model, losses = self.model(block), []
            optimizer = self.optimizer(model.parameters())
            for step in range(self.steps):
                loss = model(self.batch(step))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            self.trained[block] = model, losses
        return copy.deepcopy(self.trained[block])

    def check(self, weights, losses, alone_weights, alone_losses, theory, formula, period=1):
        """weights, losses: those of the ranks, in the same order as those of one process. theory: bytes that this rank must send
        in a step, the mean of the last `period` steps. formula: how it follows from the numbers of ranks p, weights N, or
        others."""
        p, sent = self.size, sum(self.sent[-period:]) / period
        with torch.no_grad():
            off = torch.tensor([max((a - b).abs().max().item() for a, b in zip(weights, alone_weights, strict=True)),
                                max(abs(a - b) for a, b in zip(losses, alone_losses, strict=True)),
                                abs(sent - theory) / max(theory, 1)]).nan_to_num(nan=float("inf"))
        dist.all_reduce(off, op=dist.ReduceOp.MAX)
        ddp = 2 * (p - 1) / p * 4 * self.numbers
        self.say(f"each rank sends {sent / 1e6:.4g} MB a step; theory: {formula} = {theory / 1e6:.4g} MB"
                 f" ({sent / ddp if ddp else 1:.2f} x DDP's bytes)")
        if not off[:2].max() <= TOLERANCE:
            raise Wrong(f"differs from one process: weights by {off[0]:.1e}, losses by {off[1]:.1e}; tolerance {TOLERANCE:.0e}")
        if off[2] > 1e-3:  # vectors may be padded
            raise Wrong(f"a rank's bytes differ from theory by {off[2]:.2%}; rank 0 sends {sent:.0f}, theory says {theory:.0f}")
        self.say(f"loss {losses[0]:.3f} to {losses[-1]:.3f}. One process has the same weights (they differ by {off[0]:.0e}) and"
                 f" losses ({off[1]:.0e}); tolerance {TOLERANCE:.0e}")


# ---- the job ----

def rendezvous():
    """If a launcher such as torchrun sets RANK and WORLD_SIZE, it also says where ranks meet. Under coll_run they meet at a file."""
    if "RANK" not in os.environ and "HX_RANK" in os.environ:
        job = hashlib.sha256(os.environ["HX_SECRET"].encode()).hexdigest()[:16]
        return {"init_method": f"file:///tmp/hierax-lesson-{job}", "rank": int(os.environ["HX_RANK"]),
                "world_size": int(os.environ["HX_SIZE"])}
    if "RANK" not in os.environ:
        raise SystemExit("start it with several ranks, as in: torchrun --nproc-per-node 2 ddp.py")
    return {}


def run(*lessons):
    """The program of a lesson, or of several."""
    options = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    options.add_argument("--backend", default="hierax", help="of torch.distributed: hierax (default), gloo")
    options.add_argument("--steps", type=int, default=6, help="steps of training; a multiple of 3")
    options.add_argument("--small", action="store_true", help="a model of 34,000 weights rather than of a million")
    options = options.parse_args()
    if options.steps < 3 or options.steps % 3:
        raise SystemExit(f"--steps {options.steps}: expected a multiple of 3, because DiLoCo's ranks meet in every third step")
    torch.set_num_threads(1)
    if options.backend == "hierax":
        import hierax.torch  # noqa: F401  registers the backend
    dist.init_process_group(options.backend, timeout=datetime.timedelta(seconds=60), **rendezvous())
    wrong = False
    for main in lessons:
        lesson = Lesson(main.__module__ if main.__module__ != "__main__" else os.path.basename(sys.argv[0])[:-3], options)
        try:
            main(lesson)
        except Wrong as e:
            wrong = True
            lesson.say(f"WRONG: {e}")
    dist.barrier()  # a launcher ends all ranks when one ends with status 1: rank 0 has said why by then
    dist.destroy_process_group()
    sys.exit(1 if wrong else 0)
