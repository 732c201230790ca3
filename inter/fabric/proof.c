/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proofs that a message belongs to the job. They are needed because any process that reaches an endpoint can send to it. The keys
 * are derived from the job's secret.
 *
 *   control messages (rank to rank, credits, invitations)   A SipHash-2-4 of 64 bits over kind, sender, receiver, a number and the content.
 *       The number grows with each message of a kind to a peer. A receiver accepts each of the last 64 numbers once, in any order, and no
 *       older ones. (Thousands of invitations may be under way, so older ones are accepted: write.c follows each once.) A forged message is
 *       accepted with a probability of 2^-64, a repeated one never.
 *   messages (chunks)   32 bits of a SipHash over match id, chunk, sender, receiver and the call's signature, as completion data. A forged
 *       chunk is accepted with a probability of 2^-32. The content is neither covered nor encrypted: an attacker who can change packets on
 *       their way can change it.
 *   remote writes   The number of the invitation, encrypted in 32 bits. If n write targets are open, a guess meets one with a probability of
 *       n * 2^-32.
 *
 * A proof takes 24 to 45 ns a message (240 ns for a message, but they are few). A message with a wrong proof is dropped and
 * counted; the first one is reported.
 */
#include "inter/fabric/fabric.h"
#include "runtime/base/log.h"
#include <sodium.h>
#include <string.h>

#define INVITES_MAX 65536 /* older invitations are no longer under way: devices take fewer receives */
#define COUNT_BITS 56 /* lower bits of a control message's number: the count; the upper bits are its kind */

_Static_assert(HX_NET_KEY_BYTES == crypto_kdf_KEYBYTES && HX_PROOF_KEY_BYTES == crypto_shorthash_KEYBYTES &&
                   crypto_shorthash_BYTES == sizeof(uint64_t),
               "sizes that libsodium needs");

void hx_proofs_open(struct hx_net *net, const unsigned char key[HX_NET_KEY_BYTES])
{
    for (int i = 0; i < HX_PROOFS; i++)
        crypto_kdf_derive_from_key(net->keys[i], sizeof(net->keys[i]), (uint64_t)i + 1, "hxfabric", key);
}

static uint64_t hash(const struct hx_net *net, enum hx_proof_use use, const void *data, size_t bytes)
{
    uint64_t mac;

    crypto_shorthash((unsigned char *)&mac, data, bytes, net->keys[use]);
    return mac;
}

/* ---- control messages */

static uint64_t mac_of(const struct hx_net *net, const struct hx_proof *message, size_t bytes)
{
    return hash(net, HX_PROOF_CONTROL, &message->number, bytes - offsetof(struct hx_proof, number));
}

void hx_proof_write(const struct hx_net *net, const struct hx_edge *edge, enum hx_control_kind control, void *message, size_t bytes)
{
    struct hx_proof *proof = message;

    *proof = (struct hx_proof){.number = (uint64_t)control << COUNT_BITS | (edge->control_sent[control] + 1), .from = net->rank, .to = edge->peer};
    proof->mac = mac_of(net, proof, bytes);
}

static int is_new(struct hx_replay_filter *heard, enum hx_control_kind control, uint64_t number)
{
    uint64_t ahead = number - heard->last, age = heard->last - number;

    if (number > heard->last) {
        heard->seen = ahead < 64 ? heard->seen << ahead | 1 : 1;
        heard->last = number;
        return 1;
    }
    if (control == HX_CONTROL_INVITE)
        return age < INVITES_MAX;
    if (age >= 64 || heard->seen >> age & 1)
        return 0;
    heard->seen |= UINT64_C(1) << age;
    return 1;
}

void hx_forgery_note(struct hx_net *net, const char *what, int claimed)
{
    static const char *const of[2] = {"", " of rank "};
    char rank[16] = "";

    if (claimed >= 0)
        snprintf(rank, sizeof(rank), "%d", claimed);
    if (net->count.forged++ == 0)
        hx_warn("%s dropped %s%s%s%s, which has no proof that it is expected: another process sends to this rank's port, or "
                "ranks make different calls. Further ones are only counted (net_forged)",
                net->info->fabric_attr->prov_name, what, of[claimed >= 0], rank, claimed >= 0 ? " of the job" : "");
}

struct hx_edge *hx_proof_check(struct hx_net *net, enum hx_control_kind control, const struct hx_edge *sender, const void *message, size_t came,
                               size_t bytes)
{
    static const char *const names[HX_CONTROLS] = {"a credit", "an invitation", "a control message"};
    const struct hx_proof *proof = message;
    struct hx_edge *edge = NULL;

    if (came == bytes && proof->from >= 0 && proof->from < net->nranks && proof->to == net->rank && proof->number >> COUNT_BITS == control)
        edge = net->edges[proof->from];
    if (edge && (!sender || sender == edge) && mac_of(net, proof, bytes) == proof->mac &&
        is_new(&edge->replay[control], control, proof->number & ((UINT64_C(1) << COUNT_BITS) - 1)))
        return edge;
    hx_forgery_note(net, names[control], came == bytes ? proof->from : -1);
    return NULL;
}

/* ---- messages */

uint32_t hx_proof_data(const struct hx_net *net, int from, int to, uint64_t match, uint64_t chunk, uint32_t signature)
{
    const uint64_t words[] = {match, chunk, (uint64_t)(uint32_t)from << 32 | (uint32_t)to, signature};
    uint32_t data = (uint32_t)hash(net, HX_PROOF_DATA, words, sizeof(words));

    return data != 0 ? data : 1; /* 0 stands for no completion data */
}

/* ---- remote writes: a permutation of 32 bits, a Feistel network of four rounds */

static uint32_t round_of(const struct hx_net *net, uint32_t half, uint32_t i)
{
    const uint32_t words[] = {half, i};

    return (uint32_t)hash(net, HX_PROOF_WRITE, words, sizeof(words)) & 0xffff;
}

uint32_t hx_number_encrypt(const struct hx_net *net, uint32_t number)
{
    uint32_t left = number >> 16, right = number & 0xffff;

    for (uint32_t i = 0; i < 4; i++) {
        uint32_t next = left ^ round_of(net, right, i);
        left = right;
        right = next;
    }
    return left << 16 | right;
}

uint32_t hx_number_decrypt(const struct hx_net *net, uint32_t hidden)
{
    uint32_t left = hidden >> 16, right = hidden & 0xffff;

    for (uint32_t i = 4; i-- > 0;) {
        uint32_t before = right ^ round_of(net, left, i);
        right = left;
        left = before;
    }
    return left << 16 | right;
}
