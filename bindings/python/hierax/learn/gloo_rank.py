# SPDX-License-Identifier: BSD-3-Clause
"""One rank of Gloo for measure.py: says that it is ready, then reads lines "bytes warmup repetitions calls", and answers with
the time of an all-reduce in each repetition, in microseconds.

As in coll_bench, the input is written before each row of calls, and the ranks begin together.
"""

import datetime
import sys
import time

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))  # not 30 minutes, if a rank has ended
    print("ready", flush=True)
    for line in sys.stdin:
        nbytes, warmup, repetitions, calls = map(int, line.split())
        source, vector, times = torch.ones(nbytes // 4), torch.empty(nbytes // 4), []
        for _ in range(warmup + repetitions):
            vector.copy_(source)
            dist.barrier()
            begun = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(vector)
            times.append((time.perf_counter() - begun) * 1e6 / calls)
        print(*(f"{t:.3f}" for t in times[warmup:]), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
