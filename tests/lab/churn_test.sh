#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Under a real Slurm, on four hosts: processes die and join all the time. Slurm starts each newcomer in a job step of its own. All processes of
# a host die, and the network of a host is cut and heals. See tests/system/churn.py. CHURN_SECONDS: how long it runs (default: 70).
# CHURN_SEED: the seed (default: a random one, which is printed).
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/system/churn tools/coll_store

churn() {
    chmod 777 "$scratch"
    TMPDIR=$scratch python3 "$here/../system/churn.py" "$top_builddir/tests/system/churn" "$top_builddir/tools/coll_store" --lab "$lab" \
        --seconds "${CHURN_SECONDS:-70}" --seed "${CHURN_SEED:-$RANDOM}" >"$scratch/churned" 2>&1
    local status=$?
    cat "$scratch/churned"
    return $status
}

check "lab up" "$lab" up 4
CASE_SECONDS=150 check "lab slurm up" "$lab" slurm up
check "processes and hosts come and go under srun" churn
cat "$scratch/churned"
finish
