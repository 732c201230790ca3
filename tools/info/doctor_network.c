/* SPDX-License-Identifier: BSD-3-Clause */
/* The network: libfabric, the provider it gives, and why it may not be the one that was paid for. */
#include "tools/info/doctor.h"
#include "inter/fabric/provider.h"
#include "runtime/base/env.h"
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

/* Known facts about providers, besides that they work. */
static const struct quirk {
    const char *provider;
    int is_tcp, pins; /* between nodes; locks memory */
    enum doctor_grade grade;
    const char *quirk, *remedy;
} quirks[] = {
    {"tcp;ofi_rxm", 1, 0, DOCTOR_WARN, ": messages above 16 KiB take one more round trip, and each endpoint needs 70 MB",
     "unset HX_PROVIDER FI_PROVIDER"},
    {"sockets", 1, 0, DOCTOR_WARN, ": libfabric no longer maintains it, and it is slow", "unset HX_PROVIDER FI_PROVIDER"},
    {"udp;ofi_rxd", 0, 0, DOCTOR_WARN, ": a message of 1 MiB takes milliseconds", "unset HX_PROVIDER FI_PROVIDER"},
    {"net", 1, 0, DOCTOR_OK, ": the kernel's TCP: every message costs CPU time", NULL},
    {"tcp", 1, 0, DOCTOR_OK, ": the kernel's TCP: every message costs CPU time", NULL},
    {"shm", 0, 0, DOCTOR_OK, "", NULL},
    {"efa", 0, 1, DOCTOR_OK, ": messages above 64 KiB need a round trip, so Hierax sends chunks of 64 KiB", NULL},
    {NULL, 0, 1, DOCTOR_OK, "", NULL},
};

void doctor_libfabric(struct doctor_exam *exam)
{
    const uint32_t version = fi_version();
    const unsigned major = FI_MAJOR(version), minor = FI_MINOR(version);

    if (version < FI_VERSION(1, 17))
        doctor_find(exam, DOCTOR_FAIL, NULL, "libfabric %u.%u: Hierax needs 1.17 or newer", major, minor);
    else if (version < FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION))
        doctor_find(exam, DOCTOR_WARN, NULL, "libfabric %u.%u is loaded, but Hierax was built with %d.%d", major, minor,
                    FI_MAJOR_VERSION, FI_MINOR_VERSION);
    else
        doctor_find(exam, DOCTOR_OK, NULL, "%u.%u%s", major, minor,
                    version < FI_VERSION(1, 18) ? ": RDMA writes of efa are emulated before 1.18" : "");
}

/* The name of the variable that restricts the choice, NULL if none does; its value, and how to lift that. */
static const char *restriction(const char **value, char remedy[64])
{
    static const char *const names[] = {"FI_PROVIDER", "HX_PROVIDER", "HX_NIC"};

    for (int i = 0; i < 3; i++)
        if ((*value = hx_env_launcher(names[i]))) {
            snprintf(remedy, 64, "unset %s", names[i]);
            return names[i];
        }
    return NULL;
}

/* ---- EFA devices ---- */

static void offer_look(const struct fi_info *info, const char *state, void *arg)
{
    (void)state;
    *(int *)arg |= strcmp(info->fabric_attr->prov_name, "efa") == 0;
}

/* There are devices, and something else is used. */
static void efa_unused(struct doctor_exam *exam, uint32_t refused)
{
    char remedy[64];
    const char *value, *name = restriction(&value, remedy);
    const struct hx_nic_obstacle *obstacle = hx_nic_rdma_obstacle("/dev");
    const int n = exam->efa_devices;
    int offered = 0;

    hx_offers_visit(refused, offer_look, &offered);
    if (name)
        doctor_find(exam, DOCTOR_WARN, remedy, "Hierax uses %s, not the %d EFA devices: %s=%s", exam->provider, n, name, value);
    else if (obstacle)
        doctor_find(exam, DOCTOR_FAIL, obstacle->remedy, "Hierax uses %s, not the %d EFA devices: %s", exam->provider, n, obstacle->why);
    else
        doctor_find(exam, DOCTOR_FAIL, HX_EFA_REMEDY "; then fi_info -p efa",
                    "Hierax uses %s, not the %d EFA devices: libfabric %s", exam->provider, n,
                    offered ? "has efa, but none of its interfaces is usable" : "does not offer efa");
}

/* ---- the network in use ---- */

/* The address stays as it is if the interface has none. interface: "" for any real one. */
static void address_find(const char *interface, char address[DOCTOR_ADDRESS_BYTES])
{
    struct ifaddrs *all = NULL;
    int found = 0;

    if (getifaddrs(&all) != 0)
        return;
    for (int family = AF_INET; !found && family; family = family == AF_INET ? AF_INET6 : 0)
        for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
            const struct sockaddr *own = i->ifa_addr;
            const socklen_t bytes = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
            if (!own || own->sa_family != family || !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK) ||
                (*interface && strcmp(i->ifa_name, interface)) ||
                (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)own)->sin6_addr)))
                continue;
            found = getnameinfo(own, bytes, address, DOCTOR_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) == 0;
        }
    freeifaddrs(all);
}

static void none_usable(struct doctor_exam *exam)
{
    char remedy[64];
    const char *value, *name = restriction(&value, remedy);

    if (name && !strcmp(name, "HX_NIC"))
        strcat(remedy, ", or name one of these interfaces");
    doctor_find(exam, DOCTOR_FAIL, name ? remedy : NULL, "%s", hx_last_detail());
    if (name && !strcmp(name, "FI_PROVIDER")) /* libfabric does not tell it */
        doctor_find(exam, DOCTOR_FAIL, NULL, "%s=%s", name, value);
}

/* Open the network as a job of several nodes does. *refused: what cannot be opened here. */
static hx_status_t network_try(const struct hx_env *env, const struct hx_net_seat *seat, struct hx_net_refusals *refused)
{
    unsigned char address[HX_ADDRESS_BYTES];
    size_t bytes = sizeof(address);
    struct hx_net *net;
    hx_status_t status = hx_net_fabric.open(env, 0, 2, seat, (unsigned char[HX_NET_KEY_BYTES]){0}, refused, &net);

    if (status != HX_SUCCESS)
        return status;
    status = hx_net_fabric.address(net, address, &bytes);
    if (status == HX_SUCCESS)
        hx_net_fabric.refusals(doctor_own_rank(), address, bytes, refused);
    hx_net_fabric.close(net, 0);
    return status;
}

void doctor_provider(struct doctor_exam *exam)
{
    struct hx_net_seat seat = {.sharers = 1, .on_node = 1};
    struct hx_net_refusals refused = {0};
    struct hx_nic_choice choice = {0};
    struct hx_env env;

    exam->efa_devices = hx_nic_pci_count("/sys", HX_EFA_PCI);
    exam->pins = exam->efa_devices > 0;
    address_find("", exam->address);
    hx_env_load(&env, NULL); /* a bad value is another check's finding */
    if (network_try(&env, &seat, &refused) != HX_SUCCESS || hx_negotiate(&env, &seat, &refused, &choice) != HX_SUCCESS) {
        none_usable(exam);
    } else {
        const struct fi_info *info = choice.rails[0];
        const char *provider = info->fabric_attr->prov_name, *interface = info->domain_attr->name;
        snprintf(exam->provider, sizeof(exam->provider), "%s", provider);
        address_find(interface, exam->address);
        hx_nic_locate(info, &exam->nic);
        const struct quirk *known = quirks;
        while (known->provider && strcmp(provider, known->provider))
            known++;
        const int connections = choice.copies[choice.nrails - 1] + 1;
        char several[48] = "";
        if (connections > 1)
            snprintf(several, sizeof(several), ", %d connections to each peer", connections);
        doctor_find(exam, known->grade, known->remedy, "%s on %s%s%s", provider, interface, several, known->quirk);
        exam->is_tcp = known->is_tcp || strstr(provider, "tcp");
        exam->pins |= known->pins;
        for (int i = 0; i < choice.nrails; i++)
            exam->pinned_bytes += hx_endpoint_pins(choice.rails[i]);
        if (refused.providers)
            doctor_find(exam, DOCTOR_WARN, "FI_LOG_LEVEL=warn fi_info -t FI_EP_RDM", "%s is used, because libfabric cannot open %s", provider,
                        refused.text);
        if (exam->efa_devices && strcmp(provider, "efa") != 0)
            efa_unused(exam, refused.providers);
        if (!strcmp(interface, "lo"))
            doctor_find(exam, DOCTOR_WARN, "ip link", "%s finds no interface but loopback: no other host can be reached", provider);
    }
    hx_nic_choice_free(&choice);
    hx_env_release(&env);
}

/* Measured with 2 and 4 ranks on two such nodes: all-reduces of 64 KiB 1 to 2.4 times, broadcasts of 1 MiB 1 to 2.9. */
void doctor_congestion(struct doctor_exam *exam)
{
    char name[64];

    doctor_read_line("/proc/sys/net/ipv4", "tcp_congestion_control", name, sizeof(name));
    if (!exam->is_tcp)
        doctor_find(exam, DOCTOR_OK, NULL, "no TCP between nodes");
    else if (!strncmp(name, "bbr", 3))
        doctor_find(exam, DOCTOR_WARN, NULL,
                    "TCP uses %s: between emulated nodes, long messages took up to 3 times as long as with cubic", name);
    else
        doctor_find(exam, DOCTOR_OK, NULL, "%s", name[0] ? name : "unknown");
}
