# SPDX-License-Identifier: BSD-3-Clause
"""Start and end of Hierax in this process, also if the program ends by an exception or without finalize()."""
import atexit
import os
import sys

from . import _native
from ._errors import Error

_TRUE = ("1", "yes", "true", "on")
_hooked = False
_former_hook = None
_progress_thread = False


def init(settings=None, bootstrap=None):
    """Start Hierax, and return the communicator of all ranks. Every rank calls it.

    settings: {"HX_TIMEOUT": 10, "HX_CHECK": True, ...}; they take precedence over the environment.
    bootstrap: an object with rank, size, put(key, value), fence() and get(key), if no launcher has started the ranks."""
    global _progress_thread
    settings = {name: int(value) if isinstance(value, bool) else value for name, value in dict(settings or {}).items()}
    comm = _native.init(settings, bootstrap)
    _progress_thread = str(settings.get("HX_PROGRESS_THREAD", os.environ.get("HX_PROGRESS_THREAD", "0"))).lower() in _TRUE
    _hook()
    return comm


def has_progress_thread():
    """True if calls make progress by themselves (HX_PROGRESS_THREAD=1)."""
    return _progress_thread


def world():
    """The communicator of all ranks. Starts Hierax if it does not run."""
    return _native.world() or init()


def is_running():
    """True between init() and finalize()."""
    return _native.world() is not None


def finalize():
    """Stop Hierax. Every rank calls it; a program that ends without an exception does so by itself.

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
