# SPDX-License-Identifier: BSD-3-Clause
"""Clusters of points with mpi4py: the collectives of buffers and those of objects. Rank 0 prints the centres. usage: kmeans.py POINTS ROUNDS"""
import sys
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
points, rounds, clusters = int(sys.argv[1]), int(sys.argv[2]), 8


def expect(what, good):
    if not good:
        print(f"kmeans: rank {rank}: {what} is wrong", file=sys.stderr, flush=True)
        comm.Abort(1)


# points are drawn on rank 0; the last rank gets the rest
counts = [points // size] * (size - 1) + [points - points // size * (size - 1)]
everything = numpy.random.default_rng(1).integers(0, 1000, (points, 3)).astype("d") if rank == 0 else None
mine = numpy.empty((counts[rank], 3))
comm.Scatterv([everything, [3 * n for n in counts]] if rank == 0 else None, mine, root=0)
first = comm.bcast(everything[:clusters].copy() if rank == 0 else None, root=0)  # an object
centres = first.copy()
comm.Bcast(centres, root=0)
expect("Bcast", (centres == first).all())

half = comm.Split(rank % 2, rank)
for _ in range(rounds):
    nearest = ((mine[:, None, :] - centres[None]) ** 2).sum(2).argmin(1)
    sums = numpy.stack([mine[nearest == c].sum(0) for c in range(clusters)])
    members = numpy.bincount(nearest, minlength=clusters).astype("q")
    request = comm.Iallreduce(MPI.IN_PLACE, members)
    comm.Allreduce(MPI.IN_PLACE, sums)
    request.Wait()
    expect("Iallreduce", members.sum() == points)
    centres = sums / numpy.maximum(members, 1)[:, None]
    away = comm.allreduce(float(((mine - centres[nearest]) ** 2).sum()), op=MPI.MAX)  # objects
    expect("allreduce", away >= 0)
    same = half.allgather(centres.sum())
    expect("allgather", len(same) == half.size and len(set(same)) == 1)

before = comm.exscan(counts[rank])
expect("exscan", rank == 0 or before == sum(counts[:rank]))
exchanged = numpy.empty(size, "i")
comm.Alltoall(numpy.arange(size, dtype="i") + 100 * rank, exchanged)
expect("Alltoall", (exchanged == 100 * numpy.arange(size) + rank).all())
all_counts = comm.gather(counts[rank], root=0)
expect("gather", rank != 0 or all_counts == counts)
sorted_places = numpy.empty((points, 3)) if rank == 0 else None
comm.Gatherv(mine, [sorted_places, [3 * n for n in counts]] if rank == 0 else None, root=0)
expect("Gatherv", rank != 0 or (sorted_places == everything).all())
comm.Barrier()
half.Free()
if rank == 0:
    for centre in centres:
        print("centre " + " ".join(f"{x:.6f}" for x in centre))
