#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare pairs of outputs of loops.c. usage: ratios.py PAIRS PLAIN OURS, where the files are PLAIN.0, OURS.0, PLAIN.1 and so on.

Prints the geometric mean of the ratios of times, for each collective and for all. Then it prints each point at which ours is slower: the 95 %
interval of the mean of the paired logarithms of ratios (Student's t) lies above 0."""
import math
import sys

T_95 = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]  # by degrees of freedom


def times_read(name):
    times = {}
    with open(name, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if len(words) == 3 and words[1].isdigit():
                times[words[0], int(words[1])] = float(words[2])
    return times


def interval(logs):
    """The mean, and half the width of its interval."""
    n = len(logs)
    mean = sum(logs) / n
    if n < 2:
        return mean, math.inf
    deviation = math.sqrt(sum((x - mean) ** 2 for x in logs) / (n - 1))
    return mean, T_95[min(n - 1, len(T_95) - 1)] * deviation / math.sqrt(n)


def main():
    pairs, plain, ours = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    runs = [(times_read(f"{plain}.{i}"), times_read(f"{ours}.{i}")) for i in range(pairs)]
    points = {}
    for point in runs[0][0]:
        points[point] = interval([math.log(b[point] / a[point]) for a, b in runs])
    names = list(dict.fromkeys(name for name, _ in points))
    for name in names + ["all"]:
        means = [mean for point, (mean, _) in points.items() if name in ("all", point[0])]
        print(f"    {name:22} geometric mean {math.exp(sum(means) / len(means)):6.3f} of {len(means)} points")
    for (name, size), (mean, half) in points.items():
        if mean - half > 0:
            print(f"    slower: {name} of {size} bytes: {math.exp(mean):.3f}, from {math.exp(mean - half):.3f} to {math.exp(mean + half):.3f}")


main()
