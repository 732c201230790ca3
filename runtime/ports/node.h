/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's shared segment: how it is laid out and how ranks meet in it. intra/ creates and shares it.
 *
 *   segment   header | job table | doorbells [n] | passed [n] | closed [n][HX_COMM_NUMBERS] | news [n] | p2p rings [n senders][n receivers] |
 *             contexts [HX_CONTEXTS]
 *   context   controls [n] | failures [n] | agreements [n] | rings [n senders][n receivers][HX_PAIR_RINGS] | slots [n][2 banks]
 *
 * Calls under way at once, of one communicator or of several, each have a context; calls that share one come one after
 * the other. The number of a context is the same on all nodes; communicators without common ranks
 * may have the same contexts, since every rank has rows of its own in each context. Pages that no call touches cost
 * no memory.
 *
 * Every line has one writer, except a bell, asks, and the flags that an elected member raises for the first. Nothing is ever reset: epochs only
 * grow, so calls need no exit barrier.
 *   flag      owner stores the epoch with release after writing its slot and stamp; a reader's acquire load of the epoch pairs with it
 *   ring      sender stores entry.full with release after the data, the receiver's acquire load pairs with it; the receiver
 *             stores taken with release after reading, the sender's acquire load pairs with it before it writes again
 *   buffers   allocs and shared_allocs: relaxed. A rank fetches only after it has seen a flag of the owner. The owner writes them again
 *             only after every rank that fetches has confirmed that it has finished. If the owner's call fails, it clears the
 *             buffers before it returns; a rank that has fetched checks them again (fetch.c)
 *   asked     stored with release after asked_at and asked_bytes; the rank that is asked acquires it (fetch_ask.c). asks: relaxed, a
 *             reason to look
 *   failed    stored with release after the rank's failure is written; a reader acquires it before it reads the failure
 *   refused   relaxed: no other data depends on it
 *   agreement see hx_agree_line
 *   passed    relaxed: only the time that it takes to read matters
 *   closed    stored with release when a rank has freed a communicator; a rank that makes another of the same number acquires it (number.c)
 *   left      stored with release when a call has ended here; a rank that writes the same slots or flags again acquires it (run.c)
 *   news      see hx_p2p_news
 *   p2p ring  the sender stores a cell's stamp with release after the record, and the receiver acquires it; the receiver stores taken with
 *             release after it has read, and the sender acquires it before it writes there again; freed: relaxed, no other data depends on it
 *   bell      see wait.h
 */
#pragma once

#include "runtime/base/constants.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan.h"
#include "runtime/ports/transport.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HX_LINE_BYTES 128 /* two cache lines: adjacent-line prefetchers fetch pairs */
#define HX_INLINE_BYTES 48
/* A rank may raise flags, and fill short slots, in so many calls before the others leave the first: a power of two. If ranks share a core,
 * more calls ahead mean fewer changes of process. If not, more lines only cost misses of the cache. */
#define HX_CALLS_KEPT 64 /* at most */
static inline unsigned hx_calls_kept(double ranks_per_cpu)
{
    return ranks_per_cpu > 1 ? HX_CALLS_KEPT : 16;
}
#define HX_SIGNATURES 7 /* of the plans bound last */
#define HX_SIGNATURE_WORDS 4
#define HX_RING_ENTRIES 4
#define HX_COMM_NUMBERS 8192 /* communicators that a rank can have open at once */
#define HX_COMM_CONTEXTS 4   /* contexts of one communicator */
#define HX_CONTEXT_BITS 15
#define HX_CONTEXTS (1 << HX_CONTEXT_BITS)
_Static_assert(HX_CONTEXTS == HX_COMM_NUMBERS * HX_COMM_CONTEXTS, "a communicator's contexts follow from its number");

struct hx_flag {
    _Alignas(HX_LINE_BYTES) _Atomic uint64_t epoch; /* (call << HX_SLICE_BITS) + slices done */
    _Atomic uint64_t stamp;                         /* of the call; the rank that raises the flag writes it */
    unsigned char payload[HX_INLINE_BYTES];         /* a tiny slot, in the line that is read anyway */
    _Atomic uint64_t elected;                       /* of a stage's first member: the epoch for which one has been, by ELECT */
};
_Static_assert(sizeof(struct hx_flag) == HX_LINE_BYTES, "a flag fills its line");

static inline struct hx_flag *hx_flag_of(_Atomic uint64_t *epoch)
{
    return (struct hx_flag *)(void *)epoch; /* its first member */
}
#define HX_SLICE_BITS 24

enum hx_sleep { HX_AWAKE, HX_IN_FUTEX, HX_IN_POLL };

enum hx_life {
    HX_LIFE_UNKNOWN, /* the rank has not started yet, or its death cannot be seen */
    HX_LIFE_HERE,    /* the end of its process counts as a death */
    HX_LIFE_LEAVING, /* likewise; the rank is in hx_finalize and enters no other call */
    HX_LIFE_LEFT     /* the rank has left the job by hx_finalize: the end of its process is not a death */
};

/* The state that a process publishes if it waits long. Only this process writes it: see whereabouts.h. words[0] is the time (ns
 * of CLOCK_MONOTONIC_COARSE) of the rest, stored last, with release; 0: the words are empty, or being written. */
#define HX_STAND_WORDS (5 + HX_SIGNATURE_WORDS)
struct hx_stand { /* the call in which it waits, and the rank it waits for */
    _Alignas(HX_LINE_BYTES) _Atomic uint64_t words[HX_STAND_WORDS];
};

#define HX_HEARD_WORDS 48
struct hx_heard { /* the last answer that it got about where a rank of another node is */
    _Alignas(HX_LINE_BYTES) _Atomic uint64_t words[HX_HEARD_WORDS];
};

struct hx_doorbell { /* of one process; written by it alone, but for bell */
    _Alignas(HX_LINE_BYTES) _Atomic uint32_t bell;     /* counts rings; every process that wakes this one writes it */
    _Alignas(HX_LINE_BYTES) _Atomic uint32_t sleeping; /* enum hx_sleep */
    _Atomic uint32_t life;                             /* enum hx_life */
    int32_t pid;                                       /* in its own pid namespace; the node's host writes it and pid_space */
    uint64_t pid_space;                                /* inode of that namespace; 0: not known */
    int32_t cpu;                                       /* the one processing unit that it was bound to at start-up, or -1 */
    uintptr_t number;                                  /* the address there of a number that others may read: see hx_fetch_try */
    struct hx_stand stand;
    struct hx_stand crossed;                           /* its stand when it last found that it and another rank wait for each other */
    struct hx_heard heard;
};

enum hx_control_failed { HX_WORKS, HX_FAILED, HX_REVOKED /* with the rank that has revoked: see failure.c */ };

struct hx_control { /* of one rank in one context; written by it alone, but for asks */
    _Alignas(HX_LINE_BYTES) _Atomic uint64_t entered; /* stamp of the last call this rank has entered: (call << HX_SLICE_BITS) +
                                                       * signature */
    _Atomic uint64_t left;                            /* and left */
    _Atomic int32_t waits_for;                        /* 1 + rank on another node that it has long waited for, or 0 */
    int32_t pid;                                      /* its process */
    _Atomic int32_t failed;                           /* enum hx_control_failed, of the communicator on this rank, or another rank has said
                                                       * so: runtime/engine/failure.h */
    _Atomic uintptr_t buffers[2];                     /* its IN and OUT in the call that it has entered last: FETCH; 0: given up */
    _Atomic uint64_t allocs[2];                       /* numbers of the allocations of hx_alloc in which these stand; 0: in none. So far it is
                                                       * one cache line: a reader of other memory needs no more */
    struct {
        _Atomic uint64_t inode;
        _Atomic uintptr_t base; /* its address there */
    } shared_allocs[2];         /* of those allocations */
    _Atomic uint64_t asks;      /* how often other ranks have asked this rank for data, which the kernel refuses to read: runtime/engine/
                                 * fetch_ask.c. They count here */
    _Atomic uint64_t asked;     /* 0: this rank asks for nothing; else a number, and 1 + the place in the segment of the rank that it asks */
    _Atomic uintptr_t asked_at; /* for so many bytes at that address of that rank */
    _Atomic uint64_t asked_bytes;
    struct hx_flag flags[HX_NODE_FLAGS * HX_CALLS_KEPT]; /* a row of calls_kept for each flag; index in a row: call number % calls_kept */
    _Atomic uint64_t signatures[HX_SIGNATURES][HX_SIGNATURE_WORDS];
};
_Static_assert(offsetof(struct hx_control, flags) == HX_LINE_BYTES, "what comes before the flags fills one line");
_Static_assert(offsetof(struct hx_control, shared_allocs) == 64, "what every FETCH reads fills one cache line");

#define HX_PASSED_LINES 32
#define HX_PASSED_STAMP (HX_PASSED_LINES / 2)

/* The stamp of the last call that a process has left. Only who measures for how long its line is under way reads it (runtime/engine/shm_write.h), so it stands
 * alone in a page: processors fetch lines near those in use before anybody asks for them. */
struct hx_passed {
    _Alignas(HX_PASSED_LINES * HX_LINE_BYTES) struct {
        _Alignas(HX_LINE_BYTES) _Atomic uint64_t stamp; /* of line HX_PASSED_STAMP only: of the others 0 */
    } lines[HX_PASSED_LINES];
};
_Static_assert(sizeof(struct hx_passed) == 4096, "one page each, as node.c places them");

struct hx_ring_entry {
    _Alignas(64) _Atomic uint64_t full; /* number of the chunk that stands here, counted from 1 */
    uint64_t stamp;                     /* of the sender's call */
    uint64_t left;                      /* bytes of the message, from this chunk on */
    _Alignas(32) unsigned char data[];  /* node->ring_chunk_bytes */
};

struct hx_ring { /* chunks from one rank to another */
    _Alignas(HX_LINE_BYTES) _Atomic uint64_t taken; /* chunks that the receiver has read; only the receiver writes it, and refused */
    _Atomic uint32_t refused;                       /* an hx_status_t: the receiver takes no more since a group has failed so (pairs.h) */
    _Alignas(HX_LINE_BYTES) unsigned char entries[];
};

#define HX_P2P_CELL_BYTES 64
#define HX_P2P_SHORT_BYTES 16
#define HX_P2P_CELL_SHARE 512 /* a ring has a cell for so many bytes of its data */

/* A record of a message, alone in a line of the processor. */
struct hx_p2p_cell {
    _Alignas(HX_P2P_CELL_BYTES) _Atomic uint32_t stamp; /* the record's number, from 1 on: the record is there */
    union {
        struct hx_p2p_head head;
        struct {
            unsigned char unused[offsetof(struct hx_p2p_head, address)];
            unsigned char data[HX_P2P_SHORT_BYTES]; /* all of the record's bytes, if they fit: a record has an address or bytes */
        };
    };
};

_Static_assert(sizeof(struct hx_p2p_cell) == HX_P2P_CELL_BYTES, "a cell is a line");

/* The records of messages from one process to another: see runtime/engine/p2p_ring.c. The receiver alone writes this; the cells and the data
 * of the ring follow. */
struct hx_p2p_ring {
    _Alignas(HX_LINE_BYTES) _Atomic uint64_t taken, taken_bytes; /* records, and bytes of data, since the start */
    _Atomic uint64_t freed;                                      /* eager bytes given to a receive */
    _Alignas(HX_LINE_BYTES) struct hx_p2p_cell cells[];
};

/* The part of a rank in the agreements of a communicator: see runtime/engine/agree.h. Before its first agreement the rank stores promise, state
 * and decided, then generation with release; a reader acquires generation first. Later the rank writes the words, the value and the members,
 * then stores one of promise, state and decided with release; a reader acquires promise first. A rank that has promised to follow the reader
 * writes nothing before the reader's proposal, unless it decides or turns to a higher rank. So the reader may take its time. Afterwards it
 * checks that the promise still holds and that the rank has not decided. (decided is stored, with a full fence, before the words of the next
 * agreement.) */
struct hx_agree_line {
    _Alignas(HX_LINE_BYTES) _Atomic uint64_t promise;
    _Atomic uint64_t state, decided;
    _Atomic uint64_t generation;    /* 1 + that of the communicator: of another one state tells nothing */
    uint64_t words[HX_AGREE_WORDS]; /* this rank's own */
    uint64_t value[HX_AGREE_WORDS]; /* the proposal that it has made or accepted, */
    uint64_t members[];             /* and a bit for each rank whose words are in it */
};

/* Why a rank cannot start, or a communicator cannot go on, as all other ranks learn it. */
struct hx_failure {
    int32_t status, rank; /* hx_status_t; HX_SUCCESS: nothing has failed */
    char text[HX_DETAIL_BYTES];
};

/* Keep status as rank's failure, with this thread's last detail, unless an earlier failure is kept. */
void hx_failure_keep(struct hx_failure *failure, int rank, hx_status_t status);

#define HX_LAST_WORDS 6 /* texts that are kept: the first ones that ranks of this node learn */
#define HX_LAST_WORDS_BYTES 380

/* The text of a rank that has called hx_abort. The rank that takes the entry stores rank first, so that no other takes it. */
struct hx_last_words {
    _Atomic int32_t rank; /* 1 + the rank of the job, stored with release after the text; before that minus as much; 0: free */
    char text[HX_LAST_WORDS_BYTES];
};

#define HX_PROBE_GONE UINT32_MAX
/* Two ranks measure the constants of rank 0's node (runtime/start/constants_measure.c). The first asks: it stores turn with release after its
 * other members. The second acquires it, does what is asked, writes its own members and stores the same turn with release; the first
 * acquires that. HX_PROBE_GONE: this side asks or answers no more. */
struct hx_probe_side {
    _Alignas(HX_LINE_BYTES) _Atomic uint32_t turn;
    uint32_t task, piece; /* of the first: what to do, with which piece of its memory */
    uint32_t line_ns;     /* of the first, once it is known */
    uint32_t took_ns;     /* of the second: for the task */
    uintptr_t memory;     /* of the second: where the first may read it */
};

/* Start-up state, at the beginning of the segment. */
struct hx_node_header {
    uint64_t magic;
    _Atomic uint64_t cpus[16];   /* processing units on which any rank of the node may run, a bit each */
    _Atomic uint64_t helpers[16]; /* those to which progress threads of the node are pinned */
    _Atomic uint32_t placed;     /* ranks that have written their cpus and place */
    _Atomic uint32_t arrived;    /* ranks that have written their address, or their failure */
    _Atomic uint32_t no_fetch;   /* 1: some rank of the node cannot read another's memory */
    int32_t single_copy;         /* ranks of a node read each other's memory, on all nodes; like failure, read after table_state is set */
    int32_t milli_per_cpu;       /* likewise: ranks per 1000 usable cores, on the most crowded node */
    int32_t max_local;           /* likewise: ranks of the largest node */
    _Atomic uint32_t deaths;     /* how often a rank has been marked dead in the job table */
    _Atomic uint32_t revocations; /* records of HX_REVOKED that ranks of this node have made */
    struct hx_last_words last_words[HX_LAST_WORDS];
    _Atomic uint32_t failing;    /* 1: a rank writes failure; no other rank does */
    struct hx_failure failure;   /* the first of the node; read after arrived is complete, or table_state is set */
    struct hx_net_refusals refused; /* likewise */
    _Atomic int32_t table_state; /* in so many rounds the job table was completed; -1: it will not be, failure says why */
    int32_t is_final;            /* read after table_state is set: there is no further round */
    struct hx_constants constants; /* likewise: of rank 0's node */
    struct hx_probe_side probe[2];
    _Alignas(HX_LINE_BYTES) _Atomic uint64_t probe_line; /* the second writes it, and the first measures how long reading takes */
};

/* Addresses that become known after start-up. REFUSED: a text instead of an address says why there is none. WRITING + a rank of this node: that
 * rank writes the address. If it dies meanwhile, another rank writes the address. */
enum hx_address_state { HX_ADDRESS_NONE, HX_ADDRESS_THERE, HX_ADDRESS_REFUSED, HX_ADDRESS_WRITING };

/* One rank of the job. The rank or this node's leader writes it during start-up. The atomic members, and the address, may change later. */
struct hx_job_entry {
    int32_t node;
    int16_t place[HX_SHAPE_LEVELS]; /* the socket, NUMA node and last-level cache where the rank runs; -1: not in one only */
    _Atomic uint16_t dead;          /* not 0: a rank of this node has found it dead; ranks found earlier have lower numbers */
    _Atomic uint16_t ended;         /* 1: if it is dead, its process has certainly ended. 0: it is unreachable, and may run on */
    _Atomic uint16_t finished;      /* 1: a rank of this node knows that this rank leaves, in hx_finalize */
    _Atomic int32_t wanted;         /* 1 + a rank of another node that waits until this rank opens an endpoint; 0: none */
    _Atomic uint32_t address_state; /* enum hx_address_state. The release of THERE or REFUSED pairs with the acquire of a rank that reads address */
    uint32_t opened_first;          /* 1: it opened its endpoints at start, so its address came with the table */
    uint32_t address_bytes;         /* if address_state is REFUSED: an hx_status_t */
    unsigned char address[HX_ADDRESS_BYTES];
};

struct hx_shared { /* the segment, as this process sees it */
    int n, me;          /* ranks on the node; my place among them */
    int mate;           /* the one that is bound to the same processing unit, where all are bound and no three to one; -1: none */
    int *ranks;         /* [n] their ranks in the job, ascending */
    int *wake_fds;      /* [n] eventfd of each, or NULL if no rank polls */
    int memory;         /* descriptor of the segment, -1: none */
    int offered;        /* its ranks may read the memory of this process: see hx_fetch_offer */
    int watched;        /* the row that hx_watch_look checked last */
    uint64_t watched_at; /* when it did */
    void *base;         /* the memory before the contexts */
    struct hx_node_header *header;
    struct hx_job_entry *table;    /* [ranks of the job] */
    struct hx_doorbell *doorbells; /* [n] */
    struct hx_passed *passed;      /* [n] */
    _Atomic uint64_t *closed;      /* [n][HX_COMM_NUMBERS] that rank has ended all calls below this one in communicators of that number */
    void **contexts;               /* [HX_CONTEXTS] mapped once a communicator needs it, and kept */
    unsigned char *p2p;            /* news [n], then rings */
    size_t p2p_at, p2p_bytes;      /* of the segment; data of one ring, a power of two */
    size_t head_bytes, context_bytes, bytes; /* before the contexts; of one; the whole */
    size_t table_at, doorbells_at, passed_at, closed_at; /* of the segment */
    size_t failures_at, agreements_at, rings_at, slots_at; /* of each context */
    size_t agreement_bytes;                                /* of one rank */
    size_t ring_chunk_bytes, ring_bytes; /* data of one entry; one whole ring */
    size_t bank_bytes;                   /* one rank's slots of one call parity */
    unsigned calls_kept;                 /* hx_calls_kept of the job */
    /* of a bank: what all ranks can use and stay within half of the last-level cache */
    size_t live_bytes;
};

struct hx_node { /* a context, as a communicator's calls see it */
    struct hx_shared *shared;
    int n, me;        /* the communicator's ranks on this node; my place among them */
    const int *ranks; /* [n] their ranks in the communicator, ascending */
    const int *rows;  /* [n] their places in the segment */
    void *base;
    struct hx_control *controls; /* by row, like failures, rings and slots */
    struct hx_failure *failures;
    unsigned char *agreements, *rings, *slots;
};

static inline struct hx_control *hx_node_control(const struct hx_node *node, int member)
{
    return &node->controls[node->rows[member]];
}

static inline struct hx_doorbell *hx_node_doorbell(const struct hx_node *node, int member)
{
    return &node->shared->doorbells[node->rows[member]];
}

static inline struct hx_agree_line *hx_node_agreement(const struct hx_node *node, int member)
{
    return (struct hx_agree_line *)(void *)(node->agreements + (size_t)node->rows[member] * node->shared->agreement_bytes);
}

static inline struct hx_ring *hx_node_ring(const struct hx_node *node, int from, int to, int ring)
{
    size_t pair = (size_t)node->rows[from] * (size_t)node->shared->n + (size_t)node->rows[to];
    return (struct hx_ring *)(node->rings + (pair * HX_PAIR_RINGS + (size_t)ring) * node->shared->ring_bytes);
}

static inline struct hx_ring_entry *hx_ring_entry(const struct hx_node *node, struct hx_ring *ring, uint64_t number)
{
    size_t stride = sizeof(struct hx_ring_entry) + node->shared->ring_chunk_bytes;
    return (struct hx_ring_entry *)(ring->entries + (number % HX_RING_ENTRIES) * stride);
}

/* A bit for each sender, by row, whose ring this row looks at. The sender sets it after a record, unless it is set. The receiver clears it
 * when it has long found no record there, and then looks once more. A full fence on each side lies between: so the sender sees that the bit
 * is clear, or the receiver sees the record. */
static inline int hx_p2p_news_words(const struct hx_shared *shared)
{
    return (shared->n + 63) / 64;
}

static inline size_t hx_p2p_news_bytes(const struct hx_shared *shared)
{
    return ((size_t)hx_p2p_news_words(shared) * sizeof(uint64_t) + HX_LINE_BYTES - 1) & ~(size_t)(HX_LINE_BYTES - 1);
}

static inline _Atomic uint64_t *hx_p2p_news(const struct hx_shared *shared, int row)
{
    return (_Atomic uint64_t *)(void *)(shared->p2p + (size_t)row * hx_p2p_news_bytes(shared));
}

static inline size_t hx_p2p_cells(const struct hx_shared *shared)
{
    return shared->p2p_bytes / HX_P2P_CELL_SHARE;
}

/* The whole ring. */
static inline size_t hx_p2p_ring_bytes(const struct hx_shared *shared)
{
    return sizeof(struct hx_p2p_ring) + hx_p2p_cells(shared) * sizeof(struct hx_p2p_cell) + shared->p2p_bytes;
}

static inline struct hx_p2p_ring *hx_p2p_ring(const struct hx_shared *shared, int from, int to)
{
    size_t pair = (size_t)from * (size_t)shared->n + (size_t)to;
    return (struct hx_p2p_ring *)(void *)(shared->p2p + (size_t)shared->n * hx_p2p_news_bytes(shared) + pair * hx_p2p_ring_bytes(shared));
}

/* The news and rings of all ranks. Pages of a ring are allocated when its first message comes there. */
static inline size_t hx_p2p_all_bytes(const struct hx_shared *shared)
{
    const size_t n = (size_t)shared->n;

    return n * hx_p2p_news_bytes(shared) + n * n * hx_p2p_ring_bytes(shared);
}

/* All slots of a context. */
static inline size_t hx_slots_bytes(const struct hx_shared *shared)
{
    return 2 * (size_t)shared->n * shared->bank_bytes;
}

static inline _Atomic uint64_t *hx_shared_closed(const struct hx_shared *shared, int row, uint32_t number)
{
    return &shared->closed[(size_t)row * HX_COMM_NUMBERS + number];
}

/* The slots of the rank in this row, for calls of this parity. */
static inline unsigned char *hx_node_bank(const struct hx_node *node, int row, unsigned parity)
{
    return node->slots + (2 * (size_t)row + parity) * node->shared->bank_bytes;
}

/* Sizes of the parts for n ranks; bank_bytes and ring_chunk_bytes chosen from the cache share of a rank. */
void hx_shared_dimension(struct hx_shared *shared, int n, int job_ranks, size_t llc_bytes);
/* Point the view's members into base, which holds shared->head_bytes. */
void hx_shared_map(struct hx_shared *shared, void *base);
/* Record for the node that one of its ranks cannot start, unless another rank has recorded a failure before. */
void hx_node_fail(struct hx_shared *shared, const struct hx_failure *failure);
/* Map a context, unless it is. Errors: HX_ERR_NOMEM. */
hx_status_t hx_shared_context(struct hx_shared *shared, int context);
/* A context for these members; ranks and rows stay the caller's. Errors: HX_ERR_NOMEM. */
hx_status_t hx_node_open(struct hx_node *node, struct hx_shared *shared, int context, int n, int me, const int *ranks,
                         const int *rows);
