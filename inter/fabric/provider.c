/* SPDX-License-Identifier: BSD-3-Clause */
/* How providers differ: a table with a row for each (EFA, TCP, ...). Its columns are the fields of struct hx_provider_traits. */
#include "inter/fabric/provider.h"
#include "runtime/base/env.h"
#include <dlfcn.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Debian's libfabric loads libinfinipath, which installs handlers for the signals below while it is loaded. They end the process
 * with status 1 and leave a *.btr file, so crashes dump no core. It does not report what it has replaced, so this sets the default.
 * The only constructor: it runs after those of the needed libraries, and before the program's main, which may install handlers of
 * its own. hx_init would be too late. coll_run sets IPATH_NO_BACKTRACE, so that its ranks keep their handlers. */
static int is_of_infinipath(const struct sigaction *action)
{
    const void *handler;
    Dl_info place;

    memcpy(&handler, &action->sa_handler, sizeof(handler)); /* ISO C: a function is not an object; sa_sigaction shares its place */
    return dladdr(handler, &place) && place.dli_fname && strstr(place.dli_fname, "libinfinipath");
}

__attribute__((constructor)) void hx_signals_restore(void)
{
    static const int signals[] = {SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGTERM};
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    struct sigaction action;

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (sigaction(signals[i], NULL, &action) == 0 && is_of_infinipath(&action))
            sigaction(signals[i], &by_default, NULL);
}

/* On kernels before 5.13 EFA has either huge pages or fork support. If both are requested, libfabric ends the program or opens no
 * domain. Without fork support it ends a program that forks. */
static int wants_huge_pages(void)
{
    const char *huge = hx_env_launcher("FI_EFA_USE_HUGE_PAGE");

    return hx_env_launcher("RDMAV_HUGEPAGES_SAFE") || (huge && strcmp(huge, "0") != 0);
}

/* ---- the table. A field that a row leaves out is 0, as for most providers. */

#define DEVICE_COST {.alpha_us = 18, .gb_s = 12.5, .core_gb_s = HX_CORE_SPARED_GB_S, .message_us = 0.3} /* EFA's first */
#define TCP_COST {.alpha_us = 25, .gb_s = 2.5, .stream_gb_s = 1.5, .core_gb_s = 3, .message_us = 13} /* the kernel, 25 Gbit/s */

static const struct hx_provider_traits providers[] = {
    {.names = {"efa"}, .cost = DEVICE_COST, .reaches_link_rate = 1, .chunk_bytes = 64 << 10, /* longer sends need a round trip */
     .has_device_file = 1, .has_device_codes = 1, .numbers_messages = 1, .stays_in_subnet = 1, .writes = 1, .lacks_wait_object = 1,
     .variable = {"FI_EFA_FORK_SAFE", "1", wants_huge_pages}, /* user programs fork */
    },
    /* Native TCP: net in libfabric 1.17, tcp later. Short unexpected messages must not stop their connection; 1.17 keeps only 4. */
    {.names = {"net", "tcp"}, .cost = TCP_COST, .chunk_bytes = 1 << 20, .kernel_answers = 1, .reports_excess_data = 1,
     .direct = HX_DIRECT_IF_SPACE, .breaks_on_excess = 1, .faults_before = FI_VERSION(1, 20),
     .variable = {.name = "FI_NET_MAX_SAVED", .value = "1024"}},
    /* Layers above TCP. A receive buffer of sockets must hold several of TCP's longest segments: path.c. rmem_max limits it. */
    {.names = {"tcp;ofi_rxm"}, .cost = TCP_COST, .chunk_bytes = 64 << 10, .kernel_answers = 1, .direct = HX_DIRECT_NEVER,
     .breaks_on_excess = 1},
    {.names = {"sockets"}, .cost = TCP_COST, .chunk_bytes = 64 << 10, .kernel_answers = 1, .direct = HX_DIRECT_NEVER,
     .breaks_on_excess = 1, .connects_first = 1, .variable = {.name = "FI_SOCKETS_MAX_BUF_SZ", .value = "4194304"}},
    {.names = {"verbs*"}, .cost = DEVICE_COST, .reaches_link_rate = 1, .chunk_bytes = 64 << 10, .has_device_file = 1},
    {.names = {"*tcp*", "*sockets*"}, .cost = TCP_COST, .chunk_bytes = 64 << 10}, /* other layers above TCP */
    {.names = {"*"}, .cost = DEVICE_COST, .reaches_link_rate = 1, .chunk_bytes = 64 << 10}, /* all others: cxi, psm3 */
};
#define PROVIDERS (sizeof(providers) / sizeof(*providers))

static int is_named(const struct hx_provider_traits *row, const char *provider)
{
    return fnmatch(row->names[0], provider, 0) == 0 || (row->names[1] && fnmatch(row->names[1], provider, 0) == 0);
}

const struct hx_provider_traits *hx_provider_traits(const struct fi_info *info)
{
    const struct hx_provider_traits *row = providers;

    while (row < providers + PROVIDERS - 1 && !is_named(row, info->fabric_attr->prov_name))
        row++;
    return row;
}

int hx_provider_has_faults(const struct hx_provider_traits *traits)
{
    return FI_VERSION_LT(fi_version(), traits->faults_before);
}

/* libfabric may load libinfinipath only now, with a plug-in. Then libinfinipath must not install its handlers. */
void hx_libfabric_prepare(void)
{
    hx_signals_restore();
    setenv("IPATH_NO_BACKTRACE", "1", 0);
    for (size_t i = 0; i < PROVIDERS; i++) {
        const struct hx_provider_variable *variable = &providers[i].variable;
        if (variable->name && !(variable->is_harmful && variable->is_harmful()))
            setenv(variable->name, variable->value, 0);
    }
}

void hx_profile_cost(const struct fi_info *info, int links, int rails, double link_bits, struct hx_net_profile *out)
{
    const struct hx_provider_traits *traits = hx_provider_traits(info);
    const double link_gb_s = traits->reaches_link_rate && link_bits > 0 ? link_bits / 8e9 : traits->cost.gb_s;

    *out = traits->cost;
    out->provider = info->fabric_attr->prov_name;
    out->gb_s = link_gb_s * links;
    if (traits->reaches_link_rate)
        out->stream_gb_s = link_gb_s * rails;
}
