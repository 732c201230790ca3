#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# init_process_group("hierax") under launchers that do not set what torch wants: coll_run, and those of Open MPI and MPICH.
# For srun, launcher.py alone is tested, with the variables that srun sets.
. "$(dirname "$0")/common.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

under() { # COMMAND...
    timeout --kill-after=5 200 "$@" "$python" "$scripts/refused.py" >"$tmp/out" 2>&1 ||
        { fail "$*: exit $?"; head -n 40 "$tmp/out" >&2; }
}

under "$run" -n 2 --
under mpirun.openmpi --oversubscribe -n 2
under mpiexec.mpich -n 2
"$python" - <<'PYTHON' || fail "launcher.py"
import importlib.util
import os
path = os.environ["PYTHONPATH"] + "/hierax/torch/launcher.py"
spec = importlib.util.spec_from_file_location("launcher", path)
launcher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launcher)
for nodes, first in (("node[03-05,9],other", "node03"), ("alone", "alone"), ("a1,b2", "a1"), ("rack1-n[7,9]", "rack1-n7")):
    job = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "17",
           "SLURM_STEP_NODELIST": nodes}
    launcher.fill(job)
    got = [job[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")]
    assert got == ["3", "8", "1", first], (nodes, got)
    assert 20000 <= int(job["MASTER_PORT"]) < 32000
given = {"RANK": "0", "PMI_RANK": "5", "PMI_SIZE": "6"}
launcher.fill(given)
assert given == {"RANK": "0", "PMI_RANK": "5", "PMI_SIZE": "6"}, given
PYTHON
finish
