# SPDX-License-Identifier: BSD-3-Clause
"""Measure Hierax against other libraries of Python, all in one run: times of calls, ratios with their spread, and a page with
plots.

  python3 -m hierax.bench --against gloo,mpi4py -o page.html
  python3 -m hierax.bench --against gloo --ranks 4 --nodes 2 --sizes 8,64K,1M

gloo is the CPU backend of torch.distributed: Hierax stands beside it as the backend "hierax", on the same tensors. mpi4py stands
beside the package hierax, on arrays of numpy. Each side's results are checked before it is measured."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

from . import figures
from .sides import COLLECTIVES, ITEM, PEERS

SUFFIX = {"": 1, "K": 2**10, "M": 2**20}
BYTES_OF_CALLS = 4 << 20  # of a side in a row, at most
LAUNCH_LIMIT_S = 600


class Refused(Exception):
    """One line that says why."""


# ---- the command line ----

def sizes_of(text):
    sizes = []
    for word in text.split(","):
        number, suffix = word.rstrip("KM"), word[len(word.rstrip("KM")):]
        if not number.isdigit() or suffix not in SUFFIX or not 1 <= int(number) * SUFFIX[suffix] <= 1 << 30:
            raise Refused(f'--sizes: "{word}" is not a size: expected 1 to 1024M bytes, as in 8,4K,1M')
        sizes.append(int(number) * SUFFIX[suffix])
    return sizes


def chosen(option, text, choices):
    words = text.split(",")
    for word in words:
        if word not in choices:
            raise Refused(f'{option}: "{word}" is unknown; choices: {" ".join(choices)}')
    return words


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(f"{message} (--help lists the options)")


def arguments():
    p = Parser(prog="hierax.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    p.add_argument("--against", default="gloo", metavar="PEERS", help="gloo, mpi4py, or both with a comma (default: gloo)")
    p.add_argument("--ranks", type=int, default=2, help="number of ranks (default: 2)")
    p.add_argument("--nodes", default="1", help="emulate nodes for Hierax, as coll_run does: a number, or the ranks of each (3,1)")
    p.add_argument("--collectives", default=",".join(COLLECTIVES), help="default: all_reduce,all_gather,reduce_scatter,all_to_all")
    p.add_argument("--sizes", default="8,4K,64K,1M,16M", help="bytes of the whole vector (default: 8,4K,64K,1M,16M)")
    p.add_argument("--rounds", type=int, default=5, help="rounds of a launch: in each every side has its turn (default: 5)")
    p.add_argument("--launches", type=int, default=3, help="launches of each job (default: 3)")
    p.add_argument("-o", "--output", metavar="PAGE", help="write a page with plots and tables (needs coll_report)")
    p.add_argument("--json", metavar="FILE", help="write the documents from which coll_report draws the page")
    a = p.parse_args()
    a.peers = [PEERS[name] for name in dict.fromkeys(chosen("--against", a.against, list(PEERS)))]
    a.collectives, a.sizes = chosen("--collectives", a.collectives, COLLECTIVES), sizes_of(a.sizes)
    for name, low, high in (("ranks", 2, 64), ("rounds", 1, 1000), ("launches", 1, 100)):
        if not low <= getattr(a, name) <= high:
            raise Refused(f"--{name} {getattr(a, name)} is out of range: {low} to {high}")
    for peer in a.peers:
        if peer.missing():
            raise Refused(f"--against {peer.name}: {peer.missing()}")
        if a.nodes != "1" and any(launcher == "mpi" for _, launcher in peer.jobs):
            raise Refused(f"--against {peer.name}: MPI cannot emulate nodes; leave out --nodes {a.nodes}")
    return a


def program(*names):
    """The first of these programs: in the build folder, if the environment names one, or in PATH."""
    folders = [f"{os.environ['top_builddir']}/tools"] if "top_builddir" in os.environ else []
    for name in names:
        found = shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)]))
        if found:
            return found
    raise Refused(f"no program {names[0]} in PATH")


# ---- launches ----

def starter(launcher, options, bound):
    """The command that starts a job's ranks."""
    bound = bound and options.ranks <= len(os.sched_getaffinity(0))
    if launcher == "coll_run":
        nodes = [] if options.nodes == "1" else ["--nodes", options.nodes]
        return [program("coll_run"), "-n", str(options.ranks), f"--bind={'core' if bound else 'none'}", *nodes,
                f"--timeout={LAUNCH_LIMIT_S}", "--"]
    text = "from mpi4py import MPI; print(MPI.Get_library_version())"
    library = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, check=True).stdout
    if "Open MPI" in library:
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [program("mpirun.openmpi", "mpirun"), "-n", str(options.ranks), "--oversubscribe", "--bind-to",
                "core" if bound else "none", *root]
    return [program("mpiexec.hydra", "mpiexec"), "-n", str(options.ranks), *(["-bind-to", "core"] if bound else [])]


def launch(sides, start, cases, options, folder):
    """One job: for each case and side, the time of each round on the slowest rank."""
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    order = {"sides": sides, "cases": cases, "rounds": options.rounds, "meeting": f"{folder}/meeting", "out": f"{folder}/times"}
    with open(f"{folder}/order", "w", encoding="utf-8") as f:
        json.dump(order, f)
    job = subprocess.Popen([*start, sys.executable, "-m", "hierax.bench.rank", f.name], stdin=subprocess.DEVNULL, stdout=sys.stderr,
                           env=os.environ | {"OMP_NUM_THREADS": "1"})
    try:
        status = job.wait(LAUNCH_LIMIT_S + 10)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        job.terminate()  # a launcher ends its ranks
        job.wait(10)
        why = f"it was interrupted, or took more than {LAUNCH_LIMIT_S} s"
        raise Refused(f"the job with {', '.join(sides)} was ended: {why}") from None
    if status:
        raise Refused(f"the job with {', '.join(sides)} ended with status {status}: {' '.join(start)}")
    ranks = []
    for rank in range(options.ranks):
        with open(f"{folder}/times.{rank}", encoding="utf-8") as f:
            ranks.append(json.load(f))
    return [[[max(times) for times in zip(*of_ranks)] for of_ranks in zip(*of_case)] for of_case in zip(*ranks)]


def cases_of(peer, options):
    for collective in options.collectives:
        for dtype in peer.dtypes if collective == "all_reduce" else peer.dtypes[:1]:
            for size in options.sizes:
                n = max(size // ITEM[dtype] // options.ranks, 1) * options.ranks
                yield collective, dtype, n, max(min(BYTES_OF_CALLS // size, peer.calls), 2)


def measure(peer, options, folder):
    """The points of a peer. Launches of its jobs alternate, every second time in the opposite order."""
    cases, starts = list(cases_of(peer, options)), [starter(launcher, options, peer.bound) for _, launcher in peer.jobs]
    times = {}
    for i in range(options.launches):
        for (sides, _), start in list(zip(peer.jobs, starts))[::-1 if i % 2 else 1]:
            for case, of_sides in zip(cases, launch(sides, start, cases, options, folder)):
                for side, of_rounds in zip(sides, of_sides):
                    times.setdefault(side, {}).setdefault(case, []).extend(of_rounds)
    ours, theirs = (f"{peer.about}-{name}" for name in ("hierax", peer.name))
    return [figures.Point(peer, case, times[ours][case], times[theirs][case]) for case in cases]


# ---- the end ----

def written(documents, options, folder):
    """The page, by coll_report, and the documents."""
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(documents, f)
    if options.output:
        names = []
        for document in documents:
            names.append(f"{folder}/{document['library']}.json")
            with open(names[-1], "w", encoding="utf-8") as f:
                json.dump(document, f)
        if subprocess.run([program("coll_report"), *names, "--html", options.output], check=False).returncode:
            raise Refused(f"{options.output} was not written")


def main():
    options, points = arguments(), []
    if options.output:
        program("coll_report")  # before the work, not after it
    with tempfile.TemporaryDirectory(prefix="hierax-bench-") as folder:
        for peer in options.peers:
            found = measure(peer, options, folder)
            print("\n".join([figures.heading(peer.name), *(point.line() for point in found)]), flush=True)
            points += found
        print("\n".join(figures.summary(points)))
        command = " ".join(["python3 -m hierax.bench", *sys.argv[1:]])
        written(list(figures.documents(points, options, command)), options, folder)


try:
    main()
except Refused as e:
    sys.exit(f"hierax.bench: {e}")
except OSError as e:
    sys.exit(f"hierax.bench: {e.filename or 'a file'}: {e.strerror}")
