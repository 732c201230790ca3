#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""On a terminal no line of any tool is longer than the terminal, or than 100 columns.

Runs each command under a pseudo terminal. For each width it looks at every line. It also compares the words with those that the
command prints to a pipe: nothing may be lost. Piped output is not folded."""
import difflib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

SOURCES = os.path.abspath(os.environ.get("top_srcdir", os.path.join(os.path.dirname(__file__), "../..")))
TOOLS = os.path.abspath(os.path.join(os.environ.get("top_builddir", "build"), "tools"))
ALL = "coll_bench coll_info coll_tune coll_plan coll_run coll_trace coll_report coll_compare coll_store".split()
STEADY = [  # these print the same each time
    "coll_info --algorithms",
    "coll_plan explain allreduce --shape 3,1,2 1M",
    "coll_plan explain alltoall --shape 4x2:cyclic 64KiB",
    "coll_plan cost allreduce --shape 4x96 64K",
    "coll_plan compare allreduce ring rdh --shape 8x1",
    "coll_plan big bcast --shape 16x96",
    *(f"{tool} --help" for tool in ALL),
    *(f"coll_plan {command} --help" for command in "explain cost draw compare verify steps big".split()),
    "coll_bench allreduce --op avg --dtype int32",
    "coll_plan explain allreduce --shape 4 --set HX_LANE=1",
]
OTHERS = [  # times, the machine, the order, or a layout differ
    "coll_plan verify allreduce --shape 3",
    "coll_plan cost bcast --table --shape 4x96 64K 1M",
    "coll_info",
    "coll_info --doctor",
    "coll_run -n 2 -- coll_info",
    "coll_run -n 3 --nodes 2,1 --env HX_EXPLAIN=1 -- coll_bench allreduce gather --max 64 --factor 8 --check --repetitions 3",
    "coll_run -n 2 --prefix -- coll_bench allreduce --max 8 --repetitions 3",
    "coll_run -n 2 -- coll_tune -o TMP/table.json --collectives allreduce --max 8 --budget 1s",
    "coll_info --table TMP/table.json",
    "coll_tune check TMP/table.json",
    "coll_run -n 2 -- coll_tune judge --collectives allreduce --max 8 --budget 1s",
    "coll_run -n 2 --env HX_TRACE=TMP/trace.%r -- coll_bench allreduce --max 8 --repetitions 2",
    "coll_trace summary TMP/trace.0 TMP/trace.1",
    "coll_compare --ours COMMAND --theirs COMMAND allreduce --max 64 --rounds 2",
]


def environment():
    path = ":".join([TOOLS, f"{SOURCES}/tools", f"{SOURCES}/tools/report", os.environ["PATH"]])
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HX_") and k != "COLUMNS"}
    return {**kept, "PATH": path}


def on_terminal(words, columns):
    """What it prints on a terminal of so many columns."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execvpe(words[0], words, environment())
    said = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # its end
            break
        if not part:
            break
        said += part
    os.waitpid(child, 0)
    os.close(terminal)
    return said.decode().replace("\r\n", "\n")


def on_pipe(words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment()).stdout


def letters(text):
    """Without what folding adds."""
    return re.sub(r"\n# |\s", "", "\n" + text)


def faults(line, columns, tmp, steady):
    bench = f"coll_run -n 2 -- {TOOLS}/coll_bench"
    words = [bench if w == "COMMAND" else w.replace("TMP", tmp) for w in line.split()]
    said = on_terminal(words, columns)
    # what follows \r is written over what was there
    lines = [part for row in said.split("\n") for part in re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", row).split("\r")]
    if not said.strip():
        yield f"{line}: says nothing"
    for row in lines:
        if len(row) > min(columns, 100):
            yield f"{line}: {len(row)} columns on a terminal of {columns}: {row}"
        if "\v" in row:
            yield f"{line}: a mark is left: {row!r}"
    if "--help" in words:
        for row, rest in zip(lines, lines[1:]):
            if row.startswith("  ") and rest[:1].islower():
                yield f"{line}: the row goes on at the left margin: {row!r}, {rest!r}"
    piped = on_pipe(words) if steady else said
    if letters(said) != letters(piped):
        lost = "\n".join(difflib.unified_diff(piped.split("\n"), said.split("\n"), lineterm=""))
        yield f"{line}: on a terminal of {columns} it does not say what it says to a pipe:\n{lost}"


def quickstart_faults():
    """With COLUMNS set, quickstart folds its own lines and still reads those of HX_EXPLAIN."""
    said = subprocess.run([f"{SOURCES}/tools/quickstart", "show", os.path.dirname(TOOLS)], stdout=subprocess.PIPE, text=True, check=False,
                          env={**environment(), "COLUMNS": "80"}).stdout
    plans = re.findall(r"^ +slower +(?:hier|flat)\(", said, re.M)
    if len(plans) != 3 or any(len(row) > 80 for row in said.split("\n")):
        yield f"quickstart show: {len(plans)} of the three next best plans, or lines above 80 columns:\n{said}"


def main():
    count = 0
    with tempfile.TemporaryDirectory() as tmp:
        for line in STEADY + OTHERS:
            for columns in (80, 100, 200) if line in STEADY[:3] else (80, 100) if "--help" not in line else (80,):
                for fault in faults(line, columns, tmp, line in STEADY):
                    print("FAILED:", fault)
                    count += 1
        for fault in quickstart_faults():
            print("FAILED:", fault)
            count += 1
    print(f"{len(STEADY + OTHERS)} commands, {count} faults")
    sys.exit(count > 0)


main()
