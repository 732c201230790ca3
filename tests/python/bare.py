# SPDX-License-Identifier: BSD-3-Clause
"""Without numpy: arrays of the standard library, operations on memoryviews, memory of comm.empty."""
import array
import sys

import hierax

comm = hierax.world()
rank, size = comm.rank, comm.size
x = array.array("d", [1.0, rank])
assert comm.allreduce(x) == array.array("d", [size, size * (size - 1) / 2])
assert comm.allgather(x).tolist() == [float(i) for r in range(size) for i in (1, r)]
ended = comm.iallreduce(memoryview(x)).wait()
assert isinstance(ended, memoryview) and ended.tolist() == [size, size * (size - 1) / 2]
after, before = (rank + 1) % size, (rank - 1) % size
ring = comm.graph([before], [after])
assert ring.neighbor_allgather(x).tolist() == [1.0, before] and ring.neighbor_alltoallv(x, [2], [2]).tolist() == [1.0, before]
blocks = [bytearray(3) for _ in range(size)]
comm.alltoallw([b"%d>%d" % (rank, r) for r in range(size)], blocks)
assert blocks == [b"%d>%d" % (r, rank) for r in range(size)]
add = hierax.Op(lambda a, b: array.array(a.format, [i + j for i, j in zip(a, b)]), commutative=True)
assert comm.allreduce(x, add) == array.array("d", [size, size * (size - 1) / 2])
shared = comm.empty((2, 3), "d")
assert shared.tolist() == [[0.0] * 3] * 2
shared[1, 2] = 1.0
assert comm.allreduce(shared).tolist()[1][2] == size
assert comm.bcast(bytearray(b"root" if rank == 0 else b"none")) == b"root"
assert "numpy" not in sys.modules
