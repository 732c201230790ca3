#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""runtime/HACKING.md names every file that a new algorithm, collective, setting, datatype or operation touches, and they are few.

Adds one of each to a copy of the tree, in the files that HACKING.md names and in no others. Then builds the library and tools of the copy,
and proves that what was added works: it is listed, the checker proves its plans, and jobs of several ranks get right results.
Skipped (77) where there is no git checkout, or where a sanitizer makes the build slow.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMITS = {"algorithm": 3, "collective": 8, "setting": 1, "datatype": 3, "operation": 3}
GENERATED = ("configure", "aclocal.m4", "Makefile.in", "build-aux", "m4")  # by autogen.sh
TARGETS = ("tools/coll_info tools/coll_plan tools/coll_run tools/coll_bench tests/runtime/plan/test_print "
           "tests/runtime/base/print_env").split()

source = os.path.abspath(os.environ["top_srcdir"])
built = os.path.abspath(os.environ["top_builddir"])
faults = 0


def fail(text):
    global faults
    faults += 1
    print("FAIL:", text)


def places_read(text):
    """What the sections "Add a ..." name: {"algorithm": [path, ...]}, the code of the example."""
    places = {}
    for title, section in re.findall(r"^## Add an? (\w+)\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S):
        places[title] = re.findall(r"^\d+\. `([^`]+)`", section, re.M)
    return places, re.search(r"```c\n(.*?)```", text, re.S).group(1)


class Addition:
    """One thing that is added, and the files that this touches."""

    def __init__(self, tree, kind):
        self.tree, self.kind, self.touched = tree, kind, set()

    def read(self, path):
        with open(os.path.join(self.tree, path), encoding="utf-8") as file:
            return file.read()

    def write(self, path, text):
        self.touched.add(path)
        with open(os.path.join(self.tree, path), "w", encoding="utf-8") as file:
            file.write(text)

    def after(self, path, line, text, before=False):
        """Put text after the last line that matches, or before it."""
        old = self.read(path)
        found = list(re.finditer(r"^.*(?:%s).*\n" % line, old, re.M))
        if not found:
            raise SystemExit("FAIL: %s has no line like %s: mend tests/places.py" % (path, line))
        at = found[-1].start() if before else found[-1].end()
        self.write(path, old[:at] + text + old[at:])

    def clones(self, path, pattern, old, new):
        """Put a copy of each match, with another name, after it."""
        text, n = re.subn(pattern, lambda m: m.group(0) + "\n" + m.group(0).replace(old, new).replace(old.upper(), new.upper()),
                          self.read(path), flags=re.M | re.S)
        if n == 0:
            raise SystemExit("FAIL: %s has nothing like %s: mend tests/places.py" % (path, pattern))
        self.write(path, text)

    def check(self, named):
        patterns = {re.sub(r"<\w+>", "[a-z0-9_]+", path): path for path in named}
        for path in sorted(self.touched):
            if not any(re.fullmatch(pattern, path) for pattern in patterns):
                fail("an added %s touches %s, which runtime/HACKING.md does not name" % (self.kind, path))
        for pattern, path in patterns.items():
            if not any(re.fullmatch(pattern, touched) for touched in self.touched):
                fail("runtime/HACKING.md names %s, which an added %s does not touch" % (path, self.kind))
        if len(self.touched) > LIMITS[self.kind]:
            fail("an added %s touches %d files, not at most %d" % (self.kind, len(self.touched), LIMITS[self.kind]))
        print("%-10s %d files: %s" % (self.kind, len(self.touched), " ".join(sorted(self.touched))))


def algorithm_add(tree, example):
    a = Addition(tree, "algorithm")
    a.write("inter/algorithms/allgather_places.c",
            '#include "runtime/plan/plan.h"\n\n' + example.replace("hx_allgather_ring", "hx_allgather_places").replace('"ring"', '"places"'))
    a.after("inter/algorithms/algorithms.mk", "inter/algorithms/allgather_ring.c", "    inter/algorithms/allgather_places.c \\\n")
    a.touched.add("tests/golden/allgather_places.txt")  # test_print --update writes it
    return a


def collective_add(tree, example):
    a = Addition(tree, "collective")
    a.after("runtime/base/coll.def", r"^HX_COLL\(", "HX_COLL(COLLECT, collect, OWN, ALL, 0)\n")
    a.clones("runtime/hierax.h", r"^HX_CALL hx_status_t hx_i?allgather(_init)?\(.*?;\n", "allgather", "collect")
    a.after("runtime/version.map", "hx_alltoallv;", "".join("        hx_%s;\n" % name for name in ("collect", "icollect", "collect_init")))
    a.clones("runtime/api/collectives.c", r"^hx_status_t hx_i?allgather(_init)?\(.*?^}\n", "allgather", "collect")
    a.write("hier/compose/collect.c", """#include "hier/compose/composer.h"
#include "intra/algorithms/algorithms.h"

void hx_compose_collect(struct composer *c)
{
    hx_composer_holders(c, 0, "gather", hx_gather_nary.build, HX_IN, HX_OUT);
    hx_composer_lanes(c, 1, HX_OUT, HX_OUT);
    if (c->n > 1)
        hx_composer_intra(c, 2, c->candidate->last, HX_OUT, HX_OUT);
}
""")
    a.after("hier/compose/compose.mk", "^hx_sources", "    hier/compose/collect.c \\\n")
    for backend in ("tools/common/bench_backend_hierax.c", "tools/bench/bench_backend_mpi.c"):
        line = re.search(r"^    case HX_FUNCTION_ALLGATHER:.*\n", a.read(backend), re.M).group(0)
        a.after(backend, "case HX_FUNCTION_ALLGATHER:",
                line.replace("HX_FUNCTION_ALLGATHER", "HX_FUNCTION_COLLECT").replace("hx_allgather", "hx_collect"))
    own = Addition(tree, "algorithm")  # its algorithms, not counted
    for folder, name, code in (("inter", "ring", '#include "runtime/plan/plan.h"\n\n' + example),
                               ("intra", "nary", a.read("intra/algorithms/allgather_nary.c"))):
        own.write("%s/algorithms/collect_%s.c" % (folder, name),
                  code.replace("hx_allgather", "hx_collect").replace("HX_COLL_ALLGATHER", "HX_COLL_COLLECT"))
        own.after("%s/algorithms/algorithms.mk" % folder, "allgather_%s.c" % name, "    %s/algorithms/collect_%s.c \\\n" % (folder, name))
    return a


def setting_add(tree):
    a = Addition(tree, "setting")
    a.after("runtime/base/env.def", r'^HX_ENV_INT\("HX_LANES"', 'HX_ENV_INT("HX_PLACES", places, LOCAL, "3", 0, 9, "it counts places")\n',
            before=True)
    return a


def datatype_add(tree):
    a = Addition(tree, "datatype")
    a.after("runtime/hierax.h", "^    HX_DTYPE_MAX =", "    HX_CHAR16, /* a character */\n", before=True)
    a.after("runtime/base/dtype.def", r"^HX_DTYPE\(", "HX_DTYPE(CHAR16, char16, uint16_t, INTEGER, uint16_t, 16, MPI_DATATYPE_NULL)\n")
    return a


def operation_add(tree):
    a = Addition(tree, "operation")
    a.after("runtime/hierax.h", "^    HX_OP_MAX =", "    HX_BXNOR, /* bit-wise equal */\n", before=True)
    a.after("runtime/base/dtype.def", r"^HX_OP\(",
            "HX_OP(BXNOR, bxnor, HX_CLASS_INTEGER | HX_CLASS_BITS, k * 3 + 1, -1, ~(a ^ b), MPI_OP_NULL)\n")
    a.after("runtime/base/reduce_kernels.h", r"^#define XOR\(", "#define XNOR(a, b) (~((a) ^ (b)))\n")
    a.after("runtime/base/reduce_kernels.h", r"UNSIGNED_FOLD\(part, BOR,", "    UNSIGNED_FOLD(part, BXNOR, AS_IS, XNOR)  \\\n")
    return a


def tree_copy(tree):
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z", "--cached"], capture_output=True, text=True)
    if listed.returncode:
        print("skipped: no git checkout")
        sys.exit(77)
    for path in listed.stdout.split("\0"):
        if os.path.isfile(os.path.join(source, path)):
            os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
            shutil.copy2(os.path.join(source, path), os.path.join(tree, path))
    for path in GENERATED:
        copy = shutil.copytree if os.path.isdir(os.path.join(source, path)) else shutil.copy2
        copy(os.path.join(source, path), os.path.join(tree, path))
    build = os.path.join(tree, "build")
    os.mkdir(build)
    shutil.copy2(os.path.join(built, "libtool"), build)
    with open(os.path.join(built, "config.status"), encoding="utf-8") as file:  # what configure has found, at another place
        status = re.sub(r"^ac_pwd=.*$", "ac_pwd='%s'" % build, file.read(), flags=re.M)
        status = re.sub(r"^srcdir=.*$", "srcdir='..'", status, flags=re.M)
    with open(os.path.join(build, "config.status"), "w", encoding="utf-8") as file:
        file.write(status)
    os.chmod(os.path.join(build, "config.status"), 0o755)
    return build


def run(build, command, wanted, environment=None, status=0):
    """Runs it; its output has each of the wanted patterns."""
    done = subprocess.run(command.split(), cwd=build, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "top_srcdir": os.path.dirname(build), "top_builddir": build, **(environment or {})})
    output = done.stdout + done.stderr
    missing = [pattern for pattern in wanted if not re.search(pattern, output, re.M)]
    if done.returncode != status or missing:
        fail("%s: exit status %d, not %d; lacks %s\n%s" % (command, done.returncode, status, missing, output[-2000:]))


def additions_prove(build):
    run(build, "tests/runtime/plan/test_print --update", [])
    with open(os.path.join(build, "../tests/golden/allgather_places.txt"), encoding="utf-8") as file:
        if "send" not in file.read():
            fail("the golden text of the algorithm has no message")
    run(build, "tools/coll_info --algorithms allgather", [r"^ *allgather +places "])
    run(build, "tools/coll_plan verify allgather --algorithm places --max-ranks 9 --shape 3,2", ["^[1-9][0-9]* passed, 0 failed"])
    bench = "tools/coll_run -n %s -- tools/coll_bench %s --check --max 64K --factor 8 --repetitions 3"
    run(build, bench % ("3 --nodes 3 --env HX_INTER_ALLGATHER=places", "allgather"), [r"flat\(places\)"])
    run(build, "tools/coll_info", [r"HX_PLACES +3 "])
    run(build, "tools/coll_info", [r"HX_PLACES +7 "], {"HX_PLACES": "7"})
    run(build, bench % ("1", "barrier"), ["HX_PLACES.*10.*9"], {"HX_PLACES": "10"}, 2)
    run(build, "make -s readme-update", [])
    with open(os.path.join(build, "../README.md"), encoding="utf-8") as file:
        if "HX_PLACES" not in file.read():
            fail("make readme-update does not add the setting")
    for dtype, op in (("char16", "sum"), ("char16", "bxnor"), ("int64", "bxnor"), ("byte", "bxnor")):
        run(build, bench % ("2", "allreduce --dtype %s --op %s" % (dtype, op)), ["^allreduce +32 KiB "])
    run(build, "tools/coll_plan verify collect --max-ranks 9 --shape 3,2,2", ["^[1-9][0-9]* passed, 0 failed"])
    run(build, bench % ("2", "collect"), [r"flat\(nary\)"])
    run(build, bench % ("4 --nodes 2", "collect"), [r"hier\("])
    run(build, bench % ("4 --nodes 4", "collect"), [r"flat\(ring\)"])


def main():
    if os.environ.get("TEST_SANITIZER"):
        print("skipped: a build with a sanitizer takes too long")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        tree = os.path.join(os.path.realpath(directory), "tree")
        os.mkdir(tree)
        build = tree_copy(tree)
        with open(os.path.join(tree, "runtime/HACKING.md"), encoding="utf-8") as file:
            places, example = places_read(file.read())
        for addition in (algorithm_add(tree, example), collective_add(tree, example), setting_add(tree), datatype_add(tree),
                         operation_add(tree)):
            addition.check(places.get(addition.kind, []))
        if faults:
            sys.exit(1)
        cache = {**os.environ, "CCACHE_BASEDIR": tree, "CCACHE_NOHASHDIR": "1"}  # the next copy is elsewhere
        for command in ("./config.status --silent", "make -s -j%d CFLAGS=-O0\\ -w %s" % (min(os.cpu_count(), 8), " ".join(TARGETS))):
            done = subprocess.run(["bash", "-c", command], cwd=build, capture_output=True, text=True, env=cache)
            if done.returncode:
                fail("%s: exit status %d\n%s" % (command, done.returncode, (done.stdout + done.stderr)[-4000:]))
                sys.exit(1)
        additions_prove(build)
    sys.exit(faults > 0)


main()
