# SPDX-License-Identifier: BSD-3-Clause
"""Strangers at a job's doors: they say nothing, garbage, half a message, a huge length, or a greeting without the secret, again and
again, until standard input ends.

usage: strangers.py store PORT CONNECTIONS | node CONNECTIONS
node: at every abstract socket of Hierax that appears. CONNECTIONS are held at the same time, and say nothing. Prints a line when they are."""
import os
import resource
import select
import socket
import struct
import sys
import time

MAGIC = 0x48580002
HELLO, JOIN = 1, 8


def frame(op, value, length=None):
    return struct.pack("!IIIII", MAGIC, op, 0, 0, len(value) if length is None else length) + value


STORE_WORDS = [
    b"GET / HTTP/1.0\r\n\r\n" * 3,
    os.urandom(300),
    frame(HELLO, b"")[:7],
    frame(HELLO, b"", 0xFFFFFFFF),
    frame(3, b"x" * 40),
    frame(HELLO, struct.pack("!II", 0, 2) + os.urandom(32)) + frame(JOIN, os.urandom(32)),
    frame(HELLO, struct.pack("!II", 1, 9) + os.urandom(32)) + frame(JOIN, os.urandom(32)),
]
NODE_WORDS = [b"x", os.urandom(64), struct.pack("<Ii", 0x48786A31, 1) + os.urandom(24), struct.pack("<Ii", 0x48786A31, 1) + os.urandom(56)]


def connect(kind, where):
    s = socket.socket(*kind)
    s.setblocking(False)
    try:
        s.connect(where)
    except BlockingIOError:
        pass
    except OSError:
        s.close()
        return None
    return s


def say(s, word):
    try:
        s.send(word)
    except OSError:
        pass


def names():
    with open("/proc/net/unix", encoding="ascii") as f:
        return {"\0" + line.split("@", 1)[1].strip() for line in f if "@hierax-" in line}


def main():
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    at_store = sys.argv[1] == "store"
    kind = (socket.AF_INET, socket.SOCK_STREAM) if at_store else (socket.AF_UNIX, socket.SOCK_SEQPACKET)
    held = int(sys.argv[-1])
    words = STORE_WORDS if at_store else NODE_WORDS
    idle, done, turn = [], set(), 0
    while not select.select([sys.stdin], [], [], 0.01 if at_store else 0.001)[0]:
        targets = [("127.0.0.1", int(sys.argv[2]))] if at_store else names() - done
        for target in targets:
            for _ in range(held if target not in done else 0):
                idle.append(connect(kind, target))
            talkers = [connect(kind, target) for _ in words]
            for s, word in zip(talkers, words[turn % len(words) :] + words[: turn % len(words)]):
                if s:
                    say(s, word)
            if at_store:  # those at the node's socket stay: it looks at them once
                time.sleep(0.05)
                for s in talkers:
                    if s:
                        s.close()
            else:
                idle += talkers
            if target not in done:
                print(f"{len(idle)} at {target!r}", flush=True)
            done.add(target)
            turn += 1
        if at_store and turn % 20 == 0:  # of those that were closed, others take the place
            idle = [s for s in idle if s]
            for s in select.select([], [], [], 0)[0]:
                idle.remove(s)


main()
