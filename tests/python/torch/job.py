# SPDX-License-Identifier: BSD-3-Clause
"""For the scripts of this folder: a rank of a job, and comparisons that name what differs."""
import signal

import torch
import torch.distributed as dist

import hierax.torch  # noqa: F401  registers the backend

TYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64,
         torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)


def begin(backend="hierax", **options):
    dist.init_process_group(backend, **options)
    return dist.get_rank(), dist.get_world_size()


def outlive():
    """torchrun ends all ranks when one has died. This one goes on until it has reported."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def end():
    dist.destroy_process_group()


def data_of(rank, count, dtype=torch.float32):
    """Small whole numbers, other ones on each rank: every type adds them exactly."""
    numbers = (torch.arange(count) * 7 + 3 * rank) % 5
    return (numbers % 2 if dtype == torch.bool else numbers).to(dtype)


def same(name, got, wanted):
    assert got.dtype == wanted.dtype and torch.equal(got, wanted), f"rank {dist.get_rank()}: {name}: got {got}, expected {wanted}"


def refuses(name, words, call, *arguments, **options):
    """The call raises, and its text has all the words."""
    try:
        call(*arguments, **options)
    except (RuntimeError, ValueError) as error:
        lacking = [word for word in words if word not in str(error)]
        assert not lacking, f"{name}: no {lacking} in: {error}"
        return
    raise AssertionError(f"{name} was not refused")
