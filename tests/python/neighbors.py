# SPDX-License-Identifier: BSD-3-Clause
"""Neighborhood collectives on graphs of all kinds, and alltoallw, give what a plain computation from all ranks' input gives."""
import array
import functools
import gc
import random
import weakref

import checks
import hierax
import numpy as np
from checks import equal, refuses

comm = hierax.world()
rank, size = comm.rank, comm.size
RECORD = np.dtype([("a", "u1"), ("b", "f8")])  # Hierax moves it as bytes


def graphs():
    """Edges, each from a rank to a rank."""
    everyone = range(size)
    yield []
    yield [(r, r) for r in everyone]
    yield [(r, to) for r in everyone for to in ((r + 1) % size, (r - 1) % size)]
    yield [(r, 0) for r in everyone]           # rank 0 has all sources, the others have none
    yield [(size - 1, r) for r in everyone] * 3  # each three times
    drawn = random.Random(size)
    for _ in range(6):
        yield [(drawn.randrange(size), drawn.randrange(size)) for _ in range(drawn.randrange(1, 5 * size))]


class Graph:
    """A communicator, and which edges lead from this rank and to it, in the order of its lists."""

    def __init__(self, edges):
        self.edges = edges
        self.sent = [e for e, (source, _) in enumerate(edges) if source == rank]
        self.received = [e for e, (_, to) in enumerate(edges) if to == rank]
        self.received.sort(key=lambda e: (edges[e][0] - rank) % size)  # another order than that of the edges
        self.sources = [edges[e][0] for e in self.received]
        self.comm = comm.graph(self.sources, [edges[e][1] for e in self.sent])
        self.forms = functools.partial(checks.forms, self.comm)


def block(e, length, dtype="int64"):
    values = np.arange(length) + 100 * e + 1
    if dtype != RECORD:
        return values.astype(dtype)
    record = np.zeros(length, RECORD)
    record["a"], record["b"] = e % 256, values
    return record


def joined(blocks, like):
    return np.concatenate([np.zeros(0, like), *blocks]).astype(like)


def gathers(graph):
    for dtype in ("int64", "float32", "bool", "complex128", RECORD):
        def of(r, dtype=dtype):
            return block(r, 6, dtype).reshape(2, 3)
        wanted = joined([of(r).reshape(-1) for r in graph.sources], dtype).reshape(len(graph.sources), 2, 3)
        for got in graph.forms("neighbor_allgather", of(rank)):
            equal(got, wanted, ("neighbor_allgather", graph.edges))
        out = np.zeros(wanted.size, dtype)  # another shape
        assert graph.comm.neighbor_allgather(of(rank), out) is out
        equal(out, wanted.reshape(-1), "out")
        lengths = [r * 1000 % 1003 for r in range(size)]  # 0, 1000, 997
        for got in graph.forms("neighbor_allgatherv", block(rank, lengths[rank], dtype), [lengths[r] for r in graph.sources]):
            equal(got, joined([block(r, lengths[r], dtype) for r in graph.sources], dtype), ("neighbor_allgatherv", graph.edges))


def exchanges(graph):
    out_edges, in_edges = graph.sent, graph.received
    for dtype in ("int16", "float64", RECORD):
        x = joined([block(e, 4, dtype) for e in out_edges], dtype).reshape(2 * len(out_edges), 2)
        wanted = joined([block(e, 4, dtype) for e in in_edges], dtype).reshape(2 * len(in_edges), 2)
        out = None if out_edges or not in_edges else np.zeros_like(wanted)
        for got in graph.forms("neighbor_alltoall", x, out):
            equal(got, wanted, ("neighbor_alltoall", graph.edges))
        for most in (3, 5000):
            lengths = [e * 777 % most for e in range(len(graph.edges))]
            scounts, rcounts = [lengths[e] for e in out_edges], [lengths[e] for e in in_edges]
            blocks = [block(e, lengths[e], dtype) for e in in_edges]
            for got in graph.forms("neighbor_alltoallv", joined([block(e, lengths[e], dtype) for e in out_edges], dtype), scounts, rcounts):
                equal(got, joined(blocks, dtype), ("neighbor_alltoallv", graph.edges))


def displacements(graph):
    """Blocks stand in the reverse order, one element apart. What is between them does not change."""
    lengths = [e % 4 for e in range(len(graph.edges))]
    scounts, rcounts = [lengths[e] for e in graph.sent], [lengths[e] for e in graph.received]
    x = np.full(sum(scounts) + len(scounts), -1)
    sdispls, rdispls = places(scounts), places(rcounts)
    for e, at in zip(graph.sent, sdispls):
        x[at:at + lengths[e]] = block(e, lengths[e])
    wanted = np.full(sum(rcounts) + len(rcounts), -7)
    for e, at in zip(graph.received, rdispls):
        wanted[at:at + lengths[e]] = block(e, lengths[e])
    for got in graph.forms("neighbor_alltoallv", x, scounts, rcounts, np.full_like(wanted, -7), sdispls, rdispls):
        equal(got, wanted, ("displacements", graph.edges))
    counts = [r % 3 for r in graph.sources]
    wanted = np.full(sum(counts) + len(counts), -7)
    for r, at in zip(graph.sources, places(counts)):
        wanted[at:at + r % 3] = block(r, r % 3)
    for got in graph.forms("neighbor_allgatherv", block(rank, rank % 3), counts, np.full_like(wanted, -7), displs=places(counts)):
        equal(got, wanted, ("displacements", graph.edges))


def places(counts):
    return [sum(counts[i + 1:]) + len(counts) - 1 - i for i in range(len(counts))]


def properties():
    assert comm.sources is None and comm.destinations is None
    after, before = (rank + 1) % size, (rank - 1) % size
    with comm.graph(sources=np.array([before, before]), destinations=iter([after, after])) as ring:
        assert ring.sources == (before, before) and ring.destinations == (after, after) and type(ring.sources[0]) is int
        assert (ring.rank, ring.size) == (rank, size) and ring.allreduce(1) == size
        assert ring.dup().sources is None
    assert ring.sources == (before, before)  # also after it was freed
    refuses(hierax.StateError, "freed", ring.neighbor_allgather, np.zeros(1))


def requests():
    """Several at once, with another collective between them; a prepared call sends what its array has at each start."""
    after, before = (rank + 1) % size, (rank - 1) % size
    ring = comm.graph([before], [after])
    several = [ring.ineighbor_allgather(np.full(3, 10 * rank + i)) for i in range(5)]
    assert ring.allreduce(1) == size
    gc.collect()
    for i, request in enumerate(several):
        equal(request.wait(), np.full((1, 3), 10 * before + i), "several")
    x, out = np.zeros(2), np.zeros(2)
    prepared = ring.neighbor_alltoall_init(x, out)
    for step in range(5):
        x[:] = step * 100 + rank
        assert prepared.start().wait() is out and (out == step * 100 + before).all()
    prepared.free()
    assert ring.neighbor_alltoall(array.array("i", [rank, 5])).tolist() == [before, 5]
    ring.free()


KINDS = [("int16", "int16"), ("float64", "int64"), (RECORD, RECORD), ("bool", "uint8"), ("complex64", "float32"), ("M8[s]", "M8[s]")]


def pair_block(source, to):
    """The array from a rank to a rank, and the type as which it is received. None: no element."""
    length = (source * 5 + to * 3) % 4 * (1 + 500 * (to % 2))
    kind = KINDS[(source + 2 * to) % len(KINDS)]
    values = block(source * size + to, length, "int64" if kind[0] == "M8[s]" else kind[0])
    return (values.astype(kind[0]) if kind[0] == "M8[s]" else values), kind[1]


def types():
    x = [pair_block(rank, r)[0] for r in range(size)]
    wanted = [pair_block(r, rank)[0].view(pair_block(r, rank)[1]) for r in range(size)]
    out = [np.zeros_like(a) for a in wanted]
    for given in (x, tuple(a if a.size else None for a in x)):
        for got in checks.forms(comm, "alltoallw", given, out):
            assert got is out
            for r in range(size):
                equal(out[r], wanted[r], ("alltoallw", r))
                out[r].view("u1")[:] = 0
    square = np.arange(size * 6.0).reshape(size, 2, 3) + 1000 * rank
    rows, same = np.zeros_like(square), [np.zeros(3, "f4") for _ in range(size)]
    comm.alltoallw(square, rows)  # arrays of numpy are lists of their rows
    equal(rows, np.stack([np.arange(6.0).reshape(2, 3) + 6 * rank + 1000 * r for r in range(size)]), "rows")
    comm.alltoallw([np.full((1, 3), rank, "f4")] * size, same)  # one array for all
    equal(np.stack(same)[:, 0], np.arange(size, dtype="f4"), "one array")
    numbers = [array.array("q", [0]) for _ in range(size)]
    comm.alltoallw([rank * 10 + r for r in range(size)], numbers)
    assert [n[0] for n in numbers] == [10 * r + rank for r in range(size)]


def types_in_place():
    def arrays():
        return [np.full(1 + rank + r, 100 * rank + r, "i2" if (rank + r) % 2 else "f8") for r in range(size)]
    for start in (comm.alltoallw, lambda *args: comm.ialltoallw(*args).wait(), lambda *args: comm.alltoallw_init(*args).start().wait()):
        out = arrays()
        assert start(hierax.IN_PLACE, out) is out
        for r in range(size):
            equal(out[r], np.full(1 + rank + r, 100 * r + rank, out[r].dtype), "alltoallw in place")


def types_kept():
    """A request keeps the arrays, also if the program drops the lists or changes them."""
    out = [np.zeros(1000) for _ in range(size)]
    mine = list(out)
    request = comm.ialltoallw([np.full(1000, 10.0 * rank + r) for r in range(size)], out)
    out.clear()
    gc.collect()
    junk = [np.full(1000, -1.0) for _ in range(size)]
    assert request.out is out and request.wait() is out
    assert [a[999] for a in mine] == [10 * r + rank for r in range(size)] and len(junk) == size
    gone = weakref.ref(mine[0])
    del request, mine
    gc.collect()
    assert gone() is None


def refused():
    x, itself = np.zeros(4), [rank]
    for call in (comm.neighbor_allgather, comm.ineighbor_alltoall, comm.neighbor_alltoall_init):
        refuses(hierax.ArgError, "this communicator has no graph: use one of Comm.graph()", call, x)
    refuses(hierax.ArgError, "neighbor_allgatherv: this communicator has no graph", comm.neighbor_allgatherv, x, [4])
    refuses(hierax.ArgError, [f"sources[1] is {size}", f"0 to {size - 1}"], comm.graph, [0, size], [])
    refuses(hierax.ArgError, "destinations[0] is -1", comm.graph, [], [-1])
    refuses(hierax.ArgError, "in its sources 1 times, but rank 0 has rank 0 in its destinations 0 times", comm.graph, itself, [])
    refuses(TypeError, "sources is int: expected a list of integers", comm.graph, 3, [])
    refuses(TypeError, "destinations[1] is str: expected an integer", comm.graph, [], [0, "1"])
    refuses(hierax.ArgError, f"sources[0] = {2**40} does not fit", comm.graph, [2**40], [])
    graph = comm.graph(itself * 2, itself * 2)
    refuses(hierax.ArgError, "neighbor_allgather: x cannot be hierax.IN_PLACE", graph.neighbor_allgather, hierax.IN_PLACE, np.zeros(8))
    refuses(hierax.ArgError, "neighbor_alltoallv: x cannot be", graph.neighbor_alltoallv, hierax.IN_PLACE, [2, 2], [2, 2], np.zeros(4))
    refuses(hierax.ArgError, ["out has 4 elements", "expected 8: one x of each source (shape (4,))"], graph.neighbor_allgather, x, np.zeros(4))
    refuses(hierax.ArgError, "out has elements of float32", graph.neighbor_allgather, x, np.zeros(8, "f4"))
    refuses(hierax.ArgError, "neighbor_allgather of a number", graph.neighbor_allgather, 3)
    refuses(hierax.ArgError, "x (shape (3,)) is not a multiple of the number of destinations, 2", graph.neighbor_alltoall, np.zeros(3))
    refuses(hierax.ArgError, "expected 4: a block of each source, as long as those of x", graph.neighbor_alltoall, x, np.zeros(5))
    refuses(hierax.ArgError, "overlap", graph.neighbor_alltoall, x, x)
    refuses(hierax.ArgError, "counts has 3 entries, but this rank has 2 sources", graph.neighbor_allgatherv, x, [4, 4, 4])
    refuses(hierax.ArgError, "scounts has 1 entries, but this rank has 2 destinations", graph.neighbor_alltoallv, x, [4], [2, 2])
    refuses(hierax.ArgError, "rcounts has 0 entries, but this rank has 2 sources", graph.neighbor_alltoallv, x, [2, 2], [])
    refuses(hierax.ArgError, "x has 4 elements (shape (4,)), expected 5: the sum of scounts", graph.neighbor_alltoallv, x, [2, 3], [2, 3])
    refuses(hierax.ArgError, "needs out", graph.neighbor_allgatherv, x, [4, 4], displs=[0, 4])
    refuses(hierax.ArgError, "overlap", graph.neighbor_allgatherv, x, [4, 4], np.zeros(8), [0, 3])
    refuses(TypeError, "counts is missing", graph.neighbor_allgatherv, x)
    refuses(TypeError, "no argument 'root': expected x, out", graph.neighbor_alltoall, x, root=0)
    with graph.group():
        refuses(hierax.StateError, "group", graph.neighbor_allgather, x)
    assert graph.neighbor_allgather(x).shape == (2, 4)
    graph.free()
    only = comm.graph([0] if rank == size - 1 else [], [size - 1] if rank == 0 else [])
    if rank == size - 1 and size > 1:
        refuses(hierax.ArgError, "a rank without destinations must pass out", only.neighbor_alltoall, x[:0])
        refuses(hierax.ArgError, "x (shape (4,)) is not a multiple of the number of destinations, 0", only.neighbor_alltoall, x)
    only.free()


def types_refused():
    ones, outs = [np.zeros(1) for _ in range(size)], [np.zeros(1) for _ in range(size)]
    whole = np.zeros(size + 4)
    parts = list(whole[:size].reshape(size, 1))
    refuses(TypeError, "alltoallw: out is missing", comm.alltoallw, ones)
    refuses(TypeError, "x is int: expected a list of arrays", comm.alltoallw, 3, outs)
    refuses(hierax.ArgError, f"x has {size + 1} entries, but the communicator has {size} ranks", comm.alltoallw, [*ones, whole], outs)
    refuses(hierax.ArgError, f"out has 0 entries, but the communicator has {size} ranks", comm.alltoallw, ones, [])
    refuses(TypeError, f"x[{size - 1}] is str", comm.alltoallw, ones[:-1] + ["1"], outs)
    refuses(hierax.ArgError, "x[0] is not contiguous", comm.ialltoallw, [whole[::2]] + ones[1:], outs)
    refuses(hierax.ArgError, "out[0] is read-only", comm.alltoallw, ones, [b"12345678"] + outs[1:])
    refuses(hierax.ArgError, "out cannot be hierax.IN_PLACE", comm.alltoallw, ones, hierax.IN_PLACE)
    refuses(hierax.ArgError, "x[0] and out[0] overlap in memory: pass hierax.IN_PLACE as x", comm.alltoallw_init, parts, [whole] + outs[1:])
    refuses(hierax.ArgError, "overlap in memory: pass", comm.alltoallw, [whole] + ones[1:], parts)
    if size > 1:
        refuses(hierax.ArgError, "out[0] and out[1] overlap in memory", comm.alltoallw, ones, [whole[:2], whole[1:3]] + outs[2:])
        refuses(hierax.ArgError, "out[0] and out[1] overlap in memory", comm.alltoallw, hierax.IN_PLACE, [whole[:2], whole[1:3]] + outs[2:])
    refuses(hierax.ArgError, f"rank {rank} sends 8 bytes to itself", comm.alltoallw, ones, [np.zeros(2) for _ in range(size)])
    refuses(TypeError, "no argument 'counts': expected x, out", comm.alltoallw, ones, out=outs, counts=[1])
    with comm.group():
        refuses(hierax.StateError, "group", comm.alltoallw, ones, parts)


for edges in graphs():
    graph = Graph(edges)
    for part in (gathers, exchanges, displacements):
        part(graph)
    graph.comm.free()
for part in (properties, requests, types, types_in_place, types_kept, refused, types_refused):
    part()
    assert comm.allreduce(1) == size, part
hierax.finalize()
