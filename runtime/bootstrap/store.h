/* SPDX-License-Identifier: BSD-3-Clause */
/* The TCP store's server: one object without threads. Its owner drives it: coll_run's loop, or a thread of rank 0. It needs no
 * other part of the library but runtime/base, so coll_run need not link the library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Protocol: a client sends a frame and waits for the answer, which is a frame too. LATE, ABORT and BYE have no answer. A frame is
 * this header, then key_bytes of key, then value_bytes of value; numbers in network byte order.
 *
 *   HELLO value = rank, size (4 bytes each), nonce; answer: the rank that serves (4 bytes), nonce
 *   JOIN value = proof that this rank knows the secret; answer: success, or HX_STORE_ABSENT: rank 0 serves here an earlier world, which
 *        this rank has left, so try again
 *   PUT key, value      GET key      FENCE answered when all ranks have sent it      BYE: this rank leaves
 *   BACK after BYE: this rank starts again; answered by success
 *   LATE value = how long it has waited at the fence, as text: the job fails, and FENCE's answer names the missing ranks
 *   ABORT value = text: the job fails
 *
 * In an answer op is that of the request. status is a hx_status_t (for an error the value is its text) or HX_STORE_ABSENT. The
 * store may answer HELLO and JOIN by REFUSE, which ends the connection. It may answer anything later by ABORT: the job has failed.
 * From the answer to JOIN on all frames except REFUSE are sealed (store_keys.h): key and value are encrypted, and
 * HX_STORE_SEAL_BYTES follow them. The header is in clear: an observer sees lengths, requests, and which processes talk. If the
 * secret leaks later, recorded traffic can be read.
 */
#define HX_STORE_MAGIC 0x48580000u /* "HX" */
#define HX_STORE_VERSION 2u        /* in the low half of the magic */
#define HX_STORE_ABSENT 0xffffffffu
#define HX_STORE_KEY_MAX_BYTES 256u
#define HX_STORE_LAUNCHER 0xffffffffu /* instead of a rank: a launcher serves, and lives longer than the ranks */
#define HX_STORE_NONCE_BYTES 32
#define HX_STORE_PROOF_BYTES 32
#define HX_STORE_SEAL_BYTES 16
#define HX_STORE_VALUE_MAX_BYTES ((1u << 30) + 8)

enum hx_store_op {
    HX_STORE_HELLO = 1,
    HX_STORE_PUT,
    HX_STORE_GET,
    HX_STORE_FENCE,
    HX_STORE_LATE,
    HX_STORE_ABORT,
    HX_STORE_BYE,
    HX_STORE_JOIN,
    HX_STORE_REFUSE,
    HX_STORE_BACK,
    HX_STORE_WAIT, /* from here on: requests of a lobby (lobby.h) */
    HX_STORE_COUNT,
    HX_STORE_ADMIT
};

struct hx_store_frame {
    uint32_t magic, op, status, key_bytes, value_bytes;
};

struct hx_store;

/* Serve size ranks that know secret on listen_fd, a listening socket that the store then owns. If secret is "", processes of other
 * machines are refused. server: the rank that serves, or HX_STORE_LAUNCHER. Returns 0, or -1 with errno set, and the caller still
 * owns listen_fd. A new connection has a few seconds to prove that it belongs to the job. */
int hx_store_open(int listen_fd, int size, const char *secret, uint32_t server, struct hx_store **store);
int hx_store_fd(const struct hx_store *store);       /* readable (poll) when hx_store_serve has work */
void hx_store_serve(struct hx_store *store);         /* handle what is ready; never blocks */
void hx_store_rank_ended(struct hx_store *store, int rank); /* its process has ended, perhaps without a HELLO */
int hx_store_finished(const struct hx_store *store); /* every rank has left, or has received the failure of the job */

/* Why the job has failed, or NULL. *aborted_rank: the rank that called abort; *dead_rank: the one whose connection closed; -1:
 * none. */
const char *hx_store_failure(const struct hx_store *store, int *aborted_rank, int *dead_rank);
void hx_store_close(struct hx_store *store);
