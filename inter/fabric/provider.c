/* SPDX-License-Identifier: BSD-3-Clause */
/* Providers: a table with a row for each (EFA, TCP, ...), in the order of choice. Its columns are the fields of struct
 * hx_provider_traits. */
#include "inter/fabric/provider.h"
#include "runtime/base/env.h"
#include "runtime/base/provider_name.h"
#include <fnmatch.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On kernels before 5.13 EFA has either huge pages or fork support. If both are requested, libfabric ends the program or opens no
 * domain. Without fork support it ends a program that forks. */
static int wants_huge_pages(void)
{
    const char *huge = hx_env_launcher("FI_EFA_USE_HUGE_PAGE");

    return hx_env_launcher("RDMAV_HUGEPAGES_SAFE") || (huge && strcmp(huge, "0") != 0);
}

/* ---- the table. A field that a row leaves out is 0, as for most providers. */

/* Costs: those of the first EFA device. */
#define DEVICE .cost = {.alpha_us = 18, .gb_s = 12.5, .core_gb_s = HX_CORE_SPARED_GB_S, .message_us = 0.3}, .reaches_link_rate = 1, \
               .chunk_bytes = 64 << 10
#define TCP_COST {.alpha_us = 25, .gb_s = 2.5, .stream_gb_s = 1.5, .core_gb_s = 3, .message_us = 13} /* the kernel, 25 Gbit/s */

static const struct hx_provider_traits providers[] = {
    {.names = {"efa"}, .by_default = 1, .pci = HX_EFA_PCI, .remedy = HX_EFA_REMEDY, DEVICE, /* longer sends need a round trip */
     .has_device_file = 1, .has_device_codes = 1, .numbers_messages = 1, .makes_address_handles = 1, .writes = 1, .copies_recvs = 64 << 10,
     .stripe_bytes = 128 << 10, /* aws-ofi-nccl's default. Not measured on a device */
     .queue_pairs = 256, .recvs = 2048, .packet_bytes = 9000, /* the provider's default, 8192 receives, pins 74 MB */
     .lacks_wait_object = 1,
     .variables = {
         {.name = "FI_EFA_FORK_SAFE", .value = "1", .is_harmful = wants_huge_pages}, /* user programs fork */
         /* EFA's receiver puts the messages of a peer in order. Since libfabric 2.5 its window has 16 of them, as many as one flow may have in
          * flight: credit.c. EFA keeps what arrives beyond the window in a list, and searches that list. Before, the window has at least
          * 8192, and before 2.0 a message beyond the window ends the process. 256 take 2 KiB for each peer. */
         {.name = "FI_EFA_RECVWIN_SIZE", .value = "256", .since = FI_VERSION(2, 5)},
     },
    },
    {.names = {"cxi"}, .by_default = 1, DEVICE},
    /* On Ethernet without RDMA psm3 runs over the kernel's TCP. There it ends the process if it does not reach a peer, so use tcp. Its
     * descriptor stays quiet although long messages are under way, because only calls make progress: 0.1 s for 64 KiB. */
    {.names = {"psm3"}, .by_default = 1, .not_on = "TCP-*", DEVICE, .lacks_wait_object = 1},
    {.names = {"opx"}, .by_default = 1, DEVICE},
    {.names = {"verbs;ofi_rxm"}, .by_default = 1, DEVICE, .has_device_file = 1},
    /* Native TCP. Unexpected messages must not stop their connection. 1.17 keeps 4 of each peer, if they are short, and 2.1 keeps 64.
     * In 2.1 each of 1,024 requests has a buffer for a short one, of 16 KiB. */
    {.names = {HX_TCP_NAME, HX_TCP_NAME_BEFORE}, .by_default = 1, .cost = TCP_COST, .chunk_bytes = 1 << 20, .kernel_answers = 1, .reports_excess_data = 1,
     .direct = HX_DIRECT_IF_SPACE, .breaks_on_excess = 1, .faults_before = FI_VERSION(1, 20),
     .forgets_since = FI_VERSION(1, 0), .indexes_strangers_before = FI_VERSION(1, 18), /* libfabric #8590 */
     .variables = {{.name = "FI_NET_MAX_SAVED", .value = "1024"},
                   {.name = "FI_TCP_MAX_SAVED", .value = "1024"},
                   {.name = "FI_TCP_MAX_RX_SIZE", .value = "1024"}}},
    /* Layers above TCP. A receive buffer of sockets must hold several of TCP's longest segments: path.c. rmem_max limits it. */
    {.names = {"tcp;ofi_rxm"}, .by_default = 1, .cost = TCP_COST, .chunk_bytes = 64 << 10, .kernel_answers = 1, .direct = HX_DIRECT_NEVER,
     .breaks_on_excess = 1, .forgets_since = FI_VERSION(1, 18)}, /* then above what was net before */
    {.names = {"sockets"}, .by_default = 1, .cost = TCP_COST, .chunk_bytes = 64 << 10, .kernel_answers = 1, .direct = HX_DIRECT_NEVER,
     .breaks_on_excess = 1, .connects_first = 1, .variables = {{.name = "FI_SOCKETS_MAX_BUF_SZ", .value = "4194304"}}},
    /* Only if HX_PROVIDER names them. */
    {.names = {"verbs*"}, DEVICE, .has_device_file = 1},
    {.names = {"*tcp*", "*sockets*"}, .cost = TCP_COST, .chunk_bytes = 64 << 10}, /* other layers above TCP */
    {.names = {"*"}, DEVICE}, /* all others */
};
#define PROVIDERS (sizeof(providers) / sizeof(*providers))

static int is_named(const struct hx_provider_traits *row, const char *provider)
{
    return fnmatch(row->names[0], provider, 0) == 0 || (row->names[1] && fnmatch(row->names[1], provider, 0) == 0);
}

/* Is it a pattern for several providers? */
static int is_open_name(const char *name)
{
    return strchr(name, '*') != NULL;
}

_Static_assert(PROVIDERS <= 16, "an address has 16 bits for them");

static const struct hx_provider_traits *traits_of(const char *provider)
{
    const struct hx_provider_traits *row = providers;

    while (row < providers + PROVIDERS - 1 && !is_named(row, provider))
        row++;
    return row;
}

const struct hx_provider_traits *hx_provider_traits(const struct fi_info *info)
{
    return traits_of(info->fabric_attr->prov_name);
}

const struct hx_provider_traits *hx_provider_row(unsigned number)
{
    return number < PROVIDERS ? &providers[number] : NULL;
}

int hx_offer_is_default(const struct fi_info *info)
{
    const struct hx_provider_traits *row = hx_provider_traits(info);
    const char *fabric = info->fabric_attr->name;

    return row->by_default && !(row->not_on && fabric && fnmatch(row->not_on, fabric, 0) == 0);
}

unsigned hx_provider_number(const struct fi_info *info)
{
    return (unsigned)(hx_provider_traits(info) - providers);
}

/* ---- providers that could not be opened */

/* The calls that open a rail, in their order: enum hx_open_call. */
static const char *const open_calls[] = {"no call", "fi_fabric", "fi_domain", "fi_eq_open", "fi_cq_open", "fi_av_open", "fi_endpoint",
                                         "fi_ep_bind", "fi_enable"};
_Static_assert(sizeof(open_calls) / sizeof(*open_calls) == HX_OPEN_CALLS, "a name for each call");

const char *hx_open_call_name(unsigned call)
{
    return open_calls[call < HX_OPEN_CALLS ? call : HX_OPEN_NONE];
}

static void refusal_write(struct hx_net_refusals *all, unsigned number, const char *reason)
{
    const size_t used = strlen(all->text);

    snprintf(all->text + used, sizeof(all->text) - used, "%s%s%s", used ? ", " : "", providers[number].names[0], reason);
    all->providers |= 1u << number;
}

void hx_refusals_add(struct hx_net_refusals *all, int rank, const struct hx_refusal *refusal, uint32_t others)
{
    char reason[128];

    if (refusal->call != HX_OPEN_NONE && refusal->provider < PROVIDERS && !(all->providers >> refusal->provider & 1)) {
        snprintf(reason, sizeof(reason), " (%s on rank %d: %s)", hx_open_call_name(refusal->call), rank, fi_strerror(refusal->error));
        refusal_write(all, refusal->provider, reason);
    }
    for (unsigned i = 0; i < PROVIDERS; i++)
        if (others >> i & ~all->providers >> i & 1)
            refusal_write(all, i, "");
}

int hx_provider_has_faults(const struct hx_provider_traits *traits)
{
    return FI_VERSION_LT(fi_version(), traits->faults_before);
}

/* Debian's libfabric loads libinfinipath. Without this variable libinfinipath installs signal handlers, which end a process that crashes with
 * status 1, leave a *.btr file, and dump no core. */
void hx_libfabric_prepare(uint32_t version)
{
    setenv("IPATH_NO_BACKTRACE", "1", 0);
    for (size_t i = 0; i < PROVIDERS; i++)
        for (size_t k = 0; k < sizeof(providers->variables) / sizeof(*providers->variables); k++) {
            const struct hx_provider_variable *variable = &providers[i].variables[k];
            if (variable->name && version >= variable->since && !(variable->is_harmful && variable->is_harmful()))
                setenv(variable->name, variable->value, 0);
        }
}

void hx_profile_cost(const char *provider, int links, int rails, double link_bits, struct hx_net_profile *out)
{
    const struct hx_provider_traits *traits = traits_of(provider);
    const double link_gb_s = traits->reaches_link_rate && link_bits > 0 ? link_bits / 8e9 : traits->cost.gb_s;

    *out = traits->cost;
    out->provider = provider;
    out->gb_s = link_gb_s * links;
    if (traits->reaches_link_rate)
        out->stream_gb_s = link_gb_s * rails;
    else if (traits->cost.stream_gb_s * rails < out->gb_s) /* a connection each */
        out->stream_gb_s = traits->cost.stream_gb_s * rails;
    else
        out->stream_gb_s = out->gb_s;
}

int hx_profile_assume(const char *provider, int rails, struct hx_net_profile *out)
{
    const struct hx_provider_traits *row = providers;

    while (row < providers + PROVIDERS && (is_open_name(row->names[0]) || !is_named(row, provider)))
        row++;
    if (row == providers + PROVIDERS)
        return -1;
    hx_profile_cost(provider, 1, row->cost.stream_gb_s > 0 ? rails : 1, 0, out); /* only TCP has several connections */
    return 0;
}

const char *const *hx_provider_names(void)
{
    static const char *names[2 * PROVIDERS + 1];
    int n = 0;

    for (size_t i = 0; i < PROVIDERS; i++)
        for (int k = 0; k < 2; k++)
            if (providers[i].names[k] && !is_open_name(providers[i].names[k]))
                names[n++] = providers[i].names[k];
    return names;
}
