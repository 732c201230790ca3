# SPDX-License-Identifier: BSD-3-Clause
"""Messages between two ranks, wrong arguments, and revoked communicators."""
import threading

import hierax
import numpy as np

comm = hierax.world()
rank, size = comm.rank, comm.size
after, before = (rank + 1) % size, (rank - 1) % size


def refuses(kind, text, call, *args):
    try:
        call(*args)
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError(f"not refused: {text}")


def moves():
    for count in (0, 1, 1000, 300_000):
        x = np.arange(count, dtype="float32") + rank
        request = comm.isend(x, after, 7)
        out = np.zeros(count, "float32")
        assert comm.recv(out, source=before, tag=7) is out and (out == np.arange(count, dtype="float32") + before).all()
        assert request.wait() is None
    requests = [comm.irecv(np.zeros(1, int), before, tag) for tag in range(10)]
    for tag in reversed(range(10)):
        comm.send(100 * rank + tag, after, tag)  # a number: one int64
    assert [int(request.wait()[0]) for request in requests] == [100 * before + tag for tag in range(10)]
    a, b = np.zeros(2), np.zeros(2)
    send, receive = comm.send_init(a, after), comm.recv_init(b, before)
    for step in range(20):
        a[:] = step + rank
        receive.start(), send.start()
        assert (receive.wait() == step + before).all()
        send.wait()
    flags = np.array([True, False])
    comm.isend(flags, rank).wait()
    assert comm.recv(np.zeros(2, "?"), rank).tolist() == [True, False]


def probes():
    assert comm.iprobe(before, 3) is None
    comm.barrier()
    comm.send(np.zeros(5, "float64"), after, 3)
    while comm.iprobe(before, 3) is None:
        pass
    assert comm.iprobe(before, tag=3) == 40
    comm.recv(np.zeros(5), before, 3)


def refused():
    x = np.zeros(3)
    refuses(hierax.ArgError, f"dest {size} is out of range", comm.send, x, size)
    refuses(hierax.ArgError, "source -1 is out of range", comm.recv, x, -1)
    refuses(hierax.ArgError, "4294967296", comm.send, x, 2**32)
    refuses(hierax.ArgError, "tag = 4294967297", comm.send, x, 0, 2**32 + 1)
    refuses(hierax.ArgError, "tag -1", comm.send, x, 0, -1)
    refuses(TypeError, "dest is missing", comm.send, x)
    x.flags.writeable = False
    refuses(hierax.ArgError, "x is read-only", comm.recv, x, 0)
    comm.isend(np.zeros(4), after, 5).wait()
    refuses(hierax.MismatchError, "", comm.recv, np.zeros(3), before, 5)
    comm.barrier()


def revoked():
    """A rank that waits in another thread returns at once."""
    copy = comm.dup()
    raised = []

    def waits():
        try:
            copy.recv(np.zeros(1), before)
        except hierax.RevokedError as error:
            raised.append(error.name)
    thread = threading.Thread(target=waits)
    thread.start()
    comm.barrier()
    if rank == 0:
        copy.revoke()
    thread.join()
    assert raised == ["HX_ERR_REVOKED"]
    refuses(hierax.RevokedError, "", copy.allreduce, 1)
    copy.free()
    assert comm.failed() == [] and comm.allreduce(1) == size


for part in (moves, probes, refused, revoked):
    part()
