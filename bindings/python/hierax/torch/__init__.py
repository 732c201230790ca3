# SPDX-License-Identifier: BSD-3-Clause
"""The backend "hierax" of torch.distributed, for CPU tensors.

    import hierax.torch
    torch.distributed.init_process_group("hierax")
"""
import atexit
import sys

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from . import _backend
from .hooks import bf16_hook

__all__ = ["bf16_hook", "empty"]

_groups = {}  # by the name that torch gives, in the order of their creation


def _create(options, _pg_options):
    """A process group's backend: torch calls this on the members."""
    members = list(options.global_ranks_in_group) or list(range(options.group_size))
    backend = _backend.Backend(options.store, options.group_rank, options.group_size, members, options.timeout)
    _groups[options.group_id] = backend
    return backend


def _leave(name, orderly):
    _groups.pop(name).leave(orderly)


def _shutdown_backend(group, of_torch=distributed_c10d._shutdown_backend):
    """destroy_process_group calls this for each group that ends. torch itself ends NCCL's groups only."""
    of_torch(group)
    if group.group_name in _groups:
        _leave(group.group_name, orderly=sys.exc_info()[0] is None)


def _at_exit():
    """A program that has not destroyed its groups ends in order, unless by an exception. Then it counts as dead."""
    for name in reversed(list(_groups)):
        _leave(name, orderly=not hasattr(sys, "last_value"))
    _backend.stop()


def empty(*size, dtype=None, group=None):
    """A tensor in memory of hx_alloc: Hierax makes fewer copies of it. All ranks of the group call it, each with its own size."""
    shape = torch.Size(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
    dtype = dtype or torch.get_default_dtype()
    group = group or dist.group.WORLD
    if group is None or group.group_name not in _groups:
        raise ValueError('hierax.torch.empty: the group is not of the backend "hierax": call init_process_group("hierax") first')
    memory = _groups[group.group_name].memory(shape.numel() * dtype.itemsize)
    return memory.view(dtype).view(shape)


distributed_c10d._shutdown_backend = _shutdown_backend
dist.Backend.register_backend("hierax", _create, extended_api=True, devices=["cpu"])
atexit.register(_at_exit)
