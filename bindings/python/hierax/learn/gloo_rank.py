# SPDX-License-Identifier: BSD-3-Clause
"""One rank of Gloo for measure.py: reads lines "bytes repetitions", answers with the time of each all-reduce in microseconds.

As in coll_bench, each call gets new input, and the ranks begin together.
"""
import sys
import time

import torch
import torch.distributed as dist

WARMUP = 10


def main() -> None:
    dist.init_process_group("gloo")
    for line in sys.stdin:
        nbytes, repetitions = map(int, line.split())
        source, vector, times = torch.ones(nbytes // 4), torch.empty(nbytes // 4), []
        for _ in range(WARMUP + repetitions):
            vector.copy_(source)
            dist.barrier()
            begun = time.perf_counter()
            dist.all_reduce(vector)
            times.append((time.perf_counter() - begun) * 1e6)
        print(*(f"{t:.3f}" for t in times[WARMUP:]), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
