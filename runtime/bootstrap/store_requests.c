/* SPDX-License-Identifier: BSD-3-Clause */
/* The store's answer to each request. Once the job has failed, every answer is the reason: see store.c. */
#include "runtime/bootstrap/store_server.h"
#include "runtime/base/error.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MISSING_MAX 16 /* ranges of ranks named in a text */

void hx_store_answer_failure(const struct hx_store *store, struct hx_store_client *client, enum hx_store_op op)
{
    hx_store_client_answer(client, op, store->failure_status, store->failure, strlen(store->failure));
}

void hx_store_fail(struct hx_store *store, hx_status_t status, const char *format, ...)
{
    va_list args;

    if (*store->failure)
        return;
    va_start(args, format);
    vsnprintf(store->failure, sizeof store->failure, format, args);
    va_end(args);
    hx_one_line(store->failure); /* a client may have sent part of it */
    store->failure_status = status;
    for (struct hx_store_client *client = store->clients; client; client = client->next)
        if (client->fenced) {
            client->fenced = 0;
            hx_store_answer_failure(store, client, HX_STORE_FENCE);
        }
    store->fenced = 0;
}

/* HELLO: a stranger says which rank it is. The answer has a fresh number, which the stranger's proof must cover. */
static void serve_hello(struct hx_store *store, struct hx_store_client *client)
{
    struct hx_store_greeting *greeting = &client->greeting;
    unsigned char answer[sizeof greeting->server + HX_STORE_NONCE_BYTES];

    if (client->head.op != HX_STORE_HELLO || client->head.value_bytes != 2 * sizeof(uint32_t) + HX_STORE_NONCE_BYTES) {
        hx_store_client_refuse(client, "the store expects a greeting first");
        return;
    }
    if (client->foreign) {
        hx_store_client_refuse(client, "the store has no HX_SECRET, so it refuses ranks on other machines than its own: set HX_SECRET to the "
                                       "same text for all ranks");
        return;
    }
    greeting->version = htonl(HX_STORE_VERSION);
    memcpy(&greeting->rank, client->body, sizeof greeting->rank);
    memcpy(&greeting->size, client->body + sizeof greeting->rank, sizeof greeting->size);
    memcpy(greeting->client_nonce, client->body + 2 * sizeof(uint32_t), HX_STORE_NONCE_BYTES);
    greeting->server = htonl(store->server);
    if (hx_store_nonce(greeting->store_nonce) < 0) {
        client->dead = 1;
        return;
    }
    hx_store_keys_open(&client->keys, store->secret, greeting);
    client->greeted = 1;
    memcpy(answer, &greeting->server, sizeof greeting->server);
    memcpy(answer + sizeof greeting->server, greeting->store_nonce, HX_STORE_NONCE_BYTES);
    hx_store_client_answer(client, HX_STORE_HELLO, HX_SUCCESS, answer, sizeof answer);
}

void hx_store_client_accept(struct hx_store *store, struct hx_store_client *client, int rank)
{
    client->rank = rank;
    store->strangers--;
    store->connected++;
    store->joined++;
}

/* A caller of a lobby has no rank yet. */
static void secret_refuse(const struct hx_store *store, struct hx_store_client *client)
{
    char who[32] = "this process";
    struct hx_store_keys without;

    if (client->greeting.size)
        snprintf(who, sizeof who, "rank %u", ntohl(client->greeting.rank));
    hx_store_keys_open(&without, "", &client->greeting);
    if (hx_store_proof_is(&without, client->body, client->head.value_bytes))
        hx_store_client_refuse(client, "the store refuses %s: it has no HX_SECRET; set it to the text that the store has", who);
    else if (!*store->secret)
        hx_store_client_refuse(client, "the store refuses %s: wrong HX_SECRET (the store has none)", who);
    else
        hx_store_client_refuse(client, "the store refuses %s: wrong HX_SECRET (another job's store?)", who);
}

static void serve_join(struct hx_store *store, struct hx_store_client *client)
{
    if (client->head.op != HX_STORE_JOIN || !hx_store_proof_is(&client->keys, client->body, client->head.value_bytes)) {
        store->wrong_secrets++;
        secret_refuse(store, client);
        return;
    }
    client->sealed = 1;
    store->kind->join(store, client);
}

static void job_join(struct hx_store *store, struct hx_store_client *client)
{
    const uint32_t rank = ntohl(client->greeting.rank), size = ntohl(client->greeting.size);

    if (store->server != HX_STORE_LAUNCHER && !*store->failure && size == (uint32_t)store->size && rank < size && store->has_joined[rank] &&
        (!store->by_rank[rank] || store->by_rank[rank]->left)) { /* its process may be in hx_init again; rank 0 is not there yet */
        client->closing = 1;
        hx_store_client_answer(client, HX_STORE_JOIN, HX_STORE_ABSENT, NULL, 0);
        return;
    }
    /* it is a rank of this job, so an error fails the job */
    if (size != (uint32_t)store->size)
        hx_store_fail(store, HX_ERR_BOOTSTRAP, "the store refuses rank %u: it has HX_SIZE=%u, but this job has %d ranks",
                 rank, size, store->size);
    else if (rank >= size)
        hx_store_fail(store, HX_ERR_BOOTSTRAP, "the store refuses rank %u of %u: ranks are 0 to size - 1", rank, size);
    else if (store->by_rank[rank])
        hx_store_fail(store, HX_ERR_BOOTSTRAP, "the store refuses rank %u: another process has HX_RANK=%u already", rank,
                 rank);
    else if (store->has_joined[rank])
        hx_store_fail(store, HX_ERR_BOOTSTRAP, "the store refuses rank %u: another process was rank %u before; no rank can "
                 "join its job twice", rank, rank);
    if (*store->failure) {
        client->closing = 1;
        hx_store_answer_failure(store, client, HX_STORE_JOIN);
    } else {
        hx_store_client_accept(store, client, (int)rank);
        store->by_rank[rank] = client;
        store->has_joined[rank] = 1;
        hx_store_client_answer(client, HX_STORE_JOIN, HX_SUCCESS, NULL, 0);
    }
}

static void serve_put(struct hx_store *store, struct hx_store_client *client)
{
    const struct hx_store_frame *head = &client->head;
    const char *value = client->body + head->key_bytes;

    if (hx_keyvalue_put(&store->values, client->body, head->key_bytes, value, head->value_bytes) == 0) {
        hx_store_client_answer(client, HX_STORE_PUT, HX_SUCCESS, NULL, 0);
        return;
    }
    hx_store_fail(store, HX_ERR_NOMEM, "the store has no memory for %u bytes of rank %d", head->value_bytes, client->rank);
    hx_store_answer_failure(store, client, HX_STORE_PUT);
}

static void serve_get(const struct hx_store *store, struct hx_store_client *client)
{
    size_t bytes = 0;
    const void *value = hx_keyvalue_get(&store->older, client->body, client->head.key_bytes, &bytes);

    if (!value)
        value = hx_keyvalue_get(&store->values, client->body, client->head.key_bytes, &bytes);
    if (!value && *store->failure)
        hx_store_answer_failure(store, client, HX_STORE_GET);
    else
        hx_store_client_answer(client, HX_STORE_GET, value ? HX_SUCCESS : HX_STORE_ABSENT, value, bytes);
}

/* The lowest rank that has ended. There must be one. */
static int first_rank_left(const struct hx_store *store)
{
    int rank = 0;

    while (!store->has_joined[rank] || store->by_rank[rank])
        rank++;
    return rank;
}

static void serve_fence(struct hx_store *store, struct hx_store_client *client)
{
    client->fenced = 1;
    store->fenced++;
    if (store->gone > 0)
        hx_store_fail(store, HX_ERR_PEER_DEAD, "rank %d waits at a fence, but rank %d has ended (%d of the %d ranks have ended already)",
                 client->rank, first_rank_left(store), store->gone, store->size);
    if (store->fenced < store->size)
        return;
    store->fenced = 0;
    hx_keyvalue_clear(&store->older);
    store->older = store->values;
    store->values = (struct hx_keyvalue){0};
    for (int rank = 0; rank < store->size; rank++) {
        store->by_rank[rank]->fenced = 0;
        hx_store_client_answer(store->by_rank[rank], HX_STORE_FENCE, HX_SUCCESS, NULL, 0);
    }
}

static int is_missing(const struct hx_store *store, int rank)
{
    return !store->by_rank[rank] || !store->by_rank[rank]->fenced;
}

/* A rank has waited for too long: fail, naming the ranks that have not arrived at the fence ("3, 5-7"). */
static void serve_late(struct hx_store *store, const struct hx_store_client *client)
{
    char text[HX_STORE_TEXT_BYTES] = "", refused[64] = "";
    size_t used = 0;
    int ranges = 0;

    for (int rank = 0; rank < store->size && ranges < MISSING_MAX; rank++) {
        const int first = rank;

        while (rank < store->size && is_missing(store, rank))
            rank++;
        if (rank == first)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", ranges ? ", " : "", first);
        if (rank - first > 1)
            used += (size_t)snprintf(text + used, sizeof text - used, "-%d", rank - 1);
        ranges++;
    }
    if (store->wrong_secrets)
        snprintf(refused, sizeof refused, "; refused for a wrong HX_SECRET: %u", store->wrong_secrets);
    hx_store_fail(store, HX_ERR_TIMEOUT,
             "rank %d has waited %.*s at a start-up fence for rank%s %s%s (%d of %d have "
             "arrived, %d ever connected%s)",
             client->rank, (int)client->head.value_bytes, client->body + client->head.key_bytes,
             ranges == 1 && !strchr(text, '-') ? "" : "s", text, ranges == MISSING_MAX ? ", ..." : "", store->fenced,
             store->size, store->connected, refused);
}

void hx_store_rank_gone(struct hx_store *store, int rank)
{
    store->gone++;
    if (store->fenced > 0)
        hx_store_fail(store, HX_ERR_PEER_DEAD, "rank %d has ended while %d ranks wait for it at a fence", rank, store->fenced);
}

static void serve_bye(struct hx_store *store, struct hx_store_client *client)
{
    client->left = 1;
    store->left++;
}

static void serve_back(struct hx_store *store, struct hx_store_client *client)
{
    client->left = 0;
    store->left--;
    if (*store->failure)
        hx_store_answer_failure(store, client, HX_STORE_BACK);
    else
        hx_store_client_answer(client, HX_STORE_BACK, HX_SUCCESS, NULL, 0);
}

static void serve_abort(struct hx_store *store, const struct hx_store_client *client)
{
    if (!*store->failure)
        store->aborted_rank = client->rank;
    hx_store_fail(store, HX_ERR_PEER_DEAD, "rank %d has aborted the job: %.*s", client->rank,
             (int)client->head.value_bytes, client->body + client->head.key_bytes);
}

static void job_request(struct hx_store *store, struct hx_store_client *client)
{
    const enum hx_store_op op = client->head.op;

    if (op == HX_STORE_LATE && !client->fenced)
        return; /* crossed the fence's answer */
    else if (client->left && op == HX_STORE_BACK)
        serve_back(store, client);
    else if (client->left || client->fenced ? op != HX_STORE_LATE && op != HX_STORE_ABORT : op == HX_STORE_HELLO)
        hx_store_client_refuse(client, "request %d of rank %d is out of turn", (int)op, client->rank);
    else if (op == HX_STORE_BYE)
        serve_bye(store, client);
    else if (op == HX_STORE_ABORT)
        serve_abort(store, client);
    else if (op == HX_STORE_GET)
        serve_get(store, client);
    else if (*store->failure)
        hx_store_answer_failure(store, client, op);
    else if (op == HX_STORE_PUT)
        serve_put(store, client);
    else if (op == HX_STORE_FENCE)
        serve_fence(store, client);
    else if (op == HX_STORE_LATE)
        serve_late(store, client);
    else
        hx_store_client_refuse(client, "rank %d sent unknown request %d", client->rank, (int)op);
}

/* Only the first death is kept. */
static void job_died(struct hx_store *store, const struct hx_store_client *client)
{
    if (client->rank < 0 || client->left)
        return;
    if (!*store->failure)
        store->dead_rank = client->rank;
    hx_store_fail(store, HX_ERR_PEER_DEAD, "rank %d has died: its connection to the store closed without a goodbye", client->rank);
}

static void job_release(struct hx_store *store, struct hx_store_client *client)
{
    store->fenced -= client->fenced;
    store->by_rank[client->rank] = NULL;
    if (client->left)
        hx_store_rank_gone(store, client->rank);
}

static void job_full(struct hx_store *store, int has_evicted, const char *why)
{
    if (!has_evicted)
        hx_store_fail(store, HX_ERR_NOMEM, "the store cannot accept more than %d ranks: %s (see ulimit -n)", store->connected, why);
}

const struct hx_store_kind hx_store_of_job = {
    .join = job_join, .request = job_request, .died = job_died, .release = job_release, .full = job_full};

void hx_store_request(struct hx_store *store, struct hx_store_client *client)
{
    if (client->rank >= 0)
        store->kind->request(store, client);
    else if (client->greeted)
        serve_join(store, client);
    else
        serve_hello(store, client);
}
