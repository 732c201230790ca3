/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the parameters of the cost model from measured constants of the node and the network. Assumes that half of the calls are cold, and
 * half are warm. */
#include "hier/cost/cost.h"
#include <math.h>

static void set(double *parameter, double value)
{
    if (value > 0)
        *parameter = value;
}

/* In GB/s, so that a copy takes the geometric mean of its cold and its warm time. */
static double mix_gb_s(int32_t cold_mb_s, int32_t warm_mb_s)
{
    return 1e-3 * sqrt((double)cold_mb_s * (double)warm_mb_s);
}

void hx_cost_constants(struct hx_cost_params *params, const struct hx_constants *constants)
{
    set(&params->intra_alpha_us, 1e-3 * constants->hand_off_ns);
    set(&params->intra_gb_s, mix_gb_s(constants->slot_cold_mb_s, constants->slot_warm_mb_s));
    set(&params->own_gb_s, 1e-3 * constants->own_mb_s);
    set(&params->reduce_gb_s, 1e-3 * constants->fold_mb_s);
    set(&params->fetch_us, 1e-3 * constants->call_ns);
    set(&params->fetch_gb_s, mix_gb_s(constants->fetch_cold_mb_s, constants->fetch_warm_mb_s));
}

void hx_cost_net(struct hx_cost_params *params, const struct hx_net_profile *net)
{
    set(&params->net_alpha_us, net->alpha_us);
    set(&params->net_gb_s, net->gb_s);
    set(&params->stream_gb_s, net->stream_gb_s);
    set(&params->core_gb_s, net->core_gb_s);
    set(&params->message_us, net->message_us);
}
