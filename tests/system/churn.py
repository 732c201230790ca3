#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kill and start processes of churn.c all the time, and watch what the others do.

Every 0.5 to 1 s one or more processes die, or another one joins; there are 4 to 8. The seed draws which, when and in which phase. With --lab
Slurm starts them on several hosts, and hosts are lost too: all processes of a host die, or its network is cut and heals again.

Fails if a process reports an error or ends by itself, or if no step completes for HANG seconds. Fails also if the last state differs from the
state that one process computes from the log of memberships. Prints how long the job stood still after deaths and for joins."""
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
        self.pid_fd = self.host = None  # set when the process has begun
        self.phase, self.since = "start", time.monotonic()
        self.rank = self.leads = self.met = self.first_step = self.asked = None
        self.condemned = self.died = self.is_cut = self.is_well = False

    def begins(self, pid, host):
        self.host = host
        try:
            self.pid_fd = os.pidfd_open(pid)
        except ProcessLookupError:
            pass  # it has ended; the command that started it reports this

    def kill(self):
        if self.pid_fd is not None:
            signal.pidfd_send_signal(self.pid_fd, signal.SIGKILL)
        else:
            self.popen.kill()

    def has_ended(self):
        return bool(select.select([self.pid_fd], [], [], 0)[0]) if self.pid_fd is not None else self.popen.poll() is not None

    def close(self):
        if self.pid_fd is not None:
            os.close(self.pid_fd)


class Here:
    """Processes of this machine."""
    store_host = "127.0.0.1"
    hosts = ()
    env = {}

    def store(self, command):
        return command

    def ranks(self, n):
        """For each command that starts ranks: its first words, and its variables of the environment."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            root = f"127.0.0.1:{free.getsockname()[1]}"
        return [([], {"HX_ROOT": root, "HX_RANK": str(rank), "HX_SIZE": str(n)}) for rank in range(n)]

    def another(self, host):
        return []


class Lab:
    """Processes that Slurm starts on the hosts of the lab."""
    store_host = "10.99.0.254"
    env = {"HX_SILENT": "3"}

    def __init__(self, lab):
        self.lab = lab
        self.hosts = ("h1", "h2", "h3", "h4")

    def store(self, command):
        return [self.lab, "exec", "0", "--", *command]

    def ranks(self, n):
        return [([self.lab, "srun", "--mpi=pmi2", "--no-kill", "--kill-on-bad-exit=0", "-N4", f"-n{n}"], {})]

    def another(self, host):
        return [self.lab, "srun", "-N1", "-n1", "-w", host]

    def network(self, host, way):
        subprocess.run([self.lab, "exec", host, "--", "ip", "link", "set", "eth0", way], check=True)


class Churn:
    def __init__(self, options):
        self.options = options
        self.place = Lab(options.lab) if options.lab else Here()
        self.cut = None  # the host without a network, and the members there
        self.random = random.Random(options.seed)
        self.directory = tempfile.TemporaryDirectory(prefix="churn")
        with open(f"{self.directory.name}/orders", "w+b") as orders:
            orders.truncate(ORDERS_BYTES)
            self.orders = mmap.mmap(orders.fileno(), ORDERS_BYTES)
        os.mkfifo(f"{self.directory.name}/reports")
        self.reports = os.open(f"{self.directory.name}/reports", os.O_RDWR | os.O_NONBLOCK)
        self.rest = b""
        self.processes = {}
        self.store = None
        self.env = dict(os.environ, HX_SECRET=f"churn{options.seed}", HX_TIMEOUT=str(HX_TIMEOUT), HX_LOG=os.environ.get("HX_LOG", "warn"),
                        **self.place.env)
        if options.nodes != "1":
            self.env["HX_NODES"] = options.nodes
        self.steps = 0
        self.idle = 0.0  # since the last step
        self.gaps = []   # (from, to) in which the machine did not let this process run
        self.dead = []        # deaths after which no step has completed yet: (time, number, list for the duration)
        self.after_death, self.after_loss, self.after_join, self.growth = [], [], [], []
        self.kinds = collections.Counter()
        self.recent = collections.deque(maxlen=40)

    # ---- processes

    def popen(self, command, **env):
        with open(f"{self.directory.name}/err.{len(self.processes)}", "wb") as err:
            return subprocess.Popen(command, env=dict(self.env, **env), stdin=subprocess.DEVNULL, stdout=err, stderr=err)

    def join(self):
        number = len(self.processes)
        host = self.random.choice([host for host in self.place.hosts if not self.cut or host != self.cut[0]]) if self.place.hosts else None
        popen = self.popen([*self.place.another(host), self.options.program, "join", self.directory.name, str(number)])
        self.processes[number] = process = Process(number, popen, True)
        return process

    def begin(self, ranks):
        self.store = subprocess.Popen(self.place.store([self.options.store, "--listen", f"{self.place.store_host}:0", "churn"]), env=self.env,
                                      stdout=subprocess.PIPE, text=True)
        self.env["HX_STORE"] = self.store.stdout.readline().strip() + "/churn"
        commands = self.place.ranks(ranks)
        for rank in range(ranks):
            if rank < len(commands):
                words, env = commands[rank]
                popen = self.popen([*words, self.options.program, "start", self.directory.name], **env)
            self.processes[rank] = Process(rank, popen, False)
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
        process.kill()
        self.death(process, time.monotonic())

    def death(self, process, when, lasts=None):
        process.died = True
        if process.met:
            self.dead.append((when, process.number, self.after_death if lasts is None else lasts))
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
                self.order(self.join(), *(("join", 600000) if kind == "newcomer" else ("sync", 30000)))
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
                self.join()
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

    def host_draw(self):
        """A host that may be lost, because a majority of the members stays, even if processes there join meanwhile. None: there is none now."""
        if self.cut or self.dead or any(process.condemned and not process.died for process in self.processes.values()):
            return None
        hosts = [host for host in self.place.hosts if 0 < len(self.there(host, self.members())) and
                 len(self.there(host, self.alive())) + len(self.there(host, self.members())) < len(self.members())]
        return self.random.choice(hosts) if hosts else None

    def there(self, host, processes):
        return [process for process in processes if process.host == host]

    def host_lose(self, host):
        there = self.there(host, self.alive())
        kind = self.random.choice(["host killed", "host cut"])
        if kind == "host killed":
            for process in there:
                self.kill(process)
        else:
            self.cut = host, self.there(host, self.members())
            self.place.network(host, "down")
            for process in there:
                process.is_cut = True
            for process in self.cut[1]:
                self.death(process, time.monotonic(), self.after_loss)
        self.note(f"{kind}: {host}")
        self.kinds[kind] += 1

    def heal(self):
        """Connect the lost host again, once all members there have ended."""
        if all(process.has_ended() for process in self.cut[1]):
            self.place.network(self.cut[0], "up")
            self.note(f"{self.cut[0]} is back")
            self.cut = None

    def act(self):
        n = len(self.alive())
        if self.cut:
            self.heal()
        elif self.random.random() < 0.15 and (host := self.host_draw()):
            self.host_lose(host)
        elif n <= LEAST or (n < MOST and self.random.random() < 0.5):
            self.join()
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
        if kind == "B":
            process.begins(int(words[0]), words[1])
        elif kind == "L":
            if not process.is_cut:
                raise Fault(f"process {process.number} on {process.host} may not go on, but was not cut off")
            process.died = True
            self.note(f"{process.number} may not go on, rank {process.rank}, in {process.phase}")
        elif kind == "P":
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
        for died, number, lasts in self.dead:
            if died < process.met:  # a step that the dead one has not taken part in
                lasts.append(self.lasted(died, when))
                self.note(f"step {step}: {lasts[-1]:.3f} s after the death of {number}")
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
            ended = [process for process in self.processes.values() if not process.died and not process.is_well and process.has_ended()]
            self.drain()  # after has_ended, so that all reports of these processes are read
            for process in ended:
                if not process.died and not process.is_well:
                    raise Fault(f"process {process.number} has ended" + (f" with status {process.popen.poll()}" if not self.options.lab else ""))
            if self.idle > self.options.hang:
                raise Fault(f"no step for {self.options.hang:g} s")

    # ---- all of it

    def run(self):
        ranks = self.random.randint(LEAST, MOST)
        print(f"churn.py {'--lab' if self.options.lab else f'--nodes {self.options.nodes}'} --seconds {self.options.seconds:g} --seed {self.options.seed}: {ranks} processes", flush=True)
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
        while self.cut:
            self.watch(0.1)
            self.heal()
        struct.pack_into("i", self.orders, 0, 1)
        while not all(process.is_well for process in self.members()):
            self.watch(0.05)
        members = [process for process in self.processes.values() if process.is_well]
        for process in members:
            if not self.options.lab and process.popen.wait(60) != 0:  # the status of srun also counts processes that died
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
        if self.options.lab:
            print(f"  from the loss of a network to the next step, {spread(self.after_loss)}")
        print(f"  from hx_join to the first step, {spread(self.after_join)}; hx_comm_grow, {spread(self.growth)}")
        if self.gaps:
            print(f"  the machine stood still for {sum(end - begin for begin, end in self.gaps):.1f} s, which do not count", flush=True)

    def fault_print(self, fault):
        print(f"FAIL: seed {self.options.seed}: {fault}", file=sys.stderr)
        for line in self.recent:
            print(f"    {line}", file=sys.stderr)
        for process in self.processes.values():
            if not process.died and not process.has_ended():
                print(f"    process {process.number} on {process.host}: rank {process.rank}, in {process.phase} for "
                      f"{time.monotonic() - process.since:.1f} s", file=sys.stderr)
        for process in list(self.processes.values())[-12:]:
            name = f"{self.directory.name}/err.{process.number}"
            with open(name if os.path.exists(name) else f"{self.directory.name}/err.0", errors="replace") as err:
                for line in err.readlines()[-4:]:
                    print(f"    {process.number}: {line.rstrip()[:300]}", file=sys.stderr)
        if self.options.keep:
            input("the processes are still there; Enter ends them")

    def close(self):
        for process in self.processes.values():
            process.popen.kill()
            process.popen.wait()
            process.close()
        if self.store:
            self.store.kill()
            self.store.wait()
        self.directory.cleanup()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("store")
    parser.add_argument("--nodes", default="1", help="as HX_NODES; 1: no emulated nodes")
    parser.add_argument("--lab", metavar="LAB", help="tests/lab/lab, which has four hosts and Slurm; without --nodes")
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
