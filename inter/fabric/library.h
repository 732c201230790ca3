/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of libfabric that are not inline. The library is loaded at their first call: a job on one node, and a rank that opens no
 * endpoint, never load it. The PSM libraries that Debian's libfabric needs take 0.2 s to load. After this header the names of libfabric
 * mean these functions. They may be called by several threads.
 */
#pragma once

#include <rdma/fabric.h>

#define fi_getinfo hx_libfabric_getinfo
#define fi_freeinfo hx_libfabric_freeinfo
#define fi_dupinfo hx_libfabric_dupinfo
#define fi_fabric hx_libfabric_fabric
#define fi_strerror hx_libfabric_strerror
#define fi_version hx_libfabric_version

/* provider.c: set libfabric's own variables. First before it is loaded, with version 0, then once its version is known. */
void hx_libfabric_prepare(uint32_t version);
/* kernel_symbols.c: between these calls libfabric starts, and does not find the kernel's list of symbols. of_libfabric: a function of it. */
void hx_kernel_symbols_hide(const void *of_libfabric);
void hx_kernel_symbols_show(void);
const char *hx_libfabric_missing(void); /* why the library cannot be loaded; NULL: it is loaded */
/* -ELIBACC: the library cannot be loaded. */
int hx_libfabric_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                         struct fi_info **info);
void hx_libfabric_freeinfo(struct fi_info *info);
struct fi_info *hx_libfabric_dupinfo(const struct fi_info *info);
int hx_libfabric_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
const char *hx_libfabric_strerror(int error);
uint32_t hx_libfabric_version(void); /* 0: the library cannot be loaded */
