/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two ranks (hx_send, hx_recv), of all communicators of this process.
 *
 *   p2p.c         starts, cancels and ends them
 *   p2p_match.c   matches what arrives with the receives
 *   p2p_ring.c    ranks of this node: one ring in shared memory for each ordered pair of processes
 *   p2p_net.c     ranks of other nodes: control messages carry the records; long data are messages of the transport
 *
 * Both ways carry records, in order. A record has a head and maybe some bytes of a message:
 *
 *   eager         EAGER head + first bytes, DATA + more bytes ...            the sender is done when all bytes have left its buffer
 *   rendezvous    READY -> ; <- CLEAR ; DATA + bytes ...                     the bytes go to the buffer of the receive
 *   single copy   READY with the address -> ; the receiver reads ; <- DONE   between processes of a node, beyond HX_P2P_COPY_BYTES
 *
 * A message is eager if it is short and the sender has credit. Credit counts the eager bytes, heads included, that the receiver
 * has not yet given to a receive. So unexpected messages take at most HX_P2P_CREDIT bytes of the receiver's memory for each
 * sender, and one head for each send that waits. Nothing stops the flow of records: a receiver always takes what arrives. So a message that waits for its receive
 * never holds up messages of other tags, and two ranks may send to each other at the same time.
 *
 * The sender numbers its messages (id). CLEAR, DATA and DONE name a message by this number, so a late record of a message that was
 * cancelled finds nothing.
 */
#pragma once

#include "runtime/engine/members.h"
#include "runtime/engine/process.h"

#define HX_P2P_EAGER_BYTES ((size_t)64 << 10)  /* longer messages wait for their receive */
#define HX_P2P_CREDIT ((size_t)512 << 10)      /* of one sender at one receiver */
#define HX_P2P_COPY_BYTES ((size_t)16 << 10)   /* single copy of what is longer, if ranks of a node can read each other's memory */
#define HX_P2P_CONTEXT (HX_COMM_CONTEXTS + 1)  /* in match ids and flows: groups (number 1) use only the first of their contexts */
#define HX_P2P_CALL (UINT64_MAX >> HX_SLICE_BITS) /* as the number of a call in a question about a message: no call has it */
#define HX_P2P_INLINE_BYTES (sizeof(((struct hx_control_message *)0)->p2p.data))

struct hx_p2p_call;

struct hx_p2p_record { /* waits to be sent to a peer */
    struct hx_p2p_record *next;
    struct hx_p2p_head head;
    struct hx_p2p_call *call; /* its bytes follow; NULL: no bytes */
    int queued;
};

enum hx_p2p_state {
    HX_P2P_IDLE,
    HX_P2P_LEAVES,  /* send: its record, or its bytes, are in the queue of the peer */
    HX_P2P_OFFERED, /* send: READY has been queued; the receiver answers */
    HX_P2P_POSTED,  /* receive: no message has arrived for it */
    HX_P2P_ARRIVES, /* receive: its bytes are on their way */
    HX_P2P_MOVES,   /* both: the transport moves the bytes */
    HX_P2P_REPLIES, /* receive: complete, as soon as its last record has left */
    HX_P2P_ENDED
};

struct hx_p2p_list {
    struct hx_p2p_call *first, *last;
};

/* A send or a receive. The caller owns it, and keeps it until it has ended. */
struct hx_p2p_call {
    /* set by the caller; unchanged */
    struct hx_members *members;
    const char *name; /* of the public function */
    int sending, rank, tag; /* rank: in the communicator, of the other side */
    int32_t dtype;          /* code of the signature */
    unsigned char *base;
    size_t bytes;
    void (*ended)(struct hx_p2p_call *call); /* called when it has ended, unless it ends with HX_ERR_NOMEM at its start; or NULL */
    void *owner;                             /* for ended */
    /* set here */
    enum hx_p2p_state state;
    hx_status_t status;  /* once it has ended */
    char why[HX_DETAIL_BYTES];
    struct hx_p2p_peer *peer;
    struct hx_p2p_call *next, *previous;      /* in the list of its state */
    struct hx_p2p_list *list;                 /* NULL: it is in none */
    struct hx_p2p_call *all_next, **all_link; /* in all that have not ended */
    uint64_t id;
    size_t moved; /* bytes that have left, or arrived */
    struct hx_p2p_record record;
    struct hx_net_op op;
    struct hx_segment segment;
    struct hx_p2p_arrival *arrival; /* POSTED: the rest of this message is on its way */
    struct hx_wait_clock wait_clock;
    size_t seen_moved; /* when the stall was looked at last */
    int warned;
};

struct hx_p2p_arrival { /* a message without a receive, whole or in part; or, in order of arrival, a record of a control message */
    struct hx_p2p_arrival *next;
    struct hx_p2p_head head;
    struct hx_p2p_call *call; /* takes it once it is whole */
    size_t have;
    struct hx_net_op op; /* the transport moves the bytes */
    struct hx_segment segment;
    int moves;
    unsigned char data[];
};

struct hx_p2p_packet { /* a record of another node that has arrived */
    struct hx_p2p_packet *next;
    uint64_t sequence;
    struct hx_p2p_head head;
    unsigned char data[];
};

struct hx_p2p_peer {
    int rank, row; /* in the job; in the segment, or -1: on another node */
    struct hx_p2p_peer *next_busy;
    int busy;
    /* to it */
    struct hx_p2p_record *first, *last; /* waiting to leave */
    struct hx_p2p_list offered;         /* sends that wait for CLEAR or DONE */
    uint64_t sent_id, eager_sent, eager_freed, sequence, sequence_taken;
    struct hx_p2p_ring *to;                                         /* NULL: on another node */
    uint64_t written, written_bytes, written_taken, written_bytes_taken; /* in it, and what of that was taken when last seen */
    /* from it */
    struct hx_p2p_list posted, arriving;
    struct hx_p2p_arrival *arrivals, *arrivals_last;
    uint64_t freed, freed_told, taken, taken_told;
    struct hx_p2p_ring *from;
    uint64_t read, read_bytes, read_told, read_bytes_told; /* _told: when this side last looked whether the sender sleeps */
    int idle;                                              /* looks in vain */
    uint64_t finished;              /* 1 + the records that it had sent when it was in hx_finalize; 0: not known to be there */
    uint64_t probed_ns;             /* when hx_iprobe has looked whether it lives */
    struct hx_p2p_record credit;    /* tells freed and taken, if no other record does */
    struct hx_p2p_packet *packets;  /* of other nodes: by sequence */
};

struct hx_p2p {
    struct hx_process *process;
    struct hx_p2p_peer **peers; /* [ranks of the job]; NULL until used */
    struct hx_p2p_peer *busy;   /* peers with records that wait to leave */
    struct hx_p2p_call *all;    /* sends and receives that have not ended */
    struct hx_p2p_list moving;  /* those whose bytes the transport moves */
    int arrivals_moving, packets;
    uint64_t messages_sent, messages_received, bytes_sent, bytes_received, copied_bytes;
};

/* The state of this process's messages, made when first needed. NULL after hx_fail: no memory. */
struct hx_p2p *hx_p2p_of(struct hx_process *process);
void hx_p2p_close(struct hx_process *process);

/* Start a send or receive. It may end at once. Does not block. */
void hx_p2p_start(struct hx_process *process, struct hx_p2p_call *call);
/* Take it back if it has not ended: the caller's memory is not touched any more. It ends with this status. */
void hx_p2p_cancel(struct hx_p2p *p2p, struct hx_p2p_call *call, hx_status_t status, const char *why);
/* The same for all of a communicator. */
void hx_p2p_fail(struct hx_p2p *p2p, const struct hx_members *members, hx_status_t status, const char *why);
/* Forget the messages of this communicator that were never received. */
void hx_p2p_forget(struct hx_p2p *p2p, const struct hx_comm_id *id);
/* The first message of this rank and tag that has arrived and has no receive; NULL: none. */
const struct hx_p2p_head *hx_p2p_find(struct hx_process *process, const struct hx_members *members, int rank, int tag);

/* Move what can be moved. Returns how much. */
int hx_p2p_progress(struct hx_process *process);
/* The records that this process has sent to that rank of another node, all of them; -1: some are still to leave. */
int64_t hx_p2p_sent_to(const struct hx_process *process, int rank);
/* peer, a rank of another node, has sent this. */
void hx_p2p_heard(struct hx_process *process, int peer, const struct hx_control_message *message);

/* Is there anything to move? */
static inline int hx_p2p_is_due(const struct hx_process *process)
{
    const struct hx_p2p *p2p = process->p2p;

    if (!p2p)
        return 0;
    if (p2p->busy || p2p->moving.first || p2p->packets || p2p->arrivals_moving)
        return 1;
    for (int i = 0; i < hx_p2p_news_words(process->shared); i++)
        if (atomic_load_explicit(&hx_p2p_news(process->shared, process->shared->me)[i], memory_order_relaxed))
            return 1;
    return 0;
}

/* Must a rank that waits for its node look at the network too? Messages of its own may need that. Before it sleeps, it looks for
 * those that send to it. */
static inline int hx_p2p_wants_network(const struct hx_process *process)
{
    return process->p2p && (process->p2p->all || hx_sleeps(&process->shared->doorbells[process->shared->me]));
}

/* ---- inside */

struct hx_p2p_peer *hx_p2p_peer(struct hx_p2p *p2p, int rank);
/* Move the call to the end of this list; NULL: to none. */
void hx_p2p_list_move(struct hx_p2p_call *call, struct hx_p2p_list *list);
struct hx_p2p_call *hx_p2p_list_find(const struct hx_p2p_list *list, uint64_t id);
void hx_p2p_end(struct hx_p2p *p2p, struct hx_p2p_call *call, hx_status_t status);
/* Queue a record, and send what can be sent. */
void hx_p2p_push(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record);
/* The record has left. */
void hx_p2p_left(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record);
/* Tell a peer of another node how much this side has taken, unless that is about to happen. */
void hx_p2p_credit_tell(struct hx_p2p *p2p, struct hx_p2p_peer *peer);
/* The receive's last record: it ends when this has left. */
void hx_p2p_reply(struct hx_p2p *p2p, struct hx_p2p_call *call, enum hx_p2p_kind kind, uint64_t id);

/* p2p_match.c: a record has arrived. Returns 0 if there is no memory for it: it must come again. */
int hx_p2p_arrived(struct hx_p2p *p2p, struct hx_p2p_peer *peer, const struct hx_p2p_head *head, const unsigned char *data);
/* A receive that has been started: take what has arrived, or wait for it. */
void hx_p2p_receive(struct hx_p2p *p2p, struct hx_p2p_call *call);
/* The transport has moved the bytes of an arrival. */
void hx_p2p_arrival_whole(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_arrival *arrival);
void hx_p2p_arrivals_drop(struct hx_p2p *p2p, struct hx_p2p_peer *peer, const struct hx_comm_id *id);

/* p2p_ring.c, p2p_net.c: send the record, or a part of its bytes. Returns 1 once it has left, 0 if there is no room. */
int hx_p2p_ring_send(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record);
int hx_p2p_ring_receive(struct hx_p2p *p2p);
int hx_p2p_net_send(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_p2p_record *record);
int hx_p2p_net_receive(struct hx_p2p *p2p);
/* Let the transport receive the bytes of the message with this head. */
void hx_p2p_net_post(struct hx_p2p *p2p, struct hx_p2p_peer *peer, struct hx_net_op *op, struct hx_segment *segment,
                     enum hx_net_direction direction, const struct hx_p2p_head *head, unsigned char *base, char *why);
void hx_p2p_net_move(struct hx_p2p *p2p, struct hx_p2p_call *call, const struct hx_p2p_head *head);
void hx_p2p_net_cancel(struct hx_p2p *p2p, struct hx_net_op *op);
