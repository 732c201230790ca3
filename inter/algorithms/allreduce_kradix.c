/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-reduce by the k-radix exchange, or recursive multiplying. A group divides into k runs of neighbours, as evenly as
 * it can. Each run adds up in itself first, in the same way. Then the members at the same place of all runs exchange the
 * sums of their runs, all in one round, and each adds up k sums in the order of runs.
 *
 *   k = 3, p = 9:   0 1 2 | 3 4 5 | 6 7 8      round 0   0 1 2 exchange, 3 4 5, 6 7 8      round 1   0 3 6, 1 4 7, 2 5 8
 *
 * The remainder: some runs, the first ones, may have one member more. The shorter runs have no member at that place. So
 * the last member of a longer run gets the sum of a shorter run from another of its members, and sends nothing there. The
 * longer runs ask different members, the last one first. No member has to wait for a round before or after.
 *
 *   k = 2, p = 5:   0 1 2 | 3 4                round 0   0-1      round 1   0-2, 2 to 1, 3-4      round 2   0-3, 1-4, 4 to 2
 *
 * Cost: ceil(log_k p) (alpha + (k-1) S beta), and k-1 messages at a time, for any p. For small vectors. Any operation:
 * runs are folded in their order everywhere, so all results are equal bit by bit.
 * Source: pmodels/mpich PR 7177 (recursive multiplying) for powers of k; the uneven runs are our own.
 */
#include "inter/algorithms/tree.h"

/* n members in runs: so many, and members in the shorter ones; so many runs have one member more. */
struct division {
    int runs, shorter, longer_runs;
};

static struct division divide(int n, int radix)
{
    int runs = radix < n ? radix : n;
    return (struct division){runs, n / runs, n % runs};
}

static int run_start(const struct division *d, int run)
{
    return run * d->shorter + (run < d->longer_runs ? run : d->longer_runs);
}

static int run_length(const struct division *d, int run)
{
    return d->shorter + (run < d->longer_runs);
}

/* The run of member i of the group. */
static int run_of(const struct division *d, int i)
{
    int in_longer = d->longer_runs * (d->shorter + 1);
    return i < in_longer ? i / (d->shorter + 1) : d->longer_runs + (i - in_longer) / d->shorter;
}

/* The place in run `from` of the member that sends the run's sum to this place of run `to`. */
static int sender(const struct division *d, int from, int to, int place)
{
    int length = run_length(d, from);
    return place < length ? place : length - 1 - to % length;
}

/* The sum of the group's n members, from `first` on. Its last round is `round`. Returns where it stands. */
static enum hx_space group_reduce(struct hx_builder *b, int first, int n, int round)
{
    struct division d = divide(n, b->radix);
    int mine = run_of(&d, b->me - first), start = first + run_start(&d, mine), place = b->me - start, length = run_length(&d, mine);

    if (n == 1)
        return b->in;
    enum hx_space sum = group_reduce(b, start, length, round - 1);
    for (int i = 1; i < d.runs; i++) {
        int to = (mine + i) % d.runs, from = (mine - i + d.runs) % d.runs, last = run_length(&d, to) - 1;
        if (place <= last)
            hx_send_to(b, round, first + run_start(&d, to) + place, hx_at(sum, 0, 1));
        if (last >= length && sender(&d, mine, to, last) == place)
            hx_send_to(b, round, first + run_start(&d, to) + last, hx_at(sum, 0, 1));
        hx_recv_from(b, round, first + run_start(&d, from) + sender(&d, from, mine, place), hx_row(from - (from > mine), 0, 1));
    }
    hx_join_all(b);
    hx_reduce_rows(b, hx_at(b->out, 0, 1), 0, d.runs, sum, mine);
    return b->out;
}

static void build(struct hx_builder *b)
{
    hx_split(b, 1);
    if (!hx_alone(b))
        group_reduce(b, 0, b->p, hx_tree_rounds(b->p, b->radix) - 1);
}

/* Groups of a round have n members or one more. Everybody gets a sum of each other run. The busiest member is the first, whose groups are
 * the longest, or the last, which sends to the longer runs besides. */
static struct hx_counts counts(struct hx_group g)
{
    struct hx_counts c = {.rounds = hx_tree_rounds(g.p, g.radix)};
    double groups = 1, longer_groups = 0, of_first = 0, of_last = 0;

    for (int n = g.p, most = g.p; most > 1;) {
        struct division d = divide(n, g.radix), of_longer = divide(n + 1, g.radix), first = divide(most, g.radix);
        double more = n + 1 - of_longer.runs * d.shorter; /* longer runs of a longer group */
        of_first += first.runs - 1;
        of_last += d.runs - 1 + (d.longer_runs + d.shorter - 1) / d.shorter;
        c.reads += first.runs;
        c.all_messages += groups * n * (d.runs - 1) + longer_groups * (n + 1) * (of_longer.runs - 1);
        c.all_reads += groups * n * (d.runs > 1 ? d.runs : 0) + longer_groups * (n + 1) * of_longer.runs;
        double longer = groups * d.longer_runs + longer_groups * more;
        groups = groups * (d.runs - d.longer_runs) + longer_groups * (of_longer.runs - more);
        longer_groups = longer;
        n = d.shorter;
        most = first.shorter + (first.longer_runs > 0);
    }
    c.messages = c.vectors = of_first > of_last ? of_first : of_last;
    c.all_vectors = c.all_messages;
    return c;
}

#define ROW(k) \
    {HX_RADIX_NAMED("kradix", k, 2), .coll = HX_COLL_ALLREDUCE, .build = build, .counts = counts, \
     .about = "ceil(log" #k " p) rounds of up to " #k " - 1 whole vectors at once, for any p: small vectors", \
     .source = "recursive multiplying: MPICH PR 7177"}

const struct hx_algorithm hx_allreduce_kradix[] = {HX_RADICES(ROW)};
