# SPDX-License-Identifier: BSD-3-Clause
"""Start and end of Hierax in this process, also if the program ends by an exception or without finalize()."""
import atexit
import os
import signal
import sys
import threading

from . import _native
from ._errors import Error

_TRUE = ("1", "yes", "true", "on")
_hooked = False
_former_hook = None
_progress_thread = False
_settings = {}


def init(settings=None, bootstrap=None):
    """Start Hierax, and return the communicator of all ranks. Every rank calls it.

    settings: {"HX_TIMEOUT": 10, "HX_CHECK": True, ...}; they take precedence over the environment.
    bootstrap: an object with rank, size, put(key, value), fence() and get(key), if no launcher has started the ranks."""
    global _settings
    settings = {name: int(value) if isinstance(value, bool) else value for name, value in dict(settings or {}).items()}
    comm = _native.init(settings, bootstrap)
    _settings = settings
    _started()
    return comm


def join(address=None):
    """Wait until ranks of a world let this process in, by Comm.grow(). Return the communicator of all ranks of the larger world.

    address: "host:port/name", the place of coll_store and one of its names. None: HX_STORE. A process that runs Hierax already joins a
    further world. Ctrl-C ends a process that waits for its first world."""
    global _settings
    if address is not None and not isinstance(address, str):
        raise TypeError(f"address is {type(address).__name__}: expected a text, host:port/name, or None")
    first = not is_running()
    # Python notes the signal and goes on, but this call may wait for ever
    alone = (first and threading.current_thread() is threading.main_thread()
             and signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    if alone:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        comm = _native.join(address)
    finally:
        if alone:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if first:
        _settings = {}
    _started()
    return comm


def _started():
    global _progress_thread
    _progress_thread = str(setting("HX_PROGRESS_THREAD") or "0").lower() in _TRUE
    _hook()


def setting(name):
    """The value of a setting in this process, or None."""
    return _settings.get(name, os.environ.get(name))


def has_progress_thread():
    """True if calls make progress by themselves (HX_PROGRESS_THREAD=1)."""
    return _progress_thread


def world():
    """The communicator of all ranks. Starts Hierax if it does not run. After join() and Comm.grow(): that of the newest world."""
    return _native.world() or init()


def is_running():
    """True between init() and finalize()."""
    return _native.world() is not None


def finalize():
    """Stop Hierax: close all worlds. Every rank calls it; a program that ends without an exception does so by itself.

    All requests must be complete. Arrays of Comm.empty() stay valid, but only this process sees them then."""
    _native.finalize()


def abort(code=1, text=None):
    """End this process and the job. Other ranks get PeerDeadError with the text. Does not return."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the stream is closed, or its reader has ended
            pass
    _native.abort(code, text)


def operation_failed(error):
    """Called by the extension module after an exception in the function of an Op."""
    import traceback
    sys.stderr.write("".join(traceback.format_exception(error)))  # at once: other ranks may write too
    abort(130 if isinstance(error, KeyboardInterrupt) else 1, f"{type(error).__name__} in the function of a hierax.Op")


def _hook():
    global _hooked, _former_hook
    if _hooked:
        return
    _hooked = True
    _former_hook = sys.excepthook
    sys.excepthook = _uncaught
    atexit.register(_at_exit)


def _uncaught(kind, value, trace):
    """Other ranks would wait for this one: end the job, and say why."""
    try:
        _former_hook(kind, value, trace)
    except BaseException:  # the former hook is wrong: both exceptions count
        sys.__excepthook__(*sys.exc_info())
    finally:
        comm = _native.world()
        if comm is not None and comm.size > 1 and not hasattr(sys, "ps1") and not sys.flags.interactive:
            text = f"{kind.__name__}: {value}".replace("\n", " ").removesuffix(": ")
            abort(130 if issubclass(kind, KeyboardInterrupt) else 1, text)


def _at_exit():
    if is_running():
        try:
            _native.finalize(True)  # the program cannot wait for its requests any more
        except Error as error:
            print(f"hierax: finalize at the end of the program: {error}", file=sys.stderr)
