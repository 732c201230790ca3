# SPDX-License-Identifier: BSD-3-Clause
"""Awaiting a request: any number of tasks may await the same one."""
import asyncio


def until_done(request):
    """The iterator of `await request`: polls between the steps of other tasks, and ends with the result."""
    while not request.test():
        yield from asyncio.sleep(0).__await__()
    return request.wait()
