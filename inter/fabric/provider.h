/* SPDX-License-Identifier: BSD-3-Clause */
/* How libfabric's providers differ (struct hx_provider_traits), and the choice of a provider and of its interfaces. An offer is one
 * interface of one provider, as fi_getinfo lists it. */
#pragma once

#include "inter/fabric/library.h"
#include "runtime/ports/transport.h"
#include "topo/nic.h"

#define HX_EAGER_BYTES 8192 /* shorter messages never wait for a credit */
#define HX_CHUNK_BITS 6
#define HX_TAG_BITS_LEAST (HX_MATCH_BITS_LEAST + HX_CHUNK_BITS)
#define HX_NICS_MAX 64 /* interfaces of one provider that are considered */
#define HX_RAIL_NICS_MAX 4 /* interfaces that one rank uses */
/* HX_RAILS_MAX: endpoints that one rank uses: over TCP HX_RAILS of them on each of those interfaces. base/env.h */

/* Switches for tests only; all zero in a real run. */
struct hx_fabric_test {
    int register_local; /* act as if the provider had asked for FI_MR_LOCAL */
    size_t write_bytes; /* write messages from this length on, even if the device does not write by itself */
    const char *sys, *dev; /* in place of /sys and /dev; NULL: those */
    dev_t device;       /* treat the files of this device, and of those with the next numbers, as files of a network device */
};
extern struct hx_fabric_test hx_fabric_test;

/* Which messages may use the caller's memory without a copy? The provider may be unable to cancel such a message. */
enum hx_direct {
    HX_DIRECT_ALWAYS,   /* all: a device finishes by itself what it has begun */
    HX_DIRECT_IF_SPACE, /* long receives, and sends that the kernel takes at once: tcp_space.c */
    HX_DIRECT_NEVER
};

struct hx_provider_variable { /* an environment variable of libfabric. hx_libfabric_prepare sets it if the user has not */
    const char *name, *value; /* name NULL: none */
    int (*is_harmful)(void);  /* must the variable stay unset for this process? NULL: no */
    uint32_t since;           /* from this version of libfabric on; 0: always */
};

/* The calls that open an interface. */
enum hx_open_call {
    HX_OPEN_NONE, HX_OPEN_FABRIC, HX_OPEN_DOMAIN, HX_OPEN_EVENTS, HX_OPEN_COMPLETIONS, HX_OPEN_ADDRESSES, HX_OPEN_ENDPOINT, HX_OPEN_BIND,
    HX_OPEN_ENABLE, HX_OPEN_CALLS
};

/* Why a provider could not be opened: a part of a rank's address. */
struct hx_refusal {
    uint8_t provider; /* hx_provider_number */
    uint8_t call;     /* enum hx_open_call. NONE: there is no refusal */
    int16_t error;    /* of libfabric, positive */
};

/* How a provider differs from others: provider.c has a row for each. Other files read a field; they do not compare names. A field's
 * comment ends with the file that reads it. No field repeats what libfabric reports: fi_info says whether memory needs
 * registration, how many pieces a message may have, and how long it may be. */
struct hx_provider_traits {
    const char *names[2]; /* patterns of fnmatch(3). The first row with a pattern that fits is the provider's row */
    int by_default;       /* It may be used although HX_PROVIDER does not name it, the first such row first. negotiate.c */
    const char *not_on;   /* A pattern of fabrics: there it is not used by default. NULL: none */

    const char *pci;      /* Its devices, as in hx_nic_pci_count: a node that has some should use it. NULL: not known. device_unused.c */
    const char *remedy;   /* Advice for the case that libfabric does not offer them. device_unused.c */

    /* ---- costs */
    struct hx_net_profile cost; /* Costs of messages over one interface: a device takes less CPU time than the kernel's TCP. */
    int reaches_link_rate;      /* One rank can use the full rate of its interfaces. A known rate replaces that of cost. */
    size_t chunk_bytes;         /* The best length of a chunk: longer sends cost more, or gain nothing. endpoint.c */

    /* ---- signs of life */
    int kernel_answers;  /* The kernel refuses connections to a peer that has died. A probe over TCP finds that. dead_peer.c */
    int has_device_file; /* Queues live while any process has the device file open. A forked child closes it. sockets.c */

    /* ---- errors */
    int has_device_codes;    /* The device's codes say what happened to the peer, instead of errno values. completion_error.c */
    int numbers_messages;    /* After a lost message the peer receives no later ones: the endpoint closes. completion_error.c */
    int reports_excess_data; /* The error of a message that is too long has its completion data, its proof. completion_error.c */
    int makes_address_handles; /* Its device needs a handle for each peer, and makes none for another availability zone. path.c */

    /* ---- messages */
    int writes;            /* Long messages use remote writes with data, if the device does them by itself. write.c */
    size_t stripe_bytes;   /* A message of at least this many bytes uses all paths to its peer. 0: of 16 KiB for each path. address.c */
    size_t copies_recvs;   /* It copies messages of up to so many bytes into their receives itself. So these need no registration and
                            * no copy of ours, although it asks for FI_MR_LOCAL. 0: none. chunk_post.c */
    enum hx_direct direct; /* A device finishes what it has begun. TCP may not, so more messages are copied. tcp_space.c */
    int breaks_on_excess;  /* A message longer than its receive breaks the connection. Each receive ends with a sink. bounce.c */
    int connects_first;    /* Sends over an accepted connection may wait for ever. So each rank opens one of its own. path.c */

    /* ---- limits of a device */
    int queue_pairs; /* Queue pairs of a device: an endpoint takes one of them. 0: not known. rail.c */
    size_t recvs;    /* Most receives of an endpoint: each pins the memory of a packet. 0: what the provider offers. endpoint.c */
    size_t packet_bytes; /* The provider pins so many bytes for each send and each receive of an endpoint. 0: not known. bounce.c */

    /* ---- waiting */
    int lacks_wait_object;  /* No descriptor of its queue ever becomes quiet. So a rank polls, and does not sleep. rail.c */
    uint32_t faults_before; /* Before this version of libfabric, an unexpected message stops its connection (unexpected.c), and the
                             * queue's descriptor stays readable (rail.c). 0: no version has these faults. */
    uint32_t indexes_strangers_before; /* Before this version of libfabric, a tagged message of a peer without an address here may end the
                                        * process. control_message.c. 0: no version has this fault. */
    uint32_t forgets_since; /* Since this version, a connection that ends before its first request may stay open for ever.
                             * strangers.c. 0: no version has this fault. */
    struct hx_provider_variable variables[3]; /* Set before libfabric starts, whichever provider is then used. provider.c */
};

/* provider.c */
const struct hx_provider_traits *hx_provider_traits(const struct fi_info *info);
int hx_offer_is_default(const struct fi_info *info);     /* may it be used without HX_PROVIDER? */
unsigned hx_provider_number(const struct fi_info *info); /* of its row */
const char *hx_open_call_name(unsigned call);
/* Add a rank's refusal, if it has one, and others whose reason is not known: a bit for each provider. */
void hx_refusals_add(struct hx_net_refusals *all, int rank, const struct hx_refusal *refusal, uint32_t others);
size_t hx_endpoint_pins(const struct fi_info *info); /* bounce.c: bytes that an endpoint pins when it opens; 0: none, or not known */
int hx_provider_has_faults(const struct hx_provider_traits *traits); /* does this libfabric have those of faults_before? */
/* links: interfaces of a node; rails: endpoints of one rank; link_bits: rate of each link, 0: unknown */
void hx_profile_cost(const char *provider, int links, int rails, double link_bits, struct hx_net_profile *out);
int hx_profile_assume(const char *provider, int rails, struct hx_net_profile *out); /* see assume of struct hx_net_ops */
const char *const *hx_provider_names(void);

#define HX_EFA_PCI "0x1d0f:0xefa*" /* of any generation */
#define HX_EFA_REMEDY "install ibverbs-providers, or use the libfabric of Amazon's EFA installer: LD_LIBRARY_PATH=/opt/amazon/efa/lib"

/* device_unused.c: warn if this node has devices of a provider that comes before the one in use (its number), and that is not among refused.
 * For one rank of each node. */
void hx_device_unused_warn(const char *used, unsigned number, uint32_t refused);
const struct hx_provider_traits *hx_provider_row(unsigned number);

/* nic.c */
struct ifaddrs;
struct hx_nic_choice {
    int n, near;                  /* all interfaces; the first ones of them: those named, or the nearest, which are equally good */
    struct hx_nic nics[HX_NICS_MAX];
    int nrails;
    struct fi_info *rails[HX_RAILS_MAX]; /* those that this rank uses, the first choice first. An interface with several
                                          * endpoints is there several times: first each once, then each again */
    int addresses[HX_RAILS_MAX];         /* see struct hx_nic */
    int copies[HX_RAILS_MAX];            /* which endpoint of its interface, from 0 */
};
/* rails: endpoints on each interface over TCP; other interfaces have one */
hx_status_t hx_nics_choose(const char *names, int rails, const struct fi_info *list, const struct fi_info *best,
                           const struct ifaddrs *interfaces, const struct hx_net_seat *seat, struct hx_nic_choice *out);
hx_status_t hx_nics_refuse(const struct fi_info *list, const char *provider, const char *nics,
                           const struct ifaddrs *interfaces);
int hx_nic_is_named(const struct fi_info *info, const char *names); /* by HX_NIC: its place in the list, from 1; 0: not there */
void hx_nic_locate(const struct fi_info *info, struct hx_nic *nic); /* its name and PCI address */
int hx_link_is_down(const struct ifaddrs *interfaces, const char *name, size_t length);
uint32_t hx_offer_network(const struct fi_info *info);              /* see struct hx_nic */
void hx_nic_choice_free(struct hx_nic_choice *choice);

/* negotiate.c: the best provider for env, without those refused, and its interfaces. Free *out with hx_nic_choice_free, whatever the
 * status. */
hx_status_t hx_negotiate(const struct hx_env *env, const struct hx_net_seat *seat, const struct hx_net_refusals *refused,
                         struct hx_nic_choice *out);
enum hx_offer_kind { HX_KIND_REAL, HX_KIND_BRIDGE, HX_KIND_LINK_LOCAL, HX_KIND_LOOPBACK, HX_KIND_DOWN };
enum hx_offer_kind hx_offer_kind(const struct fi_info *info, const struct ifaddrs *interfaces);
const char *hx_offer_defect(const struct fi_info *info); /* why Hierax cannot use it, or NULL */
unsigned hx_offer_tag_bits(const struct fi_info *info);
int hx_offer_is_routed(const struct fi_info *info); /* over IP, by the kernel */
int hx_offer_is_ipv6(const struct fi_info *info);
/* "a b c": each different name once. interface_of: NULL lists providers; else the interfaces of that provider, "": of all. */
void hx_providers_list(char *text, size_t capacity); /* all that libfabric has */
void hx_names_join(const struct fi_info *list, const char *interface_of, char *text, size_t capacity);
struct fi_info *hx_offers_find(struct fi_info *hints); /* a list, or NULL. Frees the hints */
/* Visit all offers in libfabric's order. state: "usable", or why the offer is not. refused: a bit for each provider. */
typedef void hx_offer_visit_t(const struct fi_info *info, const char *state, void *arg);
void hx_offers_visit(uint32_t refused, hx_offer_visit_t *visit, void *arg);

/* path.c: the IP address in a sockaddr of so many bytes. */
struct hx_ip {
    const void *bytes;
    size_t length; /* 0: it has none */
};
struct hx_ip hx_ip_of(const void *name, size_t bytes);
