#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traces of jobs in which one thing is slow, made up, and what coll_trace summary says of each: trace_cases.py COLL_TRACE FOLDER

Six ranks pass blocks around a ring: in each call a rank sends to the next one and waits for the message of the one before it. A
message takes TOOK us. A case changes one of these: when a rank begins, how long a message takes, how long a rank computes before it
sends, and how long the kernel let it wait for a core. Prints what is not as it must be."""
import json
import os
import re
import subprocess
import sys

RANKS, CALLS, TOOK = 6, 10, 200.0
tool, folder = sys.argv[1:]


def job(nodes, begins=lambda rank: 0.0, takes=lambda sender, receiver: TOOK, computes=lambda rank: 0.0, core_wait=lambda rank: 0):
    """The files' names."""
    events = {rank: [] for rank in range(RANKS)}
    for call in range(CALLS):
        start = 1e6 * call
        begin = [start + rank + begins(rank) for rank in range(RANKS)]
        sent = [begin[rank] + 1 + computes(rank) for rank in range(RANKS)]
        for rank in range(RANKS):
            before, after = (rank - 1) % RANKS, (rank + 1) % RANKS
            ready = begin[rank] + 2 + computes(rank)
            end = max(sent[before] + takes(before, rank), ready + 1)
            add = events[rank].append
            pid, tid = 1 + nodes[rank], 1 + rank
            span = {"ph": "X", "pid": pid, "tid": tid}
            args = {"bytes": 4096, "algorithm": "ring", "size": RANKS, "group": 0, "context": 0, "sequence": call}
            add({**span, "ts": begin[rank], "dur": end + 1 - begin[rank], "cat": "call", "name": "hx_allgather", "args": args})
            if end > ready + 1:
                add({**span, "ts": ready, "dur": end - ready, "cat": "wait", "name": "wait", "args": {"rank": before}})
            arrives = sent[rank] + takes(rank, after)
            for phase, peer, at, until in (("s", after, sent[rank], arrives), ("f", before, ready - 1, end)):
                span = {"cat": "message", "pid": pid, "tid": tid + RANKS * (1 if phase == "s" else 2)}
                add({**span, "ph": "X", "ts": at, "dur": until - at, "name": "message", "args": {"rank": peer, "bytes": 4096}})
                sender, receiver = (rank, after) if phase == "s" else (before, rank)
                add({**span, "ph": phase, "ts": at if phase == "s" else until, "id": f"{sender}-{receiver}-{call}"})
    paths = []
    for rank in range(RANKS):
        head = {"rank": rank, "node": nodes[rank], "dropped": 0, "clock_error_ns": 100,
                "traced_ns": 10**9, "core_wait_ns": core_wait(rank)}
        paths.append(os.path.join(folder, f"case.{rank}"))
        with open(paths[-1], "w", encoding="utf-8") as out:
            json.dump({"otherData": {"ranks": RANKS, "origin_ns": 1, "traces": [head]}, "traceEvents": events[rank]}, out)
    return paths


def slow(*links):
    return lambda sender, receiver: 40 * TOOK if (sender, receiver) in links else TOOK


HOSTS, NODES, NODE = (0, 1, 2, 3, 4, 5), (0, 0, 0, 1, 1, 1), (0,) * 6
late = r"rank 3 \(node \d\) came late: 20 ms after the other ranks \(at most 20 ms\), in 10 of 10 calls; ranks of "
took = r"messages of 4096 to 8191 bytes took 8 ms, 40 times the median "
CASES = [
    ("even", "no rank and no link stands out", {"nodes": HOSTS}),
    ("late, between nodes", late + "other nodes waited", {"nodes": HOSTS, "begins": lambda rank: 2e4 * (rank == 3)}),
    ("late, inside a node", late + "its node waited", {"nodes": NODES, "begins": lambda rank: 2e4 * (rank == 3)}),
    ("a slow link between nodes", r"the link from node 2 to node 3 is slow \(between nodes\): " + took + r"between nodes \(199 us\)",
     {"nodes": HOSTS, "takes": slow((2, 3))}),
    ("a slow link inside a node", r"the link from rank 2 to rank 3 is slow \(inside a node\): " + took + r"inside a node \(199 us\)",
     {"nodes": NODE, "takes": slow((2, 3))}),
    ("a slow node", r"all links of node 2 are slow \(between nodes\): " + took, {"nodes": HOSTS, "takes": slow((1, 2), (2, 3))}),
    ("a slow way to a node", r"all links to node 1 are slow \(between nodes\): " + took,
     {"nodes": (0, 1, 2, 1, 3, 3), "takes": slow((0, 1), (2, 3))}),
    ("a slow rank", r"rank 4 \(node 4\) was slow inside the call.*\(between nodes\)",
     {"nodes": HOSTS, "computes": lambda rank: 9e3 * (rank == 4)}),
    ("no core", r"rank 4 \(node 4\) waited for its core 45 % of the time",
     {"nodes": HOSTS, "computes": lambda rank: 9e3 * (rank == 4), "core_wait": lambda rank: 45 * 10**7 if rank == 4 else 10**7}),
    ("no cores for all", "at least half of the ranks waited for a core 45 % of the time",
     {"nodes": HOSTS, "core_wait": lambda _: 45 * 10**7}),
]

faults = 0
for name, expected, case in CASES:
    said = subprocess.run([tool, "summary", *job(**case)], capture_output=True, text=True, check=False)
    why = said.stdout[said.stdout.find("why ranks waited"):said.stdout.find("\n\n  rank")]
    told = re.findall(r"^    ( *\d+ %  .*|no rank.*)$", why, re.M)
    others = [text for text in told if not re.search(expected, text)]
    if said.returncode or not re.search(expected, why) or (others and name != "no cores for all"):
        print(f"{name}: not \"{expected}\" alone, but:\n{why}{said.stderr}")
        faults += 1
sys.exit(faults > 0)
