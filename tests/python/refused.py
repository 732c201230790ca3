# SPDX-License-Identifier: BSD-3-Clause
"""Each wrong argument is refused by an exception that names the value, before any data moves: the communicator still works."""
import pickle

import hierax
import numpy as np
from checks import refuses

comm = hierax.world()
rank, size = comm.rank, comm.size
x = np.arange(4.0)


class Gpu:
    """An array of a GPU: touching its memory raises this assertion."""
    __cuda_array_interface__ = {"data": (8, False)}

    def __dlpack__(self, stream=None):
        raise AssertionError("the memory was touched")

    def __dlpack_device__(self):
        return (2, 0)


class GpuTensor:
    __dlpack__ = Gpu.__dlpack__
    __dlpack_device__ = Gpu.__dlpack_device__


def memory():
    for gpu in (Gpu(), GpuTensor()):
        refuses(hierax.ArgError, "x is in the memory of a GPU", comm.allreduce, gpu)
        refuses(hierax.ArgError, "out is in the memory of a GPU", comm.allreduce, x, out=gpu)
    square = np.zeros((4, 4))
    for apart in (square[:, 1], square.T[:2], x[::-1], memoryview(square)[::2]):
        refuses(hierax.ArgError, "x is not contiguous", comm.allreduce, apart)
    refuses(hierax.ArgError, "out is not contiguous", comm.allreduce, x, out=square[:, 1])
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    refuses(hierax.ArgError, "out is read-only", comm.allreduce, x, out=frozen)
    refuses(hierax.ArgError, "out is read-only", comm.allreduce, np.frombuffer(b"1234", "u1"), out=b"1234")
    if rank != 0:
        refuses(hierax.ArgError, "x is read-only", comm.bcast, frozen)
    refuses(hierax.ArgError, "overlap", comm.allreduce, square[0], out=square.reshape(16)[2:6])
    refuses(hierax.ArgError, "overlap", comm.allgather, square[0], out=square.reshape(16)[:4 * size] if size < 4 else square)
    refuses(hierax.ArgError, "x is not aligned", comm.allreduce, np.zeros(33, "u1")[1:].view("f8"))
    refuses(hierax.ArgError, "x is not aligned", comm.allreduce, memoryview(bytearray(33))[1:].cast("d"))
    refuses(hierax.ArgError, "out is not aligned", comm.allreduce, x, out=memoryview(bytearray(33))[1:].cast("d"))
    masked = np.ma.array(x, mask=[0, 1, 0, 0])
    refuses(TypeError, "masked", comm.allreduce, masked)
    refuses(TypeError, "masked", comm.allreduce, x, out=masked)


class Tensor:
    """An array by DLPack alone, whose capsule can be used once."""

    def __init__(self, array):
        self.array, self.capsule = array, array.__dlpack__()

    def __dlpack__(self):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def dlpack():
    tensor = Tensor(x)
    assert (comm.allreduce(tensor) == x * size).all()  # it leaves the capsule, which numpy then uses for the type of the result
    refuses(TypeError, "x: __dlpack__() of Tensor", comm.allreduce, tensor)
    tensor.capsule = 5
    refuses(TypeError, "x: __dlpack__() of Tensor", comm.allreduce, tensor)
    refuses(TypeError, "x is PyCapsule", comm.allreduce, x.__dlpack__())


def shapes():
    refuses(hierax.ArgError, ["out has 3 elements (shape (3,))", "expected 4", "(4,)"], comm.allreduce, x, out=np.zeros(3))
    refuses(hierax.ArgError, ["out has 4 elements", f"expected {4 * size}"], comm.allgather, x, out=np.zeros((2, 2)))
    refuses(hierax.ArgError, ["float32", "float64"], comm.allreduce, x, out=np.zeros(4, "float32"))
    refuses(hierax.ArgError, [f"{size}", "(7, 2)"] if size > 1 else "", comm.alltoall, np.zeros((7, 2)) if size > 1 else x[::2])
    refuses(hierax.ArgError, "entries", comm.allgatherv, x, [1] * (size + 1))
    refuses(hierax.ArgError, "counts[0]", comm.allgatherv, x, [-1] * size)
    refuses(hierax.ArgError, "counts[0]", comm.allgatherv, x, [2**64] + [1] * (size - 1))
    refuses(hierax.ArgError, "x has 4 elements", comm.allgatherv, x, [3] * size)
    refuses(hierax.ArgError, "out has 5 elements", comm.allgatherv, x, [4] * size, np.zeros(5))
    refuses(TypeError, "counts is missing", comm.allgatherv, x)
    refuses(hierax.ArgError, "needs out", comm.allgatherv, x, [4] * size, displs=[0] * size)
    if rank != 0:
        refuses(hierax.ArgError, "must pass out", comm.scatter)
    refuses(hierax.ArgError, "IN_PLACE", comm.allreduce, hierax.IN_PLACE)
    refuses(hierax.ArgError, "IN_PLACE", comm.allreduce, x, out=hierax.IN_PLACE)


def types():
    refuses(TypeError, "Python objects", comm.allreduce, np.array([None]))
    refuses(TypeError, "x is None", comm.allreduce, None)
    refuses(TypeError, "x is list", comm.allreduce, [1, 2])
    refuses(TypeError, "x is missing", comm.allreduce)
    refuses(TypeError, ["op is 3", "MAXLOC", "hierax.Op("], comm.allreduce, x, 3)
    refuses(TypeError, "no argument 'oup': expected x, op, out", comm.allreduce, x, oup=x)
    refuses(TypeError, "op is 'sum'", comm.plan_info, "allreduce", 1, op="sum")
    refuses(TypeError, ["dtype is 'flaot32'", "float32"], comm.plan_info, "allreduce", 1, "flaot32")
    refuses(hierax.ArgError, "datatype 999", comm.plan_info, "allreduce", 1, 999)
    refuses(ValueError, "shape (2, -3)", comm.empty, (2, -3))
    refuses(hierax.ArgError, ["float128", "complex128"], comm.allreduce, np.zeros(2, np.longdouble))
    refuses(hierax.ArgError, "out has elements of float64 (8 bytes), but x of >f8", comm.allgather, np.zeros(2, ">f8"),
            out=np.zeros(2 * size))
    refuses(hierax.ArgError, "datetime64[ms]", comm.allgather, np.zeros(2, "M8[s]"), out=np.zeros(2 * size, "M8[ms]"))
    refuses(hierax.ArgError, "bcast cannot change", comm.bcast, np.float64(3))
    refuses(TypeError, "pass out", comm.allgather, memoryview(np.zeros(2, [("Offset", "f8")])))  # the name has an O: no object
    refuses(TypeError, "twice", comm.allreduce, x, x=x)
    refuses(TypeError, "at most 3", comm.allreduce, x, hierax.SUM, None, None)
    refuses(hierax.ArgError, [">f4", "byte order"], comm.allreduce, np.zeros(2, ">f4"))
    refuses(hierax.ArgError, "AVG of bool", comm.allreduce, np.zeros(2, "?"), hierax.AVG)
    refuses(hierax.ArgError, "avg is not defined for int32", comm.allreduce, np.zeros(2, "i4"), hierax.AVG)
    refuses(hierax.ArgError, "minloc is not defined for float64", comm.allreduce, x, hierax.MINLOC)
    refuses(hierax.ArgError, "64 bits", comm.allreduce, 2**63)
    refuses(hierax.ArgError, "bcast cannot change", comm.bcast, 3)
    packed = np.zeros(2, [("value", "f8"), ("index", "i4")])
    wide = np.zeros(2, [("value", "f8"), ("index", "i8")])
    turned = np.zeros(2, [("index", "i4"), ("value", "f4")])
    for record in (packed, wide, turned):
        refuses(hierax.ArgError, "hierax.pair", comm.allreduce, record, hierax.MINLOC)
    refuses(TypeError, "float32, float64", hierax.pair, "int8")


def integers():
    refuses(hierax.ArgError, "does not fit in 32 bits", comm.bcast, x, 10**5000)  # Python refuses to write this number
    refuses(hierax.ArgError, "counts[0] = 4.0", comm.allgatherv, x, [4.0] * size)
    refuses(TypeError, "counts is int", comm.allgatherv, x, 4)
    refuses(TypeError, "ranks is int", comm.create_group, 3)
    for root in (2**32, -2**32, 2**64, 2**31):
        refuses(hierax.ArgError, str(root), comm.bcast, x, root)
    refuses(hierax.ArgError, [f"root {size}", f"0 to {size - 1}"], comm.bcast, x, size)
    refuses(TypeError, "root is float", comm.bcast, x, 0.5)
    refuses(hierax.ArgError, str(2**32), comm.split, 2**32)
    refuses(hierax.ArgError, str(2**33), comm.split, 0, 2**33)
    refuses(hierax.ArgError, str(2**32), comm.create_group, [2**32])
    refuses(hierax.ArgError, "frobnicate", comm.plan_info, "frobnicate", 1)
    for call in (lambda counts: comm.allgatherv(x, counts), comm.create_group):
        refuses(hierax.ArgError, "[0] = Clears", call, cleared(2**64))
    assert comm.allgatherv(x, cleared(4)).size == 4 * size


def cleared(value):
    """A list that the first entry clears when its value is read."""
    class Clears:
        def __index__(self):
            entries.clear()
            return value

        def __repr__(self):
            return "Clears"
    entries = [Clears()] + [value] * (size - 1)
    return entries


def choices():
    for on in (2, -1):
        refuses(ValueError, [f"on is {on}", "choose 0 or 1"], comm.set_atomic, on)
    refuses(TypeError, "on is str", comm.set_atomic, "yes")
    refuses(ValueError, ['"fp7"', "off|bf16|fp16|fp8|int8"], comm.set_wire, "fp7")
    refuses(TypeError, "format is 8", comm.set_wire, 8)
    for seconds in (-1, 2e9, float("nan")):
        refuses(ValueError, [f"{seconds:g} seconds", "expected 0 to 1e9"], comm.set_timeout, seconds)
    refuses(TypeError, "real number", comm.set_timeout, "3")
    refuses(TypeError, "no arguments", comm.reorder, 1)


def states():
    refuses(hierax.StateError, "runs already", hierax.init)
    refuses(hierax.StateError, "finalize", comm.free)
    copy = comm.dup()
    with copy.group():
        refuses(hierax.StateError, "group", copy.free)  # and it stays usable
        total = copy.allreduce(x)
    assert (total == x * size).all()
    copy.free()
    refuses(hierax.StateError, "freed", copy.allreduce, x)
    refuses(hierax.StateError, "freed", copy.free)
    for call in (lambda: copy.set_atomic(True), lambda: copy.set_wire("off"), lambda: copy.set_timeout(1), copy.reorder):
        refuses(hierax.StateError, "freed", call)
    request = comm.allreduce_init(x)
    refuses(hierax.StateError, "started", comm.ibarrier().start)
    request.start()
    refuses(hierax.StateError, "active", request.start)
    refuses(hierax.StateError, "active", request.free)
    request.wait()
    request.free()
    refuses(hierax.StateError, "freed", request.start)
    for kind in (hierax.Comm, hierax.Request, hierax.Memory):
        refuses(TypeError, "cannot create", kind)
    refuses(TypeError, "pickle", pickle.dumps, comm)
    active = comm.iallreduce(x)
    refuses(hierax.StateError, "iallreduce is not complete", hierax.finalize)
    active.wait()


def classes():
    assert issubclass(hierax.ArgError, (ValueError,)) and issubclass(hierax.TimeoutError, TimeoutError)
    assert issubclass(hierax.NoMemError, MemoryError) and issubclass(hierax.PeerDeadError, hierax.Error)
    try:
        comm.bcast(x, size)
    except hierax.Error as error:
        assert (type(error), error.status, error.name) == (hierax.ArgError, 1, "HX_ERR_ARG"), error


for part in (memory, dlpack, shapes, types, integers, choices, states, classes):
    part()
    assert comm.allreduce(1) == size, part
hierax.finalize()
refuses(hierax.StateError, "does not run", comm.allreduce, x)
