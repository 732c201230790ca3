# SPDX-License-Identifier: BSD-3-Clause
"""Follow a plan of `coll_plan steps`, round by round.

In a round each rank sends at most one message and receives at most one, so a rank that sends to p-1 others needs p-1 rounds. A flag
that is raised in one round is seen in the next. Between rounds each rank does all that it can. The result is a list of rounds, each
a list of moves between numbered cells, for the pages to play.

A move is [kind, n, to, from, ...]: n cells from number `to` on become those from number `from` on, folded if there are several.
"""

from __future__ import annotations

LOCAL, MESSAGE, READ, FLAG = range(4)  # kinds of moves


class Stuck(Exception):
    """A plan that does not end."""


class Strip:
    """One memory of one rank: the offsets that the plan uses, in order, are neighbouring cells."""

    def __init__(self, rank: int, space: str, group: int | None):
        self.rank, self.space, self.group = rank, space, group
        self.offsets, self.first, self.place = set(), 0, {}

    def number(self, first: int) -> int:
        self.first = first
        self.place = {offset: first + i for i, offset in enumerate(sorted(self.offsets))}
        return first + len(self.place)


def ranges(numbers) -> list[int]:
    """[first, n, first, n] as single numbers."""
    return [first + i for first, n in zip(numbers[::2], numbers[1::2]) for i in range(n)]


class Stage:
    """One stage of one rank, and how far it is."""

    def __init__(self, rank: int, row: dict):
        self.rank, self.level, self.after, self.group = rank, row["level"], row["after"], row["group"]
        self.elected = rank == row["ranks"][0]  # any may be: the first stands for all
        self.steps, self.at = row["steps"], 0
        self.of_lengths = any(
            place[0] in ("counts", "heard") for step in row["steps"] for place in step[1:] if isinstance(place, list) and place
        )
        self.posted = {}  # handles of receives and sends that are under way

    def done(self) -> bool:
        return self.at == len(self.steps)


class Follower:
    """All ranks of one plan. `rounds` has the result."""

    def __init__(self, plan: dict):
        self.plan, self.size = plan, len(plan["ranks"])
        self.barrier = not any(rank["in"] or rank["out"] for rank in plan["ranks"])
        self.stages = [[Stage(r, row) for row in rank["stages"]] for r, rank in enumerate(plan["ranks"])]
        self.strips: dict[tuple, Strip] = {}
        self.flags, self.new_flags = {}, {}  # (rank, group, flag): what the rank knew, for a barrier
        self.sends, self.receives = [], {}
        self.known = [{r} for r in range(self.size)]
        self.moves, self.levels, self.rounds = [], set(), []
        self._number_cells()
        self._follow()

    # ---- cells

    def _strip(self, space: str, rank: int, group: int) -> Strip:
        if space == "in" and self.plan["one_buffer"]:
            space = "out"
        own = group if space in ("scratch", "slot") else None
        return self.strips.setdefault((rank, space, own), Strip(rank, space, own))

    def _number_cells(self) -> None:
        order = {space: i for i, space in enumerate(("arrived", "in", "counts", "work", "heard", "slot", "scratch", "out"))}
        for r, rank in enumerate(self.plan["ranks"]):
            if self.barrier:
                self.strips[r, "arrived", None] = strip = Strip(r, "arrived", None)
                strip.offsets = set(range(self.size))
                continue
            for space in ("in", "out"):
                self._strip(space, r, 0).offsets.update(range(len(ranges(rank[space]))))
            for stage in rank["stages"]:
                for step in stage["steps"]:
                    for space, owner, *spans in (
                        part for part in step[1:] if isinstance(part, list) and part and isinstance(part[0], str)
                    ):
                        self._strip(space, owner, stage["group"]).offsets.update(ranges(spans))
        self.strips = dict(sorted(self.strips.items(), key=lambda item: (item[0][0], order[item[0][1]], item[0][2] or 0)))
        n = 0
        for strip in self.strips.values():
            n = strip.number(n)
        self.nelements = max(
            (max(ranges(rank[key]), default=-1) + 1 for rank in self.plan["ranks"] for key in ("in", "out")), default=0
        )

    def cells(self, stage: Stage, place: list) -> list[int]:
        space, owner, *spans = place
        strip = self._strip(space, owner, stage.group)
        return [strip.place[offset] for offset in ranges(spans)]

    def start(self) -> list[list[int]]:
        """[cell, element, rank] of all that the ranks have at first."""
        if self.barrier:
            return [[self.strips[r, "arrived", None].first + r, r, r] for r in range(self.size)]
        filled = []
        for r, rank in enumerate(self.plan["ranks"]):
            elements = ranges(rank["in"])
            if self.plan["gives"] == "root" and r != self.plan["root"]:
                elements = []
            strip = self._strip("in", r, 0)
            filled += [[strip.place[i], element, r] for i, element in enumerate(elements)]
            counts = self.strips.get((r, "counts", None))
            filled += [[cell, r * self.size + i, r] for i, cell in counts.place.items()] if counts else []
        return filled

    # ---- rounds

    def _move(self, kind: int, to: list[int], *sources: list[int]) -> None:
        i = 0
        while i < len(to):
            n = 1
            while i + n < len(to) and all(cells[i + n] == cells[i] + n for cells in (to, *sources)):
                n += 1
            if sources != (to,):
                self.moves.append([kind, n, to[i], *(cells[i] for cells in sources)])
            i += n

    def _tell(self, kind: int, rank: int, known: set[int], other: int) -> None:
        """In a barrier a rank learns who has arrived."""
        mine, theirs = (self.strips[r, "arrived", None].first for r in (rank, other))
        for r in sorted(known):
            self._move(kind, [mine + r], [theirs + r])
        self.known[rank] |= known

    def _data(self, stage: Stage, step: list) -> None:
        if self.barrier:
            return
        places = step[1:]
        self.levels.add(stage.level)
        kind = READ if any(place[1] != places[0][1] for place in places) else LOCAL
        self._move(kind, *(self.cells(stage, place) for place in places))

    def _flag_seen(self, stage: Stage, flag: int, ranks: list[int]) -> bool:
        keys = [(rank, stage.group, flag) for rank in ranks]
        if any(key not in self.flags for key in keys):
            return False
        self.levels.add(stage.level)
        for rank, key in zip(ranks, keys):
            if self.barrier:
                self._tell(FLAG, stage.rank, self.flags[key], rank)
            else:
                self.seen.append([rank, stage.rank])
        return True

    def _step(self, stage: Stage) -> bool:
        """Do the next step; False: it must wait."""
        op, *rest = step = stage.steps[stage.at]
        after = stage.at + 1
        if op in ("send", "recv") and not any(rest[3][3::2]):
            pass  # a message of no elements is not sent
        elif op in ("copy", "fetch", "reduce"):
            self._data(stage, step)
        elif op == "send":
            handle, tag, peer, place = rest
            stage.posted[handle] = key = (stage.group, stage.rank, peer, tag)
            self.sends.append((key, stage, handle, place, set(self.known[stage.rank])))
        elif op == "recv":
            handle, tag, peer, place = rest
            stage.posted[handle] = key = (stage.group, peer, stage.rank, tag)
            self.receives.setdefault(key, []).append((stage, handle, place))
        elif op == "join":
            if any(handle in stage.posted for handle in range(rest[0], rest[0] + rest[1])):
                return False
        elif op == "publish":
            self.new_flags[rest[0], stage.group, rest[1]] = set(self.known[stage.rank])
        elif op == "await":
            if not self._flag_seen(stage, rest[0], rest[1]):
                return False
        elif op == "elect":
            self.new_flags.setdefault((stage.rank, stage.group, rest[0]), set(self.known[stage.rank]))
            if stage.elected and not self._flag_seen(stage, rest[0], rest[1]):
                return False
            after += 0 if stage.elected else rest[2]
        stage.at = after
        return True

    def _ready(self, stage: Stage) -> bool:
        return not stage.done() and all(other.done() for other in self.stages[stage.rank] if other.level <= stage.after)

    def _run(self) -> bool:
        """Let each rank do what it can. Was there anything?"""
        some, again = False, True
        while again:
            again = False
            for stages in self.stages:
                for stage in stages:
                    while self._ready(stage) and self._step(stage):
                        some = again = True
        return some

    def _deliver(self) -> bool:
        """The messages of one round, in the order in which they were started."""
        senders, receivers, left = set(), set(), []
        for send in self.sends:
            key, stage, handle, place, known = send
            waiting = self.receives.get(key)
            if not waiting or key[1] in senders or key[2] in receivers:
                left.append(send)
                continue
            senders.add(key[1])
            receivers.add(key[2])
            theirs, their_handle, their_place = waiting.pop(0)
            if self.barrier:
                self._tell(MESSAGE, key[2], known, key[1])
            else:
                self._move(MESSAGE, self.cells(theirs, their_place), self.cells(stage, place))
            self.levels.add(stage.level)
            del stage.posted[handle], theirs.posted[their_handle]
        self.sends = left
        return bool(senders)

    def _follow(self) -> None:
        self.seen = []
        self._run()
        self._close()
        while not all(stage.done() for stages in self.stages for stage in stages):
            news = bool(self.new_flags)
            self.flags.update(self.new_flags)
            self.new_flags = {}
            news = self._deliver() or news
            if not self._run() and not news:
                raise Stuck(
                    f"{self.plan['collective']} {self.plan['algorithm']} on {self.plan['shape']}: the plan does not end"
                )
            self._close()

    def _close(self) -> None:
        """Keep the round. If nothing passes between ranks, it is part of the round before, or, at first, what ranks do alone."""
        owner = self.owner()
        read = {(owner[cell], owner[move[2]]) for move in self.moves for cell in move[3:]}
        flags = [pair for pair in self.seen if tuple(pair) not in read]
        if self.rounds and not flags and all(move[0] == LOCAL for move in self.moves):
            self.rounds[-1]["moves"] += self.moves
            self.rounds[-1]["levels"] = sorted({*self.rounds[-1]["levels"], *self.levels})
        elif self.moves or flags:
            self.rounds.append({"levels": sorted(self.levels), "moves": self.moves, "flags": flags})
        self.moves, self.levels, self.seen = [], set(), []

    def lengths(self) -> set[int]:
        """Cells that hold how long blocks are, of a stage that tells this: not data."""
        groups = {stage.group for stages in self.stages for stage in stages if stage.of_lengths}
        return {
            cell
            for strip in self.strips.values()
            if strip.space in ("counts", "heard") or strip.group in groups
            for cell in strip.place.values()
        }

    def owner(self) -> list[int]:
        """The rank of each cell."""
        if not hasattr(self, "_owner"):
            self._owner = [strip.rank for strip in self.strips.values() for _ in strip.place]
        return self._owner
