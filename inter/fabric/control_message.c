/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words: what ranks tell each other beside messages (runtime/ports/transport.h), under a tag of their own. On each rail one receive, from
 * anybody, is posted all the time.
 */
#include "inter/fabric/fabric.h"

#define WORDS_MAX 4 /* on their way to one peer: one that does not answer must not be flooded */

struct word { /* as it is sent */
    struct hx_proof proof;
    struct hx_word word;
};

/* ---- hearing */

void hx_words_hear(struct hx_net *net, struct hx_rail *rail)
{
    struct hx_chunk *chunk;

    if (rail->word_slot == NULL && (rail->word_slot = hx_slot_alloc(net, rail, sizeof(struct word))) == NULL)
        return;
    if ((chunk = hx_control_alloc(net, HX_CHUNK_HEAR, NULL, NULL)) == NULL)
        return;
    chunk->offset = (size_t)(rail - net->rails);
    rail->hears = fi_trecv(rail->ep, rail->word_slot->base, sizeof(struct word), hx_descriptor(rail->word_slot->registration),
                           FI_ADDR_UNSPEC, hx_control_tag(HX_CONTROL_WORD), 0, &chunk->context) == 0;
    if (!rail->hears)
        hx_chunk_release(net, chunk);
}

void hx_word_heard(struct hx_net *net, struct hx_chunk *chunk, size_t bytes)
{
    struct hx_rail *rail = &net->rails[chunk->offset];
    struct word word = *(const struct word *)rail->word_slot->base;
    const struct hx_edge *from;

    hx_chunk_release(net, chunk);
    rail->hears = 0;
    from = hx_proof_check(net, HX_CONTROL_WORD, NULL, &word, bytes, sizeof(word));
    if (from == NULL || word.word.ndead < 0 || word.word.ndead > HX_WORD_RANKS)
        return;
    net->edges[from->peer]->moved = 1;
    for (int i = 0; i < word.word.ndead; i++)
        if (word.word.dead[i] >= 0 && word.word.dead[i] < net->nranks && net->edges[word.word.dead[i]] != NULL)
            hx_edge_lose(net, net->edges[word.word.dead[i]]);
    if (net->heard != NULL)
        net->heard(net->heard_arg, from->peer, &word.word);
}

void hx_words_listen(struct hx_net *net, hx_net_heard_t *heard, void *arg)
{
    net->heard = heard;
    net->heard_arg = arg;
}

/* ---- telling */

static int word_send(struct hx_net *net, struct hx_edge *edge, const struct hx_word *word)
{
    struct word said = {.word = *word};
    struct hx_path *path = &edge->paths[0];
    ssize_t rc;

    if (hx_path_is_refused(path, HX_POST_SEND))
        return -FI_EAGAIN;
    rc = hx_control_send(net, HX_CHUNK_WORD, edge, HX_CONTROL_WORD, &said, sizeof(said));
    if (hx_is_refusal(rc)) {
        hx_path_refuse(path, HX_POST_SEND);
        return -FI_EAGAIN;
    }
    edge->words += rc == 0; /* a broken edge shows in its messages */
    return 0;
}

void hx_word_tell(struct hx_net *net, int peer, const struct hx_word *word)
{
    struct hx_edge *edge = net->edges[peer];

    if (net->broken || edge == NULL || edge->gone || edge->owes || word_send(net, edge, word) == 0)
        return;
    edge->owes = 1;
    hx_edge_activate(net, edge);
}

int hx_word_ask(struct hx_net *net, struct hx_edge *edge, const struct hx_word *word)
{
    return edge->words >= WORDS_MAX ? 0 : word_send(net, edge, word);
}

int hx_words_continue(struct hx_net *net, struct hx_edge *edge)
{
    int owes = edge->owes;

    edge->owes = 0;
    if (owes && !edge->gone)
        net->heard(net->heard_arg, edge->peer, &(struct hx_word){.kind = HX_WORD_ASKS}); /* it is told all once more */
    return edge->owes ? -FI_EAGAIN : 0;
}
