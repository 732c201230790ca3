# SPDX-License-Identifier: BSD-3-Clause
"""Training that goes on when ranks die.

    loop = hierax.elastic.Loop({"w": w}, steps=100)
    for step in loop:
        with step as comm:              # if a rank dies in the block, the survivors repeat the step
            gradient = comm.allreduce(gradient_of(w, comm.rank, comm.size))
            w -= 0.1 * gradient / n     # change the state only after the last call that can fail
"""
from ._errors import PeerDeadError, RevokedError, TimeoutError, TransportError
from ._native import MAX
from ._process import world

FAILURES = (PeerDeadError, RevokedError, TransportError, TimeoutError)


class Loop:
    """Steps that all ranks take together, with a state that is the same on all of them.

    state: {name: array}; arrays that calls can write to. steps: how many. comm: the communicator, or None for that of all ranks.
    revision: how many steps the state has taken already. new: this rank has no state, and receives that of the others.

    Attributes: comm, the communicator of the ranks that live; revision, the steps taken; failures, how often the ranks had to
    start a step again; report, that of the last Comm.state_sync()."""

    def __init__(self, state, steps, comm=None, revision=0, new=False):
        self.state, self.steps, self.revision = state, steps, revision
        self.comm = comm or world()
        self.failures, self.report = 0, None
        self._new = new
        self._owned = False  # the communicator is one that this loop has made

    def sync(self):
        """Let all ranks have the state with the most steps. A rank whose last step others have completed without it receives their state."""
        latest = self.comm.allreduce(-1 if self._new else self.revision, MAX)
        mode = "majority" if self.revision == latest and not self._new else "receive_only"
        self.report = self.comm.state_sync(self.state, self.revision, mode)
        self.revision, self._new = self.report["revision"], False

    def recover(self):
        """After a failure: go on with the ranks that live, and with one state. Further ranks may die meanwhile."""
        while True:
            self.failures += 1
            broken, owned = self.comm, self._owned
            broken.revoke()                 # the others leave their calls too
            self.comm, self._owned = broken.shrink(), True
            if owned:
                broken.free()
            try:
                return self.sync()
            except FAILURES:
                pass

    def _try(self, call):
        try:
            call()
            return True
        except FAILURES:
            self.recover()
            return False

    def __iter__(self):
        self._try(self.sync)
        while True:
            while self.revision < self.steps:
                yield self
            # no rank leaves while another one may still need its state
            if self._try(lambda: self.comm.barrier()) and self.revision >= self.steps:
                return

    def __enter__(self):
        return self.comm

    def __exit__(self, kind, error, trace):
        if error is None:
            self.revision += 1
        elif isinstance(error, FAILURES):
            self.recover()
        else:
            return False
        return True
