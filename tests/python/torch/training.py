# SPDX-License-Identifier: BSD-3-Clause
"""DDP, DDP with gradients in fewer bits, and FSDP train: the weights are bit-equal on all ranks, and those of one process."""
import copy

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP

import hierax.torch
from job import begin, end, same

rank, size = begin()
STEPS, BATCH = 5, 4
torch.manual_seed(0)
first = torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.Tanh(), torch.nn.Linear(50, 300), torch.nn.Tanh(),
                            torch.nn.Linear(300, 3))
samples, wanted = torch.randn(STEPS, size, BATCH, 20), torch.randn(STEPS, size, BATCH, 3)


def train(model, share):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(samples[step][share].flatten(0, -2)), wanted[step][share].flatten(0, -2))
        loss.backward()
        optimizer.step()
    return model


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def check(name, mine, tolerance):
    everyones = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(everyones, mine)
    for other in everyones:
        same(f"{name}: weights", other, mine)
    torch.testing.assert_close(mine, alone, rtol=tolerance, atol=tolerance)


alone = weights(train(copy.deepcopy(first), slice(None)))
assert not torch.equal(alone, weights(first))
check("DDP", weights(train(DDP(copy.deepcopy(first), bucket_cap_mb=0.01), rank)), 1e-5)
half = DDP(copy.deepcopy(first), bucket_cap_mb=0.01)
half.register_comm_hook(None, hierax.torch.bf16_hook)
check("DDP with bf16_hook", weights(train(half, rank)), 1e-2)
for format in "bf16", "int8":
    coded = DDP(copy.deepcopy(first), bucket_cap_mb=0.01)
    coded.register_comm_hook(None, hierax.torch.wire_hook(format))
    check(f"DDP with wire_hook of {format}", weights(train(coded, rank)), 1e-2)
try:
    hierax.torch.set_wire("int7")
    raise AssertionError("set_wire takes int7")
except dist.DistBackendError as error:
    assert "off|bf16|fp16|fp8|int8" in str(error), error
sharded = train(FSDP(copy.deepcopy(first), device_id=torch.device("cpu")), rank)
with FSDP.summon_full_params(sharded):
    check("FSDP", weights(sharded), 1e-5)
end()
