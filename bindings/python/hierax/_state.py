# SPDX-License-Identifier: BSD-3-Clause
"""State that is the same on all ranks."""


def state_sync(comm, entries, revision=0, mode="majority", keep=False):
    """Make the arrays of all ranks of comm the same: see Comm.state_sync()."""
    return comm.state_sync(entries, revision, mode, keep)
