# SPDX-License-Identifier: BSD-3-Clause
"""A tree of a test's own, with which a lint checks itself."""
import contextlib
import os
import tempfile


@contextlib.contextmanager
def planted(tree):
    """The folder of these files {path: text}, all of which may be executed."""
    with tempfile.TemporaryDirectory() as root:
        for file, code in tree.items():
            path = os.path.join(root, file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(code)
            os.chmod(path, 0o755)
        yield root
