# SPDX-License-Identifier: BSD-3-Clause
"""Messages between two ranks: with tags, of any length, several under way at once, and from any source."""
import torch
import torch.distributed as dist

from job import TYPES, begin, data_of, end, same

rank, size = begin()
right, left = (rank + 1) % size, (rank - 1) % size

for dtype in TYPES:
    for count in (0, 1, 100000):
        work = dist.isend(data_of(rank, count, dtype), right, tag=3)
        got = torch.empty(count, dtype=dtype)
        assert dist.recv(got, left, tag=3) == left
        same("recv", got, data_of(left, count, dtype))
        work.wait()

sent = [dist.isend(torch.full((10,), float(tag)), right, tag=tag) for tag in range(20)]
for tag in reversed(range(20)): # in another order
    got = torch.empty(10)
    dist.recv(got, left, tag=tag)
    same(f"recv of tag {tag}", got, torch.full((10,), float(tag)))
for work in sent:
    work.wait()

got = torch.empty(3)
works = dist.batch_isend_irecv([dist.P2POp(dist.irecv, got, left), dist.P2POp(dist.isend, torch.full((3,), float(rank)), right)])
for work in works:
    work.wait()
same("batch_isend_irecv", got, torch.full((3,), float(left)))

if rank == 0: # from any source
    found = set()
    for _ in range(size - 1):
        got = torch.empty(2)
        source = dist.recv(got)
        same("recv from any source", got, torch.full((2,), float(source)))
        found.add(source)
    assert found == set(range(1, size)), found
else:
    dist.send(torch.full((2,), float(rank)), 0)
strided = torch.zeros(4, 6)[:, ::2]
work = dist.isend(torch.arange(12.0).reshape(3, 4).t(), right, tag=1)  # rank 0 may still receive tag 0 from any source
dist.recv(strided, left, tag=1)
same("recv into a strided tensor", strided, torch.arange(12.0).reshape(3, 4).t())
work.wait()
end()
