# SPDX-License-Identifier: BSD-3-Clause
"""What the backend does not take is refused at once, with the value and the choices."""
import torch
import torch.distributed as dist

from job import begin, end, refuses

rank, size = begin()
refuses("a maximum of sparse tensors", ["SUM"], dist.all_reduce, torch.eye(3).to_sparse(), dist.ReduceOp.MAX)
refuses("sparse tensors of other shapes", ["ranks", "differ"], dist.all_reduce, torch.eye(3 + rank).to_sparse())
refuses("AVG of integers", ["AVG of Int", "SUM"], dist.all_reduce, torch.ones(3, dtype=torch.int32), dist.ReduceOp.AVG)
refuses("BAND of floats", ["BAND", "Float"], dist.all_reduce, torch.ones(3), dist.ReduceOp.BAND)
refuses("a sum of float8", ["Float8_e4m3fn", "bfloat16"], dist.all_reduce, torch.ones(3).to(torch.float8_e4m3fn))
refuses("splits that do not add up", ["add up to", "rows"],
        dist.all_to_all_single, torch.ones(4), torch.ones(4), [1] * size, [9] * size)
refuses("an output that is too small", ["world_size"], dist.all_gather_into_tensor, torch.ones(1), torch.ones(5))
value = torch.ones(1)
dist.all_reduce(value) # all goes on
assert value.item() == size
end()
refuses("a call after the end", ["init_process_group"], dist.all_reduce, value)
