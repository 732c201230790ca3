# SPDX-License-Identifier: BSD-3-Clause
"""all_reduce of "hierax" and of Gloo in one run, in turns: the median of many rounds. Ranks by torchrun, or another launcher.

    speed.py [--rounds N] [--sizes BYTES,...]"""
import argparse
import statistics
import time

import torch
import torch.distributed as dist

from job import begin, end

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=15)
parser.add_argument("--sizes", default="8,65536,1048576", help="bytes, with commas between")
options = parser.parse_args()
rank, size = begin()
groups = {"hierax": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}


def once(group, tensor, calls):
    dist.all_reduce(tensor, group=group)
    start = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(tensor, group=group)
    return (time.perf_counter() - start) / calls * 1e6


for nbytes in map(int, options.sizes.split(",")):
    for dtype in (torch.float32, torch.bfloat16):
        tensor = torch.zeros(nbytes // dtype.itemsize, dtype=dtype)
        calls = 200 if nbytes < 1 << 16 else 50 if nbytes < 1 << 20 else 10
        times = {name: [] for name in groups}
        for _ in range(options.rounds):
            for name, group in groups.items():
                times[name].append(once(group, tensor, calls))
        if rank == 0:
            median = {name: statistics.median(values) for name, values in times.items()}
            print(f"all_reduce {nbytes:8} B {str(dtype):14} hierax {median['hierax']:8.1f} us, gloo {median['gloo']:8.1f} us, "
                  f"{median['gloo'] / median['hierax']:.1f} x", flush=True)
end()
