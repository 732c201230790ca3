/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that a launcher's client provides to bootstrap.c. bootstrap.c splits and encodes values, and numbers the fences. */
#pragma once

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/base/clock.h"

/* Keys here are unique in the job, because bootstrap.c adds the fence number. They have at most HX_BOOT_KEY_BYTES with the NUL, no
 * white space and no '='. If the kind has text set, values are hexadecimal text, and value[bytes] is NUL. */
#define HX_BOOT_KEY_BYTES 64

/* One launcher. */
struct hx_boot_kind {
    const char *name;  /* as in HX_BOOTSTRAP */
    const char *needs; /* the variables that it needs, for messages */
    int text;
    size_t bytes; /* of its own struct, which begins with struct hx_boot */
    int (*present)(const struct hx_env *); /* does the environment show this launcher? 1 yes, 0 no, -1 incomplete, after hx_fail */
    /* Sets rank, size and piece_bytes; the rest of the struct is 0. If it fails, close is called too. */
    hx_status_t (*open)(struct hx_boot *, const struct hx_env *);
    hx_status_t (*put)(struct hx_boot *, const char *key, const void *value, size_t bytes);
    hx_status_t (*fence)(struct hx_boot *); /* or NULL: nothing to wait for */
    /* owner: the rank that puts it. *value is malloc'ed, or NULL (with HX_SUCCESS) if no rank has put the key. */
    hx_status_t (*get)(struct hx_boot *, int owner, const char *key, void **value, size_t *bytes);
    void (*abort_job)(struct hx_boot *, const char *why); /* tell the launcher that the job has failed; or NULL */
    void (*vanish)(const struct hx_boot *);               /* or NULL */
    void (*close)(struct hx_boot *, int finalize);        /* or NULL */
    void (*close_in_child)(const struct hx_boot *);       /* or NULL */
    void (*forget_in_child)(void);                        /* a connection that is kept between two worlds; or NULL */
};
extern const struct hx_boot_kind hx_boot_tcp, hx_boot_pmi1, hx_boot_pmix, hx_boot_single, hx_boot_user;
extern const struct hx_boot_kind *const hx_boot_kinds[]; /* tried in order; ends with NULL */

/* The head of every kind's own struct. */
struct hx_boot {
    const struct hx_boot_kind *kind;
    int rank, size;
    size_t piece_bytes; /* longest value that put takes; SIZE_MAX: any */
    double timeout;     /* seconds; 0: never */
    int fences;         /* done so far, with this launcher, also for earlier worlds of this process */
    hx_status_t broken; /* a fence has failed, so all later ones fail too */
    hx_bootstrap_t calls; /* of hx_boot_user */
};

/* Wait for poll events on fd. Returns 1: they are there, 0: the deadline (clock.h) has passed, -1: see errno. Serves the descriptor
 * of hx_boot_on_wait meanwhile. */
int hx_boot_wait_fd(int fd, short events, double deadline);
