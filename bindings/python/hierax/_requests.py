# SPDX-License-Identifier: BSD-3-Clause
"""Awaiting a request: any number of tasks may await the same one."""
import asyncio
import os

from . import _errors, _process

tests = 0  # how often a task has asked whether a call is complete


def until_done(request):
    """The iterator of `await request`. With a progress thread a task sleeps until the call is complete. Without one a call makes
    progress only if tasks ask for it, so each asks between the steps of the others."""
    global tests
    while not request.test():
        tests += 1
        yield from (_readable(request) if _process.has_progress_thread() else asyncio.sleep(0)).__await__()
    return request.wait()


async def _readable(request):
    """Each task has its own descriptor: an event loop knows one reader for each. test() of another task closes the first."""
    loop = asyncio.get_running_loop()
    try:
        fd = request._copy_fileno()
    except _errors.StateError:  # complete in the meantime
        return
    done = loop.create_future()
    loop.add_reader(fd, lambda: done.done() or done.set_result(None))
    try:
        await done
    finally:
        loop.remove_reader(fd)
        os.close(fd)
