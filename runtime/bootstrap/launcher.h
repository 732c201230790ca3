/* SPDX-License-Identifier: BSD-3-Clause */
/* What a launcher's client provides to bootstrap.c, which splits and encodes values and numbers the fences. */
#pragma once

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/base/clock.h"

/* Keys here are unique in the job, because bootstrap.c adds the fence number. They have at most HX_BOOT_KEY_BYTES with the NUL, no
 * white space and no '='. If ops->text is set, values are hexadecimal text, and value[bytes] is NUL. */
#define HX_BOOT_KEY_BYTES 64

struct hx_boot_ops {
    const char *name;
    int text;
    hx_status_t (*put)(struct hx_boot *, const char *key, const void *value, size_t bytes);
    hx_status_t (*fence)(struct hx_boot *);
    /* owner: the rank that puts it. *value is malloc'ed, or NULL (with HX_SUCCESS) if no rank has put the key. */
    hx_status_t (*get)(struct hx_boot *, int owner, const char *key, void **value, size_t *bytes);
    void (*abort_job)(struct hx_boot *, const char *why); /* tell the launcher that the job has failed */
    void (*close)(struct hx_boot *, int finalize); /* frees boot too */
    void (*close_in_child)(const struct hx_boot *);   /* or NULL */
};

/* The head of every kind's own struct. */
struct hx_boot {
    const struct hx_boot_ops *ops;
    int rank, size;
    size_t piece_bytes; /* longest value that ops->put takes; SIZE_MAX: any */
    double timeout;     /* seconds; 0: never */
    int fences;         /* done so far */
    hx_status_t broken; /* a fence has failed, so all later ones fail too */
};

hx_status_t hx_boot_tcp_open(const struct hx_env *env, struct hx_boot **boot);
hx_status_t hx_boot_pmix_open(const struct hx_env *env, struct hx_boot **boot);
hx_status_t hx_boot_pmi1_open(const struct hx_env *env, struct hx_boot **boot);
hx_status_t hx_boot_single_open(const struct hx_env *env, struct hx_boot **boot);
hx_status_t hx_boot_user_open(const struct hx_env *env, const hx_bootstrap_t *callbacks, struct hx_boot **boot);
int hx_boot_tcp_present(const struct hx_env *env);
int hx_boot_pmix_present(const struct hx_env *env);
int hx_boot_pmi1_present(const struct hx_env *env);

/* Wait for poll events on fd. Returns 1: they are there, 0: the deadline (clock.h) has passed, -1: see errno. Serves the descriptor
 * of hx_boot_on_wait meanwhile. */
int hx_boot_wait_fd(int fd, short events, double deadline);
