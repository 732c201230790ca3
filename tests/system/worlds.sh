#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Several worlds are open in one process: see worlds.c.
. "$(dirname "$0")/common.sh"

port=$((20000 + RANDOM % 10000))
passes worlds 4 1 $port
passes worlds 4 2 $((port + 2))
passes worlds 4 2 $((port + 4)) HX_PROGRESS_THREAD=1
passes worlds 3 3 $((port + 6)) HX_SPIN=0
passes worlds 3 1 $((port + 8)) HX_STATS=1
finish
