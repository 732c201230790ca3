# SPDX-License-Identifier: BSD-3-Clause
"""A second, small interpreter of `coll_plan steps`, for tests: what each memory of each rank holds after each round.

Memory is a dictionary from (rank, space, group, offset) to (element, frozenset of ranks). Each rank is a chain of generators that
yield what they wait for. Nothing here comes from hierax.learn.
"""

SHARED = ("in", "out", "work", "counts", "heard")


def spans(numbers):
    return [offset for i in range(0, len(numbers), 2) for offset in range(numbers[i], numbers[i] + numbers[i + 1])]


class Reader:
    def __init__(self, plan):
        self.plan, self.memory, self.posted, self.waiting, self.flags, self.raised = plan, {}, [], {}, {}, {}
        self.p, self.token = len(plan["ranks"]), not any(rank["in"] + rank["out"] for rank in plan["ranks"])
        self.knows = [{rank} for rank in range(self.p)]
        self.used = {
            place
            for rank in plan["ranks"]
            for stage in rank["stages"]
            for step in stage["steps"]
            for part in step[1:]
            if isinstance(part, list) and part and isinstance(part[0], str)
            for place in self.places(stage, part)
        }
        for rank, row in enumerate(plan["ranks"]):
            for space in ("in", "out"):
                self.used |= set(self.places(row, [space, rank, 0, len(spans(row[space]))]))
            if plan["gives"] != "root" or rank == plan["root"]:
                for offset, element in enumerate(spans(row["in"])):
                    self.memory[self.places(row, ["in", rank, offset, 1])[0]] = (element, frozenset([rank]))
        for place in [place for place in self.used if place[1] == "counts"]:
            self.memory[place] = (place[0] * self.p + place[3], frozenset([place[0]]))
        self.states = [self.state()]
        self.rounds = self.crossings = 0
        self.follow()

    def places(self, stage, part):
        space, rank, *numbers = part
        space = "out" if space == "in" and self.plan["one_buffer"] else space
        return [(rank, space, None if space in SHARED else stage["group"], offset) for offset in spans(numbers)]

    def state(self):
        """(rank, space) to the values in it, in order."""
        if self.token:
            return {
                (rank, "arrived"): [f"{other}:{other}" if other in self.knows[rank] else "" for other in range(self.p)]
                for rank in range(self.p)
            }
        texts = {}
        for place in sorted(self.used, key=lambda place: (place[0], place[1], place[2] or 0, place[3])):
            value = self.memory.get(place)
            texts.setdefault(place[:2], []).append(f"{value[0]}:{'.'.join(map(str, sorted(value[1])))}" if value else "")
        return texts

    # ---- one stage of one rank: yields a test that must be true before it goes on

    def write(self, rank, places, values):
        for place, value in zip(places, values):
            self.memory[place] = value
        self.changed = self.changed or bool(places)
        self.crossed = self.crossed or any(place[0] != rank for place in places)

    def fold(self, sources):
        values = [[self.memory[place] for place in source] for source in sources]
        for column in zip(*values):
            assert len({element for element, _ in column}) == 1, f"different elements are added: {column}"
            ranks = [rank for _, some in column for rank in some]
            assert len(ranks) == len(set(ranks)), f"a contribution is counted twice: {column}"
            yield column[0][0], frozenset(ranks)

    def seen(self, me, stage, flag, ranks):
        for rank in ranks:
            self.knows[me] |= self.flags[rank, stage["group"], flag]
        self.crossed = self.crossed or bool(ranks)

    def stage(self, me, stage):
        handles, at = {}, 0
        while at < len(stage["steps"]):
            op, *rest = stage["steps"][at]
            at += 1
            if op in ("copy", "fetch", "reduce") and not self.token:
                to, *sources = [self.places(stage, part) for part in rest]
                self.crossed = self.crossed or any(part[1] != me for part in rest)
                self.write(me, to, list(self.fold(sources)))
            elif op in ("send", "recv"):
                handle, tag, peer, part = rest
                handles[handle] = done = []
                if not spans(part[2:]):  # not sent
                    done.append(1)
                    continue
                ends = (me, peer) if op == "send" else (peer, me)
                one = ((stage["group"], *ends, tag), self.places(stage, part), done, set(self.knows[me]))
                (self.posted if op == "send" else self.waiting.setdefault(one[0], [])).append(one)
            elif op == "join":
                for handle in range(rest[0], rest[0] + rest[1]):
                    while not handles[handle]:
                        yield
            elif op == "publish":
                self.raised[rest[0], stage["group"], rest[1]] = set(self.knows[me])
            elif op in ("await", "elect"):
                if op == "elect":
                    self.raised[me, stage["group"], rest[0]] = set(self.knows[me])
                if op == "elect" and me != stage["ranks"][0]:
                    at += rest[2]
                    continue
                while any((rank, stage["group"], rest[0]) not in self.flags for rank in rest[1]):
                    yield
                self.seen(me, stage, rest[0], rest[1])

    def rank(self, me):
        """All its stages: a level begins when the one before it is done."""
        stages = [(row, self.stage(me, row)) for row in self.plan["ranks"][me]["stages"]]
        while stages:
            least = min(row["level"] for row, _ in stages)
            before = len(stages)
            stages = [(row, work) for row, work in stages if (row["after"] >= least) or next(work, "end") != "end"]
            if len(stages) == before:
                yield

    def deliver(self):
        busy, later = set(), []
        for one in self.posted:
            key, source, done, knew = one
            if not self.waiting.get(key) or ("from", key[1]) in busy or ("to", key[2]) in busy:
                later.append(one)
                continue
            busy |= {("from", key[1]), ("to", key[2])}
            _, places, their_done, _ = self.waiting[key].pop(0)
            if not self.token:
                self.write(key[1], places, [self.memory[place] for place in source])
            self.knows[key[2]] |= knew
            self.crossed = True
            done.append(1)
            their_done.append(1)
        self.posted = later

    def follow(self):
        work = [self.rank(me) for me in range(self.p)]
        for number in range(10000):
            self.changed = self.crossed = False
            if number:
                self.flags.update(self.raised)
                self.raised = {}
                self.deliver()
            work = [one for one in work if next(one, "end") != "end"]
            if self.crossed or (self.changed and len(self.states) == 1):
                self.states.append(self.state())
                self.rounds += self.crossed
            elif self.changed:
                self.states[-1] = self.state()
            if not work:
                return
        raise AssertionError("the plan does not end")

    def wrong(self):
        """What the result lacks; None: it is right."""
        plan, everyone = self.plan, frozenset(range(self.p))
        if self.token:
            return None if all(knows == everyone for knows in self.knows) else "a rank does not know that all have arrived"
        for rank, row in enumerate(plan["ranks"]):
            if (plan["gets"] == "root" and rank != plan["root"]) or (plan["exclusive"] and rank == 0):
                continue
            added = frozenset(range(rank if plan["exclusive"] else rank + 1)) if plan["prefix"] else everyone
            for offset, element in enumerate(spans(row["out"])):
                value = self.memory.get((rank, "out", None, offset))
                if not value or value[0] != element or (plan["reduces"] and value[1] != added):
                    return f"out[{offset}] of rank {rank} is {value}, not element {element}"
        return None
