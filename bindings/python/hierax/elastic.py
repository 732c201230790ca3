# SPDX-License-Identifier: BSD-3-Clause
"""Training that goes on when ranks die, and that other processes can join.

    loop = hierax.elastic.Loop({"w": w}, steps=100)
    for step in loop:
        with step as comm:              # if a rank dies in the block, the survivors repeat the step
            gradient = comm.allreduce(gradient_of(w, comm.rank, comm.size))
            w -= 0.1 * gradient / n     # change the state only after the last call that can fail

All processes run the same program, also those that join later. All ranks that live leave a communicator together: each of them agrees in it
whether it has the next, larger one. If all have it, they go on there. Else they go on without the dead, in a smaller one.

If the network parts, ranks that reach only a minority get MinorityError, which ends the loop. The other part continues, and two parts must not
both change the state. Let the exception end the process. A new process can then join the others.
"""
import warnings

from . import info
from ._errors import BootstrapError, PeerDeadError, RevokedError, TimeoutError, TransportError
from ._native import MAX
from ._process import finalize, is_running, join, setting, world

FAILURES = (PeerDeadError, RevokedError, TransportError, TimeoutError)
_MANY = 2**31 - 1
_LONGEST = 6  # after so many questions without an answer, ranks leave out 2**6 - 1


class Loop:
    """Steps that all ranks take together, with a state that is the same on all of them.

    state: {name: array}; arrays that calls can write to. steps: how many. comm: the communicator; None: that of all ranks, and the loop
    frees it when the ranks go on in another one. revision: how many steps the state has taken already. new: this rank has no state, and
    receives that of the others.

    Every `every` steps the ranks let in processes that wait in the store of HX_STORE, up to `most` ranks (None: any number). With fewer
    than `least` ranks they wait for others then, up to so many seconds for each. A process joins the others here if Hierax does not run,
    HX_STORE is set and no launcher has started the process. It is new then.

    Attributes: comm, the communicator of the ranks that live; revision, the steps taken; failures, how often the ranks had to
    start a step again; report, that of the last Comm.state_sync()."""

    def __init__(self, state, steps, comm=None, revision=0, new=False, every=10, least=1, most=None, seconds=300.0):
        if every < 1:
            raise ValueError(f"every is {every}: expected 1 or more steps")
        if not 1 <= least <= (most or _MANY):
            raise ValueError(f"least is {least}: expected 1 to most, which is {most}")
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"seconds is {seconds}: expected 0 or more")
        self.state, self.steps, self.revision = state, steps, revision
        self.every, self.least, self.most, self.seconds = every, least, most, seconds
        self.failures, self.report = 0, None
        self._joins = comm is None and not is_running() and setting("HX_STORE") is not None and not info.is_launched()
        self._new = new or self._joins
        self._given = comm
        self._world = None if comm else join() if self._joins else world()  # which this loop closes after the next growth
        self.comm = comm or self._world
        self._left = []  # communicators that other ranks may still be in
        self._has_store = False
        self._unanswered, self._leave_out = 0, 0  # questions to the store

    def sync(self):
        """Let all ranks have the state with the most steps. A rank whose last step others have completed without it receives their state."""
        latest = self.comm.allreduce(-1 if self._new else self.revision, MAX)
        while latest < 0 and self._joins:  # the members could not start the larger world
            self._left.clear()
            finalize()
            self.comm = self._world = join()
            latest = self.comm.allreduce(-1, MAX)
        mode = "majority" if self.revision == latest and not self._new else "receive_only"
        # a source may die: then the arrays must still be those of self.revision
        self.report = self.comm.state_sync(self.state, self.revision, mode, keep=not self._new)
        self.revision, self._new = self.report["revision"], False
        self._has_store = self.comm.allreduce(int(setting("HX_STORE") is not None), MAX) > 0
        self._unanswered, self._leave_out = 0, 0
        while self._left:  # all ranks are here now, and in no other
            left = self._left.pop(0)
            left.revoke()  # so a world is closed without a last meeting
            left.free()

    def recover(self):
        """After a failure: go on with the ranks that live, and with one state. Further ranks may die meanwhile. Raises MinorityError if this rank
        reaches only a minority: it must not go on."""
        self.failures += 1
        self._go_on(None)

    def _go_on(self, bigger):
        while True:
            self._leave(bigger)  # outside the try: its MinorityError must end the loop
            try:
                return self.sync()
            except FAILURES:
                self.failures += 1
                bigger = None

    def _leave(self, bigger):
        """Leave comm for bigger, or for a communicator of the ranks that live. None: this rank has no larger one."""
        left = self.comm
        if bigger is None:
            left.revoke()                   # the others leave their calls too
        all_have_it = left.agree(int(bigger is not None))[0]
        if bigger is not None and not all_have_it:
            bigger.revoke()                 # those that have joined wait again
            bigger.free()
        self.comm = bigger if all_have_it else left.shrink()
        if left not in (self._given, self._world):
            self._left.append(left)
        if all_have_it:
            if self._world is not None:
                self._left.append(self._world)
            self._world = bigger

    def _grow(self):
        """Let in processes that wait. Returns whether the communicator is another one now."""
        few = self.comm.size < self.least
        room = (self.most or _MANY) - self.comm.size
        if self.revision % self.every or room < 1 or not (few or self._has_store):
            return False
        if self._leave_out and not few:
            self._leave_out -= 1
            return False
        try:
            bigger = self.comm.grow(room, self.seconds if few else 0)
            self._unanswered = 0
        except FAILURES:
            self.recover()
            return True
        except BootstrapError as error:     # on all ranks
            if few:
                raise
            self._unanswered = min(self._unanswered + 1, _LONGEST)
            self._leave_out = 2**self._unanswered - 1  # each takes seconds
            if self.comm.rank == 0:
                warnings.warn(f"no process can join now: {error}", RuntimeWarning)
            return False
        if bigger is not None:
            self._go_on(bigger)
        elif few:
            raise TimeoutError(f"{self.comm.size} ranks are left, expected {self.least} or more: no process has joined within {self.seconds} s")
        return bigger is not None

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
                if not self._grow():  # after a change all ranks ask again, also the new ones
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
