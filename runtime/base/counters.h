/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of a process. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hx_counters {
#define HX_COUNTER(member, help) uint64_t member;
#include "runtime/base/counter.def"
};

struct hx_counter_row {
    const char *name, *help;
    size_t offset; /* of the member */
};
extern const struct hx_counter_row hx_counter_rows[]; /* ends with a NULL name */
