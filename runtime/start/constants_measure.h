/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring the constants of a node, by the first two ranks of it. */
#pragma once

#include "runtime/ports/node.h"

#define HX_PROBE_NS 40000000 /* the first rank measures for no longer */

struct hx_probe {
    struct hx_shared *shared;
    struct hx_probe_side *asks, *answers;
    unsigned char *slot, *memory; /* of the second rank, in shared memory; this rank's pieces, NULL: none yet */
    size_t bytes, memory_bytes;   /* of a piece; of the pieces */
    uint64_t begin, deadline;
    int64_t far_ns;
    int failed;                   /* the other rank does not answer in time, or cannot be read, or there is no memory */
};

/* The node's first rank. Begin, and measure hand_off_ns and line_ns, unless the two may run on one core. */
void hx_probe_begin(struct hx_probe *probe, struct hx_shared *shared, int shares_core, int64_t far_ns, struct hx_constants *constants);
/* Then all others. Returns 0, or -1 if the measurement has failed. */
int hx_probe_copies(struct hx_probe *probe, struct hx_constants *constants);
void hx_probe_end(struct hx_probe *probe);

/* The index of the second rank among the ranks of the node: the first rank with another processing unit than rank 0 there; 1 if there is none. */
int hx_probe_partner(const struct hx_shared *shared);

/* The second rank answers until the first has finished, for a tenth of a second at most. */
void hx_probe_answer(struct hx_shared *shared, int64_t far_ns);
/* This rank takes no part, or no longer: the other one waits no more. */
void hx_probe_leave(struct hx_shared *shared);
