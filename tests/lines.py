#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the lines of code outside tests, folder by folder: how large the house is. Usage: lines.py [COMMIT] (default: HEAD)

Code is .c .h .def .py .sh .mk .am .ac and every script that begins with "#!". The bytes a line show whether lines only became longer."""
import collections
import subprocess
import sys


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True).stdout.decode()


def is_code(name, text):
    return name.endswith((".c", ".h", ".def", ".py", ".sh", ".mk", ".am", ".ac")) or text.startswith("#!")


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    lines, size = collections.Counter(), collections.Counter()
    for name in git("ls-tree", "-r", "--name-only", "--full-tree", commit).splitlines():
        if name.startswith("tests/") or name.endswith((".png", ".md")):
            continue
        text = git("show", f"{commit}:{name}")
        if is_code(name, text):
            folder = name.split("/")[0] if "/" in name else "top"
            lines[folder] += text.count("\n")
            size[folder] += len(text)
    for folder in sorted(lines):
        print(f"{folder:10} {lines[folder]:6} lines, {size[folder] / lines[folder]:.1f} bytes a line")
    print(f"{'all':10} {lines.total():6} lines, {size.total() / lines.total():.1f} bytes a line")


main()
