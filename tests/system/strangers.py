# SPDX-License-Identifier: BSD-3-Clause
"""Strangers at a job's doors: they say nothing, garbage, half a message, a huge length, or a greeting without the secret, again and
again, until standard input ends.

usage: strangers.py store PORT CONNECTIONS [FILE] | node CONNECTIONS | fabric PID,PID... CONNECTIONS [FILE]
node: at every abstract socket of Hierax that appears. fabric: at the ports where these processes listen, as another user if this one is root.
CONNECTIONS are held at the same time at each door, and say nothing; at the fabric's some have said half a request, or garbage. Prints a line
when they are. Those that are closed are replaced, some at a time. With FILE only while it exists; when they are, they write a byte there."""
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


# libfabric's request for a connection over tcp: version, type, bytes that follow, and numbers
REQUEST = struct.pack("!BBHIQQQ", 3, 0, 8, 0, 0, 0, 1) + struct.pack("!BBHI", 0, 0, 4711, 4711)
FABRIC_FIRST = [b"", b"", b"", REQUEST[:1], REQUEST[:11], REQUEST[:32]]
FABRIC_WORDS = [b"", REQUEST[:7], b"GET / HTTP/1.0\r\n\r\n", os.urandom(300), b"\xff" * 40, REQUEST[:2] + b"\xff\xff" + REQUEST[4:], REQUEST[:32]]
AGAIN_MOST = 20
NOBODY = 65534


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


def ends(seconds):
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def names():
    with open("/proc/net/unix", encoding="ascii") as f:
        return {"\0" + line.split("@", 1)[1].strip() for line in f if "@hierax-" in line}


def ports(pid):
    """Where a process listens."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    found = []
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as f:
        for fields in map(str.split, f):
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                address, port = (int(n, 16) for n in fields[1].split(":"))
                found.append((socket.inet_ntoa(struct.pack("<I", address)) if address else "127.0.0.1", port))
    return found


class Crowd:
    """Connections at one door: some are held, others come, say a word and go."""

    def __init__(self, kind, target, held, first):
        self.kind, self.target, self.first, self.turn = kind, target, first, 0
        self.poll, self.held = select.poll(), {}
        for _ in range(held):
            self.hold()

    def hold(self):
        s = connect(self.kind, self.target)
        if s:
            self.held[s.fileno()] = (s, self.first[len(self.held) % len(self.first)])
            self.poll.register(s.fileno(), select.POLLOUT)

    def look(self):
        """Who has come in says its first word; for who is closed another one comes."""
        for fd, events in self.poll.poll(0):
            if events & (select.POLLHUP | select.POLLERR | select.POLLIN):
                self.poll.unregister(fd)
                self.held.pop(fd)[0].close()
                if self.turn < AGAIN_MOST:
                    self.turn += 1
                    self.hold()
            else:
                say(*self.held[fd])
                self.poll.modify(fd, select.POLLIN)
        self.turn = 0

    def close(self):
        for s, _ in self.held.values():
            s.close()
        self.held = {}


def at_nodes(held):
    """Those at a node's socket stay: it looks at them once."""
    idle, done, turn = [], set(), 0
    kind = (socket.AF_UNIX, socket.SOCK_SEQPACKET)
    while not ends(0.001):
        for target in names() - done:
            idle += [connect(kind, target) for _ in range(held)]
            for i, word in enumerate(NODE_WORDS):
                idle.append(connect(kind, target))
                if idle[-1]:
                    say(idle[-1], NODE_WORDS[(turn + i) % len(NODE_WORDS)])
            print(f"{len(idle)} at {target!r}", flush=True)
            done.add(target)
            turn += 1


def at_doors(targets, words, firsts, held, path):
    kind = (socket.AF_INET, socket.SOCK_STREAM)
    crowds, talkers, turn = [], [], 0
    while not ends(0.01):
        if path and not os.path.exists(path):
            for crowd in crowds:
                crowd.close()
            crowds = []
            continue
        if not crowds:
            crowds = [Crowd(kind, target, held, firsts) for target in targets]
            print(f"{len(crowds)} times {held}", flush=True)
            if path:
                with open(path, "ab") as f:
                    f.write(b".")
        for crowd in crowds:
            crowd.look()
        talkers = [(connect(kind, target), word) for target in targets for word in words[turn % len(words) :] + words[: turn % len(words)]]
        for s, word in talkers:
            if s:
                say(s, word)
        time.sleep(0.05)
        for s, _ in talkers:
            if s:
                s.close()
        turn += 1


def main():
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    if sys.argv[1] == "node":
        at_nodes(int(sys.argv[2]))
    elif sys.argv[1] == "store":
        at_doors([("127.0.0.1", int(sys.argv[2]))], STORE_WORDS, [b""], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
    else:
        targets = [target for pid in sys.argv[2].split(",") for target in ports(pid)]
        if os.getuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        at_doors(targets, FABRIC_WORDS, FABRIC_FIRST, int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)


main()
