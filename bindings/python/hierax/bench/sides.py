# SPDX-License-Identifier: BSD-3-Clause
"""The libraries that are measured, each beside the interface of Hierax that is like it.

A side of a process has `rank`, `size`, barrier() and prepare(collective, dtype, n). That returns a call without arguments for a
vector of n elements, and a function that checks the output of one such call."""
import importlib.util
import os
import sys
from dataclasses import dataclass


@dataclass
class Peer:
    """A row. jobs: the sides of each job, and how its ranks start: coll_run, or mpi (the launcher of mpi4py's MPI).

    calls: of a side in a row, at most. A row must take milliseconds: ranks leave the barrier before it at different times.
    bound: each rank to its own core, if there are enough."""
    name: str
    module: str
    package: str
    about: str
    dtypes: tuple
    jobs: tuple
    calls: int
    bound: bool

    def missing(self):
        """A reason why it cannot be measured, or None."""
        there = importlib.util.find_spec(self.module)
        return None if there else f"no module {self.module} for {sys.executable}: install {self.package}"


PEERS = {peer.name: peer for peer in (
    Peer("gloo", "torch", "PyTorch 2.6 or later (Debian: python3-torch)", "torch", ("float32", "bfloat16"),
         ((("torch-hierax", "torch-gloo"), "coll_run"),), 100, False),  # the threads of Gloo must find an idle core
    Peer("mpi4py", "mpi4py", "mpi4py (Debian: python3-mpi4py)", "numpy", ("float32",),
         ((("numpy-hierax",), "coll_run"), (("numpy-mpi4py",), "mpi")), 5000, True))}
ITEM = {"float32": 4, "bfloat16": 2}
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


def shares(collective, n, size):
    """Elements of a rank's input and output, of a vector of n elements."""
    return {"all_gather": (n // size, n), "reduce_scatter": (n, n // size)}.get(collective, (n, n))


def expected(collective, rank, size, n):
    """The output if rank r puts r + 1 + its block's number into each block of the input: a list of pairs of a value and a
    length."""
    part, ranks = n // size, range(size)
    if collective == "all_gather":
        return [(r + 1, part) for r in ranks]
    if collective == "all_to_all":
        return [(r + 1 + rank, part) for r in ranks]
    total = size * (size + 1) // 2
    return [(total + size * rank, part)] if collective == "reduce_scatter" else [(total + size * block, part) for block in ranks]


class Torch:
    """A backend of torch.distributed. The first that is made opens the job; each is a group of all ranks."""

    def __init__(self, backend, meeting):
        import torch
        import torch.distributed as dist
        torch.set_num_threads(1)
        if backend == "hierax":
            import hierax.torch  # noqa: F401  registers the backend
        self.torch, self.dist, self.rank, self.size = torch, dist, int(os.environ["HX_RANK"]), int(os.environ["HX_SIZE"])
        if not dist.is_initialized():
            dist.init_process_group(backend, init_method=f"file://{meeting}", rank=self.rank, world_size=self.size)
        self.group = dist.new_group(backend=backend)

    def barrier(self):
        self.dist.barrier(group=self.group)

    def prepare(self, collective, dtype, n):
        torch, dist, group = self.torch, self.dist, self.group
        given, got = (torch.empty(length, dtype=getattr(torch, dtype)) for length in shares(collective, n, self.size))
        if collective == "all_reduce":
            got = given
        call = {"all_reduce": lambda: dist.all_reduce(given, group=group),
                "all_gather": lambda: dist.all_gather_into_tensor(got, given, group=group),
                "reduce_scatter": lambda: dist.reduce_scatter_tensor(got, given, group=group),
                "all_to_all": lambda: dist.all_to_all_single(got, given, group=group)}[collective]
        return call, lambda: checked(self, collective, n, given, got, call)


class Numpy:
    """Calls on arrays of numpy; methods: their names, in the order of COLLECTIVES."""

    def prepare(self, collective, dtype, n):
        import numpy
        given, got = (numpy.empty(length, dtype) for length in shares(collective, n, self.size))
        call = self.caller(getattr(self.comm, dict(zip(COLLECTIVES, self.methods))[collective]), given, got)
        return call, lambda: checked(self, collective, n, given, got, call)


class Hierax(Numpy):
    methods = "allreduce", "allgather", "reduce_scatter_block", "alltoall"

    def __init__(self):
        import hierax
        self.comm = hierax.world()
        self.rank, self.size, self.barrier = self.comm.rank, self.comm.size, self.comm.barrier

    def caller(self, method, given, got):
        return lambda: method(given, out=got)


class Mpi4py(Numpy):
    methods = "Allreduce", "Allgather", "Reduce_scatter_block", "Alltoall"

    def __init__(self):
        from mpi4py import MPI
        self.comm = MPI.COMM_WORLD
        self.rank, self.size, self.barrier = self.comm.Get_rank(), self.comm.Get_size(), self.comm.Barrier

    def caller(self, method, given, got):
        return lambda: method(given, got)


def open_side(name, meeting):
    return {"torch-hierax": lambda: Torch("hierax", meeting), "torch-gloo": lambda: Torch("gloo", meeting), "numpy-hierax": Hierax,
            "numpy-mpi4py": Mpi4py}[name]()


def checked(side, collective, n, given, got, call):
    """One call on small whole numbers; then the vectors hold zeros, so that sums of sums stay finite."""
    blocks = 1 if collective == "all_gather" else side.size
    for block in range(blocks):
        given[len(given) // blocks * block:len(given) // blocks * (block + 1)] = side.rank + 1 + block
    call()
    at = 0
    for value, length in expected(collective, side.rank, side.size, n):
        if not bool((got[at:at + length] == value).all()):
            raise SystemExit(f"hierax.bench: {collective} of {n} elements is wrong on rank {side.rank}: elements {at} to "
                             f"{at + length - 1} are not {value}")
        at += length
    given[:] = 0
