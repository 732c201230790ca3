/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model's parameters: their names, and their values until they are measured. */
#include "hier/cost/cost.h"
#include "runtime/base/stream.h"
#include "runtime/ports/transport.h"
#include <string.h>

#define PARAMETER(name, net, optional, about) {#name, offsetof(struct hx_cost_params, name), net, optional, about}
const struct hx_cost_parameter hx_cost_parameters[HX_COST_PARAMETERS + 1] = {
    PARAMETER(net_alpha_us, 1, 0, "time of a message between nodes, without its bytes"),
    PARAMETER(net_gb_s, 1, 1, "bandwidth of all links of a node together"),
    PARAMETER(stream_gb_s, 1, 1, "bandwidth of one rank between nodes"),
    PARAMETER(core_gb_s, 1, 1, "rate at which a core sends and receives (TCP only)"),
    PARAMETER(message_us, 1, 1, "CPU time of each further message in the same round"),
    PARAMETER(uplink_taper, 1, 1, "bandwidth of a group's nodes / of its uplink"),
    PARAMETER(intra_alpha_us, 0, 0, "time to pass a flag to another core"),
    PARAMETER(intra_gb_s, 0, 1, "rate at which one rank copies in shared memory"),
    PARAMETER(reduce_gb_s, 0, 1, "rate at which a rank reduces in shared memory (bytes read)"),
    PARAMETER(fetch_us, 0, 1, "time of a system call that reads another process"),
    PARAMETER(fetch_gb_s, 0, 1, "rate at which one rank reads another process"),
    PARAMETER(switch_us, 0, 1, "time of a context switch, if ranks share cores"),
    PARAMETER(far_gb_s, 0, 1, "rate at which a domain's ranks read other domains"),
    {0}};

double *hx_cost_parameter(struct hx_cost_params *params, int k)
{
    return (double *)((char *)params + hx_cost_parameters[k].offset);
}

void hx_cost_cut(struct hx_cost_params *params)
{
    double both_ways = params->core_gb_s / 2 < params->stream_gb_s ? params->core_gb_s / 2 : params->stream_gb_s;

    params->least_message = HX_MESSAGE_PARTS * params->message_us * both_ways * 1e3;
}

void hx_cost_defaults(struct hx_cost_params *params, double ranks_per_cpu)
{
    /* uplink_taper: a guess. In many clusters the uplinks carry a half to an eighth; hardly any network says how much.
     * far_gb_s: reasoned, about a socket link's bandwidth one way; not measured.
     * fetch_gb_s: pages at 5 GB/s or so were seen, but slots that stay in the caches beat that, more than intra_gb_s says */
    *params = (struct hx_cost_params){
        .net_alpha_us = 18, .net_gb_s = 12.5, .stream_gb_s = 12.5, .core_gb_s = HX_CORE_SPARED_GB_S, .message_us = 0.3, .uplink_taper = HX_UPLINK_TAPER,
        .intra_alpha_us = 0.15, .intra_gb_s = 10, .reduce_gb_s = 10, .fetch_us = 1, .fetch_gb_s = 3.2, .switch_us = 1.0, .far_gb_s = 30,
        .oversubscription = ranks_per_cpu > 1 ? ranks_per_cpu : 1, .core_cache_bytes = HX_CACHE_PER_CORE_BYTES,
    };
    hx_cost_cut(params);
}
