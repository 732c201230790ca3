# SPDX-License-Identifier: BSD-3-Clause
"""python -m hierax.info: print versions, how ranks would be started, this node, and settings. Starts nothing."""
import argparse
import os
import platform
import sys

from . import _native

# The variables by which the launchers are known, in the order in which Hierax looks at them.
LAUNCHERS = (("HX_ROOT", "the store at {} (coll_run, or set by hand)"), ("PMI_FD", "PMI-1 (srun --mpi=pmi2, mpiexec of MPICH)"),
             ("PMIX_NAMESPACE", "PMIx (srun --mpi=pmix, mpirun of Open MPI)"))
LIBRARIES = ("numpy", "torch", "ml_dtypes", "mpi4py")


def launcher(environment=os.environ):
    """The launcher that hierax.init() would use."""
    forced = environment.get("HX_BOOTSTRAP")
    if forced:
        return f"{forced} (HX_BOOTSTRAP)"
    for variable, text in LAUNCHERS:
        if variable in environment:
            return text.format(environment[variable])
    return "none: a job of one rank"


def is_launched(environment=os.environ):
    """Would hierax.init() find a launcher? Else it starts a job of one rank."""
    return environment.get("HX_BOOTSTRAP", "auto") != "auto" or any(variable in environment for variable, _ in LAUNCHERS)


def version_of(name):
    """The version of an installed library, without loading it."""
    from importlib import metadata
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def report():
    """Pairs of a name and a value."""
    yield "hierax", f"{_native.version()}, built for {_native.HEADER_VERSION}"
    yield "module", _native.__file__
    yield "python", f"{platform.python_version()} ({sys.executable})"
    for name in LIBRARIES:
        yield name, version_of(name)
    yield "launcher", launcher()
    yield "node", f"{platform.node()}, {platform.machine()}, {len(os.sched_getaffinity(0))} of {os.cpu_count()} cores"
    space = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    yield "/dev/shm", f"{space.f_bavail * space.f_frsize >> 20} MiB free" if space else "missing"
    settings = sorted(name for name in os.environ if name.startswith("HX_"))
    for name in settings:
        yield name, os.environ[name]
    if not settings:
        yield "settings", "no HX_* variable is set (coll_info lists all settings)"


def main():
    argparse.ArgumentParser(prog="hierax.info", description="Print versions, how ranks would be started, this node, and settings. Starts nothing.").parse_args()
    for name, value in report():
        print(f"{name:12} {value}")


if __name__ == "__main__":
    main()
