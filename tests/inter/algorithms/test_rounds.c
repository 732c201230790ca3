/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds, messages and bytes of every algorithm between nodes, member by member, exactly as their descriptions say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hier/compose/compose.h"
#include "runtime/plan/explain.h"
#include "tests/runtime/plan/plans.h"

#define MAX_P 70
#define SHARE UINT64_C(1024)

struct expected { /* of one member; of S = p shares of SHARE bytes */
    uint32_t rounds;
    uint64_t messages, bytes;
};

static int floor_log2(int p)
{
    return 31 - __builtin_clz((unsigned)p);
}

static int ceil_log2(int p)
{
    return floor_log2(p) + (p & (p - 1) ? 1 : 0);
}

/* Expect on member r of p. */
typedef struct expected expect_t(int p, int r);

static struct expected ring(int p, int r)
{
    (void)r;
    return (struct expected){(uint32_t)p - 1, (uint64_t)p - 1, (uint64_t)(p - 1) * SHARE};
}

static struct expected mesh(int p, int r)
{
    (void)r;
    return (struct expected){1, (uint64_t)p - 1, (uint64_t)(p - 1) * SHARE};
}

static struct expected circulant(int p, int r)
{
    (void)r;
    return (struct expected){(uint32_t)ceil_log2(p), (uint64_t)ceil_log2(p), (uint64_t)(p - 1) * SHARE};
}

static struct expected mesh_single(int p, int r)
{
    (void)r;
    return (struct expected){1, (uint64_t)p - 1, (uint64_t)(p * (p - 1)) * SHARE};
}

/* A member that has no mate is on both rings: between rounds of its pair it has nothing to do. */
static struct expected kangaring(int p, int r)
{
    struct expected e = mesh(p, r);
    e.rounds = (uint32_t)((p + 1) / 2 - (r == p - 1 && p % 2));
    return e;
}

/* Of an odd number of blocks one more is on the even members' ring than on the other. */
static struct expected kangaring_allgather(int p, int r)
{
    struct expected e = kangaring(p, r);
    if (p % 2) {
        e.messages += (uint64_t)(r == p - 1 ? -1 : r % 2 == 0 ? 1 : r == p - 2 ? 0 : -1);
        e.bytes = e.messages * SHARE;
    }
    return e;
}

static struct expected twice(struct expected e)
{
    return (struct expected){2 * e.rounds, 2 * e.messages, 2 * e.bytes};
}

static struct expected ring_allreduce(int p, int r)
{
    return twice(ring(p, r));
}

static struct expected mesh_allreduce(int p, int r)
{
    return twice(mesh(p, r));
}

static struct expected circulant_allreduce(int p, int r)
{
    return twice(circulant(p, r));
}

static struct expected kangaring_allreduce(int p, int r)
{
    struct expected down = kangaring(p, r), up = kangaring_allgather(p, r);
    return (struct expected){down.rounds + up.rounds, down.messages + up.messages, down.bytes + up.bytes};
}

/* What folding adds to a member of the group, and all that a folded one does: its vector to its neighbour, and the
 * result back. */
static int is_folded(int p, int r)
{
    return r < 2 * (p - (1 << floor_log2(p))) && r % 2 == 0;
}

static int serves(int p, int r)
{
    return r < 2 * (p - (1 << floor_log2(p))) && r % 2 == 1;
}

static struct expected recursive_doubling(int p, int r)
{
    uint64_t rounds = (uint64_t)floor_log2(p);

    if (is_folded(p, r))
        return (struct expected){2, 1, (uint64_t)p * SHARE};
    return (struct expected){(uint32_t)rounds + 2 * (uint32_t)serves(p, r), rounds + (uint64_t)serves(p, r),
                             (rounds + (uint64_t)serves(p, r)) * (uint64_t)p * SHARE};
}

/* 2 S (g-1)/g within the group of g; S more for a server. */
static struct expected rdh_allreduce(int p, int r)
{
    uint64_t rounds = 2 * (uint64_t)floor_log2(p), g = UINT64_C(1) << floor_log2(p), more = (uint64_t)serves(p, r);

    if (is_folded(p, r))
        return (struct expected){2, 1, (uint64_t)p * SHARE};
    return (struct expected){(uint32_t)(rounds + 2 * more), rounds + more,
                             2 * (uint64_t)p * SHARE * (g - 1) / g + more * (uint64_t)p * SHARE};
}

/* Everybody in the group sends all blocks but its own, one by one as halves; a server its neighbour's block last. */
static struct expected rdh_reduce_scatter(int p, int r)
{
    uint64_t rounds = (uint64_t)floor_log2(p), more = (uint64_t)serves(p, r);

    if (is_folded(p, r))
        return (struct expected){2, 1, (uint64_t)p * SHARE};
    return (struct expected){(uint32_t)(rounds + 2 * more), rounds + more, (uint64_t)(p - 1) * SHARE};
}

/* ---- broadcasts from member 0: what each algorithm's head says, member by member */

static struct expected bcast_flat(int p, int r)
{
    uint64_t messages = r == 0 ? (uint64_t)p - 1 : 0;
    return (struct expected){1, messages, messages * (uint64_t)p * SHARE};
}

/* The children of r: r + d, r + 2d, ... for every power d of k below r's lowest digit; one round for each d with any. */
static struct expected bcast_tree(int p, int r, int k)
{
    uint64_t messages = 0;
    uint32_t rounds = r > 0;

    for (int d = 1; d < p && r / d % k == 0; d *= k) {
        int children = 0;
        for (int i = 1; i < k; i++)
            children += r + i * d < p;
        messages += (uint64_t)children;
        rounds += children > 0;
    }
    return (struct expected){rounds, messages, messages * (uint64_t)p * SHARE};
}

static struct expected bcast_binomial(int p, int r)
{
    return bcast_tree(p, r, 2);
}

static struct expected bcast_knomial(int p, int r)
{
    return bcast_tree(p, r, 4);
}

static struct expected bcast_chain(int p, int r)
{
    uint64_t messages = r < p - 1;
    return (struct expected){(uint32_t)((r > 0) + messages), messages, messages * (uint64_t)p * SHARE};
}

/* ---- two trees: where each number of low .. low+n-1 stands in the tree in order, drawn as the picture is */

#define MOST_NUMBERS (MAX_P + 2)

struct drawn {
    int parent[MOST_NUMBERS], depth[MOST_NUMBERS], children[MOST_NUMBERS];
};

static void draw_in_order(struct drawn *tree, int low, int n, int parent, int depth)
{
    int top = n > 0 ? low - 1 + (1 << floor_log2(n)) : 0;

    if (n <= 0)
        return;
    tree->parent[top] = parent;
    tree->depth[top] = depth;
    tree->children[parent]++;
    draw_in_order(tree, low, top - low, top, depth + 1);
    draw_in_order(tree, top + 1, low + n - 1 - top, top, depth + 1);
}

/* The trees of 1 .. n; a parent of 0 is outside. */
static void draw_both(struct drawn trees[2], int n)
{
    memset(trees, 0, 2 * sizeof(*trees));
    draw_in_order(&trees[0], 1, n, 0, 0);
    trees[1].children[0] = 1;
    draw_in_order(&trees[1], 2, n - 1, 1, 1);
}

static struct expected halves(uint32_t rounds, uint64_t messages, int p)
{
    return (struct expected){rounds, messages, messages * (uint64_t)p * SHARE / 2};
}

/* Rounds in which number v takes part, where a way begins outside or not: tree 1 is one round behind. */
static uint32_t way_rounds(const struct drawn trees[2], int v, int n, int outside)
{
    uint64_t seen = 0;

    for (int tree = 0; tree < 2; tree++)
        for (int w = 1; w <= n; w++)
            if ((w == v || trees[tree].parent[w] == v) && (trees[tree].parent[w] || outside))
                seen |= UINT64_C(1) << (tree + trees[tree].depth[w]);
    return (uint32_t)__builtin_popcountll(seen);
}

static struct expected bcast_double_tree(int p, int r)
{
    struct drawn trees[2];

    draw_both(trees, p - 1);
    for (int v = 1; v < p; v++) /* nobody has children in both */
        assert_true(!trees[0].children[v] || !trees[1].children[v]);
    return halves(way_rounds(trees, r, p - 1, 1), (uint64_t)(trees[0].children[r] + trees[1].children[r]), p);
}

static struct expected reduce_double_tree(int p, int r)
{
    struct expected e = bcast_double_tree(p, r);
    return halves(e.rounds, r > 0 ? 2 : 0, p);
}

static struct expected allreduce_double_tree(int p, int r)
{
    struct drawn trees[2];
    int v = r + 1;

    draw_both(trees, p);
    return halves(2 * way_rounds(trees, v, p, 0),
                  (uint64_t)((trees[0].parent[v] > 0) + (trees[1].parent[v] > 0) + trees[0].children[v] + trees[1].children[v]), p);
}

/* Numbers in the subtree of r, the root of 0 .. p-1. */
static int subtree(int p, int r)
{
    int span = r ? r & -r : p;
    return span < p - r ? span : p - r;
}

/* The tree hands on all of the subtree but the own block. */
static struct expected tree_scatter(int p, int r)
{
    struct expected e = bcast_tree(p, r, 2);
    e.bytes = (uint64_t)(subtree(p, r) - 1) * SHARE;
    return e;
}

/* Then the ring, as long as this member or the next still lacks a block. */
static struct expected bcast_scatter_ring(int p, int r)
{
    struct expected e = tree_scatter(p, r);
    int lacks = p - subtree(p, r), next = p - subtree(p, (r + 1) % p);

    e.rounds += (uint32_t)(lacks > next ? lacks : next);
    e.messages += (uint64_t)next;
    e.bytes += (uint64_t)next * SHARE;
    return e;
}

static struct expected bcast_scatter_circulant(int p, int r)
{
    struct expected e = tree_scatter(p, r), ring = circulant(p, r);
    return (struct expected){e.rounds + ring.rounds, e.messages + ring.messages, e.bytes + ring.bytes};
}

/* ---- reductions to member 0: the same trees, upwards */

static struct expected reduce_flat(int p, int r)
{
    return (struct expected){1, r > 0, r > 0 ? (uint64_t)p * SHARE : 0};
}

static struct expected reduce_tree(int p, int r, int k)
{
    return (struct expected){bcast_tree(p, r, k).rounds, r > 0, r > 0 ? (uint64_t)p * SHARE : 0};
}

static struct expected reduce_binomial(int p, int r)
{
    return reduce_tree(p, r, 2);
}

static struct expected reduce_knomial(int p, int r)
{
    return reduce_tree(p, r, 4);
}

static struct expected reduce_chain(int p, int r)
{
    return (struct expected){(uint32_t)((r > 0) + (r < p - 1)), r > 0, r > 0 ? (uint64_t)p * SHARE : 0};
}

static struct expected reduce_scatter_gather(int p, int r)
{
    struct expected e = circulant(p, r);

    e.rounds += bcast_tree(p, r, 2).rounds;
    e.messages += r > 0;
    e.bytes += r > 0 ? (uint64_t)subtree(p, r) * SHARE : 0;
    return e;
}

/* ---- gather to member 0, scatter from it */

static struct expected gather_flat(int p, int r)
{
    (void)p;
    return (struct expected){1, r > 0, r > 0 ? SHARE : 0};
}

static struct expected gather_binomial(int p, int r)
{
    return (struct expected){bcast_tree(p, r, 2).rounds, r > 0, r > 0 ? (uint64_t)subtree(p, r) * SHARE : 0};
}

static struct expected scatter_flat(int p, int r)
{
    uint64_t messages = r == 0 ? (uint64_t)p - 1 : 0;
    return (struct expected){1, messages, messages * SHARE};
}

/* ---- all-to-all */

static struct expected alltoall_mesh(int p, int r)
{
    (void)r;
    return (struct expected){1, (uint64_t)p - 1, ((uint64_t)p - 1) * SHARE};
}

static struct expected alltoall_pairwise(int p, int r)
{
    struct expected e = alltoall_mesh(p, r);

    e.rounds = (uint32_t)p - 1;
    return e;
}

/* A block that goes i further is sent once for each digit of i that is not 0. */
static struct expected bruck(int p, int k)
{
    struct expected e = {0, 0, 0};

    for (int weight = 1; weight < p; weight *= k, e.rounds++)
        for (int digit = 1; digit < k && digit * weight < p; digit++)
            e.messages++;
    for (int i = 1; i < p; i++)
        for (int rest = i; rest; rest /= k)
            e.bytes += rest % k ? SHARE : 0;
    return e;
}

static struct expected alltoall_bruck(int p, int r)
{
    (void)r;
    return bruck(p, 2);
}

static struct expected alltoall_kbruck(int p, int r)
{
    (void)r;
    return bruck(p, 4);
}

/* In each round up to 3 runs of as many members as are known, the last one perhaps shorter. */
static struct expected allgather_kbruck(int p, int r)
{
    struct expected e = {0, 0, ((uint64_t)p - 1) * SHARE};

    (void)r;
    for (int known = 1; known < p; known = 4 * known < p ? 4 * known : p, e.rounds++)
        e.messages += (uint64_t)((p - 1) / known < 3 ? (p - 1) / known : 3);
    return e;
}

/* ---- barriers: a message is one token, here of p shares */

static struct expected tokens(uint32_t rounds, uint64_t messages, int p)
{
    return (struct expected){rounds, messages, messages * (uint64_t)p * SHARE};
}

static struct expected barrier_dissemination(int p, int r)
{
    (void)r;
    return tokens((uint32_t)ceil_log2(p), (uint64_t)ceil_log2(p), p);
}

static struct expected barrier_mesh(int p, int r)
{
    (void)r;
    return tokens(1, (uint64_t)p - 1, p);
}

static struct expected barrier_pairwise(int p, int r)
{
    (void)r;
    return tokens((uint32_t)p - 1, (uint64_t)p - 1, p);
}

/* Tokens, or the vectors of an all-reduce. */
static struct expected up_and_down_tree(int p, int r)
{
    struct expected down = bcast_tree(p, r, 2);
    return tokens(2 * down.rounds, down.messages + (r > 0), p);
}

/* ---- scans: whole vectors, upwards */

static struct expected vectors(uint32_t rounds, uint64_t messages, int p)
{
    return (struct expected){rounds, messages, messages * (uint64_t)p * SHARE};
}

static struct expected exclusive_dissemination_allreduce(int p, int r)
{
    (void)r;
    return vectors((uint32_t)ceil_log2(p), (uint64_t)ceil_log2(p), p);
}

static struct expected scan_mesh(int p, int r)
{
    return vectors(1, (uint64_t)(p - 1 - r), p);
}

static struct expected scan_chain(int p, int r)
{
    return vectors((r > 0) + (r < p - 1), r < p - 1, p);
}

static struct expected scan_doubling(int p, int r)
{
    uint32_t rounds = 0, messages = 0;

    for (int d = 1; d < p; d *= 2) {
        rounds += r + d < p || r >= d;
        messages += r + d < p;
    }
    return vectors(rounds, messages, p);
}

/* The skips are 1, 2, 3, 6, 12, ...; from the third on member 0 is out. */
static struct expected exclusive_dissemination(int p, int r)
{
    uint32_t rounds = 0, messages = 0;

    for (int d = 1, lowest = 0; d + lowest < p; d = d < 3 ? d + 1 : 2 * d, lowest = d > 2) {
        rounds += (r >= lowest && r + d < p) || r - d >= lowest;
        messages += r >= lowest && r + d < p;
    }
    return vectors(rounds, messages, p);
}

static const struct row {
    const char *name;
    enum hx_coll coll;
    expect_t *expect;
} rows[] = {
    {"ring", HX_COLL_ALLREDUCE, ring_allreduce},
    {"ring", HX_COLL_REDUCE_SCATTER, ring},
    {"ring", HX_COLL_ALLGATHER, ring},
    {"mesh", HX_COLL_ALLREDUCE, mesh_allreduce},
    {"mesh", HX_COLL_REDUCE_SCATTER, mesh},
    {"mesh", HX_COLL_ALLGATHER, mesh},
    {"mesh_single", HX_COLL_ALLREDUCE, mesh_single},
    {"circulant", HX_COLL_ALLREDUCE, circulant_allreduce},
    {"circulant", HX_COLL_REDUCE_SCATTER, circulant},
    {"circulant", HX_COLL_ALLGATHER, circulant},
    {"recursive_doubling", HX_COLL_ALLREDUCE, recursive_doubling},
    {"exclusive_dissemination", HX_COLL_ALLREDUCE, exclusive_dissemination_allreduce},
    {"rdh", HX_COLL_ALLREDUCE, rdh_allreduce},
    {"tree", HX_COLL_ALLREDUCE, up_and_down_tree},
    {"double_tree", HX_COLL_ALLREDUCE, allreduce_double_tree},
    {"double_tree", HX_COLL_BCAST, bcast_double_tree},
    {"double_tree", HX_COLL_REDUCE, reduce_double_tree},
    {"kangaring", HX_COLL_ALLREDUCE, kangaring_allreduce},
    {"kangaring", HX_COLL_REDUCE_SCATTER, kangaring},
    {"kangaring", HX_COLL_ALLGATHER, kangaring_allgather},
    {"kbruck", HX_COLL_ALLGATHER, allgather_kbruck},
    {"rdh", HX_COLL_REDUCE_SCATTER, rdh_reduce_scatter},
    {"flat", HX_COLL_BCAST, bcast_flat},
    {"binomial", HX_COLL_BCAST, bcast_binomial},
    {"knomial", HX_COLL_BCAST, bcast_knomial},
    {"chain", HX_COLL_BCAST, bcast_chain},
    {"scatter_ring", HX_COLL_BCAST, bcast_scatter_ring},
    {"scatter_circulant", HX_COLL_BCAST, bcast_scatter_circulant},
    {"flat", HX_COLL_REDUCE, reduce_flat},
    {"binomial", HX_COLL_REDUCE, reduce_binomial},
    {"knomial", HX_COLL_REDUCE, reduce_knomial},
    {"chain", HX_COLL_REDUCE, reduce_chain},
    {"scatter_gather", HX_COLL_REDUCE, reduce_scatter_gather},
    {"flat", HX_COLL_GATHER, gather_flat},
    {"binomial", HX_COLL_GATHER, gather_binomial},
    {"flat", HX_COLL_SCATTER, scatter_flat},
    {"binomial", HX_COLL_SCATTER, tree_scatter},
    {"mesh", HX_COLL_ALLTOALL, alltoall_mesh},
    {"pairwise", HX_COLL_ALLTOALL, alltoall_pairwise},
    {"bruck", HX_COLL_ALLTOALL, alltoall_bruck},
    {"kbruck", HX_COLL_ALLTOALL, alltoall_kbruck},
    {"mesh", HX_COLL_ALLTOALLV, alltoall_mesh},
    {"pairwise", HX_COLL_ALLTOALLV, alltoall_pairwise},
    {"dissemination", HX_COLL_BARRIER, barrier_dissemination},
    {"mesh", HX_COLL_BARRIER, barrier_mesh},
    {"tree", HX_COLL_BARRIER, up_and_down_tree},
    {"pairwise", HX_COLL_BARRIER, barrier_pairwise},
    {"mesh", HX_COLL_SCAN, scan_mesh},
    {"recursive_doubling", HX_COLL_SCAN, scan_doubling},
    {"chain", HX_COLL_SCAN, scan_chain},
    {"mesh", HX_COLL_EXSCAN, scan_mesh},
    {"recursive_doubling", HX_COLL_EXSCAN, scan_doubling},
    {"exclusive_dissemination", HX_COLL_EXSCAN, exclusive_dissemination},
    {"chain", HX_COLL_EXSCAN, scan_chain},
};

/* A share is 128 elements of 8 bytes, so that each of up to 64 parts is whole. */
static struct hx_sizes sizes_of(enum hx_coll coll, int p)
{
    return (struct hx_sizes){.count = hx_coll_has_blocks(coll) ? 128 : 128 * (uint64_t)p,
                             .elem_bytes = 8,
                             .fine_slices = 1,
                             .coarse_slices = 1};
}

static struct hx_plan_stats count(const struct hx_algorithm *a, struct hx_shape *shape, int rank)
{
    struct hx_sizes sizes = sizes_of(a->coll, shape->nranks);
    struct hx_plan *plan = plan_of_build(a->coll, a->name, HX_SCOPE_INTER, shape->nranks, rank, a->build);
    struct hx_plan_stats stats;

    assert_non_null(plan);
    hx_plan_count(plan, shape, &sizes, &stats);
    hx_plan_release(plan);
    return stats;
}

static void test_every_member(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct hx_algorithm *a = algorithm_named(rows[i].name, rows[i].coll);
        for (int p = 2; p <= MAX_P; p++) {
            struct hx_shape *shape = shape_of(HX_SCOPE_INTER, p);
            for (int r = 0; r < p; r++) {
                struct hx_plan_stats got = count(a, shape, r);
                struct expected want = rows[i].expect(p, r);
                if (got.rounds != want.rounds || got.messages != want.messages || got.bytes_sent != want.bytes)
                    fail_msg("%s of collective %d, member %d of %d: %u rounds, %llu messages, %llu bytes; expected %u, "
                             "%llu, %llu",
                             a->name, a->coll, r, p, got.rounds, (unsigned long long)got.messages,
                             (unsigned long long)got.bytes_sent, want.rounds, (unsigned long long)want.messages,
                             (unsigned long long)want.bytes);
                assert_int_equal(got.inter_messages, got.messages);
                assert_int_equal(got.inter_bytes_sent, got.bytes_sent);
            }
            hx_shape_free(shape);
        }
    }
}

/* Recursive doubling all-gather: members of the group send unequally where p is no power of two, all together p (p-1)
 * blocks. */
static void test_allgather_rdh(void **state)
{
    const struct hx_algorithm *a = algorithm_named("rdh", HX_COLL_ALLGATHER);

    (void)state;
    for (int p = 2; p <= MAX_P; p++) {
        struct hx_shape *shape = shape_of(HX_SCOPE_INTER, p);
        uint32_t rounds = 0;
        uint64_t bytes = 0;
        for (int r = 0; r < p; r++) {
            struct hx_plan_stats got = count(a, shape, r);
            rounds = got.rounds > rounds ? got.rounds : rounds;
            bytes += got.bytes_sent;
            if ((p & (p - 1)) == 0)
                assert_int_equal(got.bytes_sent, (p - 1) * SHARE);
        }
        assert_int_equal(rounds, floor_log2(p) + (p & (p - 1) ? 2 : 0));
        assert_int_equal(bytes, (uint64_t)p * (uint64_t)(p - 1) * SHARE);
        hx_shape_free(shape);
    }
}

/* Circulant broadcast and reduction: all of m blocks come to everybody but the root (go from them), one in a round; the root
 * sends (receives) in each of m-1 + ceil(log2 p) rounds. */
static void test_circulant_blocks(void **state)
{
    const struct hx_algorithm *bcast = algorithm_named("circulant", HX_COLL_BCAST);
    const struct hx_algorithm *reduce = algorithm_named("circulant", HX_COLL_REDUCE);

    (void)state;
    for (int p = 2; p <= MAX_P; p++) {
        struct hx_shape *shape = shape_of(HX_SCOPE_INTER, p);
        uint32_t m = 4 * (uint32_t)ceil_log2(p), rounds = m - 1 + (uint32_t)ceil_log2(p);
        uint64_t messages = 0;
        for (int r = 0; r < p; r++) {
            struct hx_plan_stats down = count(bcast, shape, r), up = count(reduce, shape, r);
            assert_int_equal(down.receives, r ? m : 0);
            assert_int_equal(up.messages, r ? m : 0);
            assert_int_equal(down.bytes_received, r ? (uint64_t)p * SHARE : 0);
            assert_int_equal(up.bytes_sent, r ? (uint64_t)p * SHARE : 0);
            assert_int_equal(down.messages, up.receives);
            assert_in_range(down.last_round, 1, rounds);
            if (r == 0)
                assert_int_equal(down.messages, rounds);
            messages += down.messages;
        }
        assert_int_equal(messages, m * ((uint64_t)p - 1));
        hx_shape_free(shape);
    }
}

/* The locality-aware Bruck all-gather: of 16 nodes of 4, one rank of each sends to other nodes, in 2 rounds of 3 messages, and no
 * block comes to a node twice. Bruck's exchange among all ranks sends all of its messages, but those of the first hops, from every
 * rank. */
static void test_locality(void **state)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse("16x4", error);
    struct hx_candidate near = {.coll = HX_COLL_ALLGATHER, .lanes = 1, .inter = algorithm_named("kbruck", HX_COLL_ALLGATHER),
                                .last = algorithm_named("nary", HX_COLL_ALLGATHER)};
    struct hx_candidate flat = {.coll = HX_COLL_ALLGATHER, .flat = near.inter};
    struct hx_sizes sizes = sizes_of(HX_COLL_ALLGATHER, shape->nranks);

    (void)state;
    assert_int_equal(hx_candidate_fits(&near, shape), 1);
    for (int r = 0; r < shape->nranks; r++) {
        struct hx_plan *plans[] = {hx_compose(shape, r, &near), hx_compose(shape, r, &flat)};
        struct hx_plan_stats stats;
        assert_non_null(plans[0]);
        assert_non_null(plans[1]);
        hx_plan_count(plans[0], shape, &sizes, &stats);
        assert_int_equal(stats.inter_messages, r % 4 == 0 ? 6 : 0);
        assert_int_equal(stats.inter_bytes_sent, r % 4 == 0 ? 15 * 4 * SHARE : 0);
        hx_plan_count(plans[1], shape, &sizes, &stats);
        assert_in_range(stats.inter_messages, 6, 9);
        hx_plan_release(plans[0]);
        hx_plan_release(plans[1]);
    }
    hx_shape_free(shape);
}

/* Every algorithm of the table is counted above. */
static void test_none_is_left_out(void **state)
{
    (void)state;
    for (const struct hx_algorithm *a = hx_inter_algorithms; a->name; a++) {
        int found = a == algorithm_named("rdh", HX_COLL_ALLGATHER) || a == algorithm_named("circulant", HX_COLL_BCAST) ||
                    a == algorithm_named("circulant", HX_COLL_REDUCE);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            found |= a == algorithm_named(rows[i].name, rows[i].coll);
        if (!found)
            fail_msg("no counts are expected of %s, collective %d", a->name, a->coll);
    }
}

/* The which-th step of an opcode. */
static const struct hx_step *step_of(const struct hx_plan *plan, enum hx_opcode op, int which)
{
    for (uint32_t i = 0; i < plan->stages[0].nsteps; i++)
        if (plan->stages[0].steps[i].op == op && which-- == 0)
            return &plan->stages[0].steps[i];
    fail_msg("the plan has too few steps");
    return NULL;
}

/* The mesh's targets are staggered: r+1, r+2, ... */
static void test_order_of_the_mesh(void **state)
{
    static const char *const names[] = {"mesh", "mesh_single"};

    (void)state;
    for (int n = 0; n < 2; n++)
        for (int r = 0; r < 7; r++) {
            const struct hx_algorithm *a = algorithm_named(names[n], HX_COLL_ALLREDUCE);
            struct hx_plan *plan = plan_of_build(a->coll, a->name, HX_SCOPE_INTER, 7, r, a->build);
            for (int i = 1; i < 7; i++) {
                assert_int_equal(step_of(plan, HX_OP_SEND, i - 1)->peer, (r + i) % 7);
                assert_int_equal(step_of(plan, HX_OP_RECV, i - 1)->peer, (r - i + 7) % 7);
            }
            hx_plan_release(plan);
        }
}

/* All-to-all: of many members no more than 32 exchanges are under way, and the plan stays small. */
static void test_window_of_the_mesh(void **state)
{
    const struct hx_algorithm *a = algorithm_named("mesh", HX_COLL_ALLTOALL);
    struct hx_plan *plan = plan_of_build(a->coll, a->name, HX_SCOPE_INTER, 1024, 5, a->build);
    const struct hx_stage *stage = &plan->stages[0];
    uint32_t started = 0, under_way = 0;

    (void)state;
    for (uint32_t i = 0; i < stage->nsteps; i++) {
        if (stage->steps[i].op == HX_OP_JOIN)
            under_way -= stage->steps[i].n;
        else if (stage->steps[i].op != HX_OP_COPY)
            started++, under_way++;
        assert_in_range(under_way, 0, 64);
    }
    assert_int_equal(started, 2 * 1023);
    assert_int_equal(under_way, 0);
    assert_int_equal(stage->ntransfers, 64);
    assert_in_range(hx_plan_bytes(plan), 0, 128 * 1024);
    hx_plan_release(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_member),      cmocka_unit_test(test_allgather_rdh),
        cmocka_unit_test(test_circulant_blocks),  cmocka_unit_test(test_none_is_left_out),
        cmocka_unit_test(test_locality),          cmocka_unit_test(test_order_of_the_mesh),
        cmocka_unit_test(test_window_of_the_mesh),
    };

    return cmocka_run_group_tests_name("rounds", tests, NULL, NULL);
}
