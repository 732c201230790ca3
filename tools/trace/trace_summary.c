/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_trace summary. A call of the job is made of one span of each rank of its communicator; it takes as long as the
 * longest of them. A rank waits within its span, and knows for whom it waited last. Two things show an imbalance: how
 * long the others wait for a rank, and how much later than the first it comes to its calls.
 */
#include "tools/trace/coll_trace.h"
#include "tools/common/median.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct span { /* of one rank in one call */
    const char *name; /* one of the summary's */
    int64_t group, context, sequence, size, bytes;
    int rank, blocks; /* else it waits in hx_wait, for whatever it likes */
    double begin, took, waited; /* us */
    int row;
};

struct wait {
    size_t span; /* or SIZE_MAX: outside of calls */
    int rank, awaited;
    double took;
};

struct row { /* a collective and size */
    const char *name;
    int64_t bytes;
    size_t calls;
    double *took; /* [calls] */
    double in_calls, waited;
    double *awaited; /* [ranks] */
};

struct of_rank {
    size_t calls, nlate;
    double in_calls, waited, awaited, *late;
};

struct summary {
    struct trace_set set;
    char **names; /* of functions, without hx_ */
    int nnames;
    struct span *spans;
    size_t nspans, span_room;
    struct wait *waits;
    size_t nwaits, wait_room;
    struct row *rows;
    int nrows;
    struct of_rank *ranks;
    size_t partial; /* spans of calls of which some rank's is missing */
};

static void *grown(void *items, size_t n, size_t *room, size_t bytes)
{
    if (n < *room)
        return items;
    *room = *room ? 2 * *room : 1024;
    return trace_memory(realloc(items, *room * bytes));
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

static struct json_object *get(struct json_object *object, const char *key)
{
    struct json_object *found = NULL;

    json_object_object_get_ex(object, key, &found);
    return found;
}

static int64_t whole(struct json_object *object, const char *key)
{
    return json_object_get_int64(get(object, key));
}

static const char *text(struct json_object *object, const char *key)
{
    const char *found = json_object_get_string(get(object, key));

    return found ? found : "";
}

static const char *name_keep(struct summary *s, const char *name)
{
    name += strncmp(name, "hx_", 3) ? 0 : 3;
    for (int i = 0; i < s->nnames; i++)
        if (!strcmp(s->names[i], name))
            return s->names[i];
    s->names = trace_memory(realloc(s->names, (size_t)(s->nnames + 1) * sizeof(*s->names)));
    return s->names[s->nnames++] = trace_memory(strdup(name));
}

static void span_add(struct summary *s, struct json_object *event, struct json_object *args, int rank)
{
    s->spans = grown(s->spans, s->nspans, &s->span_room, sizeof(*s->spans));
    s->spans[s->nspans++] = (struct span){.name = name_keep(s, text(event, "name")),
                                          .group = whole(args, "group"),
                                          .context = whole(args, "context"),
                                          .sequence = whole(args, "sequence"),
                                          .size = whole(args, "size"),
                                          .bytes = whole(args, "bytes"),
                                          .rank = rank,
                                          .blocks = !strcmp(text(event, "cat"), "call"),
                                          .begin = json_object_get_double(get(event, "ts")),
                                          .took = json_object_get_double(get(event, "dur")),
                                          .row = -1};
}

static void wait_add(struct summary *s, struct json_object *event, struct json_object *args, int rank, size_t last)
{
    double begin = json_object_get_double(get(event, "ts")), took = json_object_get_double(get(event, "dur"));
    int within = last < s->nspans && begin < s->spans[last].begin + s->spans[last].took;

    s->waits = grown(s->waits, s->nwaits, &s->wait_room, sizeof(*s->waits));
    s->waits[s->nwaits++] = (struct wait){.span = within ? last : SIZE_MAX,
                                          .rank = rank,
                                          .awaited = (int)whole(args, "rank"),
                                          .took = took};
    if (within)
        s->spans[last].waited += took;
}

struct track { /* what one thread does */
    int64_t tid;
    size_t last; /* its last call; SIZE_MAX: none yet */
};

struct tracks {
    struct track *of;
    size_t n, room;
};

static struct track *track_of(struct tracks *tracks, int64_t tid)
{
    for (size_t i = 0; i < tracks->n; i++)
        if (tracks->of[i].tid == tid)
            return &tracks->of[i];
    tracks->of = grown(tracks->of, tracks->n, &tracks->room, sizeof(*tracks->of));
    tracks->of[tracks->n] = (struct track){tid, SIZE_MAX};
    return &tracks->of[tracks->n++];
}

/* Of a file. Spans of a track come in the order of their beginnings. */
static void events_take(struct summary *s, struct json_object *events)
{
    struct tracks tracks = {0};

    for (size_t i = 0; i < json_object_array_length(events); i++) {
        struct json_object *event = json_object_array_get_idx(events, i), *args = get(event, "args");
        const char *category = text(event, "cat");
        int64_t tid = whole(event, "tid");
        int rank = tid > 0 ? (int)((tid - 1) % s->set.ranks) : 0;
        if (strcmp(text(event, "ph"), "X") ||
            (strcmp(category, "call") && strcmp(category, "background") && strcmp(category, "wait")))
            continue;
        if (!strcmp(category, "wait")) {
            wait_add(s, event, args, rank, track_of(&tracks, tid)->last);
            continue;
        }
        if (!get(args, "algorithm") && whole(args, "size") > 1) /* of nothing, or refused */
            continue;
        span_add(s, event, args, rank);
        if (!strcmp(category, "call"))
            track_of(&tracks, tid)->last = s->nspans - 1;
    }
    free(tracks.of);
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

static struct span *sorted_spans; /* for qsort */

static int by_call(const void *a, const void *b)
{
    const struct span *l = &sorted_spans[*(const size_t *)a], *r = &sorted_spans[*(const size_t *)b];
    const int64_t left[] = {l->group, l->context, l->sequence, l->size},
                  right[] = {r->group, r->context, r->sequence, r->size};

    for (int i = 0; i < 4; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return strcmp(l->name, r->name);
}

static int row_of(struct summary *s, const char *name, int64_t bytes)
{
    for (int i = 0; i < s->nrows; i++)
        if (s->rows[i].bytes == bytes && !strcmp(s->rows[i].name, name))
            return i;
    s->rows = trace_memory(realloc(s->rows, (size_t)(s->nrows + 1) * sizeof(*s->rows)));
    s->rows[s->nrows] = (struct row){.name = name,
                                     .bytes = bytes,
                                     .awaited = trace_memory(calloc((size_t)s->set.ranks, sizeof(double)))};
    return s->nrows++;
}

/* The spans of one call, all of them. */
static void call_take(struct summary *s, const size_t *order, size_t n)
{
    int64_t bytes = 0;
    double first = s->spans[order[0]].begin, longest = 0;
    struct row *row;
    int at;

    for (size_t i = 0; i < n; i++) {
        const struct span *span = &s->spans[order[i]];
        bytes = span->bytes > bytes ? span->bytes : bytes;
        first = span->begin < first ? span->begin : first;
        longest = span->took > longest ? span->took : longest;
    }
    at = row_of(s, s->spans[order[0]].name, bytes);
    row = &s->rows[at];
    if ((row->calls & (row->calls - 1)) == 0) /* a power of two: full */
        row->took = trace_memory(realloc(row->took, (row->calls ? 2 * row->calls : 1) * sizeof(double)));
    row->took[row->calls++] = longest;
    for (size_t i = 0; i < n; i++) {
        struct span *span = &s->spans[order[i]];
        struct of_rank *rank = &s->ranks[span->rank];
        span->row = at;
        row->in_calls += span->blocks ? span->took : 0;
        row->waited += span->waited;
        rank->calls++;
        rank->in_calls += span->took;
        if ((rank->nlate & (rank->nlate - 1)) == 0)
            rank->late = trace_memory(realloc(rank->late, (rank->nlate ? 2 * rank->nlate : 1) * sizeof(double)));
        rank->late[rank->nlate++] = span->begin - first;
    }
}

static void calls_find(struct summary *s)
{
    size_t *order = trace_memory(malloc((s->nspans + 1) * sizeof(*order)));

    for (size_t i = 0; i < s->nspans; i++)
        order[i] = i;
    sorted_spans = s->spans;
    qsort(order, s->nspans, sizeof(*order), by_call);
    for (size_t i = 0, n; i < s->nspans; i += n) {
        int64_t size = s->spans[order[i]].size;
        for (n = 1; size > 1 && i + n < s->nspans && by_call(&order[i], &order[i + n]) == 0;)
            n++;
        if ((int64_t)n == size)
            call_take(s, order + i, n);
        else
            s->partial += n;
    }
    free(order);
    for (size_t i = 0; i < s->nwaits; i++) {
        const struct wait *wait = &s->waits[i];
        int known = wait->awaited >= 0 && wait->awaited < s->set.ranks;
        s->ranks[wait->rank].waited += wait->took;
        if (known)
            s->ranks[wait->awaited].awaited += wait->took;
        if (known && wait->span != SIZE_MAX && s->spans[wait->span].row >= 0)
            s->rows[s->spans[wait->span].row].awaited[wait->awaited] += wait->took;
    }
}

/* ---- telling ------------------------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b)
{
    const struct row *l = a, *r = b;
    int names = strcmp(l->name, r->name);

    return names ? names : l->bytes < r->bytes ? -1 : l->bytes > r->bytes;
}

static void row_tell(const struct summary *s, struct row *row)
{
    double middle = median(row->took, row->calls);
    int most = 0;

    for (int r = 1; r < s->set.ranks; r++)
        most = row->awaited[r] > row->awaited[most] ? r : most;
    printf("%-22s %12lld %8zu %12.3f %12.3f", row->name, (long long)row->bytes, row->calls, middle,
           row->took[row->calls - 1]);
    if (row->in_calls > 0)
        printf(" %8.0f %%", 100 * row->waited / row->in_calls);
    if (row->waited > 0 && row->awaited[most] > 0)
        printf("  rank %d (%.0f %% of it)", most, 100 * row->awaited[most] / row->waited);
    printf("\n");
}

static void head_tell(const struct summary *s)
{
    uint64_t error = 0, dropped = 0;

    for (int r = 0; r < s->set.ranks; r++) {
        error = s->set.of[r].error_ns > error ? s->set.of[r].error_ns : error;
        dropped += s->set.of[r].dropped;
    }
    printf("%d ranks; clocks of all nodes within %.3f us of rank 0's\n", s->set.ranks, (double)error / 1e3);
    if (dropped)
        printf("%llu records were lost, the oldest ones: HX_TRACE_BYTES was too small for all\n",
               (unsigned long long)dropped);
    if (s->partial)
        printf("%zu spans are left out, because spans of other ranks are missing from their calls\n", s->partial);
}

static void tell(struct summary *s)
{
    head_tell(s);
    printf("\n%-22s %12s %8s %12s %12s %10s  %s\n", "call", "bytes", "calls", "median us", "longest us", "waiting",
           "mostly for");
    qsort(s->rows, (size_t)s->nrows, sizeof(*s->rows), by_row);
    for (int i = 0; i < s->nrows; i++)
        row_tell(s, &s->rows[i]);
    printf("\n%6s %6s %8s %14s %14s %16s %14s\n", "rank", "node", "calls", "in calls ms", "waiting ms", "waited for ms",
           "late us");
    for (int r = 0; r < s->set.ranks; r++)
        if (s->set.of[r].there)
            printf("%6d %6d %8zu %14.3f %14.3f %16.3f %14.3f\n", r, s->set.of[r].node, s->ranks[r].calls,
                   s->ranks[r].in_calls / 1e3, s->ranks[r].waited / 1e3, s->ranks[r].awaited / 1e3,
                   median(s->ranks[r].late, s->ranks[r].nlate));
    printf("\nwaiting: share of the ranks' time in these calls in which they waited, and the rank that was missing the "
           "most. waited for: "
           "how long\nthe other ranks waited for this one, hx_wait included. late: after the first rank to come to a "
           "call, median.\n");
}

int trace_summary(const struct trace_options *o)
{
    struct summary s = {.nrows = 0};

    for (int i = 0; i < o->ninputs; i++) {
        struct json_object *root, *events;
        if (trace_read(&s.set, o->inputs[i], &root, &events))
            continue;
        events_take(&s, events);
        json_object_put(root);
    }
    trace_missing_tell(&s.set);
    s.ranks = trace_memory(calloc((size_t)s.set.ranks, sizeof(*s.ranks)));
    calls_find(&s);
    tell(&s);
    for (int i = 0; i < s.nnames; i++)
        free(s.names[i]);
    for (int i = 0; i < s.nrows; i++) {
        free(s.rows[i].took);
        free(s.rows[i].awaited);
    }
    for (int r = 0; r < s.set.ranks; r++)
        free(s.ranks[r].late);
    free(s.names);
    free(s.spans);
    free(s.waits);
    free(s.rows);
    free(s.ranks);
    trace_set_close(&s.set);
    return 0;
}
