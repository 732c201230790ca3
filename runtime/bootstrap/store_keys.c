/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys and seals of a connection to the TCP store. A keyed hash (BLAKE2b) over the greeting gives each direction its key, and the
 * client its proof. Frames are sealed by ChaCha20-Poly1305. */
#include "runtime/bootstrap/store_keys.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

_Static_assert(HX_STORE_SEAL_BYTES == crypto_aead_chacha20poly1305_ietf_ABYTES, "a tag is what a seal adds");
_Static_assert(sizeof(struct hx_store_greeting) == 16 + 2 * HX_STORE_NONCE_BYTES, "no padding is proved");

int hx_store_nonce(unsigned char nonce[HX_STORE_NONCE_BYTES])
{
    return getrandom(nonce, HX_STORE_NONCE_BYTES, 0) == HX_STORE_NONCE_BYTES ? 0 : -1;
}

static void derive(unsigned char *out, size_t bytes, const unsigned char key[32], const char *use, const struct hx_store_greeting *greeting)
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, key, 32, bytes);
    crypto_generichash_update(&state, (const unsigned char *)use, strlen(use) + 1);
    crypto_generichash_update(&state, (const unsigned char *)greeting, sizeof *greeting);
    crypto_generichash_final(&state, out, bytes);
}

void hx_store_keys_open(struct hx_store_keys *keys, const char *secret, const struct hx_store_greeting *greeting)
{
    const int fast = sodium_init(); /* chooses the code for this processor; a failure only costs speed */
    unsigned char key[32];

    (void)fast;
    *keys = (struct hx_store_keys){.from_client.frames = 0};
    crypto_generichash(key, sizeof key, (const unsigned char *)secret, strlen(secret), NULL, 0);
    derive(keys->from_client.key, sizeof keys->from_client.key, key, "hierax store, from client", greeting);
    derive(keys->from_store.key, sizeof keys->from_store.key, key, "hierax store, from store", greeting);
    derive(keys->proof, sizeof keys->proof, key, "hierax store, client's proof", greeting);
    sodium_memzero(key, sizeof key);
}

int hx_store_proof_is(const struct hx_store_keys *keys, const void *proof, size_t bytes)
{
    return bytes == sizeof keys->proof && sodium_memcmp(keys->proof, proof, bytes) == 0;
}

static void count(struct hx_store_seal *seal, unsigned char nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES])
{
    memset(nonce, 0, crypto_aead_chacha20poly1305_ietf_NPUBBYTES);
    for (size_t i = 0; i < sizeof seal->frames; i++)
        nonce[i] = (unsigned char)(seal->frames >> 8 * i);
    seal->frames++;
}

size_t hx_store_frame_write(void *to, struct hx_store_seal *seal, enum hx_store_op op, uint32_t status, const char *key,
                            size_t key_bytes, const void *value, size_t bytes)
{
    const struct hx_store_frame in_order = {HX_STORE_MAGIC | HX_STORE_VERSION, op, status, (uint32_t)key_bytes, (uint32_t)bytes};
    const struct hx_store_frame head = hx_store_frame_swap(&in_order);
    unsigned char nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES], *body = mempcpy(to, &head, sizeof head);
    unsigned char *end = body + key_bytes + bytes;

    if (key_bytes)
        memcpy(body, key, key_bytes);
    if (bytes)
        memcpy(body + key_bytes, value, bytes);
    if (seal) {
        count(seal, nonce);
        crypto_aead_chacha20poly1305_ietf_encrypt_detached(body, end, NULL, body, key_bytes + bytes, to, sizeof head, NULL, nonce,
                                                           seal->key);
        end += HX_STORE_SEAL_BYTES;
    }
    return (size_t)(end - (unsigned char *)to);
}

int hx_store_unseal(struct hx_store_seal *seal, const struct hx_store_frame *head, void *body, size_t bytes)
{
    unsigned char nonce[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];

    count(seal, nonce);
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(body, NULL, body, bytes, (const unsigned char *)body + bytes,
                                                              (const unsigned char *)head, sizeof *head, nonce, seal->key);
}

struct hx_store_frame hx_store_frame_swap(const struct hx_store_frame *head)
{
    return (struct hx_store_frame){htonl(head->magic), htonl(head->op), htonl(head->status), htonl(head->key_bytes), htonl(head->value_bytes)};
}

void hx_store_socket_tune(int fd)
{
    const int on = 1, idle = 10, interval = 5, probes = 3;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}
