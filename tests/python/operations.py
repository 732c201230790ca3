# SPDX-License-Identifier: BSD-3-Clause
"""Operations that are functions of Python: order, types, threads that hold the interpreter's lock, and that they can be collected.
With HX_PROGRESS_THREAD=1 the function runs in Hierax's own thread too."""
import gc
import threading
import weakref

import hierax
import numpy as np

comm = hierax.world()
rank, size = comm.rank, comm.size


def results():
    add = hierax.Op(np.add, commutative=True)
    for dtype in ("int8", "uint64", "float16", "float64", "complex64"):
        x = np.full(1000, rank + 1, dtype)
        assert (comm.allreduce(x, add) == size * (size + 1) // 2).all(), dtype
    calls = []
    left = hierax.Op(lambda a, b: calls.append(type(a)) or a)
    right = hierax.Op(lambda a, b: b)
    x = np.full(10, rank, "int32")
    assert (comm.allreduce(x, left) == 0).all() and (comm.allreduce(x, right) == size - 1).all()
    assert set(calls) <= {np.ndarray} and (size == 1 or comm.allreduce(len(calls)) > 0)
    assert (comm.reduce(x, right, root=0) == size - 1).all() if rank == 0 else comm.reduce(x, right, root=0) is None
    assert (comm.scan(x, right) == rank).all()
    best = hierax.Op(lambda a, b: np.where(a["value"] >= b["value"], a, b))
    pairs = np.zeros(4, hierax.pair("float64"))
    pairs["value"] = rank
    assert (comm.allreduce(pairs, best)["value"] == size - 1).all()

    def in_place(a, b):
        a += b
        return a
    assert (comm.allreduce(x + 1, hierax.Op(in_place, True)) == size * (size + 1) // 2).all()


def threads():
    """Two threads, each with its communicator, and the progress thread if there is one: all want the interpreter's lock."""
    copies = [comm.dup(), comm.dup()]
    op = hierax.Op(lambda a, b: a + b, commutative=True)
    wrong = []

    def work(own):
        x = np.full(100, 1.0)
        for _ in range(40):
            if not (own.allreduce(x, op) == size).all() or not (own.iallreduce(x, op).wait() == size).all():
                wrong.append(own)
            request = own.iallreduce(x, op)
            while not request.test():
                pass
    group = [threading.Thread(target=work, args=(copy,)) for copy in copies]
    for thread in group:
        thread.start()
    x = np.ones(100)
    for _ in range(40):
        assert (comm.allreduce(x, op) == size).all()
    for thread in group:
        thread.join()
    assert not wrong
    for copy in copies:
        copy.free()


def one_communicator():
    """Threads of a rank that use one communicator, one after the other in the same order on all ranks."""
    turn, op = [threading.Semaphore(1), threading.Semaphore(0)], hierax.Op(np.add, True)

    def work(me):
        for _ in range(20):
            turn[me].acquire()
            comm.allreduce(np.ones(5), op)
            turn[1 - me].release()
    group = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in group:
        thread.start()
    for thread in group:
        thread.join()


def collected():
    class Function:
        def __call__(self, a, b):
            return a + b
    function = Function()
    op = function.op = hierax.Op(function)
    gone = weakref.ref(function)
    comm.allreduce(np.ones(3), op)
    comm.iallreduce(np.ones(3), op).wait()
    del function, op
    gc.collect()
    assert gone() is None
    for _ in range(10_000):  # more than exist at the same time
        hierax.Op(np.add)


for part in (results, threads, one_communicator, collected):
    part()
    comm.barrier()
