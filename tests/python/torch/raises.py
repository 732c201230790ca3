# SPDX-License-Identifier: BSD-3-Clause
"""raises.py FOLDER: a rank raises, in a program that destroys its groups at the end. The exceptions of the others name it."""
import os
import sys
import time

import torch
import torch.distributed as dist

from job import begin, end, outlive

outlive()
rank, size = begin()
try:
    dist.all_reduce(torch.ones(1))
    if rank == 1:
        raise KeyError("the program's own")
    start = time.time()
    try:
        dist.all_reduce(torch.ones(1))
    except RuntimeError as error:
        took = time.time() - start
        words = "rank 1" in str(error) and "died" in str(error) or "rank 1 has" in str(error)
        with open(os.path.join(sys.argv[1], f"survivor.{rank}"), "w") as out:
            out.write(f"{'ok' if words and took < 5 else 'not ok'}: after {took:.1f} s: {error}\n")
        raise
finally:
    end()
