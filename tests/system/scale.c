/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of any size, of which only rank 0 is there, alone on its node: hx_init_with meets a bootstrap that speaks for all others, with
 * nodes of 96 ranks, the last one of what is left, and an address for each. What rank 0 then has allocated and fetched is what it would
 * have in such a job; the plans are those of the first rank of a full node.
 *
 *   scale RANKS         a line: ranks, memory of the rank (all of the heap), of its node's table of addresses, fences, values put, values
 *                       and bytes that a leader fetches, microseconds of hx_init_with but for the bootstrap
 *   scale RANKS plans   a line for each collective and size: elements, the plan's steps and bytes, its name, or why there is none
 */
#include "inter/fabric/fabric.h"
#include "runtime/api/comm.h"
#include "runtime/start/startup.h"
#include "runtime/base/clock.h"
#include <malloc.h>
#include <netinet/in.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_RANKS 96

struct job {
    int ranks, fences, puts;
    long gets, got_bytes;
    size_t own_bytes; /* heap of this bootstrap */
    double own_us;
};

static size_t heap(void)
{
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 now = mallinfo2();
#else
    struct mallinfo now = mallinfo();
#endif
    return (size_t)now.uordblks + (size_t)now.hblkhd;
}

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "scale: %s: %s\n", what, hx_error_detail(NULL));
    exit(1);
}

/* ---- what all have put ------------------------------------------------------------------------------------------- */

static int keep(void *ctx, const char *key, const char *value)
{
    ENTRY entry = {.key = strdup(key), .data = strdup(value)}, *found;

    (void)ctx;
    found = hsearch(entry, ENTER);
    if (found)
        found->data = entry.data; /* put again */
    return !found;
}

static int no_fence(void *ctx)
{
    (void)ctx;
    return 0;
}

static int look(void *ctx, const char *key, char *value, size_t capacity)
{
    ENTRY *found = hsearch((ENTRY){.key = (char *)(uintptr_t)key}, FIND);

    (void)ctx;
    if (!found || strlen(found->data) >= capacity)
        return 1;
    strcpy(value, found->data);
    return 0;
}

/* The bootstrap as another rank has it after two fences. */
static struct hx_boot *boot_of(const struct job *job, int rank, int fences)
{
    const hx_bootstrap_t calls = {.rank = rank, .size = job->ranks, .put = keep, .fence = no_fence, .get = look};
    struct hx_env env;
    struct hx_boot *boot;

    must(hx_env_load(&env, NULL) == HX_SUCCESS && hx_boot_open(&env, &calls, &boot) == HX_SUCCESS, "bootstrap");
    while (fences-- > 0)
        hx_boot_fence(boot);
    hx_env_release(&env);
    return boot;
}

/* Rank 0's address as that of another: 10.x.y.z, a node each. */
static void address_change(unsigned char *blob, size_t bytes, int node, int local)
{
    struct sockaddr_in name;
    uint32_t sum;

    memcpy(&name, blob + bytes - sizeof(name), sizeof(name));
    must(name.sin_family == AF_INET, "the provider's address is none of IP version 4");
    name.sin_addr.s_addr = htonl(0x0a000000u + (uint32_t)node);
    name.sin_port = htons((uint16_t)(10000 + local));
    memcpy(blob + bytes - sizeof(name), &name, sizeof(name));
    sum = (uint32_t)hx_fnv(HX_FNV_START, blob + 8, bytes - 8); /* as in inter/fabric/address.c */
    memcpy(blob + 4, &sum, sizeof(sum));
}

/* The other nodes' values, as rank 0 is about to fetch them: each like its own, which holds its address. */
static void others_put(const struct job *job)
{
    struct hx_boot *boot = boot_of(job, 0, 3);
    unsigned char *own, *value = malloc(sizeof(struct hx_node_facts) + NODE_RANKS * (sizeof(struct hx_rank_head) + HX_ADDRESS_BYTES)), *at;
    size_t bytes;
    struct hx_rank_head head;
    struct hx_node_facts facts = {.single_copy = 1, .milli_per_cpu = 1500};

    must(hx_boot_get(boot, "node0.0", (void **)&own, &bytes) == HX_SUCCESS, "rank 0's value");
    hx_boot_close(boot, 0);
    memcpy(&head, own + sizeof(facts), sizeof(head));
    for (int32_t leader = 1, node = 1, n; leader < job->ranks; leader += n, node++) {
        char key[32];
        n = job->ranks - leader < NODE_RANKS ? job->ranks - leader : NODE_RANKS;
        facts.ranks = n;
        memcpy(value, &facts, sizeof(facts));
        at = value + sizeof(facts);
        for (int32_t i = 0; i < n; i++, at += sizeof(head) + (size_t)head.address_bytes) {
            head.rank = leader + i;
            memcpy(at, &head, sizeof(head));
            memcpy(at + sizeof(head), own + sizeof(facts) + sizeof(head), (size_t)head.address_bytes);
            address_change(at + sizeof(head), (size_t)head.address_bytes, node, i);
        }
        snprintf(key, sizeof(key), "node0.%d", leader);
        boot = boot_of(job, leader, 2);
        must(hx_boot_put(boot, key, value, (size_t)(at - value)) == HX_SUCCESS, key);
        hx_boot_close(boot, 0);
    }
    free(own);
    free(value);
}

static int job_put(void *ctx, const char *key, const char *value)
{
    struct job *job = ctx;

    job->puts++;
    return keep(ctx, key, value);
}

static int job_fence(void *ctx)
{
    struct job *job = ctx;
    size_t before = heap();
    double start = 1e6 * hx_now_s();

    if (++job->fences == 3)
        others_put(job);
    job->own_bytes += heap() - before;
    job->own_us += 1e6 * hx_now_s() - start;
    return 0;
}

static int job_get(void *ctx, const char *key, char *value, size_t capacity)
{
    struct job *job = ctx;
    double start = 1e6 * hx_now_s();
    int missing = look(ctx, key, value, capacity);

    job->own_us += 1e6 * hx_now_s() - start;
    if (missing)
        return 1;
    job->gets++;
    job->got_bytes += (long)strlen(value);
    return 0;
}

/* ---- what comes of it -------------------------------------------------------------------------------------------- */

static void start(int ranks)
{
    struct job job = {.ranks = ranks};
    const hx_bootstrap_t calls = {.rank = 0, .size = ranks, .put = job_put, .fence = job_fence, .get = job_get, .ctx = &job};
    const hx_config_t config = {.bootstrap = &calls};
    struct hx_shared node = {0};
    hx_comm_t *comm;

    must(hcreate((size_t)ranks + 1000), "table of values");
    size_t before = heap();
    double at = 1e6 * hx_now_s();
    must(hx_init_with(&config, &comm) == HX_SUCCESS, "hx_init_with");
    double us = 1e6 * hx_now_s() - at - job.own_us;
    must(hx_world->process.job.ranks_per_cpu == 1.5, "the most crowded node's ranks per core");
    hx_shared_dimension(&node, NODE_RANKS, ranks, hx_world->process.job.llc_bytes);
    printf("%d %zu %zu %d %d %ld %ld %.0f\n", ranks, heap() - before - job.own_bytes, node.head_bytes - hx_p2p_all_bytes(&node), job.fences, job.puts, job.gets,
           job.got_bytes, us);
    hx_world_close(hx_world, 0); /* nobody is there to part from */
    hx_world = NULL;
}

static void plans(int ranks)
{
    static const struct hx_net_profile efa = {
        .provider = "efa", .alpha_us = 18, .gb_s = 12.5, .stream_gb_s = 12.5, .core_gb_s = HX_CORE_SPARED_GB_S, .message_us = 0.3};
    struct hx_job job = {.llc_bytes = 32 << 20, .cpus_per_node = NODE_RANKS, .max_local = NODE_RANKS};
    const uint64_t counts[] = {1, 65536};
    struct hx_planner *planner;
    struct hx_shape *shape;
    struct hx_env env;
    char text[64], error[HX_TOPO_ERROR_BYTES];

    snprintf(text, sizeof(text), "%dx%d,%d", ranks / NODE_RANKS, NODE_RANKS, ranks % NODE_RANKS);
    shape = hx_shape_parse(text, error);
    must(shape && hx_env_load(&env, NULL) == HX_SUCCESS &&
             hx_registry.planner->open(&env, shape, 0, &job, &efa, &planner) == HX_SUCCESS, text);
    for (int c = 0; c < HX_COLL_COUNT; c++)
        for (int i = 0; i < 2; i++) {
            uint64_t count = hx_coll_has_blocks((enum hx_coll)c) && i ? 256 : counts[i];
            struct hx_choice choice;
            uint32_t steps = 0;
            if (hx_registry.planner->choose(planner, (enum hx_coll)c, 0, (struct hx_traits){0}, count, 4, &choice) != HX_SUCCESS) {
                printf("%s %llu none: %s\n", hx_coll_name((enum hx_coll)c), (unsigned long long)count, hx_error_detail(NULL));
                continue;
            }
            for (int s = 0; s < choice.plan->nstages; s++)
                steps += choice.plan->stages[s].nsteps;
            printf("%s %llu %u %zu %s\n", hx_coll_name((enum hx_coll)c), (unsigned long long)count, steps, hx_plan_bytes(choice.plan),
                   choice.plan->name);
            hx_plan_release(choice.plan);
        }
    hx_registry.planner->close(planner);
    hx_env_release(&env);
    hx_shape_free(shape);
}

int main(int argc, char **argv)
{
    int ranks = argc > 1 ? atoi(argv[1]) : 0;

    must(ranks >= 2, "give a number of ranks, at least 2");
    if (argc > 2)
        plans(ranks);
    else
        start(ranks);
    return 0;
}
