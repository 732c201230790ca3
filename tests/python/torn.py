# SPDX-License-Identifier: BSD-3-Clause
"""The only rank with the newest state dies while the others receive it: these keep what they had, and go on with that.

Usage: torn.py SECONDS: rank 0 dies so long after the transfer may begin. The others print "kept", or "came" if the state had arrived."""
import os
import signal
import sys
import threading

import hierax
import hierax.elastic
import numpy

comm = hierax.world()
revision = 10 if comm.rank == 0 else 9
w = numpy.full(24 << 20, float(revision), "float32")
loop = hierax.elastic.Loop({"w": w}, 12, comm, revision)
comm.barrier()
if comm.rank == 0:
    threading.Timer(float(sys.argv[1]), lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
try:
    loop.sync()
    comm.barrier()
    if comm.rank == 0:
        threading.Event().wait()
    comm.barrier()  # until rank 0 dies
    raise AssertionError("rank 0 lives")
except hierax.elastic.FAILURES:
    had = loop.revision
    assert (w == had).all(), "the state is torn"
    loop.recover()
assert (w == loop.revision).all() and loop.revision >= had and loop.comm.size == 2
assert loop.comm.allreduce(loop.revision, hierax.MAX) == loop.revision
print("kept" if loop.revision == 9 else "came")
