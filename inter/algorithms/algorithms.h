/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithms that other files name, besides the list of algorithms. All algorithms: algorithms.mk. */
#pragma once

#include "runtime/plan/plan.h"

extern const struct hx_algorithm hx_allreduce_recursive_doubling, hx_alltoall_mesh;
