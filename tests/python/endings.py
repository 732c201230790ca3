# SPDX-License-Identifier: BSD-3-Clause
"""Ends of a rank. Usage: endings.py WHAT; endings.sh looks at what the job prints and returns."""
import os
import signal
import sys
import threading
import time

import hierax
import numpy as np

x = np.ones(10)


def uncaught(comm):
    """An exception of rank 1 ends the job. The former hook runs first, and once."""
    if comm.rank == 1:
        raise KeyError("no input")
    comm.barrier()


def own_hook(comm):
    if comm.rank == 1:
        sys.excepthook = lambda *what: (print("mine", flush=True), hooks[0](*what))
        raise KeyError("no input")
    comm.barrier()


def raising_hook(comm):
    if comm.rank == 1:
        raise KeyError("no input")
    comm.barrier()


def implicit(comm):
    """The program ends without finalize, with arrays, requests and operations that are still there."""
    global kept
    kept = [comm.empty(1000), comm.allreduce_init(x), hierax.Op(np.add), comm.dup(), comm.iallreduce(x)]
    kept[4].wait()
    comm.iallreduce(x)
    print("end", flush=True)


def held(comm):
    """The program ends and still holds a request. It cannot wait any more, so the end of the program does."""
    global kept
    kept = comm.iallreduce(x)
    print("end", flush=True)


def leaves(comm):
    if comm.rank == 1:
        sys.exit(3)
    try:
        comm.allreduce(x)
    except (hierax.PeerDeadError, hierax.MismatchError) as error:
        print("rank 1" in str(error), flush=True)


def dies(comm):
    """A rank is killed. The others get the exception, again from every later wait, and end by themselves."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # with it coll_run would end them
    comm.barrier()
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    request = comm.iallreduce(x)
    for _ in range(3):
        try:
            request.wait()
        except hierax.PeerDeadError as error:
            print("dead", "rank 1" in error.detail, error.name, flush=True)
    try:
        comm.allreduce(x)
    except hierax.PeerDeadError:
        print("later", flush=True)
    os._exit(0)


def forks(comm):
    """A child gets an exception from every call, and its end disturbs no rank."""
    request, op = comm.allreduce_init(x), hierax.Op(np.add)
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (lambda: comm.allreduce(x), comm.dup, request.start, hierax.init, hierax.finalize,
                     lambda: hierax._native.abort(1, None), lambda: hierax.Op(np.add)):
            try:
                call()
            except hierax.StateError as error:
                refused += "fork" in str(error)
        del request, op
        sys.exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    if comm.rank == 0:
        child = os.fork()
        if child == 0:
            raise SystemError("only the child ends")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert comm.allreduce(1) == comm.size
    print("parent", flush=True)


def operation(comm):
    def fails(a, b):
        raise ZeroDivisionError("in the function")
    comm.allreduce(x, hierax.Op(fails))


def interrupt(comm):
    """Ctrl-C while the function of an operation runs."""
    def slow(a, b):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
        return a
    comm.allreduce(x, hierax.Op(slow))


def exit_in_operation(comm):
    comm.allreduce(x, hierax.Op(lambda a, b: sys.exit(0)))


def wrong_result(comm):
    comm.allreduce(x, hierax.Op(lambda a, b: a[:3]))


def number_result(comm):
    """A number of Python is as long as two float32."""
    comm.allreduce(np.ones(2, "f4"), hierax.Op(lambda a, b: 1.5))


def calls_in_operation(comm):
    copy, right = comm.dup(), []
    request = copy.iallreduce(np.ones(100_000))

    def calls(a, b):
        for call in (comm.barrier, request.wait, request.test):
            try:
                call()
            except hierax.StateError as error:
                right.append("make the call after the collective" in error.detail)
        return a + b
    comm.allreduce(x, hierax.Op(calls))
    print(all(right) and request.active and (request.wait() == comm.size).all(), flush=True)


def outlive(comm):
    """Arrays of comm.empty keep their content after finalize."""
    kept, view = comm.empty((100, 100)), comm.empty(5000, "u1")[7:9]
    kept[:], view[:] = comm.rank + 1, 9
    hierax.finalize()
    kept += 1
    assert (kept == comm.rank + 2).all() and view.tolist() == [9, 9]
    del kept
    print("kept", flush=True)


def second_init(comm):
    for _ in range(3):
        try:
            hierax.init({"HX_TIMEOUT": "1"})
        except hierax.StateError:
            pass
        assert hierax.world() is comm and comm.allreduce(1) == comm.size
    print("first works", flush=True)


def finalize_in_thread(comm):
    """finalize is refused while another thread is in a call."""
    thread = threading.Thread(target=comm.barrier)
    if comm.rank == 0:
        thread.start()
        while not hierax._native.inside():
            time.sleep(0.001)
        try:
            hierax.finalize()
        except hierax.StateError as error:
            print("refused", "thread" in str(error), flush=True)
        open(sys.argv[2], "w").close()
        thread.join()
    else:
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.001)
        comm.barrier()


def subinterpreter(comm):
    interpreters = __import__("_xxsubinterpreters")
    one = interpreters.create()
    try:
        interpreters.run_string(one, "import sys; sys.path[:] = %r; import hierax" % sys.path)
    except interpreters.RunFailedError as error:
        print("main interpreter" in str(error), flush=True)
    interpreters.destroy(one)


def aborts(comm):
    if comm.rank == 1:
        comm.abort(7, "no more data")
    comm.barrier()


if sys.argv[1] == "raising_hook":
    def broken(*what):
        raise ValueError("the hook itself")
    sys.excepthook = broken
elif sys.argv[1] == "bad_setting":
    try:
        hierax.init({"HX_TIMEOUT": "soon"})
    except hierax.EnvError as error:
        print("HX_TIMEOUT" in str(error), flush=True)
    sys.exit()
world = hierax.init({"HX_CHECK": True})
hooks = [sys.excepthook]
globals()[sys.argv[1]](world)
