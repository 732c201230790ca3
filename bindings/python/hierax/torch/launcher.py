# SPDX-License-Identifier: BSD-3-Clause
"""init_process_group reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which torchrun sets. Under srun, mpirun, mpiexec and
coll_run they follow from what these set."""
import os
import re
import zlib

# rank, size, local rank, and what is equal on all ranks of this job and different for other jobs
LAUNCHERS = {
    "coll_run": ("HX_RANK", "HX_SIZE", None, "HX_ROOT"),
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE"),
    "Slurm": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_ID"),
    "MPICH": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", None),
}


def first_host(environment):
    """Where rank 0 is, if the launcher says so, or if all ranks are on one host."""
    if "HX_ROOT" in environment:
        return environment["HX_ROOT"].rpartition(":")[0].strip("[]")
    nodes = environment.get("SLURM_STEP_NODELIST")
    if nodes: # node[03-05,9],other: node03
        first = re.match(r"([^\[,]*)(?:\[([^\],-]*)[^\]]*\])?", nodes)
        return first[1] + (first[2] or "")
    local = environment.get("OMPI_COMM_WORLD_LOCAL_SIZE") or environment.get("MPI_LOCALNRANKS")
    size = environment.get("OMPI_COMM_WORLD_SIZE") or environment.get("PMI_SIZE")
    return "127.0.0.1" if local and local == size else None


def port_of(environment, key):
    """The same on all ranks, outside the ports that systems give to clients."""
    job = environment.get("SLURM_JOB_ID", "") + ":" + (environment.get(key, "") if key else str(os.getppid()))
    return 20000 + zlib.crc32(job.encode()) % 12000


def fill(environment=os.environ):
    """Set what is missing, if a launcher is found."""
    if "RANK" in environment:
        return
    for rank, size, local, key in LAUNCHERS.values():
        if rank in environment and size in environment:
            break
    else:
        return
    environment["RANK"] = environment[rank]
    environment.setdefault("WORLD_SIZE", environment[size])
    if local and local in environment:
        environment.setdefault("LOCAL_RANK", environment[local])
    host = first_host(environment)
    if host:
        environment.setdefault("MASTER_ADDR", host)
        environment.setdefault("MASTER_PORT", str(port_of(environment, key)))
