# SPDX-License-Identifier: BSD-3-Clause
"""Files appear as a whole: they are written beside, then renamed. A symbolic link stays and leads to the new file, which has the
mode of the old one. A pipe, a device and standard output (-) are written as they are."""
from __future__ import annotations

import os
import stat

from pages import Refused


def is_standard_output(path: str) -> bool:
    """Also as /dev/stdout where that leads to a file."""
    try:
        return path == "-" or (os.path.samestat(os.stat(path), os.fstat(1)) and stat.S_ISREG(os.fstat(1).st_mode))
    except OSError:
        return False


def is_regular(path: str) -> bool:
    return os.path.isfile(path) or not os.path.lexists(path)


class Unwritten(Exception):
    """Which option's file could not be written in full, and why."""
    status = 1


def told(option: str, path: str, words: str) -> str:
    """A picture has its path from another tool's option."""
    return f"{path}: {words}" if option == "picture" else f"--{option}={path}: {words}"


def beside(path: str) -> str:
    return f"{os.path.realpath(path)}.{os.getpid()}.new"


def check(option: str, path: str) -> None:
    """Can it be written? Changes nothing."""
    if path == "-":
        return
    try:
        if not path or os.path.isdir(path):
            raise IsADirectoryError(0, "Is a directory" if path else "No such file or directory")
        if is_regular(path):
            with open(beside(path), "xb"):
                os.unlink(beside(path))
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as e:
        raise Refused(told(option, path, f"cannot write: {e.strerror}")) from None


def write(option: str, path: str, content: str) -> None:
    try:
        write_whole(path, content.encode("utf-8", "surrogateescape"))
    except OSError as e:
        raise Unwritten(told(option, path, e.strerror)) from None


def write_whole(path: str, data: bytes) -> None:
    if is_standard_output(path):
        stream_write(1, data)
    elif not is_regular(path):
        with open(path, "wb", buffering=0) as out:
            stream_write(out.fileno(), data)
    else:
        write_beside(path, data)


def stream_write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data):]


def write_beside(path: str, data: bytes) -> None:
    name, new = os.path.realpath(path), beside(path)
    with open(new, "xb") as out:
        try:
            if os.path.exists(name):
                os.fchmod(out.fileno(), stat.S_IMODE(os.stat(name).st_mode))
            out.write(data)
            out.flush()
            os.rename(new, name)
        except OSError:
            os.unlink(new)
            raise
