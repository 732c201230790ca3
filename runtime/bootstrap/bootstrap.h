/* SPDX-License-Identifier: BSD-3-Clause */
/* Bootstrap: rank, size, and a put/fence/get store, from whatever launched this process. */
#pragma once

#include "runtime/base/env.h"
#include "runtime/hierax.h"

#define HX_SECRET_BYTES 32
#define HX_KEY_BYTES 32
enum hx_key_use { HX_KEY_FABRIC = 1 }; /* proofs of messages between nodes. Never reuse a number */

/* Derive a key from the job's secret, one for each use, so that a key that leaks does not reveal the others. */
void hx_key_derive(const unsigned char secret[HX_SECRET_BYTES], enum hx_key_use use, unsigned char key[HX_KEY_BYTES]);

struct hx_boot; /* an open bootstrap */

/* Use the caller's own callbacks, or else the launcher that env names or the environment shows. */
hx_status_t hx_boot_open(const struct hx_env *env, const hx_bootstrap_t *callbacks, struct hx_boot **boot);
/* Let the next hx_boot_open return this one, which is open and then belongs to its caller: a launcher may let a process in only once. */
void hx_boot_lend(struct hx_boot *boot);
const char *hx_boot_name(const struct hx_boot *boot);
int hx_boot_rank(const struct hx_boot *boot);
int hx_boot_size(const struct hx_boot *boot);
void hx_boot_set_timeout(struct hx_boot *boot, double seconds); /* in place of HX_TIMEOUT; 0: never */

/* Values are arbitrary bytes. First put, then fence, then get. A key of up to 40 bytes names the rank that puts it, because PMIx
 * needs it: "address.7" belongs to rank 7, a key without a number at its end to rank 0. It may be put again after a fence. get
 * returns the value put between the last two fences. Older ones are gone: some launchers wait for a value that is not there. */
hx_status_t hx_boot_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes);
hx_status_t hx_boot_fence(struct hx_boot *boot);
/* *value is malloc'ed. If no rank has put the key, it is HX_ERR_BOOTSTRAP, at once or within the time-out. */
hx_status_t hx_boot_get(struct hx_boot *boot, const char *key, void **value, size_t *bytes);
/* From now on, while this thread waits for its launcher, call answer each time fd is readable. fd -1: stop that. answer returns 0
 * if it could do nothing: then it is called again after a pause. (Not while a program's own bootstrap callbacks wait.) */
void hx_boot_on_wait(int fd, int (*answer)(void *arg), void *arg);
/* Tell the launcher that this job fails (kill the others where it can); does not end this process. */
void hx_boot_abort(struct hx_boot *boot, const char *why);
/* This process is about to end by hx_abort. Close the connection to coll_run: if other ranks end because of that, coll_run first
 * waits for this one, and takes its status. */
void hx_boot_vanish(const struct hx_boot *boot);
/* Close; finalize != 0: an orderly end (PMI finalize), else only release. */
void hx_boot_close(struct hx_boot *boot, int finalize);
/* In a child made by fork: close descriptors that would hide the end of its parent. Calls only functions that are safe there. */
void hx_boot_close_in_child(const struct hx_boot *boot);
/* The same for a connection to a launcher that stays between two worlds. */
void hx_boot_forget_in_child(void);
