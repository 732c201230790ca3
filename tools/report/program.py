# SPDX-License-Identifier: BSD-3-Clause
"""What the programs in Python share: how they refuse, print, read documents and end. They need no package for that."""
from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import subprocess
import sys

from outputs import Unwritten, stream_write
from pages import Refused


def columns(stream: int) -> int:
    """The width of the screen that a stream goes to, at most 100, as tools/common/screen.c has it; 0: no screen."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return min(max(int(given), 40), 100)
    try:
        return min(max(os.get_terminal_size(stream).columns or 80, 40), 100)
    except OSError:
        return 0


def folded(words: str, width: int) -> str:
    """Lines of at most this width: cut between columns, or else between words."""
    lines = []
    for line in words.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        while 0 < width < len(line):
            gaps = [m for m in re.finditer(r"  +", line) if width // 2 < m.start() <= width]
            if gaps:  # the next column keeps its place in its line
                cut = gaps[-1].start()
                rest = indent + line[cut:]
            else:
                cut = line.rfind(" ", len(indent), width + 1)
                cut = cut if cut > 0 else width
                rest = indent + line[cut:].lstrip()
            lines.append(line[:cut].rstrip())
            line = rest
        lines.append(line)
    return "\n".join(lines)


def say(words: str) -> None:
    stream_write(1, folded(words, columns(1)).encode())


def complain(name: str, words: str) -> None:
    with contextlib.suppress(OSError):
        stream_write(2, folded(f"{name}: {words}\n", columns(2)).encode(errors="surrogateescape"))


def version(name: str) -> str:
    """That of the tools beside it."""
    there = os.path.join(os.path.dirname(sys.argv[0]), "coll_plan")
    command = [there if os.path.exists(there) else "coll_plan", "--version"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.replace("coll_plan", name)


def unknown(what: str, given: str, choices: list[str]) -> Refused:
    near = "".join(f" (did you mean {choice}?)" for choice in difflib.get_close_matches(given, choices, 1))
    return Refused(f'unknown {what} "{given}"{near}; choices: {" ".join(choices)}')


def document_read(path: str):
    try:
        with open(path, "rb") as f:
            content = f.read().decode()
        return json.loads(content)
    except OSError as e:
        raise Refused(f"{path}: {e.strerror}") from None
    except UnicodeDecodeError as e:
        raise Refused(f"{path}: not JSON: byte {e.start} is not UTF-8") from None
    except json.JSONDecodeError as e:
        words = "it ends too early" if not content[e.pos:].strip() or e.msg.startswith("Unterminated") else e.msg
        raise Refused(f"{path}:{e.lineno}:{e.colno}: not JSON: {words}") from None
    except (RecursionError, ValueError) as e:
        raise Refused(f"{path}: not JSON: {e}") from None


def ended(name: str, main) -> int:
    """The exit status of a program that runs main."""
    while os.open("/", os.O_PATH | os.O_CLOEXEC) < 2:  # no file gets the number of a standard stream that is closed
        pass
    try:
        return main() or 0
    except (Refused, Unwritten) as e:
        complain(name, str(e))
        return e.status
    except MemoryError:
        complain(name, "no memory")
    except BrokenPipeError:  # nobody reads any more: nothing to say
        pass
    except OSError as e:
        complain(name, f"standard output: {e.strerror}")
    return 1
