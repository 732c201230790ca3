#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# What must hold of the traces of a job: trace_check.py RANKS CALLS FILE...   (CALLS: of each rank, by name: hx_allreduce=10,...)
#   each file is JSON of the form that Perfetto reads; tracks are named; spans of one track nest
#   each rank has exactly so many spans of each function
#   each message that one rank sends is received once, by the rank it was sent to, and not before it was sent
# A merged file will do for FILE. Prints what does not hold.
import collections
import json
import sys

ranks = int(sys.argv[1])
wanted = {}
for item in filter(None, sys.argv[2].split(",")):
    name, count = item.split("=")
    wanted[name] = int(count)
faults = []
traces = {}
events = []
for path in sys.argv[3:]:
    with open(path) as file:
        whole = json.load(file)
    events += whole["traceEvents"]
    for trace in whole["otherData"]["traces"]:
        traces[trace["rank"]] = trace


def fault(text):
    faults.append(text)


def ns(event, key):
    return round(event[key] * 1000)


if sorted(traces) != list(range(ranks)):
    fault(f"traces of ranks {sorted(traces)}")
dropped = any(trace["dropped"] for trace in traces.values())
named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
processes = [e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"]
if len(sys.argv) == 4 and len(processes) != len(set(processes)):
    fault("a merged trace names a node twice")
tracks = collections.defaultdict(list)
calls = collections.defaultdict(collections.Counter)
sent, received = {}, {}
for e in events:
    rank = (e["tid"] - 1) % ranks if "tid" in e else None
    if e["ph"] == "X":
        tracks[e["pid"], e["tid"]].append(e)
        if e["pid"] != traces[rank]["node"] + 1:
            fault(f"rank {rank} is on node {traces[rank]['node']}, its span in process {e['pid']}")
        if e["cat"] in ("call", "background"):
            calls[rank][e["name"]] += 1
    elif e["ph"] in "sf":
        side = sent if e["ph"] == "s" else received
        if e["id"] in side:
            fault(f"two messages are {e['id']}")
        side[e["id"]] = (rank, ns(e, "ts"))
for track, spans in tracks.items():
    if track not in named:
        fault(f"track {track} has no name")
    around = []
    for e in sorted(spans, key=lambda e: (e["ts"], -e["dur"])):
        begin, end = ns(e, "ts"), ns(e, "ts") + ns(e, "dur")
        while around and around[-1][1] <= begin:
            around.pop()
        if around and end > around[-1][1]:
            fault(f"track {track}: {e['name']} from {begin} to {end} ends after {around[-1]}")
        around.append((begin, end, e["name"]))
for rank in range(ranks if not dropped else 0):
    for name, count in wanted.items():
        if calls[rank][name] != count:
            fault(f"rank {rank} has {calls[rank][name]} spans of {name}, not {count}")
for message in set(sent) ^ set(received) if not dropped else ():
    fault(f"message {message} is {'not received' if message in sent else 'received, but not sent'}")
for message in set(sent) & set(received):
    here, there = (int(rank) for rank in message.split("-")[:2])
    error = traces[here]["clock_error_ns"] + traces[there]["clock_error_ns"]
    if (sent[message][0], received[message][0]) != (here, there):
        fault(f"message {message} goes from {sent[message][0]} to {received[message][0]}")
    if received[message][1] < sent[message][1] - error:
        fault(f"message {message} is received at {received[message][1]}, sent at {sent[message][1]}, clocks within {error} ns")
print(f"{len(events)} events, {len(sent)} messages, dropped: {'some' if dropped else 'none'}")
for text in faults[:20]:
    print(text)
sys.exit(bool(faults))
