#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kill and start processes of churn.c all the time, and watch what the others do.

Every 0.5 to 1 s one or more processes die, or another one joins; there are 4 to 8. The seed draws which, when and in which phase. Fails if a
process reports an error or ends by itself, if no step completes for HANG seconds, or if the last state is not what one process computes
from the log of memberships. Prints how long the job stood still after deaths and for joins."""
import argparse
import collections
import mmap
import os
import random
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

LEAST, MOST = 4, 8
HANG = 240.0  # more than the HX_TIMEOUT of the processes
HX_TIMEOUT = 100
PHASES = ["none", "compute", "reduce", "compare", "agree", "shrink", "grow", "sync", "join"]
ORDERS_BYTES = 8 + 65536 * 8


class Fault(Exception):
    pass


class Process:
    def __init__(self, number, popen, joins):
        self.number, self.popen, self.joins = number, popen, joins
        self.phase, self.since = "start", time.monotonic()
        self.rank = self.leads = self.met = self.first_step = self.asked = None
        self.condemned = self.died = self.is_well = False


class Churn:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.directory = tempfile.TemporaryDirectory(prefix="churn")
        self.orders_fd = os.memfd_create("orders")
        os.ftruncate(self.orders_fd, ORDERS_BYTES)
        self.orders = mmap.mmap(self.orders_fd, ORDERS_BYTES)
        self.reports, self.reports_in = os.pipe()
        os.set_blocking(self.reports, False)
        self.rest = b""
        self.processes = {}
        self.store = None
        self.env = dict(os.environ, HX_SECRET=f"churn{options.seed}", HX_TIMEOUT=str(HX_TIMEOUT), HX_LOG=os.environ.get("HX_LOG", "warn"))
        if options.nodes != "1":
            self.env["HX_NODES"] = options.nodes
        self.steps = 0
        self.idle = 0.0  # since the last step
        self.gaps = []   # (from, to) in which the machine did not let this process run
        self.dead = []        # (time, number) that no step has followed yet
        self.after_death, self.after_join, self.growth = [], [], []
        self.kinds = collections.Counter()
        self.recent = collections.deque(maxlen=40)

    # ---- processes

    def start(self, joins, **env):
        number = len(self.processes)
        with open(f"{self.directory.name}/err.{number}", "wb") as err:
            popen = subprocess.Popen(
                [self.options.program, "join" if joins else "start", str(number), str(self.orders_fd), str(self.reports_in), self.directory.name],
                env=dict(self.env, **env), pass_fds=(self.orders_fd, self.reports_in), stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        self.processes[number] = process = Process(number, popen, joins)
        return process

    def begin(self, ranks):
        self.store = subprocess.Popen([self.options.store, "--listen", "127.0.0.1:0", "churn"], env=self.env, stdout=subprocess.PIPE, text=True)
        self.env["HX_STORE"] = self.store.stdout.readline().strip() + "/churn"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            root = f"127.0.0.1:{free.getsockname()[1]}"
        for rank in range(ranks):
            self.start(False, HX_ROOT=root, HX_RANK=str(rank), HX_SIZE=str(ranks))
        while not all(process.first_step for process in self.processes.values()):
            self.watch(0.1)

    def alive(self):
        return [process for process in self.processes.values() if not process.died and not process.condemned]

    def members(self):
        return [process for process in self.alive() if process.first_step]

    def order(self, process, phase, most_us):
        delay = self.random.randrange(most_us)
        struct.pack_into("i", self.orders, 8 + 8 * process.number + 4, delay)
        struct.pack_into("i", self.orders, 8 + 8 * process.number, PHASES.index(phase))
        process.condemned = True
        self.note(f"{process.number} dies in {phase} after {delay} us")

    def kill(self, process):
        process.condemned = process.died = True
        process.popen.kill()
        self.death(process, time.monotonic())

    def death(self, process, when):
        process.died = True
        if process.met:
            self.dead.append((when, process.number))
        self.note(f"{process.number} dies, rank {process.rank}, in {process.phase}")

    def note(self, text):
        self.recent.append(f"{time.monotonic():.3f} {text}")
        if self.options.verbose:
            print(self.recent[-1], flush=True)

    # ---- what happens

    def deaths_draw(self):
        """Who dies, and how. Two members or more stay."""
        draw, members = self.random, self.members()
        leaders = [process for process in members if process.leads]
        kind = draw.choice(["any", "any", "lowest", "leader", "two", "reduce", "agree", "shrink", "sync", "grow", "newcomer", "newborn"])
        if kind in ("newcomer", "newborn"):
            if len(self.alive()) < MOST:
                self.order(self.start(True), *(("join", 600000) if kind == "newcomer" else ("sync", 30000)))
                self.kinds[kind] += 1
            return
        if len(self.alive()) <= LEAST or len(members) < 3:
            return
        lowest = min(members, key=lambda process: process.rank)
        first = lowest if kind == "lowest" else draw.choice(leaders) if kind == "leader" and leaders else draw.choice(members)
        second = draw.choice([process for process in members if process is not first])
        pair = len(self.alive()) >= LEAST + 2 and len(members) >= 4
        if kind == "reduce":
            self.order(first, draw.choice(["reduce", "compare"]), 60000)
        elif kind == "grow":
            if len(self.alive()) < MOST:
                self.start(True)
            self.order(first, "grow", draw.choice([3000, 300000]))
        elif kind in ("agree", "shrink", "sync"):
            if not pair:
                return
            self.order(second, kind, draw.choice([300, 3000, 30000]))
            self.kill(first)
        else:
            self.kill(first)
            if kind == "two" and pair:
                self.kill(second)
        self.kinds[kind] += 1

    def act(self):
        n = len(self.alive())
        if n <= LEAST or (n < MOST and self.random.random() < 0.5):
            self.start(True)
            self.kinds["join"] += 1
        else:
            self.deaths_draw()

    # ---- what the processes report

    def heard(self, line):
        if self.options.verbose:
            print(line)
        kind, number, *words = line.split()
        process = self.processes[int(number)]
        if kind == "E":
            raise Fault(f"process {process.number}: {' '.join(words)}")
        when = int(words[-1]) / 1e6
        if kind == "P":
            process.phase, process.since = words[0], when
            if process.phase == "join" and process.asked is None:
                process.asked = when
        elif kind == "D":
            self.death(process, when)
        elif kind == "M":
            process.rank, process.leads, process.met = int(words[0]), words[2] == "1", when
            self.note(f"{process.number} is rank {words[0]} of {words[1]}")
        elif kind == "G":
            self.growth.append(self.lasted(time.monotonic() - when, time.monotonic()))
        elif kind == "W":
            process.is_well = True
        elif kind == "S":
            self.step_heard(process, int(words[0]), when)

    def lasted(self, begin, end):
        return end - begin - sum(max(0.0, min(end, gap[1]) - max(begin, gap[0])) for gap in self.gaps)

    def step_heard(self, process, step, when):
        if not process.first_step:
            process.first_step = when
            if process.joins:
                self.after_join.append(self.lasted(process.asked, when))
                self.note(f"{process.number} has joined after {self.after_join[-1]:.3f} s")
        self.idle = 0.0
        if step <= self.steps:
            return
        self.steps = step
        for died, number in self.dead:
            if died < process.met:  # a step that the dead one has not taken part in
                self.after_death.append(self.lasted(died, when))
                self.note(f"step {step}: {self.after_death[-1]:.3f} s after the death of {number}")
        self.dead = [entry for entry in self.dead if entry[0] >= process.met]

    def drain(self):
        while select.select([self.reports], [], [], 0)[0]:
            *lines, self.rest = (self.rest + os.read(self.reports, 1 << 16)).split(b"\n")
            for line in lines:
                self.heard(line.decode())

    def watch(self, seconds):
        until = (now := time.monotonic()) + seconds
        while until > now:
            select.select([self.reports], [], [], min(until - now, 1.0))
            before, now = now, time.monotonic()
            if now - before > 2.0:
                self.gaps.append((before + 1.0, now))
            self.idle += min(now - before, 1.0)  # if this process does not run, the others may not either
            ended = [process for process in self.processes.values() if process.popen.poll() is not None]
            self.drain()  # after poll: all that these have reported
            for process in ended:
                if not process.died and not process.is_well:
                    raise Fault(f"process {process.number} has ended with status {process.popen.returncode}")
            if self.idle > self.options.hang:
                raise Fault(f"no step for {self.options.hang:g} s")

    # ---- all of it

    def run(self):
        ranks = self.random.randint(LEAST, MOST)
        print(f"churn.py --nodes {self.options.nodes} --seconds {self.options.seconds:g} --seed {self.options.seed}: {ranks} processes", flush=True)
        self.begin(ranks)
        until = time.monotonic() + self.options.seconds
        while time.monotonic() < until:
            self.watch(self.random.uniform(0.5, 1.0))
            self.act()
        self.end()

    def end(self):
        for process in self.processes.values():
            if process.condemned and not process.died:
                struct.pack_into("i", self.orders, 8 + 8 * process.number, 0)
                self.kill(process)
        last = self.steps
        while self.steps < last + 10:
            self.watch(0.1)
        struct.pack_into("i", self.orders, 0, 1)
        while not all(process.is_well for process in self.members()):
            self.watch(0.05)
        members = [process for process in self.processes.values() if process.is_well]
        for process in members:
            if process.popen.wait(60) != 0:
                raise Fault(f"process {process.number} has ended with status {process.popen.returncode}")
        files = [f"{self.directory.name}/state.{process.number}" for process in members]
        alone = subprocess.run([self.options.program, "alone", *files], capture_output=True, text=True)
        if alone.returncode != 0 or not files:
            raise Fault(f"the last state of {len(files)} members: {alone.stderr}")
        self.report(alone.stdout.strip())

    def report(self, text):
        def spread(seconds):
            return f"{len(seconds)}: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s" if seconds else "none"
        print(f"  {text}, equal on all and to what one process computes; {', '.join(f'{n} {kind}' for kind, n in sorted(self.kinds.items()))}")
        print(f"  from a death to the next step, {spread(self.after_death)}")
        print(f"  from hx_join to the first step, {spread(self.after_join)}; hx_comm_grow, {spread(self.growth)}")
        if self.gaps:
            print(f"  the machine stood still for {sum(end - begin for begin, end in self.gaps):.1f} s, which do not count", flush=True)

    def fault_print(self, fault):
        print(f"FAIL: seed {self.options.seed}: {fault}", file=sys.stderr)
        for line in self.recent:
            print(f"    {line}", file=sys.stderr)
        for process in self.processes.values():
            if process.popen.poll() is None:
                print(f"    process {process.number}, pid {process.popen.pid}: rank {process.rank}, in {process.phase} for "
                      f"{time.monotonic() - process.since:.1f} s", file=sys.stderr)
        for process in list(self.processes.values())[-12:]:
            with open(f"{self.directory.name}/err.{process.number}", errors="replace") as err:
                for line in err.readlines()[-4:]:
                    print(f"    {process.number}: {line.rstrip()[:300]}", file=sys.stderr)
        if self.options.keep:
            input("the processes are still there; Enter ends them")

    def close(self):
        for process in self.processes.values():
            process.popen.kill()
            process.popen.wait()
        if self.store:
            self.store.kill()
            self.store.wait()
        self.directory.cleanup()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("store")
    parser.add_argument("--nodes", default="1", help="as HX_NODES; 1: no emulated nodes")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hang", type=float, default=HANG, help="seconds without a step that count as a hang")
    parser.add_argument("--keep", action="store_true", help="after a failure, wait until someone has looked at the processes")
    parser.add_argument("--verbose", action="store_true", help="print what happens")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    churn = Churn(parser.parse_args())
    try:
        churn.run()
    except Fault as fault:
        churn.fault_print(fault)
        return 1
    finally:
        churn.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
