/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_plan verify: the checker over the plans of all ranks, for every candidate - not only those that the planner
 * likes.
 *
 * One run of the checker holds a chain of calls, so that it proves single calls and every kind of neighbourhood:
 *
 *   this | this, in place | another collective | this, sparse | the third collective | this, ragged
 *
 * Ragged: where ranks have blocks, they are of different length, some empty, and results stand apart in another order.
 * Plans that keep the order of ranks are proved to: on nodes that hold runs of ranks those whose algorithms need no commutative operation, and
 * where a node's ranks are apart the flat ones made for it ("ordered").
 * Collectives with a root are proved for every root on small shapes, for some on large ones.
 *
 * Slots and flags alternate between two banks, so a call meets what stood there two calls before.
 *
 * One process per CPU; each goes through all candidates and takes those that no other has taken.
 */
#include "tools/plan/coll_plan.h"
#include "runtime/plan/check.h"
#include "tools/common/screen.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHAIN 6
#define ALL_ROOTS_RANKS 12
#define WIDE_RANKS 8

struct ground { /* a shape, with one good candidate of each collective to call in between */
    char name[64];
    struct hx_shape *shape;
    struct hx_plan **companions[HX_COLL_COUNT];
    struct hx_candidate companion[HX_COLL_COUNT];
};

struct team { /* shared by the processes */
    atomic_long taken, passed, failed;
};

struct totals {
    const struct plan_options *options;
    struct ground *grounds;
    int ngrounds;
    struct team *team;
    long number, mine; /* of candidates: the next, and the one that is this process's */
    long passed, failed;
};

/* ---- one candidate on one shape ---- */

/* As the planner asks the plan of the fullest node's rank. */
static int widest_window(struct hx_plan **plans, int n)
{
    unsigned least = hx_fine_window_max(plans[0]);

    for (int r = 1; r < n; r++)
        least = hx_fine_window_max(plans[r]) < least ? hx_fine_window_max(plans[r]) : least;
    return (int)least;
}

/* A sparse one of few ranks has as many slices under way as there may be. */
static struct hx_check_call call_of(const struct hx_shape *shape, struct hx_plan **plans, int sparse)
{
    int wide = sparse && shape->nranks <= WIDE_RANKS;
    struct hx_check_call call = {.plans = plans,
                                 .window_fine = wide ? widest_window(plans, shape->nranks) : HX_FINE_WINDOW,
                                 .window_coarse = (int)hx_coarse_window(plans[0]),
                                 .in_place = plans[0]->coll == HX_COLL_BCAST};

    hx_check_sizes(plans, shape->nranks, call.window_fine, call.window_coarse, sparse, &call.sizes);
    return call;
}

/* Blocks of different length, up to that of the dense call: the first, and every fourth, of none. */
static void ragged_make(struct hx_check_call *call, const struct hx_plan *plan, uint64_t *starts, uint64_t *places)
{
    int apart = plan->coll != HX_COLL_REDUCE_SCATTER;
    uint64_t end = 0;

    starts[0] = 0;
    for (int r = 0; r < plan->p; r++)
        starts[r + 1] = starts[r] + (r % 4 ? call->sizes.count * (uint64_t)(r % 4) / 3 : 0);
    for (int r = plan->p - 1; r >= 0; r--) {
        places[r] = end + (uint64_t)(r % 2);
        end = places[r] + starts[r + 1] - starts[r];
    }
    call->sizes.starts = starts;
    call->sizes.places = apart ? places : NULL;
}

static int root_check(struct totals *t, const struct ground *ground, const struct hx_candidate *candidate)
{
    const struct hx_shape *shape = ground->shape;
    struct hx_plan **plans = plans_compose(shape, candidate);
    struct hx_check_call dense = call_of(shape, plans, 0), sparse = call_of(shape, plans, 1), in_place = dense, ragged;
    uint64_t *starts = plan_memory(malloc(2 * ((size_t)shape->nranks + 1) * sizeof(*starts)));
    int others[2] = {(candidate->coll + 1) % HX_COLL_COUNT, (candidate->coll + 2) % HX_COLL_COUNT};
    char report[2048];

    /* the others put one side aside (runtime/start/init.c) */
    in_place.in_place = candidate->coll == HX_COLL_ALLREDUCE || hx_coll_is_scan(candidate->coll) ||
                        (hx_coll_is_rooted(candidate->coll) && candidate->coll != HX_COLL_SCATTER);
    dense.rank_order = sparse.rank_order = in_place.rank_order = hx_candidate_keeps_order(candidate, shape);
    dense.exact = sparse.exact = in_place.exact = hx_candidate_needs(candidate, HX_NEEDS_EXACT);
    struct hx_pair_counts *pair_counts = NULL;
    ragged = dense;
    if (hx_coll_has_pair_counts(candidate->coll)) {
        ragged.pair_counts = pair_counts = plan_memory(hx_check_pair_counts_new(shape->nranks, NULL, ragged.sizes.count));
        ragged.sizes.limit /= 2;
    }
    if (hx_coll_has_blocks(candidate->coll) && !hx_coll_has_pairs(candidate->coll))
        ragged_make(&ragged, plans[0], starts, starts + shape->nranks + 1);
    struct hx_check_call calls[CHAIN] = {dense, in_place, call_of(shape, ground->companions[others[0]], 0), sparse,
                                         call_of(shape, ground->companions[others[1]], 0), ragged};
    int good = hx_check(shape, calls, CHAIN, report, sizeof(report)) == HX_SUCCESS;

    plans_release(plans, shape->nranks);
    free(starts);
    hx_check_pair_counts_free(pair_counts);
    if (good) {
        t->passed += CHAIN;
        return 0;
    }
    char name[HX_CANDIDATE_NAME_BYTES], first[HX_CANDIDATE_NAME_BYTES], second[HX_CANDIDATE_NAME_BYTES];
    hx_candidate_name(candidate, name);
    hx_candidate_name(&ground->companion[others[0]], first);
    hx_candidate_name(&ground->companion[others[1]], second);
    printf("FAILED %s %s, root %d, shape %s: %s\n  (call 2 is %s %s, call 4 is %s %s, call 1 is in place, call 3 is sparse, call 5 is ragged)\n",
           hx_coll_name(candidate->coll), name, candidate->root, ground->name, report, hx_coll_name((enum hx_coll)others[0]), first,
           hx_coll_name((enum hx_coll)others[1]), second);
    t->failed++;
    return 1;
}

static void candidate_check(struct totals *t, const struct ground *ground, struct hx_candidate *candidate)
{
    int n = ground->shape->nranks, last = hx_coll_is_rooted(candidate->coll) ? n - 1 : 0;
    int every = n <= ALL_ROOTS_RANKS ? 1 : n / 2 - 1; /* else 0, n/2 - 1, n - 2, and n - 1 */

    candidate->root = 0;
    while (root_check(t, ground, candidate) == 0 && candidate->root < last)
        candidate->root = candidate->root + every < last ? candidate->root + every : last;
    candidate->root = 0;
}

/* ---- candidates ---- */

/* The line of one candidate, whatever its lanes, or channels of a flat one: 1, 2 and the most. */
static void candidate_verify(struct totals *t, struct hx_candidate candidate)
{
    const struct hx_wire *wire = candidate.wire;
    const int flat = candidate.flat != NULL;
    char name[HX_CANDIDATE_NAME_BYTES];
    long passed = t->passed, failed = t->failed;
    int shapes = 0;

    if (!plan_uses(t->options, &candidate) || t->number++ != t->mine)
        return;
    t->mine = atomic_fetch_add(&t->team->taken, 1);
    candidate.wire = NULL; /* which follows the lanes */
    hx_candidate_name(&candidate, name);
    if (!flat)
        *strrchr(name, ' ') = 0;
    if ((candidate.wire = wire))
        snprintf(name + strlen(name), sizeof(name) - strlen(name), " %s", wire->name);
    for (int g = 0; g < t->ngrounds; g++) {
        int most = t->grounds[g].shape->max_local, lanes[3] = {1, 2, most}, fits = 0;
        if (flat)
            most = lanes[2] = hx_algorithm_most_channels(candidate.flat, t->grounds[g].shape);
        for (int i = 0; i < (most < 3 ? most : 3); i++) {
            candidate.lanes = flat ? 0 : lanes[i];
            candidate.channels = flat ? lanes[i] : 0;
            if (!hx_candidate_fits(&candidate, t->grounds[g].shape) ||
                (candidate.ordered && hx_shape_is_in_order(t->grounds[g].shape))) /* there it is the same plan */
                continue;
            fits = 1;
            candidate_check(t, &t->grounds[g], &candidate);
        }
        shapes += fits;
    }
    if (shapes)
        printf("%-21s %-45s" FOLD " %4d shapes %6ld checks  %s\n", hx_coll_name(candidate.coll), name, shapes,
               t->passed + t->failed - passed - failed, t->failed > failed ? "FAILED" : "passed");
    fflush(stdout);
}

/* The same with messages in a wire format. To the checker all formats are alike. */
static void coded_verify(struct totals *t, struct hx_candidate candidate)
{
    candidate.wire = &hx_wires[0];
    if ((candidate.flat ? candidate.flat : candidate.inter)->needs & HX_CARRIES_CODES)
        candidate_verify(t, candidate);
}

/* Flat plans show what a radix changes, so that compositions need only the usual ones, and those that are named. */
static int is_extra(const struct totals *t, const struct hx_algorithm *a)
{
    return t->options->nalgorithms == 0 && !hx_algorithm_is_usual(a);
}

/* Intra algorithms of the first and the last stage: those of one name. None, if both stages are fixed parts. */
static void compositions_verify(struct totals *t, enum hx_coll coll, int lanes)
{
    const enum hx_coll first = hx_candidate_first(coll, lanes), last = hx_candidate_last(coll, lanes);
    const enum hx_coll outer = first != HX_COLL_COUNT ? first : last;
    const struct hx_algorithm *a = NULL;
    int codes_seen = 0;

    for (int i = 0; outer == HX_COLL_COUNT ? i++ == 0 : (a = hx_algorithm_next(outer, HX_SCOPE_INTRA, &i)) != NULL;) {
        struct hx_candidate c = {.coll = coll, .lanes = lanes, .first = first == HX_COLL_COUNT ? NULL : a};
        c.last = a ? hx_algorithm_find(last, HX_SCOPE_INTRA, a->name) : NULL;
        if ((!c.last && last != HX_COLL_COUNT) || (a && is_extra(t, a)))
            continue;
        for (int j = 0; (c.inter = hx_algorithm_next(hx_candidate_between(coll), HX_SCOPE_INTER, &j));)
            if (!is_extra(t, c.inter)) {
                candidate_verify(t, c);
                if (!codes_seen) /* other stages inside the nodes change no codes */
                    coded_verify(t, c);
            }
        codes_seen = 1;
    }
}

static void coll_verify(struct totals *t, enum hx_coll coll)
{
    const struct hx_algorithm *a;
    int idx = 0;

    while ((a = hx_algorithm_next(coll, HX_SCOPE_INTRA | HX_SCOPE_INTER | HX_SCOPE_FLAT, &idx))) {
        candidate_verify(t, (struct hx_candidate){.coll = coll, .flat = a});
        coded_verify(t, (struct hx_candidate){.coll = coll, .flat = a});
        if (hx_coll_reduces(coll) && !hx_coll_is_scan(coll))
            candidate_verify(t, (struct hx_candidate){.coll = coll, .ordered = 1, .flat = a});
    }
    compositions_verify(t, coll, 1);
    if (hx_candidate_first(coll, 2) != hx_candidate_first(coll, 1) || hx_candidate_last(coll, 2) != hx_candidate_last(coll, 1))
        compositions_verify(t, coll, 2);
}

/* ---- shapes ---- */

static const struct hx_algorithm *first_row(enum hx_coll coll)
{
    int idx = 0;

    return hx_algorithm_next(coll, HX_SCOPE_INTRA, &idx);
}

/* Between the nodes, or flat, the algorithm whose plan is the smallest. All ranks fold in one order, and they use their slots. */
static struct hx_candidate companion_find(const struct hx_shape *shape, enum hx_coll coll)
{
    const enum hx_needs shuns = (enum hx_needs)(HX_NEEDS_EXACT | HX_NEEDS_SINGLE_COPY);
    const int hier = shape->nnodes > 1 && shape->max_local > 1 && hx_candidate_composes(coll, shape);
    struct hx_candidate c = {.coll = coll, .root = hx_coll_is_rooted(coll) ? shape->nranks - 1 : 0}, found = c;
    const struct hx_algorithm **part = hier ? &c.inter : &c.flat;
    size_t least = SIZE_MAX;
    int idx = 0;

    if (hier) {
        c.lanes = hx_candidate_takes_lanes(coll) ? shape->max_local : 1;
        c.first = first_row(hx_candidate_first(coll, c.lanes));
        c.last = first_row(hx_candidate_last(coll, c.lanes));
    }
    while ((*part = hx_algorithm_next(hier ? hx_candidate_between(coll) : coll, ~0u, &idx))) {
        if (!hx_candidate_fits(&c, shape) || hx_candidate_needs(&c, shuns))
            continue;
        struct hx_plan *plan = plan_compose(shape, 0, &c);
        if (hx_plan_bytes(plan) < least) {
            least = hx_plan_bytes(plan);
            found = c;
        }
        hx_plan_release(plan);
    }
    return found;
}

static void ground_add(struct totals *t, const char *name)
{
    struct ground *ground = &t->grounds[t->ngrounds];

    for (int g = 0; g < t->ngrounds; g++)
        if (!strcmp(t->grounds[g].name, name))
            return;
    snprintf(ground->name, sizeof(ground->name), "%s", name);
    ground->shape = plan_shape_parse(name);
    if (t->options->ring_order)
        plan_ring_set(ground->shape, name, t->options->ring_order);
    for (int c = 0; c < HX_COLL_COUNT; c++) {
        ground->companion[c] = companion_find(ground->shape, (enum hx_coll)c);
        ground->companions[c] = plans_compose(ground->shape, &ground->companion[c]);
    }
    t->ngrounds++;
}

/* One node: of every other size with levels inside, of one to three, most of them uneven. */
static void node_name(char *name, size_t capacity, uint64_t ranks)
{
    static const char *const levels[] = {"/2", "/3", "/2/2", "/5", "/3/2", "/2/3", "/2/2/2"};
    uint64_t kind = ranks / 2 % 7, most = kind < 2 ? 3 : kind < 4 ? 5 : 8;

    snprintf(name, capacity, "%d%s", (int)ranks, ranks % 2 && ranks >= most ? levels[kind] : "");
}

static void grounds_open(struct totals *t)
{
    static const char *const named[] = {"3/2,1,2", "4/2,4,3/2",    "8/2/2,7/2",    "2,2",
                                        "2,2,2,2", "3,1,2:cyclic", "4,4,3:cyclic", "1,3", "33x1"};
    const struct plan_options *o = t->options;
    char name[32];

    t->grounds = plan_memory(calloc(2 * (size_t)o->max_ranks + (size_t)o->nshapes + 8, sizeof(*t->grounds)));
    for (int i = 0; i < o->nshapes; i++)
        ground_add(t, o->shapes[i]);
    for (uint64_t p = 1; !o->nshapes && p <= o->max_ranks; p++) {
        node_name(name, sizeof(name), p);
        ground_add(t, name);
        snprintf(name, sizeof(name), "%dx1", (int)p);
        if (p > 1)
            ground_add(t, name);
    }
    for (size_t i = 0; !o->nshapes && i < sizeof(named) / sizeof(named[0]); i++)
        ground_add(t, named[i]);
}

static void verify_mine(struct totals *t)
{
    t->mine = atomic_fetch_add(&t->team->taken, 1);
    for (int i = 0; i < t->options->ncolls; i++)
        coll_verify(t, t->options->colls[i]);
    atomic_fetch_add(&t->team->passed, t->passed);
    atomic_fetch_add(&t->team->failed, t->failed);
}

/* One more process for each further CPU. If none can be started, this process does all the work. */
static void verify_all(struct totals *t)
{
    cpu_set_t cpus;
    int others = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) - 1 : 0, status;
    pid_t pid = -1;

    fflush(stdout);
    while (others-- > 0 && (pid = fork()) > 0)
        ;
    verify_mine(t);
    if (pid == 0) {
        fflush(stdout);
        _exit(0);
    }
    while ((pid = wait(&status)) > 0)
        if (status != 0)
            plan_refuse("verifying process %d ended with status %#x", (int)pid, status);
}

int plan_verify(const struct plan_options *options)
{
    struct team *team = mmap(NULL, sizeof(*team), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static struct totals totals;
    long passed, failed;

    totals.options = options;
    totals.team = plan_memory(team == MAP_FAILED ? NULL : team);
    grounds_open(&totals);
    verify_all(&totals);
    passed = atomic_load(&team->passed);
    failed = atomic_load(&team->failed);
    if (passed + failed == 0)
        plan_refuse("nothing to verify: these collectives and shapes have no plan that uses \"%s\"",
                    options->nalgorithms ? options->algorithms[0] : "any algorithm");
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed ? 1 : 0;
}
