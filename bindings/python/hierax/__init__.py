# SPDX-License-Identifier: BSD-3-Clause
"""Collective communication for jobs with many ranks per node.

    import hierax, numpy
    comm = hierax.world()                 # starts Hierax at its first use
    total = comm.allreduce(numpy.ones(4)) # the sum over all ranks

Run it with `coll_run -n 4 -- python3 program.py`, srun or mpirun. See hierax-python(7).
"""
try:
    from ._native import version
except ModuleNotFoundError:
    raise ImportError(f"{__path__[0]} has no extension module: this is the source of the package. Python finds it before the "
                      "installed package if the program is started in this folder. Start it in another one") from None
from ._errors import (ArgError, BootstrapError, EnvError, Error, InternalError, MinorityError, MismatchError, NoMemError,
                      PeerDeadError, RevokedError, StateError, TimeoutError, TransportError)
from ._native import (AVG, BAND, BFLOAT16, BOR, BXOR, BYTE, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT32_INDEX, FLOAT64,
                      FLOAT64_INDEX, IN_PLACE, INT8, INT16, INT32, INT32_INDEX, INT64, INT64_INDEX, LAND, LOR, LXOR, MAX, MAXLOC,
                      MIN, MINLOC, PROD, SUM, UINT8, UINT16, UINT32, UINT64, Comm, Group,
                      Memory, Op, Request)
from ._dtypes import pair
from ._process import abort, finalize, init, is_running, join, world
from ._state import state_sync

__version__ = version()
