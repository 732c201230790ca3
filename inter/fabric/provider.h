/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of a libfabric provider and of its interfaces, and what Hierax knows about each provider. An offer is one interface of
 * one provider, as fi_getinfo lists it. */
#pragma once

#include "runtime/ports/transport.h"
#include "topo/nic.h"
#include <rdma/fabric.h>

#define HX_EAGER_BYTES 8192 /* shorter messages never wait for a credit */
#define HX_CHUNK_BITS 6
#define HX_TAG_BITS_LEAST (HX_MATCH_BITS_LEAST + HX_CHUNK_BITS)
#define HX_NICS_MAX 64 /* interfaces of one provider that are considered */
#define HX_RAILS_MAX 4 /* interfaces that one rank uses */

/* Switches for tests only; all zero in a real run. */
struct hx_fabric_test {
    int register_local; /* act as if the provider had asked for FI_MR_LOCAL */
    size_t write_bytes; /* write messages from this length on, even if the device does not write by itself */
    dev_t device;       /* treat the files of this device, and of those with the next numbers, as files of a network device */
};
extern struct hx_fabric_test hx_fabric_test;

/* provider.c */
/* Remove libinfinipath's signal handlers. This is a constructor; another call does no harm. */
void hx_signals_restore(void);
void hx_libfabric_prepare(void); /* set libfabric's own variables, before its first use */
int hx_provider_is_native_tcp(const struct fi_info *info);
int hx_provider_is_old_tcp(const struct fi_info *info); /* native tcp before libfabric 1.20: unexpected.c, rail.c */
int hx_provider_is_tcp(const struct fi_info *info);     /* native, or with a layer above */
int hx_provider_is_efa(const struct fi_info *info);
size_t hx_profile_chunk_bytes(const struct fi_info *info); /* best chunk size */
/* links: interfaces of a node; rails: interfaces of one rank; link_bits: rate of each, 0: unknown */
void hx_profile_cost(const struct fi_info *info, int links, int rails, double link_bits, struct hx_net_profile *out);

/* nic.c */
struct ifaddrs;
struct hx_nic_choice {
    int n, near;                  /* all interfaces; the first ones of them: those named, or the nearest, which are equally good */
    struct hx_nic nics[HX_NICS_MAX];
    int nrails;
    struct fi_info *rails[HX_RAILS_MAX]; /* those that this rank uses, the first choice first */
    int addresses[HX_RAILS_MAX];         /* see struct hx_nic */
};
hx_status_t hx_nics_choose(const char *names, const struct fi_info *list, const struct fi_info *best,
                           const struct ifaddrs *interfaces, const struct hx_net_seat *seat, struct hx_nic_choice *out);
hx_status_t hx_nics_refuse(const struct fi_info *list, const char *provider, const char *nics,
                           const struct ifaddrs *interfaces);
int hx_nic_is_named(const struct fi_info *info, const char *names); /* by HX_NIC: its place in the list, from 1; 0: not there */
void hx_nic_locate(const struct fi_info *info, struct hx_nic *nic); /* its name and PCI address */
int hx_link_is_down(const struct ifaddrs *interfaces, const char *name, size_t length);
uint32_t hx_offer_network(const struct fi_info *info);              /* see struct hx_nic */
void hx_nic_choice_free(struct hx_nic_choice *choice);

/* negotiate.c: the best provider for env, and its interfaces. Free *out with hx_nic_choice_free, whatever the status. */
hx_status_t hx_negotiate(const struct hx_env *env, const struct hx_net_seat *seat, struct hx_nic_choice *out);
enum hx_offer_kind { HX_KIND_REAL, HX_KIND_BRIDGE, HX_KIND_LINK_LOCAL, HX_KIND_LOOPBACK, HX_KIND_DOWN };
enum hx_offer_kind hx_offer_kind(const struct fi_info *info, const struct ifaddrs *interfaces);
const char *hx_offer_defect(const struct fi_info *info); /* why Hierax cannot use it, or NULL */
unsigned hx_offer_tag_bits(const struct fi_info *info);
int hx_offer_is_routed(const struct fi_info *info); /* over IP, by the kernel */
int hx_offer_is_ipv6(const struct fi_info *info);
/* "a b c": each different name once. interface_of: NULL lists providers; else the interfaces of that provider, "": of all. */
void hx_names_join(const struct fi_info *list, const char *interface_of, char *text, size_t capacity);
struct fi_info *hx_offers_find(struct fi_info *hints); /* a list, or NULL. Frees the hints */
/* Visit all offers in libfabric's order. state: "usable", or why the offer is not. */
typedef void hx_offer_visit_t(const struct fi_info *info, const char *state, void *arg);
void hx_offers_visit(hx_offer_visit_t *visit, void *arg);

/* path.c: the IP address in a sockaddr of so many bytes. */
struct hx_ip {
    const void *bytes;
    size_t length; /* 0: it has none */
};
struct hx_ip hx_ip_of(const void *name, size_t bytes);
