# SPDX-License-Identifier: BSD-3-Clause
"""Every method of Comm, on every type and kind of buffer, gives what numpy computes from all ranks' input."""
import array
import functools
import sys

import checks
import hierax
import numpy as np
from checks import equal

comm = hierax.world()
rank, size = comm.rank, comm.size
forms = functools.partial(checks.forms, comm)
assert size == int(sys.argv[1]) if len(sys.argv) > 1 else True

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
         "complex64", "complex128"]


def input_of(r, dtype, shape=(2 * size, 3)):
    n = int(np.prod(shape))
    values = (np.arange(n) * 7 + 3 * r) % 4 + 1
    return (values % 2 == 0 if dtype == "bool" else values).astype(dtype).reshape(shape)


def folded(op, inputs, dtype):
    total = inputs[0]
    for x in inputs[1:]:
        total = op(total, x).astype(dtype)
    return total


OPS = {hierax.SUM: np.add, hierax.PROD: np.multiply, hierax.MIN: np.minimum, hierax.MAX: np.maximum}
BITS = {hierax.BAND: np.bitwise_and, hierax.BOR: np.bitwise_or, hierax.BXOR: np.bitwise_xor}
LOGIC = {hierax.LAND: np.logical_and, hierax.LOR: np.logical_or, hierax.LXOR: np.logical_xor}


def ops_of(dtype):
    kind = np.dtype(dtype).kind
    yield from ((op, f) for op, f in OPS.items() if kind != "c" or f not in (np.minimum, np.maximum))
    if kind in "biu":
        yield from BITS.items()
        yield from LOGIC.items() if size > 1 else ()  # the input of one rank stays as it is


def reductions():
    for dtype in TYPES:
        inputs = [input_of(r, dtype) for r in range(size)]
        for op, f in ops_of(dtype):
            equal(comm.allreduce(inputs[rank], op), folded(f, inputs, dtype), (dtype, op))
        out = np.zeros_like(inputs[0])
        assert comm.allreduce(inputs[rank], out=out) is out
        equal(out, folded(np.add, inputs, dtype), dtype)
        assert comm.allreduce(hierax.IN_PLACE, hierax.MAX if np.dtype(dtype).kind != "c" else hierax.SUM, out=out) is out
    for dtype in ("float16", "float32", "float64", "complex64", "complex128"):
        inputs = [input_of(r, dtype) for r in range(size)]
        mean = comm.allreduce(inputs[rank], hierax.AVG)
        assert np.allclose(mean, sum(x.astype("complex128") for x in inputs) / size, rtol=1e-2), dtype


def every_form():
    inputs = [input_of(r, "int32") for r in range(size)]
    mine, total = inputs[rank], sum(inputs).astype("int32")
    blocks = [np.split(x, size) for x in inputs]
    for got in forms("allreduce", mine):
        equal(got, total, "allreduce")
    for root in range(size):
        for got in forms("reduce", mine, root=root):
            equal(got, total, "reduce") if rank == root else check(got is None)
        for got in forms("gather", mine, root):
            equal(got, np.stack(inputs), "gather") if rank == root else check(got is None)
        for got in forms("scatter", mine if rank == root else None, root, np.empty((2, 3), "int32")):
            equal(got, blocks[root][rank], "scatter")
        for got in forms("bcast", mine.copy(), root):
            equal(got, inputs[root], "bcast")
    for got in forms("allgather", mine):
        equal(got, np.stack(inputs), "allgather")
    for got in forms("alltoall", mine):
        equal(got, np.concatenate([blocks[r][rank] for r in range(size)]), "alltoall")
    for got in forms("reduce_scatter_block", mine):
        equal(got, np.split(total, size)[rank], "reduce_scatter_block")
    for got in forms("scan", mine):
        equal(got, sum(inputs[:rank + 1]), "scan")
    for got in forms("exscan", mine):
        equal(got, sum(inputs[:rank]) if rank else np.zeros_like(mine), "exscan")
    for got in forms("barrier"):
        check(got is None)


def in_place():
    """As input of every form, also of requests: the input is in out."""
    for got in forms_in_place("allreduce", lambda: np.full(5, rank + 1)):
        equal(got, np.full(5, size * (size + 1) // 2), "allreduce in place")
    for got in forms_in_place("scan", lambda: np.full(5, 1)):
        equal(got, np.full(5, rank + 1), "scan in place")

    def block():
        rows = np.full((size, 2), -1)
        rows[rank] = rank
        return rows
    for got in forms_in_place("allgather", block):
        equal(got, np.stack([np.full(2, r) for r in range(size)]), "allgather in place")


def forms_in_place(name, make):
    yield getattr(comm, name)(hierax.IN_PLACE, out=make())
    yield getattr(comm, "i" + name)(hierax.IN_PLACE, out=make()).wait()
    request = getattr(comm, name + "_init")(hierax.IN_PLACE, out=make())
    yield request.start().wait()


def lists():
    counts = [r + 1 for r in range(size)]
    ends = np.cumsum(counts)
    whole = [np.arange(ends[-1]) + 100 * r for r in range(size)]
    part = [np.full(counts[r], r) for r in range(size)]
    for got in forms("allgatherv", part[rank], counts):
        equal(got, np.concatenate(part), "allgatherv")
    for got in forms("reduce_scatter", whole[rank], counts):
        equal(got, sum(whole)[ends[rank] - counts[rank]:ends[rank]], "reduce_scatter")
    root = size - 1
    for got in forms("gatherv", part[rank], counts if rank == root else None, root):
        equal(got, np.concatenate(part), "gatherv") if rank == root else check(got is None)
    for got in forms("scatterv", whole[rank] if rank == root else None, counts if rank == root else None, root,
                     np.empty(counts[rank], "int64")):
        equal(got, whole[root][ends[rank] - counts[rank]:ends[rank]], "scatterv")
    for got in forms("alltoallv", whole[rank], counts, [counts[rank]] * size):
        equal(got, np.concatenate([whole[r][ends[rank] - counts[rank]:ends[rank]] for r in range(size)]), "alltoallv")
    apart = [2 * int(end) for end in ends]
    out = np.full(apart[-1] + counts[-1], -1)
    comm.allgatherv(part[rank], counts, out, displs=apart)
    for r in range(size):
        equal(out[apart[r]:apart[r] + counts[r]], part[r], "displacements")
    assert (out == -1).sum() == out.size - ends[-1]


def check(true):
    assert true


def numbers():
    assert comm.allreduce(rank + 1) == size * (size + 1) // 2
    assert comm.allreduce(0.5) == size / 2
    assert comm.allreduce(1j) == size * 1j
    assert comm.allreduce(rank == 0, hierax.MAX) is True and comm.allreduce(rank == 0, hierax.MIN) is (size == 1)
    assert comm.iallreduce(-2**62, hierax.MIN).wait() == -2**62
    assert comm.scan(1) == rank + 1


class Tensor:
    """Only what DLPack demands: the stand-in for tensors of other libraries."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


class Bfloat16(np.ndarray):
    """An array whose dtype calls itself bfloat16, as that of ml_dtypes does."""

    @property
    def dtype(self):
        class Named:
            name, itemsize, hasobject, isnative, names = "bfloat16", 2, False, True, None
        return Named


def buffers():
    assert comm.allreduce(array.array("i", [1, rank])) == array.array("i", [size, size * (size - 1) // 2])
    assert comm.allreduce(bytearray(b"\1\2")) == bytearray([size, 2 * size])
    view = memoryview(array.array("d", [1.0] * 6)).cast("B").cast("d", [2, 3])
    assert comm.allreduce(view).tolist() == [[float(size)] * 3] * 2
    x = np.arange(6, dtype="float32").reshape(2, 3)
    equal(comm.allreduce(Tensor(x)), x * size, "DLPack")
    out = Tensor(np.zeros((2, 3), "float32"))
    assert comm.allreduce(Tensor(x), out=out) is out
    equal(out.array, x * size, "DLPack out")
    bits = np.array([1.5, -2.0], "float32").view("uint32") >> 16
    b = bits.astype("uint16").view(Bfloat16)
    total = np.zeros(2, "uint16").view(Bfloat16)
    comm.allreduce(b, out=total)
    assert ((np.asarray(total).view(np.ndarray).astype("uint32") << 16).view("float32") == np.array([1.5, -2]) * size).all()
    for shape in ((0,), (0, 3), ()):
        equal(comm.allreduce(np.zeros(shape)), np.zeros(shape), shape)
        equal(comm.allgather(np.zeros(shape)), np.zeros((size, *shape)), shape)
    record = np.zeros(2, [("a", "u1"), ("b", ">f8")])
    record["b"] = rank
    assert (comm.allgather(record)["b"][:, 0] == np.arange(size)).all()
    times = np.array(["2026-01-01"], "M8[D]") + rank
    assert (comm.allgather(times)[:, 0] == np.array(["2026-01-01"], "M8[D]") + np.arange(size)).all()
    big = np.arange(4, dtype=">i4")
    equal(comm.bcast(big), np.arange(4, dtype=">i4"), "other byte order, moved")


def pairs():
    for value in ("float32", "float64", "int32", "int64"):
        x = np.zeros(3, hierax.pair(value))
        x["value"], x["index"] = [5 - rank, rank, 7], rank
        least, most = comm.allreduce(x, hierax.MINLOC), comm.allreduce(x, hierax.MAXLOC)
        assert least["value"].tolist() == [6 - size, 0, 7] and least["index"].tolist() == [size - 1, 0, 0], least
        assert most["value"].tolist() == [5, size - 1, 7] and most["index"].tolist() == [0, size - 1, 0], most


def shared_memory():
    x = comm.empty((4, 5), "float32")
    assert x.shape == (4, 5) and not x.any()
    x[:] = rank + 1
    equal(comm.allreduce(x), np.full((4, 5), size * (size + 1) / 2, "float32"), "empty")
    part = x[1:3]
    del x
    comm.barrier()
    assert (part == rank + 1).all()  # the array keeps the memory
    assert comm.empty(0).size == 0


def elements():
    """An element of an array of numpy gives one of the same type, as a number of Python gives a number."""
    for kind in (np.float32, np.float64, np.int8, np.uint64, np.complex64, np.bool_):
        total = comm.allreduce(kind(1))
        assert type(total) is kind and total == kind(size), kind
    request = comm.iscan(np.int16(2))
    assert request.out is None and request.wait() == 2 * (rank + 1) and type(request.wait()) is np.int16
    assert (comm.allgather(np.float32(rank)) == np.arange(size)).all()
    types = ["float32", "int64", np.dtype("f8"), np.complex64, hierax.BFLOAT16]
    assert len({str(comm.plan_info("allreduce", 10, dtype)) for dtype in types}) >= 1 + (size > 1)
    assert comm.empty(3, hierax.INT16).dtype == np.int16


def communicators():
    half = comm.split(rank % 2, key=-rank)
    members = [r for r in range(size) if r % 2 == rank % 2]
    assert half.size == len(members) and half.allreduce(rank) == sum(members)
    assert half.rank == sorted(members, reverse=True).index(rank)
    assert comm.split(None if rank else 0) is None or rank == 0
    with comm.dup() as copy:
        assert copy.allreduce(1) == size
    first = comm.create_group([0, size - 1]) if rank in (0, size - 1) and size > 1 else None
    assert first is None or (first.size == 2 and first.allreduce(rank) == size - 1)
    node = comm.split_node()
    assert 1 <= node.size <= size and node.allreduce(1) == node.size
    assert "freed" in repr(copy) and str(rank) in repr(comm)
    plan = comm.plan_info("allreduce", 1000, hierax.FLOAT32)
    assert size == 1 or (plan["rounds"] > 0 and plan["plan"]), plan


def choices():
    parent = comm.dup()
    parent.set_atomic(True)
    parent.set_wire("int8")
    parent.set_timeout(0.5)
    copy = parent.dup()  # which inherits them
    nodes = comm.allreduce(int(comm.split_node().rank == 0))
    assert copy.plan_info("allreduce", 2**24)["plan"].endswith("int8") == (nodes > 1), copy.plan_info("allreduce", 2**24)
    if size > 1:  # a gather that the root alone cannot complete
        try:
            copy.gatherv(np.zeros(3), [3, 4] + [3] * (size - 2) if rank == 0 else None)
            raise AssertionError("the gather has completed")
        except hierax.ArgError:
            pass
    comm.reorder()
    if rank == 0:
        try:
            copy.recv(np.zeros(1), 0)
            raise AssertionError("nobody has sent")
        except hierax.TimeoutError as error:
            assert "waited 0.5 s (hx_comm_set_timeout)" in str(error), error
    comm.barrier()
    copy.free()
    parent.free()


for part in (reductions, every_form, in_place, lists, numbers, buffers, pairs, shared_memory, elements, communicators, choices):
    part()
hierax.finalize()
assert not hierax.is_running()
