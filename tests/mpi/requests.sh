#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# libhierax-mpi with non-blocking and persistent calls: see requests.c.
. "$(dirname "$0")/jobs.sh"
for mpi in "${mpis[@]}"; do
    for nodes in 1 2; do
        part "$mpi" 3 $nodes started requests
        part "$mpi" 3 $nodes persistent requests
    done
done
finish
