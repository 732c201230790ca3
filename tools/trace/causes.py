# SPDX-License-Identifier: BSD-3-Clause
"""Why did ranks wait? At some moments of each wait, from the waiting rank to the rank that it waits for, and on while that one
waits too:

  it has not begun the call, and is in no other     it came late
  its message to the waiting rank is under way      the link
  it is in the call and does not wait               it is slow there: it computes, copies, or has no core

Each moment counts for the part of the wait that it stands for. Then the causes that stand out are printed for a collective and
size: a late rank if it is much later than the others; a link if its messages take much longer than others of that length on that
level (inside a node, between nodes); a rank without a core by what the kernel has counted. All times are in us."""
from __future__ import annotations

import bisect
import collections

MOMENTS = 8  # of a wait that is not short
SHARE = 0.2  # of the waiting of a collective and size: less is not told
TIMES_SLOW = 3  # the median of the other links
SLOW_US, LATE_US = 100, 20  # later at the least
FEW = 4  # messages: of fewer the median tells nothing
ALIKE = 10  # links of a place are slow alike, if no one is so many times slower
NO_CORE = 0.1  # of the time, and so many times the median rank's
TIMES_NO_CORE = 3
UNDER_WAY = 16  # messages of one rank to another that are looked at
NO_RANK = -1

# late, slow: rank; link: from rank to peer, a message with so many bits in its length; near: inside a node
Cause = collections.namedtuple("Cause", "kind rank peer near bits", defaults=(NO_RANK, True, 0))


def median(values):
    """Of an even number the mean of the middle two; of none 0."""
    values, n = sorted(values), len(values)
    return (values[(n - 1) // 2] + values[n // 2]) / 2 if n else 0


def usual(values):
    """The median; of an even number the smaller of the middle two: what is slow may be half of all."""
    return sorted(values)[(len(values) - 1) // 2]


class Messages:
    """Those that have arrived, by (from, to). A message is under way when it is sent and its receiver is ready for it."""

    def __init__(self):
        self.sent, self.all, self.spans, self.found = {}, [], {}, collections.defaultdict(list)

    def take(self, event, rank: int) -> None:
        """A span of a message, or the arrow's end that follows it."""
        if event["ph"] == "X":
            self.spans[event["tid"]] = (event["ts"], event["ts"] + event["dur"], event["args"]["rank"], event["args"]["bytes"])
            return
        begin, end, peer, length = self.spans[event["tid"]]
        if event["ph"] == "s":
            self.sent[event["id"]] = begin
        else:
            self.all.append((event["id"], peer, rank, length, begin, end))

    def match(self) -> None:
        """All files are read."""
        for id, sender, receiver, length, begin, end in self.all:
            if id in self.sent:
                self.found[sender, receiver].append((max(begin, self.sent[id]), end, length))
        for messages in self.found.values():
            messages.sort()

    def under_way(self, sender: int, receiver: int, at: float) -> int | None:
        """The length of such a message. None: there is none."""
        messages = self.found.get((sender, receiver), ())
        last = bisect.bisect_right(messages, (at, float("inf"), 0))
        return next((length for _, end, length in messages[max(0, last - UNDER_WAY):last] if end >= at), None)


class Links:
    """How long messages took, from place to place: nodes, or ranks of one node."""

    def __init__(self, messages: Messages, nodes: dict):
        self.nodes = nodes
        times = collections.defaultdict(lambda: collections.defaultdict(list))  # by level and length, by link
        for (sender, receiver), found in messages.found.items():
            for begin, end, length in found:
                key = self.is_near(sender, receiver), length.bit_length()
                times[key][self.places(sender, receiver)].append(end - begin)
        self.medians = {key: {link: median(took) for link, took in links.items() if len(took) >= FEW}
                        for key, links in times.items()}
        self.usual = {key: usual(medians.values()) for key, medians in self.medians.items() if medians}

    def is_near(self, rank: int, peer: int) -> bool:
        return self.nodes[rank] == self.nodes[peer]

    def places(self, sender: int, receiver: int):
        return (sender, receiver) if self.is_near(sender, receiver) else (self.nodes[sender], self.nodes[receiver])

    def times_slow(self, key, link) -> float:
        """How many times the usual its messages take; 1: not slow."""
        took, normal = self.medians[key].get(link, 0), self.usual.get(key, 0)
        return took / max(normal, 1e-3) if took >= max(TIMES_SLOW * normal, normal + SLOW_US) else 1

    def slow_place(self, key, link):
        """The node or rank whose links are all as slow as this one: "of" it, or one way, "from" or "to" it. None: the link."""
        least = max(TIMES_SLOW, self.times_slow(key, link) / ALIKE)
        for way, ends in (("of", (0, 1)), ("from", (0,)), ("to", (1,))):
            for end in ends:
                own = [other for other in self.medians[key] if link[end] in [other[e] for e in ends]]
                if len(own) > 1 and all(self.times_slow(key, other) >= least for other in own):
                    return way, link[end]
        return None


def moments(begin: float, took: float, call_took: float) -> list[float]:
    """One of a short wait."""
    n = MOMENTS if MOMENTS * 10 * took >= call_took else 1
    return [begin + took * (i + 0.5) / n for i in range(n)]


class Causes:
    def __init__(self, traces: dict, calls: dict, messages: Messages):
        """traces: heads by rank. calls: lists of spans, by call; a span's waits: [(begin, rank, how long)]."""
        messages.match()
        self.messages, self.nodes = messages, {rank: trace["node"] for rank, trace in traces.items()}
        self.links = Links(messages, self.nodes)
        self.spans = collections.defaultdict(list)  # by rank: those that block
        self.calls = {}  # of each span, by its id: the spans of that call by rank
        for spans in calls.values():
            by_rank = {span.rank: span for span in spans}
            for span in spans:
                self.calls[id(span)] = by_rank
                if span.blocks:
                    self.spans[span.rank].append(span)
        for spans in self.spans.values():
            spans.sort(key=lambda span: span.begin)
        self.begins = {rank: [span.begin for span in spans] for rank, spans in self.spans.items()}
        parts = {rank: trace.get("core_wait_ns", 0) / max(trace.get("traced_ns", 0), 1) for rank, trace in traces.items()}
        self.core_wait = usual(parts.values())  # the part of the time in which most ranks waited for a processing unit, and some
        self.no_core = {rank: part for rank, part in parts.items() if part >= max(NO_CORE, TIMES_NO_CORE * self.core_wait)}

    def span_at(self, rank: int, at: float):
        spans = self.spans[rank]
        i = bisect.bisect_right(self.begins.get(rank, ()), at) - 1
        return spans[i] if i >= 0 and at < spans[i].begin + spans[i].took else None

    @staticmethod
    def wait_at(span, at: float):
        """For whom it waits. None: it does not wait."""
        waits = span.waits or ()
        i = bisect.bisect_right(waits, (at, float("inf"), 0)) - 1
        return waits[i][1] if i >= 0 and at < waits[i][0] + waits[i][2] else None

    def cause(self, span, at: float) -> Cause | None:
        """What a rank waits for in its call. None: the traces do not tell."""
        near, seen = True, set()
        while span.rank not in seen:
            seen.add(span.rank)
            rank, awaited = span.rank, self.wait_at(span, at)
            if awaited is None:
                return Cause("slow", rank, near=near)
            other = self.calls[id(span)].get(awaited)
            if other is None:
                return None
            near = self.links.is_near(rank, awaited)
            if length := self.messages.under_way(awaited, rank, at):
                return Cause("link", awaited, rank, near, length.bit_length())
            if at >= other.begin + other.took:  # it has done its part
                return Cause("slow", rank, near=near)
            if at < other.begin and (other := self.span_at(awaited, at)) is None:
                return Cause("late", awaited, near=near)
            span = other
        return Cause("slow", span.rank, near=near)  # a circle: one of them could go on

    def of_call(self, spans, into: dict) -> None:
        """Add the causes of the waits of a call."""
        for span in spans:
            for begin, _, took in span.waits or ():
                times = moments(begin, took, span.took)
                for at in times:
                    cause = self.cause(span, at)
                    into[cause] = into.get(cause, 0) + took / len(times)

    # ---- what stands out

    def general(self) -> list[str]:
        """What holds for most ranks."""
        if self.core_wait < NO_CORE:
            return []
        return [f"at least half of the ranks waited for a core {100 * self.core_wait:.0f} % of the time: ranks or other processes share "
                "cores. This may be the cause of all the waits below"]

    def told(self, row) -> list[str]:
        """The causes of a row that stand out, the greatest first. The row's late: by rank, how much later than the others."""
        groups, texts = collections.defaultdict(float), {}
        for cause, took in sorted(row.causes.items(), key=lambda item: item[1]):  # the greatest gives the text
            key, text = self.group(cause, row) if cause else (None, None)
            if text:
                groups[key] += took
                texts[key] = text
        order = sorted(groups, key=lambda key: (-groups[key], str(key)))
        return [f"{100 * groups[key] / row.waited:3.0f} %  {texts[key]}" for key in order if groups[key] >= SHARE * row.waited]

    def group(self, cause: Cause, row):
        """The key by which equal causes are joined, and the text. None: this wait is not unusual."""
        for rank in (cause.rank, cause.peer):
            if rank in self.no_core:
                return ("core", rank), (f"{self.rank_text(rank)} waited for its core {100 * self.no_core[rank]:.0f} % of the time: another "
                                        "process or rank computes there")
        return {"late": self.late, "link": self.slow_link, "slow": self.slow_rank}[cause.kind](cause, row)

    def rank_text(self, rank: int) -> str:
        return f"rank {rank} (node {self.nodes[rank]})"

    def late(self, cause: Cause, row):
        late = [us for us in row.late.get(cause.rank, ()) if us >= LATE_US]
        if not late or median(late) < SHARE * median(row.took):
            return None, None
        return ("late", cause.rank, cause.near), (
            f"{self.rank_text(cause.rank)} came late: {time_text(median(late))} after the other ranks (at most {time_text(max(late))}), "
            f"in {len(late)} of {len(row.took)} calls; ranks {'of its node' if cause.near else 'of other nodes'} waited")

    def slow_link(self, cause: Cause, _):
        key, link = (cause.near, cause.bits), self.links.places(cause.rank, cause.peer)
        times, kind = self.links.times_slow(key, link), "rank" if cause.near else "node"
        if times < TIMES_SLOW:
            return None, None
        place, most = self.links.slow_place(key, link), (1 << cause.bits) - 1
        figures = (f"({level(cause)}): messages of {(most + 1) // 2} to {most} bytes took {time_text(self.links.medians[key][link])}, "
                   f"{times:.0f} times the median {level(cause)} ({time_text(self.links.usual[key])})")
        if place:
            return ("place", cause.near, place), f"all links {place[0]} {kind} {place[1]} are slow {figures}"
        return ("link", cause.near, link), f"the link from {kind} {link[0]} to {kind} {link[1]} is slow {figures}"

    def slow_rank(self, cause: Cause, row):
        slow = collections.defaultdict(float)
        for other, took in row.causes.items():
            if other and other.kind == "slow":
                slow[other.rank] += took
        if slow[cause.rank] < TIMES_SLOW * usual([slow.get(rank, 0) for rank in self.nodes]):
            return None, None
        return ("slow", cause.rank, cause.near), (f"{self.rank_text(cause.rank)} was slow inside the call: it computed or had no core, "
                                                  f"while others waited for it ({level(cause)})")


def level(cause: Cause) -> str:
    return "inside a node" if cause.near else "between nodes"


def time_text(us: float) -> str:
    return f"{us / 1e3:.3g} ms" if us >= 1e3 else f"{us:.3g} us"
