# SPDX-License-Identifier: BSD-3-Clause
"""state_sync, agree and shrink in Python: results, reports and refusals. Run with 3 ranks or more."""
import hierax
import hierax.elastic
import numpy

comm = hierax.world()
rank, size = comm.rank, comm.size


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"not refused: {text}")


w, b, step = numpy.arange(100000.0), numpy.zeros((2, 3), "float32"), bytearray(8)
w[7] += rank == 1
step[0] = 3 if rank == 2 else 0
report = hierax.state_sync(comm, {"w": w, "b": b, "step": step}, revision=4)
assert (w == numpy.arange(100000.0)).all() and step[0] == 0
assert report["revision"] == 4 and report["bytes_received"] == {1: w.nbytes, 2: 8}.get(rank, 0), report
assert report["entries_received"] == (rank in (1, 2)) and (report["sources"] > 0) == (rank in (1, 2))
assert report["hash_seconds"] > 0 and report["transfer_seconds"] > 0
b[:] = rank
assert comm.state_sync({"b": b}, 0, "send_only" if rank == 2 else "receive_only")["sources"] == (rank != 2)
assert (b == 2).all()
refused(hierax.ArgError, "mode \"all\": choose majority, send_only or receive_only", lambda: comm.state_sync({}, 0, "all"))
refused(hierax.ArgError, "number is read-only", lambda: comm.state_sync({"number": b"12"}))
refused(TypeError, "names of entries are texts", lambda: comm.state_sync({1: b}))
refused(TypeError, "number is int", lambda: comm.state_sync({"number": 3}))
refused(hierax.ArgError, "a NUL", lambda: comm.state_sync({"a\0b": b}))
refused(OverflowError, "", lambda: comm.state_sync({}, -1))
refused(hierax.MismatchError, f"rank 1 has revision 9", lambda: comm.state_sync({"b": b + rank}, 9 if rank == 1 else 8) if rank != 2
        else comm.state_sync({"b": b + 0}, 8))
comm.barrier()
assert comm.allreduce(1) == size
flags, completed = comm.agree(~(1 << rank))
assert flags == ~((1 << size) - 1) and completed == 2, (flags, completed)
copy = comm.dup()
copy.revoke()
refused(hierax.RevokedError, "", copy.barrier)
with copy.shrink() as rest:
    assert (rest.rank, rest.size) == (rank, size) and rest.allreduce(1) == size
copy.free()
refused(ValueError, "every is 0: expected 1 or more", lambda: hierax.elastic.Loop({}, 1, every=0))
refused(ValueError, "least is 3: expected 1 to most, which is 2", lambda: hierax.elastic.Loop({}, 1, least=3, most=2))
refused(ValueError, "seconds is -1", lambda: hierax.elastic.Loop({}, 1, seconds=-1))
refused(hierax.EnvError, "HX_STORE is not set", lambda: list(hierax.elastic.Loop({"b": b}, 1, least=size + 1)))
print("is well")
