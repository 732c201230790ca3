/* SPDX-License-Identifier: BSD-3-Clause */
/* The network: libfabric, the provider it gives, and why it may not be the one that was paid for. */
#include "tools/info/doctor.h"
#include "inter/fabric/provider.h"
#include "runtime/base/env.h"
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PCI_DEVICES "/sys/bus/pci/devices"

/* What is known of providers, besides that they work. */
static const struct {
    const char *provider;
    enum doctor_grade grade;
    const char *quirk, *remedy;
} quirks[] = {
    {"tcp;ofi_rxm", DOCTOR_WARN, "messages above 16 KiB take a round trip more, and 70 MB per endpoint",
     "unset HX_PROVIDER FI_PROVIDER"},
    {"sockets", DOCTOR_WARN, "libfabric no longer maintains it, and it is slow", "unset HX_PROVIDER FI_PROVIDER"},
    {"udp;ofi_rxd", DOCTOR_WARN, "a message of 1 MiB takes milliseconds", "unset HX_PROVIDER FI_PROVIDER"},
    {"net", DOCTOR_OK, "the kernel's TCP: every message costs CPU time", NULL},
    {"tcp", DOCTOR_OK, "the kernel's TCP: every message costs CPU time", NULL},
    {"efa", DOCTOR_OK, "messages above 64 KiB need a round trip, so Hierax sends chunks of 64 KiB", NULL},
};

void doctor_libfabric(struct doctor_facts *facts, struct doctor_finding *f)
{
    uint32_t version = fi_version();

    (void)facts;
    if (version < FI_VERSION(1, 17))
        doctor_find(f, DOCTOR_FAIL, NULL, "libfabric %u.%u: Hierax needs 1.17 or newer", FI_MAJOR(version),
                    FI_MINOR(version));
    else if (version < FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION))
        doctor_find(f, DOCTOR_WARN, NULL, "libfabric %u.%u is loaded, but Hierax was built with %d.%d",
                    FI_MAJOR(version), FI_MINOR(version), FI_MAJOR_VERSION, FI_MINOR_VERSION);
    else
        doctor_find(f, DOCTOR_OK, NULL, "%u.%u%s", FI_MAJOR(version), FI_MINOR(version),
                    version < FI_VERSION(1, 18) ? ": RDMA writes of efa are emulated before 1.18" : "");
}

/* ---- where EFA is ---- */

static int efa_devices(void)
{
    char path[sizeof(PCI_DEVICES) + 300], vendor[32], device[32];
    struct dirent *entry;
    DIR *dir = opendir(PCI_DEVICES);
    int n = 0;

    while (dir && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), PCI_DEVICES "/%s/vendor", entry->d_name);
        doctor_read_line(path, vendor, sizeof(vendor));
        snprintf(path, sizeof(path), PCI_DEVICES "/%s/device", entry->d_name);
        doctor_read_line(path, device, sizeof(device));
        n += !strcmp(vendor, "0x1d0f") && !strncmp(device, "0xefa", 5); /* Amazon's EFA, of any generation */
    }
    if (dir)
        closedir(dir);
    return n;
}

static int is_usable_verbs_device(void)
{
    char path[300];
    struct dirent *entry;
    DIR *dir = opendir("/dev/infiniband");
    int found = dir ? 0 : -1; /* -1: there is none at all */

    while (dir && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), "/dev/infiniband/%s", entry->d_name);
        found |= !strncmp(entry->d_name, "uverbs", 6) && access(path, R_OK | W_OK) == 0;
    }
    if (dir)
        closedir(dir);
    return found;
}

static void offer_look(const struct fi_info *info, const char *state, void *arg)
{
    (void)state;
    *(int *)arg |= !strcmp(info->fabric_attr->prov_name, "efa");
}

/* There are devices, and something else is used. */
static void efa_unused(const char *provider, int n, struct doctor_finding *f)
{
    const char *wanted = hx_env_launcher("HX_PROVIDER"), *restricted = hx_env_launcher("FI_PROVIDER");
    int offered = 0, usable = is_usable_verbs_device();

    hx_offers_visit(offer_look, &offered);
    if (wanted)
        doctor_find(f, DOCTOR_WARN, "unset HX_PROVIDER", "%s is used, not the %d EFA devices: HX_PROVIDER=%s", provider,
                    n, wanted);
    else if (restricted)
        doctor_find(f, DOCTOR_WARN, "unset FI_PROVIDER", "%s is used, not the %d EFA devices: FI_PROVIDER=%s", provider,
                    n, restricted);
    else if (hx_env_launcher("HX_NIC"))
        doctor_find(f, DOCTOR_WARN, "unset HX_NIC", "%s is used, not the %d EFA devices: HX_NIC=%s", provider, n, hx_env_launcher("HX_NIC"));
    else if (usable <= 0)
        doctor_find(f, DOCTOR_FAIL, usable < 0 ? "modprobe efa; in a container: --device /dev/infiniband/uverbs0"
                                               : "chmod a+rw /dev/infiniband/uverbs*",
                    "falls back to %s although there are %d EFA devices: %s", provider, n,
                    usable < 0 ? "there is no /dev/infiniband" : "this process may not open /dev/infiniband/uverbs*");
    else
        doctor_find(f, DOCTOR_FAIL, "fi_info -p efa; install Amazon's efa_installer, or a libfabric that has efa",
                    "falls back to %s although there are %d EFA devices: libfabric %s", provider, n,
                    offered ? "offers efa, but none of its interfaces is usable" : "offers no efa");
}

/* ---- what is used ---- */

/* interface: "" for any real one. */
static void address_find(const char *interface, char address[DOCTOR_ADDRESS_BYTES])
{
    struct ifaddrs *all = NULL;
    size_t n = strlen(interface);

    if (getifaddrs(&all) != 0)
        return;
    for (int family = AF_INET; !address[0] && family; family = family == AF_INET ? AF_INET6 : 0)
        for (const struct ifaddrs *i = all; i && !address[0]; i = i->ifa_next) {
            socklen_t bytes = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
            if (!i->ifa_addr || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP) ||
                (i->ifa_flags & IFF_LOOPBACK) || (n && strcmp(i->ifa_name, interface)) ||
                (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr)))
                continue;
            getnameinfo(i->ifa_addr, bytes, address, DOCTOR_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST);
        }
    freeifaddrs(all);
}

static void none_usable(struct doctor_finding *f)
{
    const char *restricted = hx_env_launcher("FI_PROVIDER"), *wanted = hx_env_launcher("HX_PROVIDER");

    if (restricted)
        doctor_find(f, DOCTOR_FAIL, "unset FI_PROVIDER", "%s; FI_PROVIDER=%s", hx_last_detail(), restricted);
    else if (wanted)
        doctor_find(f, DOCTOR_FAIL, "unset HX_PROVIDER", "%s", hx_last_detail());
    else if (hx_env_launcher("HX_NIC"))
        doctor_find(f, DOCTOR_FAIL, "unset HX_NIC, or name one of these interfaces", "%s", hx_last_detail());
    else
        doctor_find(f, DOCTOR_FAIL, NULL, "%s", hx_last_detail());
}

void doctor_provider(struct doctor_facts *facts, struct doctor_finding *f)
{
    struct hx_net_seat seat = {.sharers = 1, .on_node = 1};
    struct hx_nic_choice choice;
    struct hx_env env;

    facts->efa_devices = efa_devices();
    address_find("", facts->address);
    hx_env_load(&env, NULL); /* a bad value is another check's finding */
    if (hx_negotiate(&env, &seat, &choice) != HX_SUCCESS) {
        none_usable(f);
        hx_nic_choice_free(&choice);
        hx_env_release(&env);
        return;
    }
    const char *provider = choice.rails[0]->fabric_attr->prov_name, *interface = choice.rails[0]->domain_attr->name;
    char address[DOCTOR_ADDRESS_BYTES] = "";
    snprintf(facts->provider, sizeof(facts->provider), "%s", provider);
    snprintf(facts->interface, sizeof(facts->interface), "%s", interface);
    address_find(interface, address);
    if (address[0])
        memcpy(facts->address, address, sizeof(address));
    for (size_t i = 0; i < sizeof(quirks) / sizeof(quirks[0]); i++)
        if (!strcmp(provider, quirks[i].provider))
            doctor_find(f, quirks[i].grade, quirks[i].remedy, "%s on %s: %s", provider, interface, quirks[i].quirk);
    if (!f->text[0])
        doctor_find(f, DOCTOR_OK, NULL, "%s on %s", provider, interface);
    if (facts->efa_devices && strcmp(provider, "efa"))
        efa_unused(provider, facts->efa_devices, f);
    if (!strcmp(interface, "lo"))
        doctor_find(f, DOCTOR_WARN, "ip link", "%s finds no interface but loopback: no other host can be reached",
                    provider);
    hx_nic_choice_free(&choice);
    hx_env_release(&env);
}

/* Measured with 2 and 4 ranks on two such nodes: all-reduces of 64 KiB 1 to 2.4 times, broadcasts of 1 MiB 1 to 2.9. */
void doctor_congestion(struct doctor_facts *facts, struct doctor_finding *f)
{
    int is_tcp = strstr(facts->provider, "tcp") || !strcmp(facts->provider, "net") || !strcmp(facts->provider, "sockets");
    char name[64];

    doctor_read_line("/proc/sys/net/ipv4/tcp_congestion_control", name, sizeof(name));
    if (!is_tcp)
        doctor_find(f, DOCTOR_OK, NULL, "no TCP between nodes");
    else if (!strncmp(name, "bbr", 3))
        doctor_find(f, DOCTOR_WARN, NULL, "TCP uses %s: between emulated nodes, long messages took 1 to 3 times as long as with "
                                          "cubic", name);
    else
        doctor_find(f, DOCTOR_OK, NULL, "%s", name[0] ? name : "the kernel does not say which");
}
