/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any process that reaches an endpoint can send to it. So each message carries a proof that it belongs to the job. The keys of
 * the proofs are derived from the job's secret.
 *
 *   control message   64 bits of a SipHash-2-4 over kind, number, sender, receiver and content. The number grows with each message
 *                     of a kind to a peer. A receiver accepts each of the last 64 numbers once, in any order, and no older number.
 *                     It also accepts older invitations, because thousands may be under way: write.c follows each invitation once.
 *   chunk             32 bits of a SipHash over match id, chunk number, sender, receiver and the call's signature. It travels as
 *                     completion data. It does not cover the content, which is not encrypted either. So an attacker who can
 *                     change packets on their way can change the content.
 *   remote write      the number of its invitation, encrypted in 32 bits
 *
 * A forged control message is accepted with a probability of 2^-64, and a repeated one never. A forged chunk is accepted with a
 * probability of 2^-32, and a forged write with n 2^-32, where n is the number of open write targets. This rank drops and counts a
 * message with a wrong proof, and reports the first.
 *
 * A proof takes 24 to 45 ns for a chunk or a write, and up to 240 ns for a control message. Control messages are few.
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

static uint64_t mac_of(const struct hx_net *net, enum hx_control_kind kind, const struct hx_packet *control)
{
    return hash(net, HX_PROOF_CONTROL, &control->proof.number, hx_control_bytes(kind) - offsetof(struct hx_packet, proof.number));
}

void hx_proof_write(const struct hx_net *net, const struct hx_edge *edge, enum hx_control_kind kind, struct hx_packet *control)
{
    control->proof = (struct hx_proof){.number = (uint64_t)kind << COUNT_BITS | (edge->control_sent[kind] + 1), .from = net->rank,
                                       .to = edge->peer};
    control->proof.mac = mac_of(net, kind, control);
}

static int is_new(struct hx_replay_filter *heard, enum hx_control_kind kind, uint64_t number)
{
    uint64_t ahead = number - heard->last, age = heard->last - number;

    if (number > heard->last) {
        heard->seen = ahead < 64 ? heard->seen << ahead | 1 : 1;
        heard->last = number;
        return 1;
    }
    if (kind == HX_CONTROL_INVITE)
        return age < INVITES_MAX;
    if (age >= 64 || heard->seen >> age & 1)
        return 0;
    heard->seen |= UINT64_C(1) << age;
    return 1;
}

void hx_forgery_note(struct hx_net *net, const char *what, int claimed)
{
    char rank[40] = "";

    if (claimed >= 0)
        snprintf(rank, sizeof(rank), " of rank %d of the job", claimed);
    if (net->count.forged++ == 0)
        hx_warn("%s dropped %s%s without a valid proof: a process outside the job sends to this rank's port, or ranks make "
                "different calls. Hierax does not report more of these; counter net_forged counts them",
                net->info->fabric_attr->prov_name, what, rank);
}

int hx_proof_sender(const struct hx_net *net, enum hx_control_kind kind, const struct hx_packet *control, size_t bytes)
{
    const struct hx_proof *proof = &control->proof;

    return bytes == hx_control_bytes(kind) && proof->from >= 0 && proof->from < net->nranks && proof->to == net->rank &&
                   proof->number >> COUNT_BITS == kind && mac_of(net, kind, control) == proof->mac
               ? proof->from
               : -1;
}

int hx_proof_is_new(struct hx_edge *edge, enum hx_control_kind kind, const struct hx_packet *control)
{
    return is_new(&edge->replay[kind], kind, control->proof.number & ((UINT64_C(1) << COUNT_BITS) - 1));
}

/* ---- messages */

uint32_t hx_proof_data(const struct hx_net *net, int from, int to, uint64_t match, uint64_t chunk, uint32_t signature)
{
    const uint64_t words[] = {match, chunk, (uint64_t)(uint32_t)from << 32 | (uint32_t)to, signature};
    uint32_t data = (uint32_t)hash(net, HX_PROOF_DATA, words, sizeof(words));

    return data != 0 ? data : 1; /* 0 stands for no completion data */
}

/* ---- remote writes: a permutation of 32 bits, a Feistel network of four rounds. The halves change sides at the end, so the same
 * network with its rounds backwards inverts it. */

static uint32_t permute(const struct hx_net *net, uint32_t number, uint32_t first, int step)
{
    uint32_t left = number >> 16, right = number & 0xffff;

    for (uint32_t i = first; i < 4; i += (uint32_t)step) {
        const uint32_t words[] = {right, i};
        uint32_t next = left ^ ((uint32_t)hash(net, HX_PROOF_WRITE, words, sizeof(words)) & 0xffff);
        left = right;
        right = next;
    }
    return right << 16 | left;
}

uint32_t hx_number_encrypt(const struct hx_net *net, uint32_t number)
{
    return permute(net, number, 0, 1);
}

uint32_t hx_number_decrypt(const struct hx_net *net, uint32_t hidden)
{
    return permute(net, hidden, 3, -1);
}
