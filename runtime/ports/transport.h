/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network as the engine needs it: matched messages between ranks. inter/ implements it; runtime/start/registry.c binds it.
 *
 * A message is (peer, match id, segments). Both sides know its exact length beforehand. The match id is unique among the messages
 * in flight between two ranks, so nothing depends on order. Long messages travel as chunks; the transport cuts them, keeps several in
 * flight, and holds them back by the credits of the edge. All calls are made by one thread; none blocks.
 */
#pragma once

#include "runtime/base/env.h"
#include "runtime/hierax.h"
#include "runtime/ports/p2p_head.h"
#include <stdint.h>

/* The properties of a call that must be the same on all ranks. */
struct hx_signature {
    int16_t coll, purpose; /* enum hx_coll, enum hx_purpose */
    int32_t dtype;         /* hx_dtype_t; less than 0: minus the bytes of a type of the program's own, whose number may differ between
                            * ranks */
    int32_t op, root;      /* hx_op_t; -1: none, -2: an operation of the program's own, -3: one that is not commutative */
    uint64_t count;
    uint64_t about; /* purpose CALL: a hash of the counts of all ranks, 0 if no such counts are known to all; other purposes: as in
                     * hx_call_key */
};

struct hx_segment {
    void *base;
    size_t bytes;
};

enum hx_net_direction { HX_NET_SEND, HX_NET_RECV };

/* One message under way. Owned by the caller; the transport uses it from post until done != 0. */
struct hx_net_op {
    /* set by the caller before post; unchanged by the transport */
    enum hx_net_direction direction;
    int peer;            /* rank in the job */
    uint64_t match;      /* as many bits as match_bits of struct hx_net_ops says */
    uint64_t flow;       /* hx_flow_number. Both sides post the long messages of a flow in the same order, so the first may hold up the
                          * next. A message never holds up messages of another flow */
    const struct hx_segment *segments; /* caller keeps the array until done */
    int nsegments;       /* total bytes > 0 */
    struct hx_trace *trace; /* HX_TRACE: where it is recorded; NULL: nowhere */
    uint64_t since, number; /* HX_TRACE: when it was posted; what tells it from others of the same match id */
    uint32_t signature;  /* of its call (hx_signature_mix). The message's proof covers it, so the receiver checks it. 0: none */
    char *why;           /* of HX_DETAIL_BYTES: if the message fails and this is empty, the error's text comes here. Or NULL */
    /* set by the transport */
    volatile int done;   /* 0 under way; 1 complete: sent data may be overwritten, received data is there; < 0 failed: -hx_status_t */
    /* the transport's own state */
    size_t total_bytes, posted_bytes, completed_bytes, chunk_bytes;
    size_t in_order; /* chunks received, or written, up to the first that is missing */
    uint64_t ahead;  /* bit i: chunk in_order + i has arrived too */
    int written;     /* uses remote writes */
    uint32_t theirs; /* the peer's signature, if it differed: then the message has failed with HX_ERR_MISMATCH */
    uint32_t doubt;  /* the proof of the last chunk that was dropped because its proof was wrong: it was forged, or of a different call. The
                      * caller finds out which. 0: none was dropped */
    uint64_t doubt_chunk; /* which chunk that was */
    int doubt_is_asked;   /* for the caller: it has asked the peer. The transport clears it with each new doubt */
    double give_up;       /* once it is taken back: the deadline (clock.h) for that; else 0 */
    int is_cut_off;       /* 1: the connections to its peer were ended, because the provider did not cancel it */
    struct hx_net_op *next;
    hx_status_t failed; /* its error if it has failed; HX_SUCCESS: it has not */
    int queued;         /* a receive that waits in the queue of its edge */
};

#define HX_MATCH_BITS_LEAST 42 /* of a match id. The transport adds 6 bits of chunk number: 48 in all, which every provider has */
#define HX_MATCH_BITS_MOST 58  /* the same where a provider has tags of 64 bits */
#define HX_UNUSED_MATCH_BITS 32 /* lowest bits of a match id that are never all set: those are the transport's own */

struct hx_net_counters {
    uint64_t messages_sent, messages_received; /* hx_net_op completed */
    uint64_t bytes_sent, bytes_received;
    uint64_t chunks_sent, credits_sent;
    uint64_t chunks_written;   /* of those sent: by remote writes */
    uint64_t again;            /* -FI_EAGAIN seen */
    uint64_t bounced_bytes;    /* copied through registered buffers */
    uint64_t forged;           /* dropped because they had no proof of the job or of the call */
};

#define HX_ADDRESS_BYTES 256 /* most bytes of a rank's address */

#define HX_CORE_SPARED_GB_S 1000 /* devices move bytes by themselves */

/* Properties of a provider that the planner assumes until they are measured. The same on all ranks, which agree on the provider. */
struct hx_net_profile {
    const char *provider; /* its name; lives as long as the endpoint */
    double alpha_us;   /* one hop, waking the receiver included */
    double gb_s;       /* one node's links together */
    double stream_gb_s; /* the part of gb_s that one rank can drive */
    double core_gb_s;  /* rate at which a core sends and receives by itself, both together */
    double message_us; /* CPU time of a further message in the same round */
};

/* Emulated nodes have no link: one kernel copies and delivers. */
static inline void hx_profile_emulate(struct hx_net_profile *profile)
{
    if (profile->core_gb_s >= HX_CORE_SPARED_GB_S)
        return;
    profile->stream_gb_s = profile->gb_s;
    profile->alpha_us = profile->message_us;
}

/* This rank among those of its node that run where it runs, and so find the same interfaces near; and among all of its node. */
struct hx_net_seat {
    int index, sharers;
    int of_node, on_node;
};

/* Control messages that ranks send each other beside the messages of calls. They are few. One may arrive twice, and may be lost
 * if its sender ends. */
enum hx_control_message_kind {
    HX_MESSAGE_ASKS,     /* the sender waits for the receiver in this call, and asks for all that the receiver knows */
    HX_MESSAGE_DEAD,     /* these ranks of the job have died */
    HX_MESSAGE_FAILED,   /* a communicator has failed */
    HX_MESSAGE_FINISHED, /* the sender has called hx_finalize and leaves, although others may wait for it */
    HX_MESSAGE_STANDS,   /* an answer to ASKS: where a rank is */
    HX_MESSAGE_ABORTED,  /* a rank of the job has called hx_abort: it counts as dead */
    HX_MESSAGE_SENT,     /* an answer to ASKS with a doubt: the sender did send the dropped message, in a call with this signature */
    HX_MESSAGE_P2P,      /* a record of a message between two ranks, sent by deliver */
    HX_MESSAGE_AGREE,    /* the sender's part in the agreements of a communicator: runtime/engine/agree.h */
    HX_MESSAGE_ADDRESS   /* the address of a rank, for the transport itself: inter/fabric/meeting.c */
};
#define HX_MESSAGE_RANKS 96
#define HX_UNREACHABLE(rank) (~(rank)) /* in dead: the rank may run on, but could not be reached. The inverse too */
#define HX_AGREE_WORDS 4 /* that each member gives to an agreement */
#define HX_MESSAGE_AGREE_MEMBERS 35 /* words: bits for 2240 ranks. If there are more ranks, there are several messages */

struct hx_control_message {
    int32_t kind;    /* enum hx_control_message_kind */
    int32_t rank;    /* FAILED: the rank of the communicator on which it has failed first; ASKS: the rank of the job that is late; STANDS:
                      * the rank of the job that the answer is about; ADDRESS: the rank of the job whose address this is */
    int32_t status;  /* FAILED: an hx_status_t, what the communicator has failed with; AGREE: 1: the sender waits for the receiver's part;
                      * ADDRESS: an hx_status_t, why that rank has no address; its text is in the bytes */
    int32_t context; /* ASKS, STANDS, SENT: of the call of the rank that asks; FAILED, AGREE: of the communicator's blocking calls;
                      * ADDRESS: the rank of the job that the sender wants to reach, or -1 */
    uint64_t call;   /* ASKS, STANDS: number of that call in the context; 0: not given */
    struct hx_signature signature; /* ASKS, SENT */
    uint32_t generation; /* of the context: see struct hx_comm_id */
    int32_t ndead;   /* DEAD: how many; ABORTED: 1; else 0 */
    union {
        struct {
            uint64_t match, chunk;
            uint32_t proof, mix; /* mix: the signature expected of the message, XOR the signature bits of the call */
        } doubt; /* ASKS: the message from the receiver of this control message that was dropped in that call. Proof 0: none was dropped */
        int32_t dead[HX_MESSAGE_RANKS];     /* DEAD: of the job; negative: HX_UNREACHABLE of it */
        char text[4 * HX_MESSAGE_RANKS];    /* FAILED: why */
        struct {
            uint64_t length;
            unsigned char bytes[HX_ADDRESS_BYTES];
        } address; /* ADDRESS */
        struct {
            int32_t dead;                    /* ABORTED: the rank, where dead[0] is, and its text */
            char text[4 * HX_MESSAGE_RANKS - 4];
        } aborted;
        struct {
            uint64_t call;                   /* STANDS: the call in which the sender itself waits, and its context */
            int32_t context, crossed;        /* crossed: nonzero if the sender waits there for the rank that asked, and so cannot enter that
                                              * rank's call */
            char text[4 * HX_MESSAGE_RANKS - 16];
        } stands;
        struct {
            uint64_t sequence;               /* P2P: counts the records to this peer, from 1 */
            uint64_t freed, taken;           /* eager bytes, and records, of the other side that this side has taken */
            struct hx_p2p_head head;
            unsigned char data[4 * HX_MESSAGE_RANKS - 3 * sizeof(uint64_t) - sizeof(struct hx_p2p_head)];
        } p2p;
        struct {
            uint64_t promise, state, decided, words[HX_AGREE_WORDS], value[HX_AGREE_WORDS]; /* AGREE: as in struct hx_agree_line */
            uint32_t at, of;                    /* which of how many messages with the members this is; of 0: without members */
            uint32_t over, unused;              /* how many members are over, as the sender knew when it sent this */
            uint64_t members[HX_MESSAGE_AGREE_MEMBERS];
        } agree;
    };
};

typedef void hx_net_heard_t(void *arg, int peer, const struct hx_control_message *message);

/* Memory that messages go from and into without a copy. A child of a fork has shared memory too, and writes to the same pages. */
enum hx_net_memory {
    HX_MEMORY_WORK,   /* of one communicator's calls: when one fails there are no more, so that messages may end when they like */
    HX_MEMORY_SLOTS,  /* the same, shared */
    HX_MEMORY_PROGRAM /* shared; the program's once its call has returned, however */
};

#define HX_NET_KEY_BYTES 32

/* Providers that some rank of the job could not open at start-up. No rank uses them. */
struct hx_net_refusals {
    uint32_t providers; /* a bit for each, as the transport numbers them */
    char text[508];     /* each with the first reason, as in: efa (fi_domain on rank 1: Permission denied), psm3 */
};

struct hx_net; /* this rank's endpoints, open or not yet */
struct hx_nic; /* topo/nic.h */

/* The addresses of the job's ranks that are known on this node. Its ranks share them (runtime/start/directory.c). A rank that opens its
 * endpoints after start-up enters its address, and the transport sends the address to other nodes. */
struct hx_net_directory {
    void *arg;
    /* The address of a rank, of *bytes. NULL: not known yet; but if *why is set, the rank has no address, and *bytes is an hx_status_t. */
    const void *(*find)(void *arg, int rank, size_t *bytes, const char **why);
    void (*enter)(void *arg, int rank, const void *address, size_t bytes); /* the first address of a rank is kept */
    void (*refuse)(void *arg, int rank, hx_status_t status, const char *why); /* enter why a rank has no address */
    /* A living rank on peer's node with a known address, but not peer itself. Each turn gives another one. -1: none. */
    int (*gate)(void *arg, int peer, unsigned turn);
    void (*want)(void *arg, int rank, int by); /* rank `by` of another node wants to reach this rank of this node: wake it */
    int (*wanted)(void *arg);                  /* a rank to which this rank, without an endpoint, must connect; call it until it returns -1: none */
    void (*opened)(void *arg);                 /* this rank's endpoints are open now */
    int (*opened_here)(void *arg);             /* ranks of this node whose address is known */
};

struct hx_net_ops {
    const char *name;

    /* Open endpoints on this process's nearest interfaces, or on its share of them. nranks: of the job; key: of its messages, the same on
     * all ranks; refused: what is not tried. If a provider cannot be opened, the next one is, unless HX_PROVIDER names it. Errors:
     * HX_ERR_TRANSPORT, whose detail names the provider asked for and those there are. */
    hx_status_t (*open)(const struct hx_env *env, int rank, int nranks, const struct hx_net_seat *seat,
                        const unsigned char key[HX_NET_KEY_BYTES], const struct hx_net_refusals *refused, struct hx_net **net);
    /* The same without endpoints: they open when this rank first needs them, or when another rank wants to reach it. Until then this rank has
     * no address. All arguments must stay valid until close. */
    hx_status_t (*open_later)(const struct hx_env *env, int rank, int nranks, const struct hx_net_seat *seat,
                              const unsigned char key[HX_NET_KEY_BYTES], const struct hx_net_refusals *refused, struct hx_net **net);
    /* Use this directory to find the address of a rank that is not connected. The first message to such a rank connects to it. The directory
     * must have the address of rank 0. Errors: those of connect. */
    hx_status_t (*look_up)(struct hx_net *net, const struct hx_net_directory *directory);
    /* For a job that needs no network: are the provider and the interfaces that env names there? The errors are those of open. */
    hx_status_t (*check)(const struct hx_env *env, const struct hx_net_seat *seat);
    /* Add the providers that this rank could not open, by its address. */
    void (*refusals)(int rank, const void *address, size_t bytes, struct hx_net_refusals *all);

    /* This endpoint's address: *bytes in: capacity, out: length. Includes what a peer must agree on (version, provider name). */
    hx_status_t (*address)(struct hx_net *net, void *blob, size_t *bytes);

    /* Make peer reachable. Blob as its address() gave it; a foreign version or provider is an error naming both. */
    hx_status_t (*connect)(struct hx_net *net, int peer, const void *blob, size_t bytes);

    /* Could the ranks a and b, whose addresses these are, talk? Every rank that asks gets the same answer. */
    hx_status_t (*agree)(int a, const void *of_a, size_t a_bytes, int b, const void *of_b, size_t b_bytes);

    /* Start a message; never blocks. A refused one (queue full, no credit) is kept pending, per peer. op->done reports an error. */
    void (*post)(struct hx_net *net, struct hx_net_op *op);

    /* Read completions, retry what is pending. Returns the number of completions handled (0: nothing happened), or -hx_status_t for an
     * error of the endpoint as a whole. */
    int (*progress)(struct hx_net *net);
    /* That error's text, whichever thread has met it first. */
    const char *(*why)(const struct hx_net *net);

    /* Descriptor to poll for readability when idle, or -1. arm() must be called just before poll: 0 means it may block, else there is
     * something to progress at once. */
    int (*wait_fd)(struct hx_net *net);
    int (*arm)(struct hx_net *net);

    /* How many bits of a match id tell messages apart: HX_MATCH_BITS_LEAST to HX_MATCH_BITS_MOST, the same on all ranks. */
    unsigned (*match_bits)(const struct hx_net *net);

    /* A communicator is freed, and all of its messages with this peer are done. Forget its flows: `flows` numbers from flow on. Also forget
     * messages that have arrived and were never received, and invitations to messages that were never sent, under its match ids: `matches`
     * numbers from match on. */
    void (*forget)(struct hx_net *net, int peer, uint64_t flow, uint64_t flows, uint64_t match, uint64_t matches);

    /* Take back a message that is not done. Returns nonzero once the transport never touches its memory again. Until then call progress,
     * and this again: it closes the endpoint when that takes too long. is_lost: the caller knows that the peer is gone, so the rest of a message
     * that has begun to arrive does not come. */
    int (*cancel)(struct hx_net *net, struct hx_net_op *op, int is_lost);

    /* Something from or to this peer is late: is it still there? To be asked some ten times a second while it is; after a second the
     * peer is looked after, and asked by this control message. Returns 1 once it is certain that its endpoint has gone, with its
     * process or host or, if that has lost its network, alone. */
    int (*ask)(struct hx_net *net, int peer, const struct hx_control_message *message);
    /* ask has returned 1, or a message has failed with HX_ERR_PEER_DEAD. Has the peer's process certainly ended? Else its host may only be
     * unreachable, and the process may run on. */
    int (*has_ended)(const struct hx_net *net, int peer);
    /* Tell peer. Never blocks. If it cannot be sent at once, listen's function later gets it as if the peer had asked. */
    void (*tell)(struct hx_net *net, int peer, const struct hx_control_message *message);
    /* Tell peer, as tell does. Returns 1 if the message has been taken over, -1 if peer has gone, else 0: try again after progress. */
    int (*deliver)(struct hx_net *net, int peer, const struct hx_control_message *message);
    /* Have messages passed between this peer and us? */
    int (*has_met)(const struct hx_net *net, int peer);
    /* Have what others tell and ask handled, from within progress. */
    void (*listen)(struct hx_net *net, hx_net_heard_t *heard, void *arg);

    /* This memory is the runtime's own and stays mapped until it is removed. A provider that wants memory registered has what long
     * messages use of it registered once, and neither side copies; elsewhere nothing happens. Adding twice adds once. */
    void (*memory_add)(struct hx_net *net, void *base, size_t bytes, enum hx_net_memory kind);
    /* No call uses it any more. Returns 1 if something that a failed one has left to end by itself does: then it stays as it is, for
     * ever. */
    int (*memory_remove)(struct hx_net *net, const void *base);

    void (*counters)(const struct hx_net *net, struct hx_net_counters *out);

    /* By rank 0's address, so that all ranks find the same. */
    void (*profile)(const struct hx_net *net, const void *rank0, size_t bytes, struct hx_net_profile *out);
    /* The profile without a job: of this provider, over one interface of unknown rate, with so many connections (HX_RAILS). Returns -1 if
     * providers() lacks the name. */
    int (*assume)(const char *provider, int rails, struct hx_net_profile *out);
    const char *const *(*providers)(void); /* the names that assume knows; the last is NULL */

    /* One line for the log: provider, version, interface, chunk, credits, wait object. */
    const char *(*describe)(const struct hx_net *net);

    /* Name and place of its interface, the first choice if there are several. */
    void (*nic)(const struct hx_net *net, struct hx_nic *nic);

    /* The proof that a chunk of a message with this match id carries from one rank to the other, for this signature. */
    uint32_t (*proof)(const struct hx_net *net, int from, int to, uint64_t match, uint64_t chunk, uint32_t signature);

    /* Called in a child made by fork, which has inherited this process's descriptors: close those that would hide the death of this process
     * from its peers. Calls only functions that are safe there. */
    void (*close_in_child)(const struct hx_net *net);

    /* Make progress until what was sent has left, for a second at most. */
    void (*drain)(struct hx_net *net);

    /* orderly != 0: drain what was sent first (bounded time). Returns 1 if messages under way cannot end, since a
     * live peer accepts nothing. Then the memory that was added stays, as memory_remove says. */
    int (*close)(struct hx_net *net, int orderly);
};

extern const struct hx_net_ops hx_net_fabric; /* inter/fabric/endpoint.c */
