# SPDX-License-Identifier: BSD-3-Clause
"""Measure all-reduces for the page measured.html: a ring, a tree, what Hierax chooses, and Gloo if torch is installed.

One run goes from size to size and measures each of them in turn. The file is written after each point, so that a run that is
broken off leaves its points.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import socket
import statistics
import subprocess
import sys
import time

from .catalogue import Refused, tool_find

MIN_BYTES, MAX_BYTES, RANKS, VERSION = 1 << 10, 64 << 20, 8, 1
WARMUP, FACTOR = 3, 4
GLOO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gloo_rank.py")
CURVES = {"our ring": {"HX_INTRA_ALLREDUCE": "ring"}, "our tree": {"HX_INTRA_ALLREDUCE": "tree"}, "what Hierax chooses": {}}


def repetitions(nbytes: int) -> tuple[int, int]:
    """Timed repetitions, and calls in a row in each: the same for all programs."""
    return 20 if nbytes <= 1 << 20 else 7, 20 if nbytes <= 1 << 16 else 1


class Hierax:
    """coll_bench, with these settings."""

    def __init__(self, coll_run: str, coll_bench: str, settings: dict):
        self.words = [
            coll_run,
            "-n",
            str(RANKS),
            *(f"--env={name}={value}" for name, value in settings.items()),
            "--",
            coll_bench,
            "allreduce",
        ]

    def measure(self, nbytes: int) -> tuple[float, dict]:
        times, calls = repetitions(nbytes)
        words = [f"--sizes={nbytes}", f"--repetitions={times}", f"--iterations={calls}", f"--warmup={WARMUP}", "--json=-"]
        done = subprocess.run([*self.words, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Refused(f"coll_bench ended with status {done.returncode}: {done.stderr.strip()}")
        document = json.loads(done.stdout)
        return document["rows"][0]["median_us"], document

    def close(self) -> None:
        pass


class Gloo:
    """torch.distributed's own backend: 8 processes that wait for a size on standard input. To load torch takes seconds on all
    cores, so nothing is measured before each of them is ready."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.ranks = []
        for rank in range(RANKS):
            names = {
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "RANK": str(rank),
                "WORLD_SIZE": str(RANKS),
                "OMP_NUM_THREADS": "1",
                "GLOO_SOCKET_IFNAME": "lo",
            }
            self.ranks.append(
                subprocess.Popen(
                    [sys.executable, GLOO],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, **names},
                )
            )

        try:
            self.answers()
        except Refused:
            for process in self.ranks:
                process.kill()
            raise

    def answers(self) -> list[list[str]]:
        """The words of the next line of each rank."""
        lines = [process.stdout.readline().split() for process in self.ranks]
        if not all(lines):
            raise Refused("a rank of Gloo has ended")
        return lines

    def measure(self, nbytes: int) -> tuple[float, dict]:
        for process in self.ranks:
            process.stdin.write("{} {} {} {}\n".format(nbytes, WARMUP, *repetitions(nbytes)))
            process.stdin.flush()
        times = [[float(word) for word in words] for words in self.answers()]
        return statistics.median(max(one) for one in zip(*times)), {}

    def close(self) -> None:
        for process in self.ranks:
            process.stdin.close()
        for process in self.ranks:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def write(path: str, document: dict) -> None:
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)


def run(a) -> None:
    path = a.points or "measured.json"
    if a.max < MIN_BYTES:
        raise Refused(f"--max={a.max}: expected at least {MIN_BYTES} bytes")
    coll_run, coll_bench = (tool_find(name, given) for name, given in (("coll_run", a.coll_run), ("coll_bench", a.coll_bench)))
    programs = {name: Hierax(coll_run, coll_bench, settings) for name, settings in CURVES.items()}
    document = {
        "hierax_measured": VERSION,
        "ranks": RANKS,
        "nodes": "all on one node",
        "dtype": "float32",
        "date": time.strftime("%Y-%m-%d"),
        "cpus": len(os.sched_getaffinity(0)),
        "library": "",
        "machine": "",
        "notes": [],
        "pair": list(CURVES)[:2],
        "curves": {},
    }
    if importlib.util.find_spec("torch"):
        programs["Gloo in PyTorch"] = Gloo()
        document["notes"].append(f"Gloo is that of PyTorch {importlib.metadata.version('torch')}.")
    else:
        document["notes"].append("torch is not installed here, so Gloo is not measured.")
    try:
        nbytes = MIN_BYTES
        while nbytes <= a.max:
            for name, program in programs.items():
                us, said = program.measure(nbytes)
                document["library"], document["machine"] = (
                    said.get("library", document["library"]),
                    said.get("machine", document["machine"]),
                )
                document["curves"].setdefault(name, []).append([nbytes, us])
                write(path, document)
                print(f"{nbytes:>10} bytes  {name:<20} {us:12.1f} us", flush=True)
            nbytes *= FACTOR
    finally:
        for program in programs.values():
            program.close()
