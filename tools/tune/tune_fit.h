/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HX_TOOLS_TUNE_TUNE_FIT_H
#define HX_TOOLS_TUNE_TUNE_FIT_H
#include "hier/cost/cost.h"

/* A plan's measured time. */
struct tune_observed {
    const struct hx_shape *shape;
    struct hx_candidate candidate;
    double bytes, us, oversubscription;
    int point; /* those measured side by side have the same, and follow each other */
};

/* Move the parameters to where they predict best, but for the node's where stays[0], the network's where stays[1]. Returns what is left
 * of the loss. */
double tune_fit(struct hx_cost_params *params, const struct tune_observed *plans, int n, const int stays[2]);

#endif
