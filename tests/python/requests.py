# SPDX-License-Identifier: BSD-3-Clause
"""Requests: wait, test, await by several tasks, wait by several threads, with blocks, and requests that are dropped."""
import asyncio
import gc
import os
import threading
import time
import weakref

import hierax
import hierax._requests
import numpy as np

comm = hierax.world()
rank, size = comm.rank, comm.size
x = np.arange(1000.0)


def waits():
    request = comm.iallreduce(x)
    first = request.wait()
    assert (first == x * size).all() and request.wait() is first and request.out is first and request.test() and not request.active
    with comm.ibcast(np.full(3, rank)) as request:
        assert request.active
    assert not request.active
    several = [comm.iallreduce(x + i) for i in range(20)]
    for i in reversed(range(20)):
        assert (several[i].wait() == (x + i) * size).all()
    request = comm.iallreduce(5)
    while not request.test():
        pass
    assert request.wait() == 5 * size


def tasks():
    async def all_of_them():
        request = comm.iallreduce(x)

        async def one():
            return await request
        results = await asyncio.gather(one(), one(), one())
        assert all(result is results[0] for result in results) and (results[0] == x * size).all()
        assert await comm.ibarrier() is None
        return await request
    assert asyncio.run(all_of_them()) is not None


def sleeping():
    """With a progress thread a task sleeps while it waits: it asks a few times, not thousands."""
    if not hierax._process.has_progress_thread():
        return

    async def waits():
        request = comm.iallreduce(x)
        results = await asyncio.gather(*(one(request) for _ in range(3)))
        assert all((result == x * size).all() for result in results)

    async def one(request):
        return await request
    before = hierax._requests.tests
    comm.barrier()
    if rank == 0:
        time.sleep(0.3)
    asyncio.run(waits())
    assert hierax._requests.tests - before <= 30, hierax._requests.tests - before
    assert len(os.listdir("/proc/self/fd")) < 200


def threads():
    for _ in range(20):
        request, results = comm.iallreduce(x), []
        group = [threading.Thread(target=lambda: results.append(request.wait())) for _ in range(3)]
        for thread in group:
            thread.start()
        for thread in group:
            thread.join()
        assert len(results) == 3 and all(result is results[0] for result in results) and (results[0] == x * size).all()


def groups():
    """Many calls as one. The group keeps what only it refers to."""
    arrays = [np.full(n, rank + n) for n in range(1, 40)]
    with comm.group():
        sums = [comm.allreduce(a) for a in arrays]
        comm.bcast(arrays[0], root=size - 1)
        mine = comm.allgather(np.full(3, rank))
    for n in range(1, 40):
        assert (sums[n - 1] == sum(r + n for r in range(size))).all()
    assert (arrays[0] == size).all() and (mine[:, 0] == np.arange(size)).all()
    with comm.group(wait=False) as group:
        total = comm.allreduce(np.ones(1000) * 2, hierax.MAX)
        try:
            comm.allreduce(3)
        except hierax.ArgError as error:
            assert "number" in str(error)
        try:
            comm.iallreduce(x)
        except hierax.StateError:
            pass
    request = group.request
    del group
    gc.collect()
    assert request.wait() is None and (total == 2).all()
    try:
        with comm.group():
            total = comm.allreduce(np.ones(2))
            raise KeyError
    except KeyError:
        assert (total == size).all()
    gone = weakref.ref(total)
    del total
    gc.collect()
    assert gone() is None and comm.allreduce(1) == size


def persistent():
    a, out = np.zeros(5), np.zeros(5)
    request = comm.allreduce_init(a, hierax.MAX, out)
    for i in range(50):
        a[:] = i * 10 + rank
        assert request.start() is request and request.wait() is out and (out == i * 10 + size - 1).all()
    del request
    for _ in range(1000):
        comm.allreduce_init(a)
    comm.allreduce_init(a).free()


def freed():
    """A communicator that is freed lives on in its requests."""
    copy = comm.dup()
    prepared, active = copy.allreduce_init(x), copy.iallreduce(x)
    copy.free()
    assert (active.wait() == x * size).all() and (prepared.start().wait() == x * size).all()
    prepared.free()


def cancelled():
    """A task that no longer waits leaves the request as it is; other loops may wait for it too."""
    async def main():
        request = comm.iallreduce(x)

        async def one():
            return await request
        task = asyncio.create_task(one())
        await asyncio.sleep(0)
        task.cancel()
        assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], (asyncio.CancelledError, np.ndarray))
        return await request
    assert (asyncio.run(main()) == x * size).all()
    for _ in range(20):
        request, results = comm.iallreduce(x), []

        async def one():
            results.append(await request)
        group = [threading.Thread(target=lambda: asyncio.run(one())) for _ in range(3)]
        for thread in group:
            thread.start()
        for thread in group:
            thread.join()
        assert len(results) == 3 and all(result is results[0] for result in results)


def dropped():
    """The buffers of a request that the program has dropped stay until it is complete."""
    big = np.ones(100_000)
    here = weakref.ref(big)
    comm.iallreduce(big)
    del big
    gc.collect()
    assert here() is not None
    comm.barrier()


def dropped_often():
    """A loop that drops its requests does not keep all of their buffers, also if the program holds others."""
    held = [comm.allreduce_init(x) for _ in range(10)]
    for started in (lambda array: comm.iallreduce(array), started_group):
        arrays = []
        for _ in range(300):
            array = np.ones(100)
            started(array)
            arrays.append(weakref.ref(array))
            del array
            comm.barrier()
        alive = sum(array() is not None for array in arrays)
        assert alive < 100, alive
    del held


def started_group(array):
    with comm.group(wait=False):
        comm.allreduce(array)


def memory():
    """Nothing is left of 2,000 calls, and of arrays and requests that refer to each other."""
    gc.collect()
    for _ in range(3):
        for _ in range(2000):
            comm.iallreduce(x[:8]).wait()
            comm.allreduce(x[:8])
        gc.collect()
    array = np.ones(10)
    gone = weakref.ref(array)
    comm.iallreduce(array).wait()
    comm.allreduce_init(array).free()
    del array
    gc.collect()
    assert gone() is None


for part in (waits, tasks, sleeping, threads, groups, persistent, freed, cancelled, dropped, dropped_often, memory):
    part()
kept = comm.allreduce_init(x)  # finalize releases it
hierax.finalize()
try:
    kept.start()
except hierax.StateError:
    pass
else:
    raise AssertionError("a request of a Hierax that has ended was started")
