/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP store's server: one object without threads, driven by whoever owns it (coll_run's loop, or a thread of rank
 * 0). It stands alone - no other part of the library - so that coll_run need not link the library. */
#ifndef HX_BOOTSTRAP_STORE_H
#define HX_BOOTSTRAP_STORE_H
#include <stddef.h>
#include <stdint.h>

/*
 * Protocol: a client sends a frame and waits for the answer, a frame too. LATE, ABORT and BYE have none. A frame is
 * this header, key_bytes of key, value_bytes of value; numbers in network byte order.
 *
 *   HELLO key = secret, value = rank and size (4 bytes each)      PUT key, value      GET key
 *   FENCE answered when all ranks have sent it                    BYE: this rank ends in order
 *   LATE value = seconds waited at the fence, as text: the job fails, with the missing ranks in the FENCE's answer
 *   ABORT value = text: the job fails
 *
 * In an answer op is the request's, status a hx_status_t (the value is then its text) or HX_STORE_ABSENT.
 */
#define HX_STORE_MAGIC 0x48580000u /* "HX" */
#define HX_STORE_VERSION 1u        /* in the low half of the magic */
#define HX_STORE_ABSENT 0xffffffffu
#define HX_STORE_KEY_MAX_BYTES 256u
#define HX_STORE_VALUE_MAX_BYTES ((1u << 30) + 8)

enum hx_store_op {
    HX_STORE_HELLO = 1,
    HX_STORE_PUT,
    HX_STORE_GET,
    HX_STORE_FENCE,
    HX_STORE_LATE,
    HX_STORE_ABORT,
    HX_STORE_BYE
};

struct hx_store_frame {
    uint32_t magic, op, status, key_bytes, value_bytes;
};

struct hx_store;

/* Serve size ranks that know secret ("" for none) on listen_fd, a listening socket which the store then owns. Returns
 * 0, or -1 with errno set and listen_fd still the caller's. */
int hx_store_open(int listen_fd, int size, const char *secret, struct hx_store **store);
int hx_store_fd(const struct hx_store *store);       /* readable (poll) when hx_store_serve has work */
void hx_store_serve(struct hx_store *store);         /* handle what is ready; never blocks */
void hx_store_ended(struct hx_store *store, int rank); /* its process has, maybe without a HELLO: nobody needs to wait for it */
int hx_store_finished(const struct hx_store *store); /* every rank has left and every answer is sent */

/* Why the job has failed, or NULL; *aborted_rank is the rank that called abort, *dead_rank the one whose connection
 * closed, or -1. */
const char *hx_store_failure(const struct hx_store *store, int *aborted_rank, int *dead_rank);
void hx_store_close(struct hx_store *store);

#endif
