# SPDX-License-Identifier: BSD-3-Clause
"""The backend "hierax" of torch.distributed, for CPU tensors.

    import hierax.torch
    torch.distributed.init_process_group("hierax")

This works under torchrun, srun, mpirun, mpiexec and coll_run (launcher.py). The first group of the process starts
Hierax. Later groups choose among its ranks. new_group is called by all ranks, or by the members with
use_local_synchronization=True; ranks that are members of several groups create them in the same order.

Types: all that torch.distributed moves. Reductions: bool, integers of 8 to 64 bits, float16, bfloat16, float32,
float64, complex64 and complex128; float8 is refused. AVG needs a floating or complex type. SUM and MAX of bool are a
logical or, PRODUCT and MIN a logical and. float16 and bfloat16 are added in float32, and rounded once in each step.
Tensors that are not contiguous are copied. Sparse tensors, and tensors that are not on the CPU, are refused.

Errors are torch.distributed.DistBackendError with Hierax's text, which names the ranks that are missing or have died.
A call that makes no progress for its group's time-out raises, and names the ranks that are missing. After that all members'
calls of the group raise, once they need that rank. The
first group's time-out also holds for the creation and the end of groups. torch.distributed allows monitored_barrier with the
backend gloo only: a barrier of this backend names the missing ranks by itself.

Coalesced calls start together, and many short ones become few messages. Messages (batch_isend_irecv) start one by one: torch
coalesces them on GPUs only.

Later changes: distributed_c10d._set_pg_timeout (torch.distributed.set_timeout, where torch has it) gives a group another time-out.
abort ends a group's calls. distributed_c10d._abort_process_group also leaves the groups, so that the ranks that live can call
init_process_group again, with another store.

destroy_process_group waits until all ranks have called it. A rank that calls it because of an exception, or ends by
one, counts as dead for the others. They get an error that names it as soon as its process has ended.
"""
import atexit
import sys

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from . import _backend, launcher
from .hooks import bf16_hook, wire_hook

__all__ = ["abort", "bf16_hook", "empty", "set_wire", "wire_hook"]

_groups = {}  # by the name that torch gives, in the order of their creation


def _create(options, _pg_options):
    """A process group's backend: torch calls this on the members."""
    members = list(options.global_ranks_in_group) or list(range(options.group_size))
    backend = _backend.Backend(options.store, options.group_rank, options.group_size, members, options.timeout, options.group_id)
    _groups[options.group_id] = backend
    return backend


def _leave(name, orderly):
    _groups.pop(name).leave(orderly)


def _shutdown(name):
    """destroy_process_group ends the group, unless an exception ends the process: then this rank counts as dead."""
    if name in _groups:
        _leave(name, orderly=sys.exc_info()[0] is None)


def _abort_process_group(group=None, of_torch=distributed_c10d._abort_process_group):
    """As torch's, which does nothing (2.6) or keeps Hierax running (later versions): the group's calls fail on all members, and
    this rank leaves it. None: all groups. After that the process can call init_process_group again."""
    world = dist.group.WORLD
    name = getattr(group or world, "group_name", None)
    if name not in _groups:
        return of_torch(group)
    for each in list(_groups) if group in (None, world) else [name]:
        _groups[each].abort()
    dist.destroy_process_group(group)


def _patch():
    """Let torch end groups, and set time-outs, also with this backend: 2.6 does so with its own ones only."""
    distributed_c10d._abort_process_group = _abort_process_group
    if hasattr(distributed_c10d, "_shutdown_backend"):  # else ProcessGroup.shutdown calls the backend's
        shutdown_of_torch = distributed_c10d._shutdown_backend

        def shutdown_backend(group):
            shutdown_of_torch(group)
            _shutdown(group.group_name)
        distributed_c10d._shutdown_backend = shutdown_backend
    if not hasattr(dist.ProcessGroup, "set_timeout"):  # else that calls the backend's
        set_of_torch = distributed_c10d._set_pg_timeout

        def set_pg_timeout(timeout, group=None):
            name = getattr(group or dist.group.WORLD, "group_name", None)
            _groups[name]._set_default_timeout(timeout) if name in _groups else set_of_torch(timeout, group)
        distributed_c10d._set_pg_timeout = set_pg_timeout


def _at_exit():
    """A program that has not destroyed its groups ends in order, unless by an exception. Then it counts as dead."""
    for name in reversed(list(_groups)):
        _leave(name, orderly=not hasattr(sys, "last_value"))
    _backend.stop()


def _backend_of(group, name):
    group = group or dist.group.WORLD
    if group is None or group.group_name not in _groups:
        raise ValueError(f'hierax.torch.{name}: the group is not of the backend "hierax": call init_process_group("hierax") first')
    return _groups[group.group_name]


def abort(group=None):
    """End a group's calls: those under way and later ones raise on all its members, within tenths of a second. Any thread
    may call it. After that the group can only be destroyed."""
    _backend_of(group, "abort").abort()


def set_wire(format, group=None):
    """Let sums and averages of float32 and float64 in the group cross nodes in fewer bits: "bf16", "fp16", "fp8", "int8"; "off": exactly.
    Inside nodes nothing changes, and all ranks get the same bits. All members call it before their next call. Groups
    that are created later inherit the format of the first group with backend hierax. hx_comm_set_wire(3) and HX_WIRE in hierax-tuning(7)
    tell more."""
    _backend_of(group, "set_wire").set_wire(format)


def empty(*size, dtype=None, group=None):
    """A tensor in memory of hx_alloc, all zeros: Hierax makes fewer copies of it. All ranks of the group call it, each with
    its own size."""
    shape = torch.Size(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
    dtype = dtype or torch.get_default_dtype()
    memory = _backend_of(group, "empty").memory(shape.numel() * dtype.itemsize)
    return memory.view(dtype).view(shape)


launcher.fill()
_patch()
dist.Backend.register_backend("hierax", _create, extended_api=True, devices=["cpu"])
atexit.register(_at_exit)
