/* SPDX-License-Identifier: BSD-3-Clause */
/* The waits of processes, as the segment has them: see whereabouts.h. Private to whereabouts.c and crossing.c. */
#pragma once

#include "runtime/base/clock.h"
#include "runtime/engine/whereabouts.h"

#define SECOND_NS UINT64_C(1000000000)
#define FRESH_NS SECOND_NS            /* a process whose line was renewed within this time still waits */
#define CERTAIN_NS (2 * SECOND_NS)    /* two ranks must wait for each other for so long: by then messages that were under way have
                                       * arrived */
#define ANSWER_NS (10 * SECOND_NS)    /* an answer is used for so long: the next one comes before */
#define BITS_OF(stamp) ((stamp) >> HX_SLICE_BITS)

enum { BLOCKS = 1, STUCK = 2 }; /* flags of a stand */

struct stand { /* the contents of a struct hx_stand */
    uint64_t beat, since, stamp; /* ns: when this was last renewed; since when the process waits in this call for this rank; the call's stamp */
    int32_t context, awaits;     /* the call's context; the rank of the job that it waits for, or -1 */
    uint64_t flags;
    struct hx_signature signature;
};

struct heard { /* the contents of a struct hx_heard */
    uint64_t at;  /* ns: when the answer arrived */
    int64_t rank; /* of the job */
    char text[HX_STAND_BYTES];
};

_Static_assert(sizeof(struct stand) == HX_STAND_WORDS * sizeof(uint64_t), "a stand fits as a whole");
_Static_assert(sizeof(struct heard) == HX_HEARD_WORDS * sizeof(uint64_t), "an answer fits as a whole");

struct sight { /* of a process of this node */
    uint64_t passed, since; /* the stamp of the last call that it has left; ns: since when this rank has seen that unchanged */
};

struct loss { /* of the way to another node */
    uint64_t seen, ns; /* when this process has looked last; for how long it has found none */
};

struct hx_whereabouts {
    int stands;               /* this process's line says that it waits */
    int late;                 /* the rank of another node that this process has asked */
    uint64_t late_since;      /* ns: since when that rank has not answered; 0: it has */
    struct { /* a rank of another node and this one wait for each other */
        int context;
        uint64_t call;        /* the call of this rank; 0: no such wait is known */
        int rank;             /* the other, of the job */
        char text[HX_STAND_BYTES];
    } crossing;
    struct loss *losses;      /* by node of the job; NULL until used */
    struct sight sights[];    /* by row */
};

/* Write n words that others may read meanwhile. The first is their time. */
void hx_words_store(_Atomic uint64_t *words, const void *from, size_t n);
/* Read them. Returns 0 if the words are empty, or if their process is writing them. */
int hx_words_read(_Atomic uint64_t *words, void *to, size_t n);

static inline uint64_t now_ns(void)
{
    return hx_clock_ns(CLOCK_MONOTONIC_COARSE);
}

static inline int stand_read(struct hx_stand *line, struct stand *out)
{
    return hx_words_read(line->words, out, HX_STAND_WORDS);
}

/* Has this rank entered that call? engine: NULL if it has entered no call in that context. */
static inline int has_entered(const struct hx_engine *engine, uint64_t call)
{
    return engine && BITS_OF(atomic_load_explicit(&engine->mine->entered, memory_order_relaxed)) >= call;
}

static inline int is_context_of(const struct hx_members *members, int context)
{
    return context / HX_COMM_CONTEXTS == hx_members_context(members, 0) / HX_COMM_CONTEXTS;
}

/* The row of a rank of the job, or -1: it is on another node. */
int hx_stand_row(const struct hx_shared *shared, int rank);
/* Write as text the call in which a rank waits. members: those of the communicator of the rank that asks; NULL: not known. */
void hx_stand_call(const struct hx_members *members, const struct stand *stand, char *text, size_t capacity);
/* The same, and which rank it waits for. */
void hx_stand_text(const struct hx_members *members, const struct stand *stand, char *text, size_t capacity);

/* crossing.c: peer says that it waits for this rank. If this rank certainly waits for peer too, note that, and tell peer at once: this rank's
 * call is about to fail, and after that peer would get no such answer. */
void hx_crossing_note(struct hx_process *process, const struct hx_members *members, const struct hx_engine *theirs, int peer,
                      const struct hx_control_message *message);
