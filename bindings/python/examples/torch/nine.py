# SPDX-License-Identifier: BSD-3-Clause
"""All nine lessons, one after the other, in one job."""
import ddp
import diloco
import diloco_async
import fsdp
import moe
import tensor_parallel
import zero1
import zero2
import zero3
from lesson import run

run(*(module.main for module in (ddp, zero1, zero2, zero3, fsdp, tensor_parallel, moe, diloco, diloco_async)))
