/* SPDX-License-Identifier: BSD-3-Clause */
/* What Hierax knows about each provider: variables that it needs before it starts, its kind, costs, and chunk size. */
#include "inter/fabric/provider.h"
#include "runtime/base/env.h"
#include <dlfcn.h>
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

    memcpy(&handler, &action->sa_handler, sizeof(handler)); /* a function is no object for ISO C; sa_sigaction shares its place */
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

/* User programs fork. libinfinipath may be loaded only now, with a plug-in, and must not install handlers. Short unexpected
 * messages must not stop their connection (libfabric 1.17 keeps 4). The receive buffers of sockets must hold several of TCP's
 * longest segments (path.c). */
void hx_libfabric_prepare(void)
{
    hx_signals_restore();
    if (!wants_huge_pages())
        setenv("FI_EFA_FORK_SAFE", "1", 0);
    setenv("IPATH_NO_BACKTRACE", "1", 0);
    setenv("FI_NET_MAX_SAVED", "1024", 0);
    setenv("FI_SOCKETS_MAX_BUF_SZ", "4194304", 0); /* at most the kernel's rmem_max */
}

int hx_provider_is_tcp(const struct fi_info *info)
{
    const char *name = info->fabric_attr->prov_name;

    return hx_provider_is_native_tcp(info) || strcmp(name, "tcp;ofi_rxm") == 0 || strcmp(name, "sockets") == 0;
}

int hx_provider_is_native_tcp(const struct fi_info *info)
{
    return strcmp(info->fabric_attr->prov_name, "net") == 0 || strcmp(info->fabric_attr->prov_name, "tcp") == 0;
}

int hx_provider_is_old_tcp(const struct fi_info *info)
{
    return hx_provider_is_native_tcp(info) && FI_VERSION_LT(fi_version(), FI_VERSION(1, 20));
}

int hx_provider_is_efa(const struct fi_info *info)
{
    return strcmp(info->fabric_attr->prov_name, "efa") == 0;
}

void hx_profile_cost(const struct fi_info *info, int links, int rails, double link_bits, struct hx_net_profile *out)
{
    const char *provider = info->fabric_attr->prov_name;
    const double gb_s = link_bits > 0 ? link_bits / 8e9 : 12.5; /* EFA's first */

    /* a kernel's TCP, 25 Gbit/s */
    if (hx_provider_is_native_tcp(info) || strstr(provider, "tcp") || strstr(provider, "sockets"))
        *out = (struct hx_net_profile){.alpha_us = 25, .gb_s = 2.5 * links, .stream_gb_s = 1.5, .core_gb_s = 3, .message_us = 13};
    else
        *out = (struct hx_net_profile){
            .alpha_us = 18, .gb_s = gb_s * links, .stream_gb_s = gb_s * rails, .core_gb_s = HX_CORE_SPARED_GB_S, .message_us = 0.3};
    out->provider = provider;
}

size_t hx_profile_chunk_bytes(const struct fi_info *info)
{
    size_t bytes = 64 << 10; /* efa: sends above need a round trip */

    if (hx_provider_is_native_tcp(info))
        bytes = 1 << 20;
    return bytes < info->ep_attr->max_msg_size ? bytes : info->ep_attr->max_msg_size;
}
