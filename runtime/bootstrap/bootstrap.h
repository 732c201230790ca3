/* SPDX-License-Identifier: BSD-3-Clause */
/* Bootstrap: rank, size, and a put/fence/get store, from whatever launched this process. */
#ifndef HX_BOOTSTRAP_BOOTSTRAP_H
#define HX_BOOTSTRAP_BOOTSTRAP_H
#include "runtime/base/env.h"
#include "runtime/hierax.h"

#define HX_SECRET_BYTES 32

struct hx_boot; /* an open bootstrap */

/* One launcher. Rows of hx_boot_kinds, tried in order. */
struct hx_boot_kind {
    const char *name;                      /* as in HX_BOOTSTRAP */
    const char *needs;                     /* the variables it lives on, for messages */
    int (*present)(const struct hx_env *); /* does this process's environment show this launcher? 1 yes, 0 no, -1 half
                                              set (detail text recorded with hx_fail) */
    hx_status_t (*open)(const struct hx_env *, struct hx_boot **);
};
extern const struct hx_boot_kind hx_boot_kinds[]; /* ends with a NULL name */

/* Open the caller's own callbacks, or else the launcher that env names or the environment shows. */
hx_status_t hx_boot_open(const struct hx_env *env, const hx_bootstrap_t *callbacks, struct hx_boot **boot);
const char *hx_boot_name(const struct hx_boot *boot);
int hx_boot_rank(const struct hx_boot *boot);
int hx_boot_size(const struct hx_boot *boot);

/* Values are arbitrary bytes here; kinds encode as they must (hex) and split at their limits. put then fence then
 * get. A key tells who puts it, because PMIx must know: "address.7" is rank 7's, a key without a number at its end
 * rank 0's. It may be put again after a fence; get returns the newest value put before the last fence. Keys: up to 40
 * bytes. */
hx_status_t hx_boot_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes);
hx_status_t hx_boot_fence(struct hx_boot *boot);
/* *value is malloc'ed. A key that nobody has put is HX_ERR_BOOTSTRAP, at once or within the time-out. */
hx_status_t hx_boot_get(struct hx_boot *boot, const char *key, void **value, size_t *bytes);
/* From now on, while this thread waits for its launcher, call answer each time that fd is readable. fd -1: stop that. answer returns 0 if
 * it could do nothing: then it is called again after a pause. (Not while a program's own bootstrap callbacks wait.) */
void hx_boot_meanwhile(int fd, int (*answer)(void *arg), void *arg);
/* Tell the launcher that this job fails (kill the others where it can); does not end this process. */
void hx_boot_abort(struct hx_boot *boot, const char *why);
/* Close; finalize != 0: an orderly end (PMI finalize), else only release. */
void hx_boot_close(struct hx_boot *boot, int finalize);
/* In a child made by fork: close what would keep others from seeing the end of its parent. Calls only what is safe there. */
void hx_boot_leave_child(const struct hx_boot *boot);

#endif
