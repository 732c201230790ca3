# SPDX-License-Identifier: BSD-3-Clause
"""Worlds that grow, in Python. Usage: grow.py members | none | rounds | drops | away, for ranks of a job; grow.py newcomer | joins | trains
ADDRESS, for processes that wait in coll_store. members needs three newcomers."""
import gc
import os
import sys
import threading
import time
import warnings

import hierax
import hierax.elastic
import numpy as np

ROUNDS = 6


def refuses(kind, text, call, *args, **named):
    try:
        call(*args, **named)
    except kind as error:
        assert text in str(error), (text, error)
        return
    raise AssertionError(f"not refused: {text}")


def arguments(comm):
    refuses(hierax.ArgError, "n is 0; choose 1 or more", comm.grow, 0, 1)
    refuses(hierax.ArgError, "n = 4294967296 does not fit", comm.grow, 2**32, 1)
    refuses(hierax.ArgError, "seconds is -1", comm.grow, 1, -1)
    refuses(hierax.ArgError, "seconds is nan", comm.wait_size, 1, float("nan"))
    refuses(TypeError, "n is str: expected an integer", comm.grow, "1", 1)
    refuses(TypeError, "seconds is str: expected a number of seconds", comm.grow, 1, "1")
    refuses(TypeError, "least is float: expected an integer", comm.wait_size, 1.5, 1)
    refuses(TypeError, "seconds is NoneType", comm.wait_size, 1, None)
    refuses(TypeError, "seconds", comm.grow, 1)
    refuses(TypeError, "address is int: expected a text", hierax.join, 3)
    refuses(hierax.EnvError, "is not host:port/name", hierax.join, "here")
    refuses(hierax.StateError, "finalize", comm.free)
    assert comm.allreduce(1) == comm.size


def closed(world, things):
    """free() has closed the world: no object of it can be used. What it leaves stays."""
    copy, prepared, array = things
    refuses(hierax.StateError, "earlier world", world.allreduce, 1)
    refuses(hierax.StateError, "earlier world", world.free)
    refuses(hierax.StateError, "earlier world", copy.barrier)
    refuses(hierax.StateError, "earlier world", copy.free)
    refuses(hierax.StateError, "earlier world", copy.grow, 1, 1)
    refuses(hierax.StateError, "earlier world", prepared.start)
    assert "ended" in repr(copy) and "ended" in repr(world)
    assert (array == 5).all()
    array += 1


def things_of(world):
    copy = world.dup()
    array = world.empty(3000)
    array[:] = 5
    return copy, copy.allreduce_init(np.ones(3)), array


def free_in_time(small, big):
    """A world in which another thread is in a call stays open. small is a world that has ranks 0 and 1 too."""
    if big.rank == 0:
        box = np.zeros(1)
        thread = threading.Thread(target=big.recv, args=(box, 1))
        thread.start()
        while hierax._native.inside() == 0:
            time.sleep(0.001)
        refuses(hierax.StateError, "1 calls of other threads in this world are in progress", big.free)
        small.barrier()
        thread.join()
        assert box[0] == 8
    elif small is not None:
        small.barrier()
        if big.rank == 1:
            big.send(np.full(1, 8.0), 0)


def in_second(second):
    """The world of 4 grows to 5."""
    assert hierax.world() is second
    third = second.grow(3, 60)
    assert third.rank == second.rank
    return in_third(third, second)


def in_third(third, second):
    assert third.size == 5 and hierax.world() is third
    assert (third.allgather(np.full(2, third.rank)).ravel() == np.repeat(range(5), 2)).all()
    free_in_time(second, third)
    held = third.iallreduce(np.ones(10))
    if second is not None and not os.environ.get("KEEP"):
        refuses(hierax.StateError, "iallreduce is not complete", third.free)
        assert (held.wait() == 5).all()
        things = things_of(third)
        third.free()
        closed(third, things)
        assert hierax.world() is second and second.allreduce(1) == 4
        refuses(hierax.StateError, "only world", second.free)
    else:
        assert (held.wait() == 5).all()
        things = things_of(third) if not os.environ.get("KEEP") else None
    hierax.finalize()
    refuses(hierax.StateError, "does not run", third.barrier)


def members():
    first = hierax.world()
    arguments(first)
    assert first.wait_size(5, 60) == 5 and first.wait_size(0, 0) == 5
    things = things_of(first)
    second = first.grow(n=2, seconds=60)
    assert hierax.world() is second and second.rank == first.rank and second.size == 4
    assert first.allreduce(1) == 2 and things[0].allreduce(1) == 2  # the older world still stands
    request = things[0].iallreduce(np.ones(4))
    assert second.allreduce(1) == 4
    assert (request.wait() == 2).all()
    first.free()
    closed(first, things)
    in_second(second)


def newcomer(address):
    refuses(hierax.BootstrapError, 'no name "nil"', hierax.join, address.rsplit("/")[0] + "/nil")
    assert not hierax.is_running()
    comm = hierax.join(address)
    if comm.size == 4:
        assert comm.allreduce(1) == 4
        in_second(comm)
    else:
        in_third(comm, None)


def none():
    comm = hierax.world()
    assert comm.grow(3, 0.3) is None and comm.wait_size(0, 0) == comm.size and hierax.world() is comm
    assert comm.allreduce(1) == comm.size
    loop = hierax.elastic.Loop({"x": np.zeros(1)}, 3, least=comm.size + 1, seconds=0.3)
    refuses(hierax.TimeoutError, f"{comm.size} ranks are left, expected {comm.size + 1} or more: no process has joined within 0.3 s", list, loop)
    assert comm.allreduce(1) == comm.size


def train(least, steps):
    x = np.zeros(2)
    loop = hierax.elastic.Loop({"x": x}, steps, every=5, least=least)
    for step in loop:
        with step as comm:
            x += comm.allreduce(np.ones(2)) / comm.size
    assert (x == steps).all() and loop.revision == steps, x
    return loop


def drops():
    """The members could not start the larger world, but the newcomer has it: it waits again, and is let in."""
    bigger = hierax.world().grow(1, 60)
    bigger.revoke()
    bigger.free()
    loop = train(3, 20)
    assert loop.comm.size == 3 and loop.comm is hierax.world()
    refuses(hierax.StateError, "only world", loop.comm.free)


def trains(address):
    os.environ["HX_STORE"] = address
    loop = train(3, 20)
    assert loop.comm.size == 3 and loop.failures > 0


def away():
    """Ranks go on if no store answers. They ask in step 0, and not in step 5."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loop = train(1, 10)
    said = [str(w.message) for w in caught]
    assert len(said) == (1 if loop.comm.rank == 0 else 0) and all("no process can join now" in text for text in said), said


def no_store():
    comm = hierax.world()
    refuses(hierax.EnvError, "HX_STORE is not set", comm.grow, 1, 0)
    refuses(hierax.EnvError, "HX_STORE is not set", comm.wait_size, 1, 0)
    assert comm.allreduce(1) == comm.size
    hierax.finalize()
    refuses(hierax.EnvError, "HX_STORE is not set", hierax.join)


def leaves_nothing(i, files=[]):
    gc.collect()
    files.append(len(os.listdir("/proc/self/fd")))
    assert i < ROUNDS // 2 or files[-1] <= files[ROUNDS // 2 - 1], files


def rounds():
    comm = hierax.world()
    for i in range(ROUNDS):
        bigger = comm.grow(1, 60)
        assert bigger.allreduce(1) == comm.size + 1
        copy = bigger.dup()
        bigger.free()
        del bigger, copy
        leaves_nothing(i)


def joins(address):
    for i in range(ROUNDS):
        comm = hierax.join(address)
        assert comm.allreduce(1) == comm.size
        copy = comm.dup()
        hierax.finalize()
        refuses(hierax.StateError, "does not run", copy.barrier)
        leaves_nothing(i)


globals()[sys.argv[1]](*sys.argv[2:])
