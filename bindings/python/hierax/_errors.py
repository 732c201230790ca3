# SPDX-License-Identifier: BSD-3-Clause
"""The exceptions of hierax: one class for each status of the library."""
import builtins


class Error(RuntimeError):
    """A call of Hierax has failed.

    status: the number of the status, name: for example "HX_ERR_TIMEOUT", detail: the exact values and what to do."""

    status = -1
    name = "HX_ERR"
    detail = ""


class ArgError(Error, ValueError):
    """An argument is wrong. Nothing was sent, and the communicator stays usable."""


class StateError(Error):
    """Hierax does not run, or the object has been freed, or the process is a child made by fork."""


class EnvError(Error):
    """An HX_* setting or the launcher's environment is wrong."""


class NoMemError(Error, MemoryError):
    """Memory or another resource of this machine is exhausted."""


class BootstrapError(Error):
    """The launcher or the store cannot be reached or disagrees."""


class TransportError(Error):
    """A network operation failed."""


class TimeoutError(Error, builtins.TimeoutError):
    """The call waited longer than HX_TIMEOUT. The detail names the ranks that have not arrived."""


class PeerDeadError(Error):
    """A rank has died, has called abort or has ended. The detail names it."""


class InternalError(Error):
    """A fault of Hierax itself."""


class MismatchError(Error):
    """Ranks made different calls, or the same call with different arguments."""


class RevokedError(Error):
    """A member has revoked the communicator."""


class MinorityError(Error):
    """Most ranks cannot be reached, and may go on without this one. The detail has the numbers."""


BY_NAME = {
    "HX_ERR_ARG": ArgError, "HX_ERR_STATE": StateError, "HX_ERR_ENV": EnvError, "HX_ERR_NOMEM": NoMemError,
    "HX_ERR_BOOTSTRAP": BootstrapError, "HX_ERR_TRANSPORT": TransportError, "HX_ERR_TIMEOUT": TimeoutError,
    "HX_ERR_PEER_DEAD": PeerDeadError, "HX_ERR_INTERNAL": InternalError, "HX_ERR_MISMATCH": MismatchError,
    "HX_ERR_REVOKED": RevokedError, "HX_ERR_MINORITY": MinorityError,
}


for _kind in (Error, *BY_NAME.values()):  # tracebacks show the name by which programs know it
    _kind.__module__ = "hierax"


def make(status, text, detail):
    """The exception for a status, its text "NAME: meaning" and the detail. Called by the extension module."""
    name, _, meaning = text.partition(": ")
    error = BY_NAME.get(name, Error)(detail or meaning)
    error.status, error.name, error.detail = status, name, detail or meaning
    return error
