# SPDX-License-Identifier: BSD-3-Clause
"""What a followed plan costs, counted in its rounds.

Bytes are in parts of the vector: a pair of whole numbers, elements and elements of the vector. The vector is the largest buffer
that a rank gives or gets. The time of a plan is about alpha * rounds + beta * vectors * bytes of the vector.
"""

from __future__ import annotations

from .follow import FLAG, LOCAL, MESSAGE, Follower, ranges


def traffic(f: Follower, a_round: dict):
    """(kind, from, to, elements) of all that passes between ranks."""
    owner, lengths = f.owner(), f.lengths()
    for kind, n, to, *sources in a_round["moves"]:
        for cell in sources:
            if kind != LOCAL and owner[cell] != owner[to]:
                yield kind, owner[cell], owner[to], 0 if f.barrier or cell in lengths else n


def busiest(passed, place) -> int:
    """The most elements that go into, or out of, one place."""
    sums: dict[tuple, int] = {}
    for _, source, to, n in passed:
        for key in ((0, place(source)), (1, place(to))):
            sums[key] = sums.get(key, 0) + n
    return max(sums.values(), default=0)


def vector_of(plan: dict) -> int:
    return max(len(ranges(rank[key])) for rank in plan["ranks"] for key in ("in", "out"))


def score(f: Follower) -> dict:
    """rounds; messages and elements by where they pass: `between` nodes and `inside` them."""
    node = f.plan["node_of"]
    every = [list(traffic(f, a_round)) for a_round in f.rounds]
    result = {
        "rounds": sum(bool(passed or a_round["flags"]) for passed, a_round in zip(every, f.rounds)),
        "vector": vector_of(f.plan),
    }
    for name, crosses in (("between", True), ("inside", False)):
        rounds = [[one for one in passed if (node[one[1]] != node[one[2]]) == crosses] for passed in every]
        alone = [any((node[a] != node[b]) == crosses for a, b in a_round["flags"]) for a_round in f.rounds]
        result[name] = {
            "rounds": sum(bool(passed) or flags for passed, flags in zip(rounds, alone)),
            "messages": len({(i, a, b) for i, passed in enumerate(rounds) for kind, a, b, _ in passed if kind == MESSAGE}),
            "beta": sum(busiest(passed, lambda rank: rank) for passed in rounds),
            "link": busiest(
                [one for passed in rounds for one in passed if one[0] != FLAG],
                (lambda rank: node[rank]) if crosses else (lambda rank: rank),
            ),
        }
    return result


def is_cube(f: Follower) -> bool:
    """In each round every pair of ranks that exchange something differs in the same bits."""
    masks = [{a ^ b for _, a, b, _ in traffic(f, a_round)} | {a ^ b for a, b in a_round["flags"]} for a_round in f.rounds]
    return f.size >= 4 and f.size & (f.size - 1) == 0 and len(f.rounds) > 1 and all(len(mask) <= 1 for mask in masks)
