# SPDX-License-Identifier: BSD-3-Clause
"""Each allocation fails once, in one call after the other: MemoryError, nothing is lost, and the next call works."""
import gc
import sys

import hierax
import numpy as np

try:
    import _testcapi
except ImportError:
    sys.exit("no module _testcapi: install libpython3-testsuite or a Python that has it")

comm = hierax.world()
x, out = np.ones(100), np.zeros(100)


def groups():
    with comm.group():
        comm.allreduce(x)
        comm.allgather(x)


def started_groups():
    with comm.group(wait=False) as group:
        comm.allreduce(x)
    group.request.wait()


def calls():
    comm.allreduce(x)
    comm.allreduce(2)
    comm.allgatherv(x, [100])


def requests():
    comm.iallreduce(x).wait()
    comm.allreduce_init(x).free()


def communicators():
    comm.dup().free()
    comm.failed()


def neighbors():
    with comm.graph([0, 0], [0, 0]) as graph:
        graph.neighbor_alltoall(x)
        graph.neighbor_allgatherv(x, [100, 100])


def arrays():
    comm.alltoallw([x], [out])
    comm.ialltoallw([x], [out]).wait()


def memory():
    comm.empty(100)[:] = 1


def operations():
    comm.allreduce(x, hierax.Op(np.add))


for part in (groups, started_groups, calls, requests, communicators, neighbors, arrays, memory, operations):
    part()
    failed, at, passed = 0, 0, 0
    while passed < 20:  # this many in a row: no allocation is left that could fail
        try:
            _testcapi.set_nomemory(at, at + 1)
            part()
            passed += 1
        except MemoryError:
            failed, passed = failed + 1, 0
        finally:
            _testcapi.remove_mem_hooks()
        at += 1
        gc.collect()
        assert comm.allreduce(3) == 3
    assert failed, part
