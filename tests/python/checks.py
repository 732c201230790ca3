# SPDX-License-Identifier: BSD-3-Clause
"""For the scripts of this folder: results and errors that are as they should be."""
import hierax
import numpy as np


def forms(comm, name, *args, **named):
    """The result of a call, of its i- form, and of two starts of its persistent form."""
    yield getattr(comm, name)(*args, **named)
    yield getattr(comm, "i" + name)(*args, **named).wait()
    request = getattr(comm, name + "_init")(*args, **named)
    for _ in range(2):
        yield request.start().wait()
    request.free()


def equal(got, wanted, what):
    wanted = np.asarray(wanted)
    assert isinstance(got, np.ndarray) and got.dtype == wanted.dtype and got.shape == wanted.shape, (what, got, wanted)
    assert np.array_equal(got, wanted), (what, got, wanted)


def refuses(kind, texts, call, *args, **named):
    try:
        call(*args, **named)
    except kind as error:
        for text in [texts] if isinstance(texts, str) else texts:
            assert text in str(error), (text, error)
        assert not isinstance(error, hierax.Error) or (error.status > 0 and error.detail and "\n" not in str(error)), error
        return
    raise AssertionError(f"not refused: {texts}")
