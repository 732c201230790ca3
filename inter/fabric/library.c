/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric, loaded at first use: see library.h. A newer libfabric has several functions of one name: one for each version of its structures.
 * So this file asks for the version of the headers that Hierax was built with (configure.ac).
 */
#include "inter/fabric/library.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NAME "libfabric.so.1"

static struct {
    int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *, struct fi_info **);
    void (*freeinfo)(struct fi_info *);
    struct fi_info *(*dupinfo)(const struct fi_info *);
    int (*fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *);
    const char *(*strerror)(int);
    uint32_t (*version)(void);
} calls;

static const struct {
    const char *name, *version; /* "": the library has no versions */
    void *call;
} rows[] = {
    {"fi_getinfo", FABRIC_VERSION_OF_GETINFO, &calls.getinfo},    {"fi_freeinfo", FABRIC_VERSION_OF_FREEINFO, &calls.freeinfo},
    {"fi_dupinfo", FABRIC_VERSION_OF_DUPINFO, &calls.dupinfo},    {"fi_fabric", FABRIC_VERSION_OF_FABRIC, &calls.fabric},
    {"fi_strerror", FABRIC_VERSION_OF_STRERROR, &calls.strerror}, {"fi_version", FABRIC_VERSION_OF_VERSION, &calls.version},
};

static char missing[512]; /* "": it is loaded */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int has_started;

static void load(void)
{
    void *library;

    hx_libfabric_prepare(0);
    library = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen(FABRIC_LIBDIR "/" NAME, RTLD_NOW | RTLD_LOCAL); /* the folder at build time */
    if (!library) {
        snprintf(missing, sizeof(missing), "cannot load libfabric, which messages between nodes need (Debian: apt-get install libfabric1): %s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *symbol = *rows[i].version ? dlvsym(library, rows[i].name, rows[i].version) : dlsym(library, rows[i].name);
        if (!symbol) {
            snprintf(missing, sizeof(missing), NAME " lacks %s of version %s, which Hierax was built with: install a newer libfabric", rows[i].name,
                     rows[i].version);
            return;
        }
        memcpy(rows[i].call, &symbol, sizeof(symbol)); /* ISO C has no cast from object to function pointer */
    }
    hx_libfabric_prepare(calls.version());
}

/* libfabric starts in the first call of fi_getinfo. */
static int getinfo_first(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                         struct fi_info **info)
{
    static pthread_mutex_t starts = PTHREAD_MUTEX_INITIALIZER;
    const void *function;
    int rc;

    memcpy(&function, &calls.getinfo, sizeof(function));
    pthread_mutex_lock(&starts);
    if (!has_started)
        hx_kernel_symbols_hide(function);
    rc = calls.getinfo(version, node, service, flags, hints, info);
    if (!has_started)
        hx_kernel_symbols_show();
    has_started = 1;
    pthread_mutex_unlock(&starts);
    return rc;
}

const char *hx_libfabric_missing(void)
{
    pthread_once(&once, load);
    return missing[0] ? missing : NULL;
}

static int is_loaded(void)
{
    return !hx_libfabric_missing();
}

int hx_libfabric_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                         struct fi_info **info)
{
    if (!is_loaded())
        return -ELIBACC;
    return (has_started ? calls.getinfo : getinfo_first)(version, node, service, flags, hints, info);
}

void hx_libfabric_freeinfo(struct fi_info *info)
{
    if (is_loaded())
        calls.freeinfo(info);
}

struct fi_info *hx_libfabric_dupinfo(const struct fi_info *info)
{
    return is_loaded() ? calls.dupinfo(info) : NULL;
}

int hx_libfabric_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    return is_loaded() ? calls.fabric(attr, fabric, context) : -ELIBACC;
}

const char *hx_libfabric_strerror(int error)
{
    return is_loaded() ? calls.strerror(error) : strerror(error);
}

uint32_t hx_libfabric_version(void)
{
    return is_loaded() ? calls.version() : 0;
}
