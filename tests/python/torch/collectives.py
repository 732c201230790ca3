# SPDX-License-Identifier: BSD-3-Clause
"""Every collective of c10d gives what torch computes from the ranks' data, for every type that it takes."""
import torch
import torch.distributed as dist

from job import TYPES, begin, data_of, end, refuses, same

rank, size = begin()
everyone = range(size)
Op = dist.ReduceOp


def folded(op, parts):
    """The ranks' data, combined in the same type."""
    if parts[0].dtype == torch.bool:
        stack = torch.stack(parts)
        return stack.any(0) if op in (Op.SUM, Op.MAX) else stack.all(0)
    wide = parts[0].dtype if parts[0].dtype.is_complex or parts[0].dtype.is_floating_point else torch.int64
    stack = torch.stack([part.to(wide) for part in parts])
    result = {Op.SUM: lambda: stack.sum(0), Op.PRODUCT: lambda: stack.prod(0), Op.MIN: lambda: stack.amin(0),
              Op.MAX: lambda: stack.amax(0), Op.AVG: lambda: stack.sum(0) / size}[op]()
    return result.to(parts[0].dtype)


def reductions():
    for dtype in TYPES:
        for op in [Op.SUM] if dtype.is_complex else [Op.SUM, Op.PRODUCT, Op.MIN, Op.MAX]: # torch itself refuses the others
            for count in (0, 1, 1000):
                parts = [data_of(r, count, dtype) for r in everyone]
                mine = parts[rank].clone()
                dist.all_reduce(mine, op=op)
                same(f"all_reduce {op} of {dtype}", mine, folded(op, parts))
                mine = parts[rank].clone()
                dist.reduce(mine, size - 1, op=op)
                if rank == size - 1:
                    same(f"reduce {op} of {dtype}", mine, folded(op, parts))
    parts = [data_of(r, 100, torch.int32) for r in everyone]
    for op, fold in ((Op.BAND, torch.bitwise_and), (Op.BOR, torch.bitwise_or), (Op.BXOR, torch.bitwise_xor)):
        mine, wanted = parts[rank].clone(), parts[0]
        for part in parts[1:]:
            wanted = fold(wanted, part)
        dist.all_reduce(mine, op=op)
        same(f"all_reduce {op}", mine, wanted)
    mine = torch.full((9,), float(rank))
    dist.all_reduce(mine, op=Op.AVG)
    same("all_reduce AVG", mine, torch.full((9,), sum(everyone) / size))


def sparse():
    """A rank has as many elements as its number tells; some stand at the same place on all ranks."""
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        parts = []
        for r in everyone:
            dense = torch.zeros(4, 5, 2, dtype=dtype)
            dense[0, 1] = r + 1
            dense[1 + r % 3, :r] = 1
            parts.append(dense if r != 1 else torch.zeros_like(dense)) # rank 1 has none
        for dims in (1, 2):
            mine = parts[rank].to_sparse(dims)
            work = dist.all_reduce(mine, async_op=True)
            work.wait()
            same(f"all_reduce of sparse tensors of {dtype}", mine.to_dense(), sum(parts))


def moves():
    for dtype in TYPES + (torch.float8_e4m3fn,):
        parts = [data_of(r, 6, torch.float32).to(dtype) for r in everyone]
        mine = parts[rank].clone()
        dist.broadcast(mine, size - 1)
        same_bits("broadcast", mine, parts[size - 1])
        got = [torch.empty_like(mine) for _ in everyone]
        dist.all_gather(got, parts[rank])
        for r in everyone:
            same_bits("all_gather", got[r], parts[r])
        flat = torch.empty(6 * size, dtype=dtype)
        dist.all_gather_into_tensor(flat, parts[rank])
        for r in everyone:
            same_bits("all_gather_into_tensor", flat[6 * r:6 * r + 6], parts[r])
        got = [torch.empty_like(mine) for _ in everyone] if rank == 0 else None
        dist.gather(parts[rank], got, 0)
        for r in everyone if rank == 0 else ():
            same_bits("gather", got[r], parts[r])
        mine = torch.empty_like(mine)
        dist.scatter(mine, parts if rank == size - 1 else None, size - 1)
        same_bits("scatter", mine, parts[rank])


def same_bits(name, got, wanted):
    same(name, got.view(torch.uint8), wanted.view(torch.uint8))


def exchanges():
    mine = torch.arange(2 * size) + 100 * rank
    got = torch.empty_like(mine)
    dist.all_to_all_single(got, mine)
    same("all_to_all_single", got, torch.cat([torch.arange(2 * rank, 2 * rank + 2) + 100 * r for r in everyone]))
    # rank r sends d + 1 + r rows of 3 to rank d
    rows = [d + 1 + rank for d in everyone]
    come = [rank + 1 + r for r in everyone]
    got = torch.full((sum(come), 3), -1.0)
    dist.all_to_all_single(got, torch.full((sum(rows), 3), float(rank)), come, rows)
    same("all_to_all_single with splits", got, torch.cat([torch.full((rank + 1 + r, 3), float(r)) for r in everyone]))
    got = [torch.empty(n) for n in come]
    dist.all_to_all(got, [torch.full((n,), float(rank)) for n in rows])
    for r in everyone:
        same("all_to_all", got[r], torch.full((come[r],), float(r)))


def scattered_sums():
    parts = [data_of(r, 4 * size) for r in everyone]
    total = folded(Op.SUM, parts)
    mine = torch.empty(4)
    dist.reduce_scatter_tensor(mine, parts[rank].clone())
    same("reduce_scatter_tensor", mine, total[4 * rank:4 * rank + 4])
    dist.reduce_scatter(mine.zero_(), [chunk.clone() for chunk in parts[rank].chunk(size)])
    same("reduce_scatter", mine, total[4 * rank:4 * rank + 4])


def strided():
    whole = torch.zeros(6, 8)
    part = whole[:, ::2].t() # of no order in memory
    part.copy_(torch.full((4, 6), float(rank + 1)))
    dist.all_reduce(part)
    same("all_reduce of a strided tensor", part, torch.full((4, 6), float(sum(r + 1 for r in everyone))))
    assert whole[:, 1::2].eq(0).all(), "all_reduce of a strided tensor changed its neighbours"
    dist.broadcast(part.fill_(rank), 1)
    same("broadcast of a strided tensor", part, torch.full((4, 6), 1.0))
    flat = torch.zeros(3 * size)
    flat[3 * rank:3 * rank + 3] = rank + 1
    dist.all_gather_into_tensor(flat, flat[3 * rank:3 * rank + 3])
    same("all_gather_into_tensor in place", flat, torch.arange(1, size + 1).repeat_interleave(3).float())


def coalesced():
    """Calls that start together: of several types and shapes, also strided ones, and messages among them."""
    together, cpu = dist.distributed_c10d._coalescing_manager, torch.device("cpu")
    mixed = [data_of(rank, 7, dtype) for dtype in TYPES] * 3 + [torch.full((6, 4), float(rank)).t()]
    mixed = [tensor.clone() for tensor in mixed]
    wanted = [folded(Op.SUM, [data_of(r, 7, dtype) for r in everyone]) for dtype in TYPES] * 3
    with together():
        for tensor in mixed:
            dist.all_reduce(tensor)
    for tensor, right in zip(mixed, wanted + [torch.full((4, 6), float(sum(everyone)))]):
        same("a coalesced all_reduce", tensor, right)
    whole = [torch.empty(n * size) for n in (1, 3000, 5)]
    with together(async_ops=True) as works:
        for tensor in whole:
            dist.all_gather_into_tensor(tensor, torch.full((len(tensor) // size,), float(rank)))
    works.wait()
    for tensor in whole:
        same("a coalesced all_gather_into_tensor", tensor, torch.arange(size).repeat_interleave(len(tensor) // size).float())
    parts = [torch.empty(n) for n in (2, 3000)]
    with together():
        for part in parts:
            dist.reduce_scatter_tensor(part, torch.arange(len(part) * size).float())
    for part in parts:
        same("a coalesced reduce_scatter_tensor", part, size * (torch.arange(len(part)) + rank * len(part)).float())
    copies, got = [torch.full((n,), float(rank)) for n in (1, 4, 9)], torch.empty(2)
    with together(device=cpu):
        works = [dist.isend(torch.full((2,), float(rank)), (rank + 1) % size), dist.irecv(got, (rank - 1) % size)]
        for tensor in copies:
            dist.broadcast(tensor, 1)
        assert not works[0].is_completed() and works[1].wait() # the manager waits
        refuses("a coalesced receive from any source", ["any source", "name the source"], dist.irecv, got)
    for tensor in copies:
        same("a coalesced broadcast", tensor, torch.full_like(tensor, 1))
    same("a coalesced message", got, torch.full((2,), float((rank - 1) % size)))
    refuses("the end of what has not begun", ["startCoalescing first"], dist.group.WORLD._end_coalescing, cpu)


def several_at_once():
    tensors = [torch.full((n,), float(rank)) for n in (1, 5, 3)]
    dist.all_reduce_coalesced(tensors)
    for tensor in tensors:
        same("all_reduce_coalesced", tensor, torch.full_like(tensor, sum(everyone)))
    coalesced()
    works = [dist.all_reduce(torch.full((1000,), float(i)), async_op=True) for i in range(50)]
    for i, work in enumerate(works):
        done = work.get_future().wait()[0]
        same("the future of all_reduce", done, torch.full((1000,), float(i * size)))
        assert work.is_completed() and work.is_success()
    works = [dist.all_reduce(torch.ones(3), async_op=True) for _ in range(20)]
    later = [work.get_future().then(lambda done: done.value()[0].sum().item()) for work in works]
    assert [future.wait() for future in later] == [3.0 * size] * 20
    for _ in range(20): # nobody waits for these
        dist.all_reduce(torch.ones(1 << 16), async_op=True)
    dist.barrier()
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in everyone], objects


reductions()
sparse()
moves()
exchanges()
scattered_sums()
strided()
several_at_once()
end()
