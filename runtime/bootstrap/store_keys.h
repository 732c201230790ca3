/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection of a rank to the TCP store, for both ends. Each side proves to the other that it knows HX_SECRET, which never
 * crosses the wire. Everything after that is encrypted and authenticated. */
#pragma once

#include "runtime/bootstrap/store.h"

/* The fields that the two sides send in clear. The proofs and keys depend on all of it. Its nonces give each connection its own
 * keys. */
struct hx_store_greeting {
    uint32_t version, rank, size; /* in network byte order, here and below */
    uint32_t server;              /* the rank that serves the store, or HX_STORE_LAUNCHER */
    unsigned char client_nonce[HX_STORE_NONCE_BYTES], store_nonce[HX_STORE_NONCE_BYTES];
};

struct hx_store_seal { /* one direction of a connection */
    unsigned char key[32];
    uint64_t frames; /* count so far. It is part of each seal, so no frame can be repeated, left out or moved */
};

struct hx_store_keys {
    struct hx_store_seal from_client, from_store;
    unsigned char proof[HX_STORE_PROOF_BYTES]; /* proves that the client knows the secret; the store proves it by its first sealed frame */
};

/* 0, or -1 and errno. */
int hx_store_nonce(unsigned char nonce[HX_STORE_NONCE_BYTES]);
/* Keys and proof from the job's secret and the greeting. */
void hx_store_keys_open(struct hx_store_keys *keys, const char *secret, const struct hx_store_greeting *greeting);
int hx_store_proof_is(const struct hx_store_keys *keys, const void *proof, size_t bytes);
/* Write a frame: at most sizeof(struct hx_store_frame) + key_bytes + bytes + HX_STORE_SEAL_BYTES. seal: NULL: in clear. Returns its
 * length. */
size_t hx_store_frame_write(void *to, struct hx_store_seal *seal, enum hx_store_op op, uint32_t status, const char *key,
                            size_t key_bytes, const void *value, size_t bytes);
/* Decrypt in place: 0, or -1 if body or head are not what the other side sealed. */
int hx_store_unseal(struct hx_store_seal *seal, const struct hx_store_frame *head, void *body, size_t bytes);
/* Convert between the byte order of this machine and that of the wire. */
struct hx_store_frame hx_store_frame_swap(const struct hx_store_frame *head);
/* Set the socket's options, on both ends: small frames leave at once, and the connection breaks 25 s after the other host has
 * vanished. */
void hx_store_socket_tune(int fd);
