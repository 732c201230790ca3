# SPDX-License-Identifier: BSD-3-Clause
"""init and finalize again and again: objects of an earlier start are refused, operations and arrays stay, nothing is left."""
import gc
import os

import hierax
import numpy as np

op = hierax.Op(np.maximum, commutative=True)
kept, old, before = [], [], 0
for cycle in range(30):
    comm = hierax.init()
    size = comm.size
    assert (comm.allreduce(np.full(3, comm.rank), op) == size - 1).all()
    for thing, call in old:
        try:
            call()
        except hierax.StateError as error:
            assert "earlier" in str(error), error
        else:
            raise AssertionError(thing)
    request = comm.allreduce_init(np.ones(2))
    old = [(comm, comm.barrier), (request, request.start)]
    array = comm.empty(100)
    array[:] = cycle
    kept = kept[-2:] + [array]
    hierax.finalize()
    assert [int(a[99]) for a in kept] == list(range(max(0, cycle - 2), cycle + 1))
    gc.collect()
    open_files = len(os.listdir("/proc/self/fd"))
    before = before or open_files
    assert open_files <= before + 3, (before, open_files)
